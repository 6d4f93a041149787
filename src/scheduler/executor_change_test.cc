// SPDX-License-Identifier: Apache-2.0
// What changes between the approval of a round and its bindings: nothing goes by an old word, and
// nothing stands still for it.
#include "scheduler/executor_for_test.h"

namespace sky::scheduler {
namespace {

TEST_F(ExecutorTest, APushedBackMemberIsJudgedAgainLikeAnyOther) {
  BeginBinding();
  Busy();
  JudgedAgainAfterAChange();
}

TEST_F(ExecutorTest, AMemberWhoseAnswerWasLostIsJudgedAgainLikeAnyOther) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  Read(0);
  JudgedAgainAfterAChange();
}

TEST_F(ExecutorTest, AMemberOfAnotherGroupNowIsFreeAtOnce) {
  Begin();
  c.Put(testing::MakeGroup("other", 1, {}));
  c.Edit<api::Pod>("default/train-0", [](api::Pod& pod) {
    pod.metadata.annotations["scheduling.infini-ai.com/group-name"] = "other";
  });
  executor->PodChanged(round.entries[0].uid);
  EXPECT_FALSE(Claimed(0));
  Acknowledge();
  EXPECT_TRUE(api.binds.empty()) << "the rest is no gang";
  c.Decide();
  ASSERT_EQ(c.result().given_up.size(), 1u);
  executor->GiveUp(c.result().given_up[0]);
  EXPECT_FALSE(Claimed(1));
  Audited();
}

TEST_F(ExecutorTest, NothingIsBegunWhenOneMemberCantFollow) {
  Begin();
  c.Edit<api::Node>("n1", [](api::Node& node) { node.spec.unschedulable = true; });
  Acknowledge();
  EXPECT_TRUE(api.binds.empty());
  EXPECT_EQ(replans, 1) << "the bind action is asked again";
  EXPECT_TRUE(Claimed(0) && Claimed(1)) << "until it says so";
  GiveUpAll();
  EXPECT_FALSE(Claimed(0) || Claimed(1));
  EXPECT_EQ(refused, (std::vector<std::string>{"default/train Backoff"}));
  loop.RunReady();
  ASSERT_EQ(api.updates.size(), 1u) << "the record says so too";
  EXPECT_TRUE(api.updates[0].asked.spec.entries.empty());
  EXPECT_EQ(api.updates[0].asked.spec.round, 2);
  Audited();
}

TEST_F(ExecutorTest, WhatStillHoldsAfterAChangeIsApprovedAnewAndGoes) {
  Begin();
  c.Edit<api::Node>("n1", [](api::Node& node) { node.metadata.labels["new"] = "label"; });
  Acknowledge();
  EXPECT_TRUE(api.binds.empty());
  c.Decide();
  ASSERT_EQ(c.result().approved, (std::vector<uint64_t>{round.number}));
  ASSERT_TRUE(c.cache().Approve(round.number, c.snapshot()));
  executor->Approve(round.number);
  EXPECT_EQ(api.binds.size(), 2u);
}

TEST_F(ExecutorTest, AnApprovalByOldEyesCountsForNothing) {
  Begin();
  c.Edit<api::Node>("n1", [](api::Node& node) { node.metadata.labels["new"] = "label"; });
  EXPECT_FALSE(c.cache().Approve(round.number, c.snapshot()));
}

TEST_F(ExecutorTest, OfAGangThatRunsOnlyWhatChangedWaitsForAWord) {
  BeginBinding();
  Busy();
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));  // train-1 runs
  c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.unschedulable = true; });
  loop.Advance(1300ms);
  EXPECT_TRUE(api.binds.empty());
  executor->GiveUp({round.number, {round.entries[0].uid}, "n0 is cordoned", {}});
  EXPECT_FALSE(Claimed(0));
  EXPECT_TRUE(Bound(1));
  EXPECT_TRUE(executor->Idle() || !api.updates.empty());
}

TEST_F(ExecutorTest, AMemberThatIsGoneTakesItsGangBackBeforeTheFirstBinding) {
  Begin();
  c.Remove<api::Pod>("default/train-1");
  Acknowledge();
  EXPECT_TRUE(api.binds.empty());
  c.Decide();
  ASSERT_EQ(c.result().given_up.size(), 1u);
  executor->GiveUp(c.result().given_up[0]);
  EXPECT_FALSE(Claimed(0));
  EXPECT_EQ(words.back(), "its places were given up: 1 of 2 members are left");
  Audited();
}

TEST_F(ExecutorTest, ClaimsThatDontBecomeFreeInTimeGoBack) {
  Begin();
  c.Edit<api::Node>("n1", [](api::Node& node) { node.metadata.labels["new"] = "label"; });
  Acknowledge();  // asked again, and nobody answers
  loop.Advance(59s);
  EXPECT_TRUE(Claimed(0));
  loop.Advance(1s);
  EXPECT_FALSE(Claimed(0) || Claimed(1));
  EXPECT_EQ(words.back(), "its places were given up: they weren't free within 1m");
}

TEST_F(ExecutorTest, ARoundThatWaitsForTheServerIsNotTimedOut) {
  BeginBinding();
  for (int i = 0; i < 2; ++i) FakeWriter::Refuse(api.binds, Code::kUnavailable);
  for (int i = 0; i < 10; ++i) {
    loop.Advance(30s);
    while (!api.binds.empty()) FakeWriter::Refuse(api.binds, Code::kUnavailable);
  }
  EXPECT_TRUE(Claimed(0) && Claimed(1));
  EXPECT_TRUE(refused.empty());
}

TEST_F(ExecutorTest, RoundsEndWithTheLifeOfTheirGroup) {
  Begin();
  Acknowledge();
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  Busy();  // train-1
  c.Remove<api::PodGroup>("default/train");
  executor->EndLives("default/train", "");
  EXPECT_TRUE(Bound(0));
  EXPECT_FALSE(Claimed(1));
  loop.Advance(10s);
  EXPECT_TRUE(api.binds.empty() && api.updates.empty()) << "its record goes by itself";
  EXPECT_TRUE(executor->Idle());
  Audited();
}

TEST_F(ExecutorTest, AGroupThatEndsWhileItsRecordIsWrittenEndsTheRoundToo) {
  Begin();
  c.Remove<api::PodGroup>("default/train");
  executor->EndLives("default/train", "");
  EXPECT_FALSE(Claimed(0) || Claimed(1));
  Acknowledge();
  loop.Advance(1s);
  EXPECT_TRUE(api.binds.empty() && api.updates.empty());
  EXPECT_TRUE(executor->Idle());
}

TEST_F(ExecutorTest, MembersThatAreGoneBeforeTheyAreSentEndAtOnce) {
  Begin(framework::CommitOrder::kQuotaFirst);
  Acknowledge();
  ASSERT_TRUE(pictures);
  for (const auto& entry : round.entries) {
    c.Remove<api::Pod>("default/" + entry.name);
    executor->PodChanged(entry.uid);
  }
  EXPECT_TRUE(executor->Idle());
  pictures({});
  EXPECT_TRUE(api.binds.empty() && executor->Idle());
  Audited();
}

}  // namespace
}  // namespace sky::scheduler
