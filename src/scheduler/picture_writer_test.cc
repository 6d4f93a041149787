// SPDX-License-Identifier: Apache-2.0
#include "scheduler/picture_writer.h"

#include <gtest/gtest.h>

#include "api/json.h"
#include "api/keys.h"
#include "scheduler/fake_writer_for_test.h"
#include "testing/cluster.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using cache::Written;

struct PictureTest : ::testing::Test {
  testing::Cluster c;
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  bool leading = true, busy = false;
  PictureWriter pictures{
      loop, c.cache(), api, 10s, [this] { return leading; }, [this] { return busy; }};

  void Look() {
    pictures.Poke();
    loop.Advance(20ms);
  }
  // The API takes the oldest patch: its echo, then the answer.
  void Take() {
    ASSERT_FALSE(api.quota_patches.empty());
    const auto [name, body] = api.quota_patches.front().asked;
    auto merged = c.cache().PictureOf(name);
    c.Edit<api::Quota>(name, [&](api::Quota& quota) { quota.status = merged->status; });
    FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
    loop.Advance(20ms);
  }
  void BindByHand(const std::string& pod, const std::string& node, const std::string& quota) {
    c.Pod(pod, fmt::format("gpu=1 node={} quota={}", node, quota));
  }
  std::string Patched() const { return api.quota_patches.front().asked.second; }
};

TEST_F(PictureTest, AStatusThatDiffersIsWrittenOnceAndThenItIsCalm) {
  c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
  BindByHand("a", "n0", "q0");
  Look();
  ASSERT_EQ(api.quota_patches.size(), 1u);
  EXPECT_NE(Patched().find(R"("nodeName":"n0")"), std::string::npos) << Patched();
  EXPECT_NE(Patched().find("resourceVersion"), std::string::npos);
  Take();
  Look();
  EXPECT_TRUE(api.quota_patches.empty());
  EXPECT_TRUE(pictures.Idle());
}

TEST_F(PictureTest, WhatIsNoLongerThereIsTakenOut) {
  c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
  BindByHand("a", "n0", "q0");
  Look();
  Take();
  c.Remove<api::Pod>("default/a");
  Look();
  ASSERT_EQ(api.quota_patches.size(), 1u);
  for (const char* gone : {R"("nodeName":null)", R"("tasks":null)", R"("allocated":null)"})
    EXPECT_NE(Patched().find(gone), std::string::npos) << gone << " in " << Patched();
}

TEST_F(PictureTest, OneWriteAQuotaIsInFlightAndTheNextFollowsItsAnswer) {
  c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
  BindByHand("a", "n0", "q0");
  Look();
  BindByHand("b", "n0", "q0");
  Look();
  EXPECT_EQ(api.quota_patches.size(), 1u);
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  loop.Advance(20ms);
  ASSERT_EQ(api.quota_patches.size(), 1u) << "the second pod isn't forgotten";
  EXPECT_NE(Patched().find(R"("name":"b")"), std::string::npos);
}

TEST_F(PictureTest, AnEchoBeforeTheAnswerLosesNothing) {
  c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
  BindByHand("a", "n0", "q0");
  Look();
  auto first = c.cache().PictureOf("q0");
  BindByHand("b", "n0", "q0");
  c.Edit<api::Quota>("q0", [&](api::Quota& quota) { quota.status = first->status; });
  Look();  // sees the difference while the first write is still open
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  loop.Advance(20ms);
  ASSERT_EQ(api.quota_patches.size(), 1u);
  EXPECT_NE(Patched().find(R"("name":"b")"), std::string::npos);
}

TEST_F(PictureTest, AConflictIsPaintedAnewAndTriedAgain) {
  c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
  BindByHand("a", "n0", "q0");
  Look();
  const std::string first = Patched();
  FakeWriter::Refuse(api.quota_patches, Code::kConflict);
  c.Edit<api::Quota>("q0", [](api::Quota& quota) { quota.metadata.labels["team"] = "x"; });
  loop.Advance(2s);
  ASSERT_EQ(api.quota_patches.size(), 1u);
  EXPECT_NE(Patched(), first) << "under the new version";
}

TEST_F(PictureTest, AQuotaThatIsGoneIsNotTriedAgain) {
  c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
  BindByHand("a", "n0", "q0");
  Look();
  c.Remove<api::Quota>("q0");
  FakeWriter::Refuse(api.quota_patches, Code::kNotFound);
  loop.Advance(30s);
  EXPECT_TRUE(api.quota_patches.empty());
}

