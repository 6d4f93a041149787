// SPDX-License-Identifier: Apache-2.0
// Every answer that a write can get, and what becomes of the claims: none is dropped early, none is
// kept after its proof.
#include "scheduler/executor.h"

#include <gtest/gtest.h>

#include "scheduler/fake_writer_for_test.h"
#include "testing/cluster.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using cache::Written;

// A gang of two, assumed and submitted.
struct ExecutorTest : ::testing::Test {
  testing::Cluster c;
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  bool leading = true;
  std::vector<std::string> refused, bound;
  int replans = 0;
  std::function<void(Status)> pictures;
  std::unique_ptr<Executor> executor;
  cache::Round round;

  void Begin(framework::CommitOrder order = framework::CommitOrder::kPlacementFirst) {
    c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=1 hca=1");
    c.Job("train", 2, "gpu=1 hca=1");
    ExecutorEvents events;
    events.bound = [this](const cache::RoundEntry& entry, const cache::Round&) {
      bound.push_back(entry.name);
    };
    events.refused = [this](const cache::Round& one, model::Reason reason, const std::string&) {
      refused.push_back(one.job + " " + std::string(model::ReasonName(reason)));
    };
    events.replan = [this] { ++replans; };
    events.may_write = [this] { return leading; };
    events.epoch = [] { return int64_t{7}; };
    events.write_pictures = [this](const cache::Round&, std::function<void(Status)> done) {
      pictures = std::move(done);
    };
    executor = std::make_unique<Executor>(loop, c.cache(), api, order, std::move(events));
    round = c.Decide().at(0);
    executor->Submit(round);
    executor->Approve(round.number);
  }
  // The Placement is taken as written.
  void Acknowledge() {
    ASSERT_EQ(api.creates.size(), 1u);
    api::Placement stored = api.creates.front().asked;
    stored.metadata.uid = "placement-1";
    stored.metadata.resource_version = "10";
    FakeWriter::Answer(api.creates, Result<api::Placement>(stored));
  }
  void BeginBinding() {
    Begin();
    Acknowledge();
    ASSERT_EQ(api.binds.size(), 2u);
  }
  bool Claimed(int i) const {
    const model::Cluster rows = const_cast<ExecutorTest*>(this)->c.cache().Copy();
    const auto task = rows.tasks().Find(round.entries[static_cast<size_t>(i)].uid);
    return task.valid() && rows.tasks()[task].claim.open();
  }
  bool Bound(int i) const {
    const model::Cluster rows = const_cast<ExecutorTest*>(this)->c.cache().Copy();
    return rows.tasks()[rows.tasks().Find(round.entries[static_cast<size_t>(i)].uid)].bound();
  }
  // What a quorum read of member i finds.
  void Read(int i, const std::function<void(api::Pod&)>& change = [](api::Pod&) {}) {
    ASSERT_FALSE(api.pod_reads.empty());
    api::Pod pod = c.Get<api::Pod>(fmt::format("default/train-{}", i));
    change(pod);
    FakeWriter::Answer(api.pod_reads, Result<api::Pod>(pod));
  }
  void Audited() { EXPECT_EQ(c.cache().Audit(), ""); }
};

TEST_F(ExecutorTest, NothingIsBoundBeforeTheRecordIsAcknowledged) {
  Begin();
  EXPECT_TRUE(api.binds.empty());
  EXPECT_EQ(api.creates.front().asked.spec.entries.size(), 2u);
  EXPECT_EQ(api.creates.front().asked.spec.leader_epoch, 7);
  Acknowledge();
  ASSERT_EQ(api.binds.size(), 2u);
  EXPECT_EQ(api.binds[0].asked.name, "train-0");
  EXPECT_EQ(api.binds[0].asked.uid, round.entries[0].uid);
  EXPECT_EQ(api.binds[0].asked.annotations.at("scheduling.infini-ai.com/quota-name"), "q0");
}

TEST_F(ExecutorTest, AnAcknowledgedBindingCountsAtOnceAndTheRoundEnds) {
  BeginBinding();
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  EXPECT_TRUE(Bound(0));
  EXPECT_TRUE(Claimed(1));
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  EXPECT_EQ(bound, (std::vector<std::string>{"train-0", "train-1"}));
  EXPECT_TRUE(executor->Idle());
  Audited();
}

TEST_F(ExecutorTest, ALostAnswerIsReadBackAndFoundToHaveLanded) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  EXPECT_TRUE(Claimed(0));
  Read(0, [](api::Pod& pod) { pod.spec.node_name = "n0"; });
  EXPECT_TRUE(Bound(0));
  EXPECT_TRUE(refused.empty());
}

TEST_F(ExecutorTest, ALostBindingIsSentAgainAsItWas) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  Read(0);
  EXPECT_TRUE(Claimed(0));
  loop.Advance(1s);
  ASSERT_EQ(api.binds.size(), 2u);
  EXPECT_EQ(api.binds[1].asked.name, "train-0");
  EXPECT_EQ(api.binds[1].asked.node, "n0");
}

