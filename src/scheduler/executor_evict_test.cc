// SPDX-License-Identifier: Apache-2.0
// Pods that give way to a round: not before its record, each once, and what their refusals mean.
#include "scheduler/executor_for_test.h"

namespace sky::scheduler {
namespace {

struct EvictTest : ExecutorTest {
  // Of the submitted round; who it asks is the reclaim action's matter.
  cache::Eviction Of(const std::vector<std::string>& pods, Duration grace = 30s) const {
    cache::Eviction eviction{round.number, "gives way", {}};
    for (const std::string& pod : pods)
      eviction.victims.push_back({"default", pod, "uid-" + pod, "n0", grace});
    return eviction;
  }
  // Decided and recorded, but the bind action waits for room.
  void BeginWaiting(framework::CommitOrder order = framework::CommitOrder::kPlacementFirst) {
    Prepare(order);
    round = c.Decide().at(0);
    executor->Submit(round);
  }
};

TEST_F(EvictTest, NobodyLeavesBeforeTheRecordIsThere) {
  BeginWaiting();
  executor->Evict(Of({"spot-0"}));
  EXPECT_TRUE(api.evictions.empty());
  Acknowledge();
  executor->Evict(Of({"spot-0"}));
  ASSERT_EQ(api.evictions.size(), 1u);
  EXPECT_EQ(api.evictions[0].asked, "default/spot-0 uid-spot-0");
  EXPECT_TRUE(api.binds.empty());
}

TEST_F(EvictTest, EachIsAskedOnce) {
  BeginWaiting();
  Acknowledge();
  executor->Evict(Of({"spot-0"}));
  executor->Evict(Of({"spot-0", "spot-1"}));
  ASSERT_EQ(api.evictions.size(), 2u);
  FakeWriter::Answer(api.evictions, Result<Written>(Written{}));
  EXPECT_EQ(evicted, std::vector<std::string>{"spot-0"});
  executor->Evict(Of({"spot-0"}));
  EXPECT_EQ(api.evictions.size(), 1u) << "it is leaving";
}

// One that may not leave would make the others leave for nothing.
TEST_F(EvictTest, OfSeveralAllAreAskedDryBeforeAnybodyLeaves) {
  BeginWaiting();
  Acknowledge();
  executor->Evict(Of({"spot-0", "spot-1"}));
  ASSERT_EQ(api.evictions.size(), 2u);
  EXPECT_EQ(api.evictions[0].asked, "default/spot-0 uid-spot-0 dry");
  EXPECT_EQ(api.evictions[1].asked, "default/spot-1 uid-spot-1 dry");
  FakeWriter::Answer(api.evictions, Result<Written>(Written{}));
  EXPECT_EQ(api.evictions.size(), 1u) << "the other hasn't answered";
  FakeWriter::Answer(api.evictions, Result<Written>(Written{}));
  ASSERT_EQ(api.evictions.size(), 2u);
  EXPECT_EQ(api.evictions[0].asked, "default/spot-0 uid-spot-0");
  EXPECT_EQ(api.evictions[1].asked, "default/spot-1 uid-spot-1");
  EXPECT_TRUE(evicted.empty()) << "a dry run moves nobody";
}

TEST_F(EvictTest, WhereOneOfSeveralMayNotLeaveNobodyDoes) {
  BeginWaiting();
  Acknowledge();
  executor->Evict(Of({"spot-0", "spot-1"}));
  FakeWriter::Answer(api.evictions, Result<Written>(Written{}));
  FakeWriter::Refuse(api.evictions, Code::kTooManyRequests);
  EXPECT_TRUE(api.evictions.empty());
  EXPECT_TRUE(evicted.empty());
  EXPECT_FALSE(Claimed(0));
  Audited();
}

TEST_F(EvictTest, ADryRunWithoutAnAnswerIsMadeAgainByTheNextCycle) {
  BeginWaiting();
  Acknowledge();
  for (int cycle = 0; cycle < 2; ++cycle) {
    executor->Evict(Of({"spot-0", "spot-1"}));
    ASSERT_EQ(api.evictions.size(), 2u);
    FakeWriter::Refuse(api.evictions, Code::kUnavailable);
    FakeWriter::Answer(api.evictions, Result<Written>(Written{}));
    EXPECT_TRUE(api.evictions.empty());
    EXPECT_TRUE(Claimed(0));
  }
}

TEST_F(EvictTest, WhoHasLeftAlreadyIsNoMatter) {
  BeginWaiting();
  Acknowledge();
  executor->Evict(Of({"spot-0", "spot-1"}));
  FakeWriter::Refuse(api.evictions, Code::kNotFound);
  FakeWriter::Refuse(api.evictions, Code::kConflict);
  EXPECT_TRUE(evicted.empty());
  EXPECT_TRUE(Claimed(0));
  Audited();
}

TEST_F(EvictTest, ALostAnswerIsAskedAgainByTheNextCycle) {
  BeginWaiting();
  Acknowledge();
  for (const Code code : {Code::kUnavailable, Code::kUnknownOutcome, Code::kCancelled}) {
    executor->Evict(Of({"spot-0"}));
    ASSERT_EQ(api.evictions.size(), 1u);
    FakeWriter::Refuse(api.evictions, code);
    EXPECT_TRUE(Claimed(0));
  }
}

// B33: the budget changed between the decision and the request.
TEST_F(EvictTest, ABudgetThatSaysNoEndsTheDecision) {
  BeginWaiting();
  Acknowledge();
  executor->Evict(Of({"spot-0"}));
  FakeWriter::Refuse(api.evictions, Code::kTooManyRequests);
  EXPECT_FALSE(Claimed(0));
  EXPECT_FALSE(Claimed(1));
  EXPECT_GT(replans, 0);
  ASSERT_FALSE(words.empty());
  EXPECT_NE(words[0].find("pod default/spot-0 may not be evicted"), std::string::npos) << words[0];
  EXPECT_EQ(in_vain, std::vector<std::string>{"n0"}) << "where it stands";
  Audited();
}

// F29: of a gang's nodes the one that isn't free, and all of them when it isn't room that it lacks.
TEST_F(EvictTest, WhereAClaimWaitedInVainIsTold) {
  BeginWaiting();
  Acknowledge();
  ASSERT_EQ(round.entries[1].node_name, "n1");
  c.Pod("stranger", "gpu=8 node=n1 scheduler=other");
  loop.Advance(61s);
  EXPECT_FALSE(Claimed(0));
  EXPECT_EQ(in_vain, std::vector<std::string>{"n1"});
  Audited();
}

TEST_F(EvictTest, WithoutAnythingInTheWayAllNodesAreTold) {
  BeginWaiting();
  Acknowledge();
  loop.Advance(61s);
  EXPECT_EQ(in_vain, (std::vector<std::string>{"n0", "n1"}));
}

TEST_F(EvictTest, WhatTheBindActionGivesUpWaitedNowhere) {
  BeginWaiting();
  Acknowledge();
  GiveUpAll();
  EXPECT_EQ(refused.size(), 1u);
  EXPECT_TRUE(in_vain.empty());
}

TEST_F(EvictTest, NobodyIsAskedWhenTheLeaseMayBeAnothers) {
  BeginWaiting();
  Acknowledge();
  leading = false;
  executor->Evict(Of({"spot-0"}));
  EXPECT_TRUE(api.evictions.empty());
  leading = true;
  executor->Evict(Of({"spot-0"}));
  EXPECT_EQ(api.evictions.size(), 1u);
}

// F13: claims wait for claimTimeout, and for as long as those who leave may take.
TEST_F(EvictTest, TheClaimWaitsForTheGraceOfTheSlowest) {
  BeginWaiting();
  Acknowledge();
  executor->Evict(Of({"spot-0"}, 10s));
  executor->Evict(Of({"spot-1"}, 90s));
  loop.Advance(149s);
  EXPECT_TRUE(Claimed(0));
  loop.Advance(2s);
  EXPECT_FALSE(Claimed(0));
}

// Of no round: nothing is waited for, and whoever may not be evicted stays.
TEST_F(EvictTest, WhoMovesIsAskedAtOnceAndARefusalEndsNoDecision) {
  BeginWaiting();
  Acknowledge();
  cache::Eviction moves = Of({"spot-0", "spot-1"});
  moves.round = 0;
  executor->Evict(moves);
  ASSERT_EQ(api.evictions.size(), 2u);
  EXPECT_EQ(api.evictions[0].asked, "default/spot-0 uid-spot-0");
  EXPECT_FALSE(executor->Idle());
  FakeWriter::Refuse(api.evictions, Code::kTooManyRequests);
  FakeWriter::Answer(api.evictions, Result<Written>(Written{}));
  EXPECT_EQ(evicted, std::vector<std::string>{"spot-1"});
  EXPECT_TRUE(Claimed(0));
  EXPECT_TRUE(refused.empty());
  leading = false;
  executor->Evict(moves);
  EXPECT_TRUE(api.evictions.empty());
}

TEST_F(EvictTest, WithoutARecordTheStatusesOfItsQuotasComeFirst) {
  Prepare(framework::CommitOrder::kPlacementFirst, 1);
  round = c.Decide().at(0);
  ASSERT_FALSE(round.recorded);
  executor->Submit(round);
  EXPECT_TRUE(api.creates.empty());
  executor->Evict(Of({"spot-0"}));
  EXPECT_TRUE(api.evictions.empty());
  ASSERT_TRUE(pictures);
  pictures({});
  EXPECT_EQ(api.evictions.size(), 1u);
}

TEST_F(EvictTest, WhatIsApprovedWhileTheStatusesAreWrittenIsBoundAfterThem) {
  Prepare(framework::CommitOrder::kPlacementFirst, 1);
  round = c.Decide().at(0);
  executor->Submit(round);
  executor->Evict(Of({"spot-0"}));
  if (c.cache().Approve(round.number, c.snapshot())) executor->Approve(round.number);
  EXPECT_TRUE(api.binds.empty());
  ASSERT_TRUE(pictures);
  pictures({});
  EXPECT_EQ(api.binds.size(), 1u);
}

TEST_F(EvictTest, AStatusThatIsRefusedSendsNobodyAway) {
  Prepare(framework::CommitOrder::kPlacementFirst, 1);
  round = c.Decide().at(0);
  executor->Submit(round);
  executor->Evict(Of({"spot-0"}));
  ASSERT_TRUE(pictures);
  pictures(std::unexpected(Error(Code::kForbidden, "no")));
  EXPECT_TRUE(api.evictions.empty());
  EXPECT_FALSE(Claimed(0));
}

}  // namespace
}  // namespace sky::scheduler