TEST_F(PictureTest, HealingIsHeldToItsInterval) {
  c.Nodes("n[0-1]", "gpu=8").Quotas("q[0-1]", "gpu=2 node=n1");
  BindByHand("a", "n0", "q0");
  Look();
  Take();
  EXPECT_EQ(pictures.healed(), 1u);
  EXPECT_EQ(c.Get<api::Quota>("q0").status.node_name, "n0");
  BindByHand("b", "n0", "q1");
  Look();
  EXPECT_TRUE(api.quota_patches.empty()) << "too soon";
  loop.Advance(9s);
  EXPECT_TRUE(api.quota_patches.empty());
  loop.Advance(2s);
  ASSERT_EQ(api.quota_patches.size(), 1u);
  Take();
  EXPECT_EQ(pictures.healed(), 2u);
  loop.Advance(60s);
  EXPECT_TRUE(api.quota_patches.empty());
}

TEST_F(PictureTest, WhoeverDoesntLeadPaintsNothingAndBindingsGoFirst) {
  c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
  BindByHand("a", "n0", "q0");
  leading = false;
  Look();
  EXPECT_TRUE(api.quota_patches.empty());
  leading = true;
  busy = true;
  Look();
  EXPECT_TRUE(api.quota_patches.empty());
  busy = false;
  loop.Advance(20ms);
  EXPECT_EQ(api.quota_patches.size(), 1u);
}

// --- refusals ---

struct RefusedPicture : PictureTest {
  RefusedPicture() {
    c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2");
    BindByHand("a", "n0", "q0");
    Look();
  }
  void Refuse(const std::string& words, Code code = Code::kInvalid, Duration retry_after = {}) {
    ASSERT_EQ(api.quota_patches.size(), 1u);
    FakeWriter::Answer(
        api.quota_patches,
        Result<Written>(std::unexpected(
            Error(code, words)
                .RetryAfter(std::chrono::duration_cast<std::chrono::milliseconds>(retry_after)))));
  }
  // The next try comes after this wait and at most a quarter more.
  void ExpectTryAfter(Duration wait) {
    loop.Advance(wait - 1ms);
    EXPECT_TRUE(api.quota_patches.empty()) << "sooner than " << FormatDuration(wait);
    loop.Advance(wait / 4 + 20ms);
    EXPECT_EQ(api.quota_patches.size(), 1u) << "later than " << FormatDuration(wait);
  }
};