TEST_F(ExecutorTest, AReadThatFailsProvesNothing) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  for (int i = 0; i < 3; ++i) {
    FakeWriter::Refuse(api.pod_reads, Code::kUnknownOutcome);
    EXPECT_TRUE(Claimed(0));
    loop.Advance(2s);
  }
  EXPECT_EQ(api.pod_reads.size(), 1u);
}

TEST_F(ExecutorTest, TooManyRequestsIsWaitedOutWithoutAnyDoubt) {
  BeginBinding();
  FakeWriter::Answer(
      api.binds,
      Result<Written>(std::unexpected(Error(Code::kTooManyRequests, "later").RetryAfter(3s))));
  EXPECT_TRUE(api.pod_reads.empty());
  loop.Advance(2s);
  EXPECT_EQ(api.binds.size(), 1u);
  loop.Advance(1s);
  EXPECT_EQ(api.binds.size(), 2u);
  EXPECT_TRUE(Claimed(0));
}

TEST_F(ExecutorTest, ARefusalIsWhatThePodSaysAndStopsTheGangsUnsentMembers) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  EXPECT_TRUE(Claimed(0)) << "until the pod was read";
  Read(0);
  EXPECT_FALSE(Claimed(0));
  EXPECT_TRUE(Claimed(1)) << "its binding is open";
  EXPECT_EQ(refused, (std::vector<std::string>{"default/train BindRefused"}));
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  Read(1);
  EXPECT_FALSE(Claimed(1));
  Audited();
}

// 409 has four meanings (F11).
TEST_F(ExecutorTest, AConflictOnAPodThatIsBoundAsWantedIsSuccess) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kConflict);
  Read(0, [](api::Pod& pod) { pod.spec.node_name = "n0"; });
  EXPECT_TRUE(Bound(0));
}

TEST_F(ExecutorTest, AConflictOnAPodThatIsBoundElsewhereEndsTheClaim) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kConflict);
  Read(0, [](api::Pod& pod) { pod.spec.node_name = "n3"; });
  EXPECT_FALSE(Claimed(0));
  EXPECT_TRUE(refused.empty()) << "nobody refused it";
  EXPECT_GT(replans, 0);
}

TEST_F(ExecutorTest, AConflictOnAPodThatIsBeingDeletedEndsTheClaim) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kConflict);
  Read(0, [](api::Pod& pod) { pod.metadata.deletion_timestamp.at = WallTime(1h); });
  EXPECT_FALSE(Claimed(0));
  EXPECT_TRUE(refused.empty());
}

TEST_F(ExecutorTest, AConflictOnAPodOfAnotherLifeEndsTheClaim) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kConflict);
  Read(0, [](api::Pod& pod) { pod.metadata.uid = "another"; });
  EXPECT_FALSE(Claimed(0));
  FakeWriter::Refuse(api.binds, Code::kNotFound);
  FakeWriter::Refuse(api.pod_reads, Code::kNotFound);
  EXPECT_FALSE(Claimed(1));
  EXPECT_TRUE(executor->Idle());
}

// F10: an attempt whose outcome nobody knows may land until its deadline at the server has passed.
TEST_F(ExecutorTest, ARefusalOfTheSecondAttemptDoesntProveThatTheFirstOneFailed) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  Read(0);
  loop.Advance(200ms);
  api.binds.pop_front();  // train-1's stays open
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  Read(0);
  EXPECT_TRUE(Claimed(0)) << "the first attempt may still land";
  loop.Advance(7s);
  Read(0, [](api::Pod& pod) { pod.spec.node_name = "n0"; });
  EXPECT_TRUE(Bound(0)) << "and it did";
}

TEST_F(ExecutorTest, AnUnknownAttemptOfAStoppedGangIsHeldUntilItCantLandAnyMore) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  Read(0);  // unbound: to be sent again
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  Read(1);  // refused: the gang stops
  EXPECT_FALSE(Claimed(1));
  EXPECT_TRUE(Claimed(0));
  loop.Advance(5s);
  EXPECT_TRUE(Claimed(0));
  EXPECT_TRUE(api.binds.empty()) << "not sent again";
  loop.Advance(2s);
  Read(0);
  EXPECT_FALSE(Claimed(0)) << "proved";
  Audited();
}

TEST_F(ExecutorTest, AnUnknownAttemptOnANodeThatWentBadIsHeldToo) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  Read(0);
  c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.unschedulable = true; });
  loop.Advance(1s);
  EXPECT_TRUE(Claimed(0));
  loop.Advance(6s);
  Read(0);
  EXPECT_FALSE(Claimed(0));
}

