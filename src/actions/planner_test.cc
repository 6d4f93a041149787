// SPDX-License-Identifier: Apache-2.0
// Where gangs land: zones, tiers, ranks, spread and pack, and what is said when there is no place.
#include "actions/planner.h"

#include <gtest/gtest.h>

#include "api/keys.h"
#include "testing/matchers.h"

namespace sky::actions {
namespace {

using namespace std::chrono_literals;
using testing::BindsNothing;
using testing::BindsQuotas;
using testing::BindsTasks;
using testing::Cluster;

// The worked example's cluster: eight nodes under two switches.
struct TwoSwitches : ::testing::Test {
  Cluster c;
  TwoSwitches() { c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Leaf("S2", "n[4-7]", "gpu=8 hca=8"); }
};

TEST_F(TwoSwitches, AGangLandsUnderOneSwitchInRankOrderWithQuotasInNaturalOrder) {
  c.Quotas("q-train-[0-3]", "gpu=1 hca=1").Job("train", 4, "gpu=1 hca=1");
  const auto bound = c.Cycle();
  EXPECT_THAT(bound, BindsQuotas("q-train-[0-3]", "n[0-3]"));
  EXPECT_THAT(bound, BindsTasks("train-[0-3]", "n[0-3]"));
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "and then it is calm";
}

TEST_F(TwoSwitches, TheGapOfALostRankIsFilledBetweenItsNeighbours) {
  c.Quotas("q-train-[0-3]", "gpu=1 hca=1").Job("train", 4, "gpu=1 hca=1");
  c.Cycle();
  c.Remove<api::Pod>("default/train-1");
  c.Edit<api::Node>("n1", [](api::Node& node) { node.status.conditions[0].status = "False"; });
  c.Workers("train", 1, 1, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-1", "n0")) << "n4 has room, but is another zone";
}

TEST_F(TwoSwitches, TheTighterZoneIsChosenFirst) {
  c.Quotas("q[0-9]", "gpu=8 hca=8").Job("first", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("first-[0-1]", "n[0-1]"));
  c.Job("second", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("second-[0-1]", "n[2-3]"));
  c.Job("third", 4, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("third-[0-3]", "n[4-7]"));
}

TEST_F(TwoSwitches, AGangThatNoZoneCouldEverHoldSpreadsOverTheFewest) {
  c.Quotas("q[0-5]", "gpu=8 hca=8").Job("wide", 6, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("wide-[0-5]", "n[0-5]"));
}

TEST_F(TwoSwitches, AGangThatOneZoneCouldHoldWaitsForItUnlessItSaysOtherwise) {
  c.Quotas("q[0-9]", "gpu=8 hca=8").Job("a", 2, "gpu=8 hca=8").Job("b", 3, "gpu=8 hca=8");
  c.Cycle();  // 2 of S1, 3 of S2
  c.Job("patient", 3, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/patient"), "ZoneFull");
  EXPECT_EQ(c.Detail("default/patient"), "roce#S1 has room for 2 of 3");
  c.Job("wide", 3, "gpu=8 hca=8", {0, "zones=2"});
  EXPECT_THAT(c.Cycle(), BindsTasks("wide-[0-2]", "n2,n3,n7"));
}

struct Patient : ::testing::Test {
  Cluster c{"zonePatience: 90s"};
  Patient() {
    c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Leaf("S2", "n[4-7]", "gpu=8 hca=8");
    c.Quotas("q[0-9]", "gpu=8 hca=8");
    for (const char* node : {"n0", "n1", "n4", "n5"})
      c.Pod(std::string("on-") + node, std::string("gpu=8 scheduler=other node=") + node);
  }
};

TEST_F(Patient, AGangThatMaySpanZonesWaitsForOneUntilItsPatienceIsOver) {
  c.Job("wide", 4, "gpu=8 hca=8", {0, "zones=2"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/wide"), "ZoneFull");
  c.Tick(89s);
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "no cycle in between was needed";
  c.Tick(1s);
  EXPECT_THAT(c.Cycle(), BindsTasks("wide-[0-3]", "n[2-3],n[6-7]"));
}

TEST_F(Patient, TheZoneThatItWaitedForIsItsOwn) {
  c.Job("wide", 4, "gpu=8 hca=8", {0, "zones=2"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Tick(80s);
  c.Remove<api::Pod>("default/on-n4");
  c.Remove<api::Pod>("default/on-n5");
  EXPECT_THAT(c.Cycle(), BindsTasks("wide-[0-3]", "n[4-7]"));
}

TEST_F(Patient, WhatNoZoneCouldHoldHasNothingToWaitFor) {
  for (const char* pod : {"default/on-n0", "default/on-n1", "default/on-n4", "default/on-n5"})
    c.Remove<api::Pod>(pod);
  c.Job("tall", 5, "gpu=8 hca=8");
  EXPECT_EQ(c.Cycle().size(), 5u);
}

TEST_F(TwoSwitches, MaxZonesIsALimit) {
  c.Leaf("S3", "n[8-9]", "gpu=8 hca=8");
  c.Quotas("q[0-9]", "gpu=8 hca=8").Job("wide", 9, "gpu=8 hca=8", {0, "zones=2"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/wide"), "NoZoneFits");
}

TEST_F(TwoSwitches, WhatTheWholeClusterCouldNotHoldIsLargerThanPossible) {
  c.Quotas("q[0-19]", "gpu=8 hca=8").Job("vast", 9, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/vast"), "LargerThanPossible");
}

TEST_F(TwoSwitches, ACordonDoesNotMakeAGangLargerThanPossible) {
  c.Edit<api::Node>("n7", [](api::Node& node) { node.spec.unschedulable = true; });
  c.Quotas("q[0-7]", "gpu=8 hca=8").Job("all", 8, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_NE(c.Why("default/all"), "LargerThanPossible") << "it fits as soon as n7 is back";
}

TEST_F(TwoSwitches, SpreadIsEvenAndPackFillsANodeFirst) {
  c.Quotas("q[0-39]", "gpu=1 hca=1").Job("even", 8, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("even-[0-7]", "n0,n0,n1,n1,n2,n2,n3,n3"));
  c.Job("packed", 7, "gpu=1 hca=1", {0, "pack"});
  EXPECT_THAT(c.Cycle(), BindsTasks("packed-[0-6]", "n[0-0],n0,n0,n0,n0,n0,n1"));
}

TEST_F(TwoSwitches, RanksOfAStrictGangNeverTurnBack) {
  // n0 is left with one place, n1 with none: strict ranks rise over n0, n2, n3.
  c.Quotas("q[0-39]", "gpu=1 hca=1").Quotas("whole", "gpu=8 hca=8").Quotas("most", "gpu=7 hca=7");
  c.Pod("x", "gpu=7 hca=7 required=most node=n0 quota=most");
  c.Pod("y", "gpu=8 hca=8 required=whole node=n1 quota=whole");
  c.Job("ranks", 12, "gpu=1 hca=1", {0, "strict"});
  EXPECT_THAT(c.Cycle(), BindsTasks("ranks-[0-11]", "n0,n2,n2,n2,n2,n2,n3,n3,n3,n3,n3,n3"));
}

TEST_F(TwoSwitches, AnExtraFollowsItsGangsZoneAndWaitsWhenItIsFull) {
  c.Quotas("q[0-9]", "gpu=8 hca=8").Job("elastic", 3, "gpu=8 hca=8", {2, ""});
  EXPECT_THAT(c.Cycle(), BindsTasks("elastic-[0-1]", "n[0-1]")) << "the minimum first";
  EXPECT_THAT(c.Cycle(), BindsTasks("elastic-2", "n2"));
  c.Job("other", 1, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("other-0", "n3"));
  c.Workers("elastic", 3, 3, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/elastic"), "ZoneFull");
}

TEST_F(TwoSwitches, TwoGangsThatEachNeedEverythingRunOneAfterTheOther) {
  c.Quotas("q[0-7]", "gpu=8 hca=8");
  c.Put(testing::MakeGroup("a", 8, {}));
  c.Put(testing::MakeGroup("b", 8, {}));
  for (int i = 0; i < 8; ++i) c.Workers("b", i, i, "gpu=8 hca=8").Workers("a", i, i, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("a-[0-7]", "n[0-7]"));
  for (int i = 0; i < 8; ++i) c.Finish(fmt::format("default/a-{}", i));
  EXPECT_THAT(c.Cycle(), BindsTasks("b-[0-7]", "n[0-7]"));
}

// --- tiers ---

TEST_F(TwoSwitches, BoundQuotasOfOneZoneComeBeforeFreeOnes) {
  c.Quotas("a[0-1]", "gpu=1 hca=1").Quotas("b0", "gpu=1 hca=1 node=n5");
  c.Quotas("b1", "gpu=1 hca=1 node=n6").Job("train", 2, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsQuotas("b[0-1]", "n[5-6]"));
}

TEST_F(TwoSwitches, OneZoneWithFreeQuotasBeatsBoundQuotasInTwo) {
  c.Quotas("bound0", "gpu=1 hca=1 node=n1").Quotas("bound1", "gpu=1 hca=1 node=n5");
  c.Quotas("free[0-3]", "gpu=1 hca=1").Job("train", 4, "gpu=1 hca=1");
  const auto bound = c.Cycle();
  ASSERT_EQ(bound.size(), 4u);
  for (const auto& one : bound) EXPECT_THAT(one.node, ::testing::MatchesRegex("n[0-3]"));
}

TEST_F(TwoSwitches, ADemandedQuotaIsTheOnlyOne) {
  c.Quotas("q[0-1]", "gpu=1 hca=1").Quotas("mine", "gpu=1 hca=1 node=n6");
  c.Job("train", 1, "gpu=1 hca=1 required=mine");
  EXPECT_THAT(c.Cycle(), BindsQuotas("mine", "n6"));
  c.Job("second", 1, "gpu=1 hca=1 required=mine");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/second"), "InsufficientQuota");
  c.Job("third", 1, "gpu=1 hca=1 required=nobody");
  c.Cycle();
  EXPECT_EQ(c.Why("default/third"), "QuotaNotFound");
}

TEST_F(TwoSwitches, QuotasAreTakenInNaturalOrder) {
  c.Quotas("q-train-[1-12]", "gpu=1 hca=1").Job("train", 4, "gpu=1 hca=1", {0, "pack"});
  EXPECT_THAT(c.Cycle(), BindsQuotas("q-train-[1-4]", "n0"));
}

TEST_F(TwoSwitches, WithoutTopologyTheTierComesFirst) {
  c.Quotas("free", "gpu=1").Quotas("old", "gpu=1 node=n6").Pod("lone", "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsQuotas("old", "n6"));
}

// --- what changes under a node's feet ---

TEST_F(TwoSwitches, AnOverboundNodeTakesNothingNewAndSaysSo) {
  c.Quotas("q0", "gpu=8 hca=8 node=n0").Job("train", 1, "gpu=8 hca=8 required=q0");
  c.Pod("stranger", "gpu=1 scheduler=other node=n0");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/train"), "InsufficientIdle") << c.Detail("default/train");
  EXPECT_FALSE(c.result().conflicted) << "or the cycle would run again at once, for ever";
  c.Remove<api::Pod>("default/stranger");
  EXPECT_THAT(c.Cycle(), BindsQuotas("q0", "n0"));
}

TEST_F(TwoSwitches, ANodeThatIsBeingDeletedIsNoCandidate) {
  c.Quotas("q[0-3]", "gpu=8 hca=8").Job("warm", 1, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("warm-0", "n0")) << "n1's answers are kept from now on";
  c.Edit<api::Node>("n1", [](api::Node& node) {
    node.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  c.Job("train", 1, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-0", "n2"));
  EXPECT_FALSE(c.result().conflicted);
}

TEST(Planner, ANodeWithoutTopologyThatIsBeingDeletedIsNoCandidate) {
  Cluster c;
  c.Nodes("n[0-2]", "gpu=8").Quotas("q[0-3]", "gpu=8").Pod("warm", "gpu=8");
  c.Cycle();
  c.Edit<api::Node>("n1", [](api::Node& node) {
    node.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  c.Pod("lone", "gpu=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("lone", "n2"));
  EXPECT_FALSE(c.result().conflicted);
}

TEST_F(TwoSwitches, AGangWithoutTopologyIsNotHeldUpByOneThatHasIt) {
  c.Quotas("q[0-3]", "gpu=1 hca=1").Quotas("p[0-3]", "gpu=1");
  c.Job("rdma", 2, "gpu=1 hca=1").Job("plain", 2, "gpu=1");
  EXPECT_EQ(c.Cycle().size(), 4u) << c.Why("default/plain");
}

TEST_F(TwoSwitches, ASucceededMemberCountsForItsRolesMinimum) {
  c.Quotas("q[0-5]", "gpu=1 hca=1").Job("train", 3, "gpu=1 hca=1 role=worker");
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) {
    group.spec.min_member = 2;
    group.spec.min_task_member.insert_or_assign("worker", 2);
  });
  EXPECT_EQ(c.Cycle().size(), 2u);
  c.Finish("default/train-0");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-2", "n2")) << "an extra by now";
  EXPECT_THAT(c.Cycle(), BindsNothing());
}

// --- quotas that take more than one task ---

TEST_F(TwoSwitches, AGangSharesOneFreeQuotaOnOneNode) {
  c.Quotas("q", "gpu=8 hca=8").Job("train", 4, "gpu=2 hca=2");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-[0-3]", "n0,n0,n0,n0"));
  c.Quotas("p", "gpu=8").Job("plain", 2, "gpu=4");
  EXPECT_THAT(c.Cycle(), BindsQuotas("p", "n1")) << "n0 is full, and p has one node";
}

TEST_F(TwoSwitches, TheOthersOfAGangShareWhatItsChainOpened) {
  c.Quotas("q", "gpu=8 hca=8").Quotas("c", "cpu=16");
  c.Put(testing::MakeGroup("mixed", 6, {}));
  c.Workers("mixed", 0, 3, "gpu=2 hca=2 role=worker").Workers("mixed", 4, 5, "cpu=1 role=launcher");
  EXPECT_EQ(c.Cycle().size(), 6u) << c.Why("default/mixed") << c.Detail("default/mixed");
}

TEST_F(TwoSwitches, AFullBoundQuotaDoesNotHideFreeOnes) {
  c.Quotas("big", "gpu=8 hca=8").Quotas("small[0-3]", "gpu=1 hca=1");
  c.Pod("first", "gpu=7 hca=7 required=big");
  c.Cycle();
  for (int i = 1; i < 8; ++i)
    c.Pod(fmt::format("other-{}", i), fmt::format("gpu=8 scheduler=other node=n{}", i));
  c.Remove<api::Pod>("default/other-1");
  c.Job("two", 2, "gpu=1 hca=1");
  EXPECT_EQ(c.Cycle().size(), 2u) << c.Why("default/two");
}

// --- members that aren't alike ---

TEST_F(TwoSwitches, MembersOfSeveralSizesFindTheirPlacesTogether) {
  c.Quotas("chief", "gpu=8 hca=8").Quotas("w[0-7]", "gpu=1 hca=1");
  c.Put(testing::MakeGroup("mixed", 9, {}));
  c.Workers("mixed", 0, 0, "gpu=8 hca=8 role=chief").Workers("mixed", 1, 8, "gpu=1 hca=1");
  EXPECT_EQ(c.Cycle().size(), 9u) << c.Why("default/mixed");
}

TEST_F(TwoSwitches, OneExtraThatFitsNowhereHoldsUpNoOther) {
  c.Quotas("q[0-9]", "gpu=1 hca=1").Job("elastic", 1, "gpu=1 hca=1");
  c.Cycle();
  c.Workers("elastic", 1, 1, "gpu=1 hca=1 select=no:where").Workers("elastic", 2, 3, "gpu=1 hca=1");
  EXPECT_EQ(c.Cycle().size(), 2u);
}

TEST(Planner, AcceleratorsOfAJobStayOnItsSpecCode) {
  Cluster c;
  c.Nodes("a0", "gpu=2 spec=a100").Nodes("b0", "gpu=8 spec=h100").Quotas("q[0-9]", "gpu=1");
  c.Job("mix", 2, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("mix-[0-1]", "a0,a0"));
  c.Workers("mix", 2, 2, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "an extra waits rather than go to another card";
  c.Remove<api::Pod>("default/mix-0");
  c.Pod("stranger", "gpu=1 scheduler=other node=a0");
  c.Workers("mix", 0, 0, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "and so does a member that comes back";
}

// --- jobs that can't run cost nothing ---

TEST_F(TwoSwitches, AHopelessGangSleepsUntilRoomComes) {
  c.Quotas("q[0-99]", "gpu=1 hca=1").Job("all", 64, "gpu=1 hca=1", {0, "zones=2"});
  EXPECT_EQ(c.Cycle().size(), 64u);
  c.Job("late", 4, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/late"), "ZoneFull");
  c.Cycle();
  EXPECT_EQ(c.result().asleep.size(), 1u);
  for (int i = 0; i < 3; ++i) c.Finish(fmt::format("default/all-{}", i));
  c.Cycle();
  EXPECT_EQ(c.result().asleep.size(), 1u) << "three places aren't four";
  c.Finish("default/all-3");
  EXPECT_EQ(c.Cycle().size(), 4u);
}

TEST_F(TwoSwitches, AGangWithoutQuotasWakesWhenThereAreEnough) {
  c.Quotas("q[0-1]", "gpu=1 hca=1").Job("train", 3, "gpu=1 hca=1");
  c.Cycle(), c.Cycle();
  EXPECT_EQ(c.result().asleep.size(), 1u);
  c.Quotas("q2", "gpu=1 hca=1");
  EXPECT_EQ(c.Cycle().size(), 3u);
}

TEST(Planner, ANodesOwnKeyMakesAZoneWithoutATopology) {
  Cluster c;
  c.Nodes("n[0-3]", "gpu=8 hca=8");
  for (const char* node : {"n2", "n3"})
    c.Edit<api::Node>(node, [](api::Node& it) {
      it.metadata.annotations.insert_or_assign(std::string(api::key::kRdmaTopologyKey), "rack-7");
    });
  c.Quotas("q[0-3]", "gpu=8 hca=8").Job("train", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-[0-1]", "n2,n3"));
}

}  // namespace
}  // namespace sky::actions
