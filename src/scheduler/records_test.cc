// SPDX-License-Identifier: Apache-2.0
// The Placement of a group under everything that its writes may be answered.
#include "scheduler/records.h"

#include <gtest/gtest.h>

#include "scheduler/fake_writer_for_test.h"
#include "testing/cluster.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using cache::Written;

struct RecordsTest : ::testing::Test {
  testing::Cluster c;
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  bool leading = true;
  std::vector<cache::RoundEntry> open;
  std::vector<std::string> answers, delays;
  cache::Round round;
  Records records{loop,
                  c.cache(),
                  api,
                  {[this] { return leading; }, [] { return int64_t{7}; },
                   [this](const std::string&, const std::string&) {
                     std::vector<const cache::RoundEntry*> all;
                     for (const cache::RoundEntry& entry : open) all.push_back(&entry);
                     return all;
                   },
                   [this](const std::string&, const std::string& why) { delays.push_back(why); }}};

  RecordsTest() {
    c.Job("train", 3, "gpu=1");
    Live();
    Open("train-0", "n0");
  }
  void Live() {
    round.job = "default/train";
    round.namespace_ = "default";
    round.group = "train";
    round.group_uid = c.cache().GroupUid("default/train");
  }
  void Open(const std::string& name, const std::string& node) {
    cache::RoundEntry& entry = open.emplace_back();
    entry.name = name;
    entry.uid = "uid of " + name;
    entry.quota_name = "q";
    entry.node_name = node;
  }
  void Write(const std::string& who, bool decides = true) {
    records.Write(round, decides, [this, who](const Status& status) {
      answers.push_back(fmt::format("{} {}", who, status ? "ok" : CodeName(status.error().code())));
    });
  }
  // The oldest create or update is stored.
  api::Placement Stored(const std::string& version) {
    auto& calls = api.creates.empty() ? api.updates : api.creates;
    api::Placement stored = calls.front().asked;
    stored.metadata.uid = "p1";
    stored.metadata.resource_version = version;
    FakeWriter::Answer(calls, Result<api::Placement>(stored));
    return stored;
  }
  std::string Answers() {
    const std::string text = fmt::format("{}", fmt::join(answers, ", "));
    answers.clear();
    return text;
  }
};

TEST_F(RecordsTest, OneWriteAtATimeAndTheNextServesAllWhoAskedMeanwhile) {
  Write("a");
  ASSERT_EQ(api.creates.size(), 1u);
  Open("train-1", "n1");
  Write("b");
  Open("train-2", "n2");
  Write("c");
  EXPECT_EQ(api.creates.size() + api.updates.size(), 1u);
  Stored("10");
  EXPECT_EQ(Answers(), "a ok");
  ASSERT_EQ(api.updates.size(), 1u);
  EXPECT_EQ(api.updates[0].asked.spec.entries.size(), 3u);
  EXPECT_EQ(api.updates[0].asked.spec.round, 2);
  EXPECT_EQ(api.updates[0].asked.metadata.resource_version, "10");
  Stored("11");
  EXPECT_EQ(Answers(), "b ok, c ok");
  EXPECT_TRUE(records.Idle());
}

TEST_F(RecordsTest, WhatIsTakenOutDoesntShareTheFateOfARefusedRound) {
  Write("a");
  Stored("10");
  Write("first");
  Open("train-1", "n1");
  Write("round");
  Write("void", false);
  Stored("11");
  EXPECT_EQ(Answers(), "a ok, first ok");
  open.resize(1);  // the refused round is no longer open
  FakeWriter::Refuse(api.updates, Code::kInvalid);
  EXPECT_EQ(Answers(), "round Invalid, void ok") << "and there is nothing to take out";
  EXPECT_TRUE(api.updates.empty());
  open.clear();
  Write("again", false);
  ASSERT_EQ(api.updates.size(), 1u);
  Stored("12");
  EXPECT_EQ(Answers(), "again ok");
}

TEST_F(RecordsTest, NothingToTakeOutWritesNothing) {
  open.clear();
  Write("a", false);
  EXPECT_EQ(Answers(), "a ok");
  EXPECT_TRUE(api.creates.empty());
}

TEST_F(RecordsTest, ADecisionIsWrittenEvenWhenTheSameIsSaidToBeThere) {
  Write("a");
  Stored("10");
  Write("b");
  EXPECT_EQ(api.updates.size(), 1u) << "the record may have been deleted meanwhile";
}

TEST_F(RecordsTest, ALostAnswerIsReadBackHoweverLongThatTakes) {
  Write("a");
  api::Placement stored = api.creates.front().asked;
  FakeWriter::Refuse(api.creates, Code::kUnknownOutcome);
  Duration waited{};
  for (int i = 0; i < 12; ++i) {
    ASSERT_EQ(api.placement_reads.size(), 1u);
    FakeWriter::Refuse(api.placement_reads, Code::kUnavailable);
    const MonoTime began = loop.Now();
    while (api.placement_reads.empty()) loop.Advance(100ms);
    EXPECT_LE(loop.Now() - began, 76s);
    waited += loop.Now() - began;
  }
  EXPECT_GT(waited, 5min) << "ever more seldom";
  EXPECT_EQ(Answers(), "") << "nothing was refused";
  FakeWriter::Answer(api.placement_reads, Result<api::Placement>(stored));
  EXPECT_EQ(Answers(), "a ok");
}