TEST_F(ExecutorTest, AMemberThatWasNeverSentIsGivenUpWhenItsNodeGoesBad) {
  Begin();
  c.Edit<api::Node>("n1", [](api::Node& node) { node.spec.unschedulable = true; });
  Acknowledge();
  EXPECT_EQ(api.binds.size(), 1u);
  EXPECT_FALSE(Claimed(1));
  EXPECT_TRUE(Claimed(0));
}

// --- the record ---

TEST_F(ExecutorTest, ARefusedRecordUndoesTheWholeGang) {
  Begin();
  FakeWriter::Refuse(api.creates, Code::kForbidden);
  EXPECT_FALSE(Claimed(0));
  EXPECT_FALSE(Claimed(1));
  EXPECT_EQ(refused.size(), 1u);
  EXPECT_TRUE(api.binds.empty());
  Audited();
}

TEST_F(ExecutorTest, ALostAnswerToTheRecordIsReadBack) {
  Begin();
  api::Placement stored = api.creates.front().asked;
  stored.metadata.uid = "p";
  FakeWriter::Refuse(api.creates, Code::kUnknownOutcome);
  EXPECT_TRUE(Claimed(0));
  ASSERT_EQ(api.placement_reads.size(), 1u);
  FakeWriter::Answer(api.placement_reads, Result<api::Placement>(stored));
  EXPECT_EQ(api.binds.size(), 2u) << "it had landed";
}

TEST_F(ExecutorTest, ALostRecordIsWrittenAgain) {
  Begin();
  FakeWriter::Refuse(api.creates, Code::kUnknownOutcome);
  FakeWriter::Refuse(api.placement_reads, Code::kNotFound);
  ASSERT_EQ(api.creates.size(), 1u);
  Acknowledge();
  EXPECT_EQ(api.binds.size(), 2u);
}

TEST_F(ExecutorTest, ARecordOfAnotherLifeOfTheGroupGoesFirst) {
  Begin();
  FakeWriter::Refuse(api.creates, Code::kAlreadyExists);
  api::Placement old;
  old.metadata.name = "train";
  old.metadata.namespace_ = "default";
  old.metadata.uid = "old-placement";
  old.spec.pod_group_uid = "another";
  FakeWriter::Answer(api.placement_reads, Result<api::Placement>(old));
  ASSERT_EQ(api.placement_deletes.size(), 1u);
  EXPECT_EQ(FakeWriter::Answer(api.placement_deletes, Result<Written>(Written{})), "old-placement");
  FakeWriter::Refuse(api.placement_reads, Code::kNotFound);
  Acknowledge();
  EXPECT_EQ(api.binds.size(), 2u);
}

TEST_F(ExecutorTest, AnOlderRecordOfTheSameGroupIsReplacedUnderItsVersion) {
  Begin();
  FakeWriter::Refuse(api.creates, Code::kAlreadyExists);
  api::Placement old = api.creates.empty() ? api::Placement{} : api.creates.front().asked;
  old.metadata.name = "train";
  old.metadata.namespace_ = "default";
  old.metadata.uid = "p";
  old.metadata.resource_version = "5";
  old.spec.pod_group_uid = round.group_uid;
  old.spec.round = 3;
  FakeWriter::Answer(api.placement_reads, Result<api::Placement>(old));
  ASSERT_EQ(api.updates.size(), 1u);
  EXPECT_EQ(api.updates.front().asked.metadata.resource_version, "5");
  EXPECT_EQ(api.updates.front().asked.spec.round, 4);
}

TEST_F(ExecutorTest, ThrottledRecordsWait) {
  Begin();
  FakeWriter::Refuse(api.creates, Code::kTooManyRequests);
  EXPECT_TRUE(Claimed(0));
  EXPECT_TRUE(api.creates.empty());
  loop.Advance(1s);
  EXPECT_EQ(api.creates.size(), 1u);
}

TEST_F(ExecutorTest, WhoeverDoesntLeadWritesNothing) {
  leading = false;
  Begin();
  EXPECT_TRUE(api.creates.empty());
  EXPECT_FALSE(Claimed(0));
  EXPECT_TRUE(refused.empty()) << "nobody refused it";
}

// --- quotaFirst ---

TEST_F(ExecutorTest, QuotaFirstBindsWhenTheStatusesAreThere) {
  Begin(framework::CommitOrder::kQuotaFirst);
  Acknowledge();
  EXPECT_TRUE(api.binds.empty());
  pictures({});
  EXPECT_EQ(api.binds.size(), 2u);
}

TEST_F(ExecutorTest, QuotaFirstRollsTheGangBackWithItsRecordWhenAStatusIsRefused) {
  Begin(framework::CommitOrder::kQuotaFirst);
  Acknowledge();
  pictures(std::unexpected(Error(Code::kForbidden, "no")));
  EXPECT_FALSE(Claimed(0));
  EXPECT_TRUE(api.binds.empty());
  ASSERT_EQ(api.updates.size(), 1u);
  EXPECT_TRUE(api.updates.front().asked.spec.entries.empty());
  Audited();
}

}  // namespace
}  // namespace sky::scheduler