TEST_F(RefusedPicture, IsTriedLessAndLessOften) {
  for (const Duration wait : std::initializer_list<Duration>{1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    Refuse("422: no");
    ExpectTryAfter(wait);
  }
  Take();
  loop.Advance(1h);
  EXPECT_TRUE(api.quota_patches.empty());
}

TEST_F(RefusedPicture, IsWrittenAtOnceWhenItChangesAndThenBeginsAnew) {
  for (int i = 0; i < 4; ++i) {
    Refuse("422: no");
    ExpectTryAfter(std::chrono::seconds(1 << i));
  }
  Refuse("422: no");
  BindByHand("b", "n0", "q0");
  Look();
  EXPECT_NE(Patched().find(R"("name":"b")"), std::string::npos);
  Refuse("422: no");
  ExpectTryAfter(1s);
  Refuse("422: no");
  // The object itself may be what the server didn't like.
  c.Edit<api::Quota>("q0", [](api::Quota& quota) { quota.metadata.labels["team"] = "x"; });
  Look();
  Refuse("422: no");
  ExpectTryAfter(1s);
}

TEST_F(RefusedPicture, IsToldInItsWordsOnceUntilTheyChange) {
  Refuse("422: no");
  ASSERT_EQ(api.events.size(), 1u);
  EXPECT_EQ(api.events[0].regarding.kind, "Quota");
  EXPECT_EQ(api.events[0].regarding.name, "q0");
  EXPECT_EQ(api.events[0].regarding.uid, c.Get<api::Quota>("q0").metadata.uid);
  EXPECT_EQ(api.events[0].reason, "StatusRefused");
  EXPECT_EQ(api.events[0].note, "its status is out of date: 422: no");
  EXPECT_TRUE(api.events[0].warning);
  ExpectTryAfter(1s);
  Refuse("422: no");
  BindByHand("b", "n0", "q0");
  Look();
  Refuse("422: no");
  EXPECT_EQ(api.events.size(), 1u);
  ExpectTryAfter(1s);
  Refuse("403: not yours", Code::kForbidden);
  EXPECT_EQ(api.events.size(), 2u);
  ExpectTryAfter(2s);
  Take();
  BindByHand("c", "n0", "q0");
  Look();
  Refuse("403: not yours", Code::kForbidden);
  EXPECT_EQ(api.events.size(), 3u) << "it was right in between";
}

TEST_F(RefusedPicture, OfAServerThatIsBusyIsNoMatterForPeople) {
  for (const Code code : {Code::kConflict, Code::kTooManyRequests, Code::kUnavailable,
                          Code::kUnknownOutcome, Code::kCancelled}) {
    Refuse(std::string(CodeName(code)), code);
    loop.Advance(80s);
  }
  EXPECT_TRUE(api.events.empty());
}

TEST_F(RefusedPicture, WhoWasAskedToWaitWaitsWhateverChanges) {
  Refuse("429", Code::kTooManyRequests, 20s);
  BindByHand("b", "n0", "q0");
  loop.Advance(19s);
  EXPECT_TRUE(api.quota_patches.empty());
  loop.Advance(1s + 20ms);
  EXPECT_EQ(api.quota_patches.size(), 1u);
  // Later, when the wait is longer than what the server asks.
  for (int i = 0; i < 6; ++i) {
    Refuse("429", Code::kTooManyRequests, 1s);
    loop.Advance(80s);
  }
  Refuse("429", Code::kTooManyRequests, 10s);
  BindByHand("d", "n0", "q0");
  loop.Advance(9s);
  EXPECT_TRUE(api.quota_patches.empty());
  loop.Advance(1s + 20ms);
  EXPECT_EQ(api.quota_patches.size(), 1u);
}

TEST_F(RefusedPicture, OfAQuotaThatIsGoneOrMadeAnewIsForgotten) {
  Refuse("422: no");
  c.Remove<api::Quota>("q0");
  loop.Advance(1h);
  EXPECT_TRUE(api.quota_patches.empty());
  c.Quotas("q0", "gpu=2");
  Look();
  Refuse("422: no");
  EXPECT_EQ(api.events.size(), 2u) << "another object";
  ExpectTryAfter(1s);
  Refuse("422: no");
  c.Remove<api::Quota>("q0");
  c.Quotas("q0", "gpu=2");
  Look();
  Refuse("422: no");
  EXPECT_EQ(api.events.size(), 3u);
}

// --- quotaFirst ---

struct WriteNow : PictureTest {
  std::vector<std::string> answers;
  void Begin() {
    c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Quotas("q[0-1]", "gpu=1 hca=1");
    c.Job("train", 2, "gpu=1 hca=1");
    pictures.WriteNow(c.Decide().at(0), [this](const Status& status) {
      answers.push_back(status ? "written" : std::string(CodeName(status.error().code())));
    });
  }
};

TEST_F(WriteNow, AnswersOnceWhenAllAreWritten) {
  Begin();
  ASSERT_EQ(api.quota_patches.size(), 2u);
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  EXPECT_TRUE(answers.empty());
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  EXPECT_EQ(answers, (std::vector<std::string>{"written"}));
}

TEST_F(WriteNow, AConflictOrALostAnswerIsNoRefusal) {
  Begin();
  FakeWriter::Refuse(api.quota_patches, Code::kConflict);
  FakeWriter::Refuse(api.quota_patches, Code::kUnknownOutcome);
  EXPECT_TRUE(answers.empty());
  loop.Advance(500ms);
  ASSERT_EQ(api.quota_patches.size(), 2u);
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  EXPECT_EQ(answers, (std::vector<std::string>{"written"}));
}

TEST_F(WriteNow, ARefusalIsAnsweredWhenAllHaveAnswered) {
  Begin();
  FakeWriter::Refuse(api.quota_patches, Code::kForbidden);
  EXPECT_TRUE(answers.empty());
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0], CodeName(Code::kForbidden));
}

TEST_F(WriteNow, WaitsForAWriteOfTheSameQuotaThatIsUnderWay) {
  c.Nodes("n9", "gpu=8").Quotas("q0", "gpu=1 hca=1");
  c.Edit<api::Quota>("q0", [](api::Quota& quota) { quota.status.phase = "QuotaBound"; });
  Look();
  ASSERT_EQ(api.quota_patches.size(), 1u);
  Begin();
  EXPECT_EQ(api.quota_patches.size(), 2u) << "q1's only";
  FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
  loop.Advance(50ms);
  EXPECT_EQ(api.quota_patches.size(), 2u);
}

}  // namespace
}  // namespace sky::scheduler
