// SPDX-License-Identifier: Apache-2.0
// Every answer that a write can get, and what becomes of the claims: none is dropped early, none is
// kept after its proof.
#include "scheduler/executor_for_test.h"

namespace sky::scheduler {
namespace {

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
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  loop.Advance(900ms);
  EXPECT_TRUE(api.binds.empty());
  loop.Advance(400ms);
  ASSERT_EQ(api.binds.size(), 1u);
  EXPECT_EQ(api.binds[0].asked.name, "train-0");
  EXPECT_EQ(api.binds[0].asked.node, "n0");
}

TEST_F(ExecutorTest, AReadThatFailsProvesNothing) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  for (const Duration wait : {1s, 2s, 4s}) {
    FakeWriter::Refuse(api.pod_reads, Code::kUnknownOutcome);
    EXPECT_TRUE(Claimed(0));
    loop.Advance(wait - 1ms);
    EXPECT_TRUE(api.pod_reads.empty()) << "the server is asked ever more seldom";
    loop.Advance(1ms);
    ASSERT_EQ(api.pod_reads.size(), 1u);
  }
}

TEST_F(ExecutorTest, TooManyRequestsIsWaitedOutWithoutAnyDoubt) {
  BeginBinding();
  Busy(3s);
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  EXPECT_TRUE(api.pod_reads.empty());
  loop.Advance(2900ms);
  EXPECT_TRUE(api.binds.empty());
  loop.Advance(100ms);
  EXPECT_EQ(api.binds.size(), 1u);
  EXPECT_TRUE(Claimed(0));
  EXPECT_EQ(delays, 1);
}

TEST_F(ExecutorTest, ARefusalIsWhatThePodSaysAndStopsTheGangsUnsentMembers) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  EXPECT_TRUE(Claimed(0)) << "until the pod was read";
  Read(0);
  EXPECT_FALSE(Claimed(0));
  EXPECT_TRUE(Claimed(1)) << "its binding is open";
  EXPECT_EQ(refused, (std::vector<std::string>{"train-0 BindRefused"}));
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
  Busy();
  loop.Advance(1300ms);
  ASSERT_EQ(api.binds.front().asked.name, "train-0");
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
  Busy();
  c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.unschedulable = true; });
  loop.Advance(1300ms);
  EXPECT_TRUE(api.binds.empty()) << "to be judged again";
  GiveUpAll();
  EXPECT_TRUE(Claimed(0)) << "it may still land";
  EXPECT_FALSE(Claimed(1)) << "it was not carried out, and won't be sent any more";
  loop.Advance(6s);
  Read(0);
  EXPECT_FALSE(Claimed(0));
  Audited();
}

TEST_F(ExecutorTest, AnOldAttemptIsReadOnceMoreBeforeItsClaimEnds) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kUnknownOutcome);
  Read(0);
  Busy();
  leading = false;
  loop.Advance(10s);
  GiveUpAll();
  EXPECT_TRUE(Claimed(0)) << "it was unbound at the last look, and could land after that";
  Read(0, [](api::Pod& pod) { pod.spec.node_name = "n0"; });
  EXPECT_TRUE(Bound(0));
}

// --- a server that pushes back ---

TEST_F(ExecutorTest, OneMemberProbesAServerThatPushesBackAndEverMoreSeldom) {
  BeginBinding();
  Busy();
  Busy();
  Duration least = 1s;
  for (int i = 0; i < 8; ++i) {
    loop.Advance(least - 1ms);
    EXPECT_TRUE(api.binds.empty());
    loop.Advance(least / 4 + 1ms);
    ASSERT_EQ(api.binds.size(), 1u) << "one alone";
    Busy();
    least = std::min<Duration>(least * 2, 60s);
  }
  loop.Advance(75s);
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  ASSERT_EQ(api.binds.size(), 1u) << "the other follows at once";
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  EXPECT_TRUE(Bound(0) && Bound(1));
  EXPECT_TRUE(executor->Idle());
}

TEST_F(ExecutorTest, AProbeThatIsNeverSentHoldsNobodyUp) {
  BeginBinding();
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  Busy();
  c.Workers("train", 2, 2, "gpu=1 hca=1");  // an extra is a round of its own
  const auto extra = c.Decide();
  ASSERT_EQ(extra.size(), 1u);
  c.Remove<api::Pod>("default/train-1");
  loop.Advance(2s);
  EXPECT_FALSE(Claimed(1));
  executor->Submit(extra[0]);
  ASSERT_TRUE(c.cache().Approve(extra[0].number, c.snapshot()));
  executor->Approve(extra[0].number);
  EXPECT_EQ(api.binds.size(), 1u);
}

// --- F12d: asked before anything is written again ---

TEST_F(ExecutorTest, AJobWithARefusedMemberIsProbedBeforeItsRecordIsWritten) {
  BeginBinding();
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  Read(0);
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  Read(1);
  loop.RunReady();
  Acknowledge(api.updates);
  round = c.Decide().at(0);
  executor->Submit(round);
  ASSERT_EQ(api.binds.size(), 2u);
  EXPECT_TRUE(api.binds[0].asked.dry_run && api.binds[1].asked.dry_run);
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  EXPECT_TRUE(api.updates.empty());
  FakeWriter::Refuse(api.binds, Code::kForbidden);
  EXPECT_TRUE(Claimed(0) && Claimed(1)) << "until the pod was read";
  Read(1);
  EXPECT_FALSE(Claimed(0) || Claimed(1));
  EXPECT_TRUE(api.updates.empty()) << "nothing was written";
  EXPECT_EQ(refused.back(), "train-1 BindRefused");

  round = c.Decide().at(0);
  executor->Submit(round);
  FakeWriter::Answer(api.binds, Result<Written>(Written{}));
  FakeWriter::Refuse(api.binds, Code::kTooManyRequests);  // nobody said no
  ASSERT_EQ(api.updates.size(), 1u);
  Acknowledge(api.updates);
  ASSERT_TRUE(c.cache().Approve(round.number, c.snapshot()));
  executor->Approve(round.number);
  ASSERT_EQ(api.binds.size(), 2u);
  EXPECT_FALSE(api.binds[0].asked.dry_run || api.binds[1].asked.dry_run);
  Audited();
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
  loop.Advance(900ms);
  EXPECT_TRUE(api.creates.empty());
  loop.Advance(400ms);
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
  loop.RunReady();
  ASSERT_EQ(api.updates.size(), 1u);
  EXPECT_TRUE(api.updates.front().asked.spec.entries.empty());
  Audited();
}

}  // namespace
}  // namespace sky::scheduler