TEST_F(RecordsTest, AServerThatFailsEachTimeIsAskedEverMoreSeldomAndItsWordsAreTold) {
  Write("a");
  int attempts = 0;
  for (const MonoTime began = loop.Now(); answers.empty();) {
    ASSERT_EQ(api.creates.size(), 1u);
    ++attempts;
    FakeWriter::Refuse(api.creates, Code::kUnknownOutcome);
    if (api.placement_reads.empty()) break;
    FakeWriter::Refuse(api.placement_reads, Code::kNotFound);
    while (api.creates.empty() && answers.empty()) loop.Advance(100ms);
    ASSERT_LT(loop.Now() - began, 10min);
  }
  EXPECT_EQ(attempts, 9);
  EXPECT_EQ(delays.size(), 7u) << "one lost answer alone is no news";
  EXPECT_EQ(delays.front(), "no");
  EXPECT_EQ(Answers(), "a UnknownOutcome") << "what the server said, not who else may have written";
}

TEST_F(RecordsTest, AServerThatPushesBackIsToldOf) {
  Write("a");
  FakeWriter::Refuse(api.creates, Code::kTooManyRequests);
  EXPECT_EQ(delays, (std::vector<std::string>{"no"}));
  loop.Advance(2s);
  Stored("10");
  open.clear();
  Write("void", false);
  FakeWriter::Refuse(api.updates, Code::kTooManyRequests);
  EXPECT_EQ(delays.size(), 1u) << "nobody waits for what is taken out";
}

TEST_F(RecordsTest, WhatAnotherHandWroteSinceIsSetRight) {
  Write("a");
  api::Placement theirs = Stored("10");
  theirs.spec.nodes = {"elsewhere"};
  theirs.metadata.resource_version = "11";
  using Delta = api::Delta<api::Placement>;
  c.cache().Apply(
      Delta{Delta::Type::kUpdate, std::make_shared<const api::Placement>(theirs), nullptr});
  Write("right", false);
  ASSERT_EQ(api.updates.size(), 1u);
  EXPECT_EQ(api.updates[0].asked.metadata.resource_version, "11");
  EXPECT_EQ(api.updates[0].asked.spec.nodes, (std::vector<std::string>{"n0"}));
}

TEST_F(RecordsTest, OthersWhoWriteAllTheTimeEndTheRoundAtLast) {
  Write("a");
  FakeWriter::Refuse(api.creates, Code::kAlreadyExists);
  for (int version = 10; version < 30 && answers.empty(); ++version) {
    api::Placement theirs;
    theirs.metadata.uid = "p1";
    theirs.metadata.resource_version = std::to_string(version);
    theirs.spec.pod_group_uid = round.group_uid;
    FakeWriter::Answer(api.placement_reads, Result<api::Placement>(theirs));
    if (!api.updates.empty()) FakeWriter::Refuse(api.updates, Code::kConflict);
  }
  EXPECT_EQ(Answers(), "a Conflict");
}

TEST_F(RecordsTest, ALifeThatIsOverTakesNothingFromTheNextOne) {
  Write("old");
  Stored("10");
  c.Remove<api::PodGroup>("default/train");
  open.clear();
  Write("old void", false);
  EXPECT_EQ(Answers(), "old ok, old void NotFound");
  c.Put(testing::MakeGroup("train", 3, {}));
  Write("old void", false);
  EXPECT_EQ(Answers(), "old void NotFound");
  EXPECT_TRUE(api.updates.empty() && api.placement_deletes.empty());
  Live();
  Open("train-0", "n1");
  Write("new");
  ASSERT_EQ(api.placement_deletes.size(), 1u) << "the old life's record goes first";
  FakeWriter::Answer(api.placement_deletes, Result<Written>(Written{}));
  FakeWriter::Refuse(api.placement_reads, Code::kNotFound);
  Stored("20");
  EXPECT_EQ(Answers(), "new ok");
}

TEST_F(RecordsTest, WhoeverDoesntLeadWritesNothing) {
  leading = false;
  Write("a");
  EXPECT_EQ(Answers(), "a Cancelled");
  EXPECT_TRUE(api.creates.empty());
}

TEST_F(RecordsTest, KnowsItsOwnWordsAndNobodyElses) {
  Write("a");
  api::Placement echo = api.creates.front().asked;
  echo.metadata.uid = "p1";
  echo.metadata.resource_version = "10";
  EXPECT_TRUE(records.Knows(echo)) << "the watch may be faster than the answer";
  Stored("10");
  EXPECT_TRUE(records.Knows(echo));
  Open("train-1", "n1");
  Write("b");
  EXPECT_TRUE(records.Knows(echo)) << "an older echo";
  Stored("12");
  api::Placement forged = echo;
  forged.metadata.resource_version = "13";
  EXPECT_FALSE(records.Knows(forged)) << "somebody has put the old content back";
  forged = echo;
  forged.metadata.uid = "p2";
  EXPECT_FALSE(records.Knows(forged));
  records.Forget();
  EXPECT_FALSE(records.Knows(echo)) << "another leadership";
}

}  // namespace
}  // namespace sky::scheduler
