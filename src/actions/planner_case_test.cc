// SPDX-License-Identifier: Apache-2.0
// Gangs in tight places, one fact each: what counting alone would get wrong, and who may stand
// where.
#include <gtest/gtest.h>

#include "testing/matchers.h"

namespace sky::actions {
namespace {

using testing::BindsNothing;
using testing::BindsQuotas;
using testing::BindsTasks;
using testing::Cluster;

struct TightPlaces : ::testing::Test {
  Cluster c;
  void Group(const std::string& name, int members, const std::string& words = "") {
    c.Put(testing::MakeGroup(name, members, *testing::ReadWords(words)));
  }
};

// --- twelve tasks on four empty nodes of eight cards ---

TEST_F(TightPlaces, TwelveTasksStandThreeOnEachOfFourNodesOrEightAndFour) {
  for (const char* order : {"", "strict"}) {
    Cluster one;
    one.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-11]", "gpu=1 hca=1");
    one.Job("even", 12, "gpu=1 hca=1", {0, order});
    EXPECT_THAT(one.Cycle(), BindsTasks("even-[0-11]", "n0,n0,n0,n1,n1,n1,n2,n2,n2,n3,n3,n3"))
        << order;
    Cluster two;
    two.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-11]", "gpu=1 hca=1");
    two.Job("packed", 12, "gpu=1 hca=1", {0, std::string("pack ") + order});
    EXPECT_THAT(two.Cycle(), BindsTasks("packed-[0-11]", "n0,n0,n0,n0,n0,n0,n0,n0,n1,n1,n1,n1"))
        << order;
  }
}

// --- zones ---

TEST_F(TightPlaces, AGangThatIsTooLargeForAnyZoneTakesTheFewest) {
  c.Leaf("S1", "n0", "gpu=8 hca=8").Leaf("S2", "n[1-2]", "gpu=8 hca=8");
  c.Leaf("S3", "n[3-5]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Job("wide", 4, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("wide-[0-3]", "n0,n3,n4,n5")) << "the largest and the tightest";
}

TEST_F(TightPlaces, SizesThatNoZoneHoldsTogetherDoNotWaitForOne) {
  // Each size alone would fit into a zone, and 8 + 3 × 4 is more than the 16 of either.
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n[2-3]", "gpu=8 hca=8");
  c.Quotas("big", "gpu=8 hca=8").Quotas("small[0-2]", "gpu=4 hca=4");
  Group("mixed", 4);
  c.Workers("mixed", 0, 0, "gpu=8 hca=8").Workers("mixed", 1, 3, "gpu=4 hca=4");
  EXPECT_EQ(c.Cycle().size(), 4u) << c.Why("default/mixed");
}

TEST_F(TightPlaces, AZoneWhoseNodesTheQuotasDoNotSelectIsNotWaitedFor) {
  c.Leaf("S1", "n0", "gpu=8 hca=8 label=rack:a").Leaf("S1", "n[1-9]", "gpu=8 hca=8");
  c.Leaf("S2", "n10", "gpu=8 hca=8 label=rack:a").Quotas("q[0-1]", "gpu=8 hca=8");
  for (const char* quota : {"q0", "q1"})
    c.Edit<api::Quota>(quota, [](api::Quota& it) { it.spec.node_selector.emplace("rack", "a"); });
  c.Job("two", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("two-[0-1]", "n0,n10"));
}

TEST_F(TightPlaces, BoundQuotasOfOneZoneAreWaitedFor) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n2", "gpu=8 hca=8");
  for (int i = 0; i < 3; ++i)
    c.Quotas(fmt::format("q{}", i), fmt::format("gpu=8 hca=8 node=n{}", i));
  c.Pod("stranger", "gpu=1 scheduler=other node=n1").Job("two", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "S1 could hold it";
  c.Remove<api::Pod>("default/stranger");
  EXPECT_THAT(c.Cycle(), BindsTasks("two-[0-1]", "n[0-1]"));
}

// --- order ---

TEST_F(TightPlaces, AnOrderThatCantBeKeptIsWaitedFor) {
  c.Leaf("S1", "n[0-2]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=8 hca=8");
  Group("ranks", 2, "strict");
  c.Workers("ranks", 1, 1, "gpu=8 hca=8 node=n0 quota=q0").Workers("ranks", 0, 0, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/ranks"), "NodeOrderNotMonotone");
}

TEST_F(TightPlaces, AMemberWithoutARankHasNoOrder) {
  c.Leaf("S1", "n0", "gpu=1 hca=1 label=rack:a").Leaf("S1", "n1", "gpu=1 hca=1");
  c.Quotas("q[0-1]", "gpu=1 hca=1");
  Group("ranks", 2, "strict");
  c.Workers("ranks", 0, 0, "gpu=1 hca=1");
  c.Put(testing::MakeWorker("ranks", "ranks-x", *testing::ReadWords("gpu=1 hca=1 select=rack:a")));
  EXPECT_THAT(c.Cycle(), BindsTasks("ranks-0,ranks-x", "n1,n0"));
}

// --- quotas ---

TEST_F(TightPlaces, AQuotaThatAMemberDemandsIsLeftToIt) {
  c.Leaf("S1", "n0", "gpu=2 hca=2").Quotas("q[0-1]", "gpu=1 hca=1");
  Group("two", 2);
  c.Workers("two", 0, 0, "gpu=1 hca=1").Workers("two", 1, 1, "gpu=1 hca=1 required=q0");
  const auto bound = c.Cycle();
  ASSERT_EQ(bound.size(), 2u) << c.Why("default/two");
  EXPECT_EQ(bound[0].quota, "q1");
  EXPECT_EQ(bound[1].quota, "q0");
}

TEST_F(TightPlaces, OthersMayJoinTheQuotaThatAMemberDemands) {
  c.Leaf("S1", "n0", "gpu=2 hca=2").Quotas("q", "gpu=2 hca=2");
  Group("two", 2);
  c.Workers("two", 0, 0, "gpu=1 hca=1").Workers("two", 1, 1, "gpu=1 hca=1 required=q");
  EXPECT_EQ(c.Cycle().size(), 2u) << c.Why("default/two");
}

TEST_F(TightPlaces, QuotasOfUnlikeShapesFillANodeTogether) {
  c.Leaf("S1", "n0", "gpu=5 hca=5").Quotas("a", "gpu=2 hca=3").Quotas("b", "gpu=3 hca=2");
  c.Job("two", 2, "gpu=2 hca=2");
  EXPECT_EQ(c.Cycle().size(), 2u) << "two of either wouldn't fit";
}

TEST_F(TightPlaces, TasksThatAskForNothingThatAQuotaListsShareIt) {
  c.Leaf("S1", "n0", "gpu=4 hca=4").Leaf("S1", "n1", "gpu=2 hca=2").Quotas("q", "cpu=1");
  c.Job("two", 2, "gpu=2 hca=2", {0, "strict"});
  EXPECT_THAT(c.Cycle(), BindsTasks("two-[0-1]", "n0"));
}

TEST_F(TightPlaces, PodsWithASelectorThatTheirQuotaLacksGoWhereTheyMayRun) {
  c.Leaf("S1", "n[0-2]", "gpu=8 hca=8").Leaf("S1", "n3", "gpu=8 hca=8 label=disk:ssd");
  c.Quotas("q[0-1]", "gpu=1 hca=1").Job("train", 2, "gpu=1 hca=1 select=disk:ssd");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-[0-1]", "n3"));
}

// --- mixed gangs ---

TEST_F(TightPlaces, ALauncherWithoutRdmaStandsBesideItsZone) {
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8 cpu=0").Nodes("c0", "cpu=8");
  c.Quotas("q[0-3]", "gpu=8 hca=8").Quotas("l", "cpu=2");
  Group("mixed", 5);
  c.Workers("mixed", 0, 3, "gpu=8 hca=8 role=worker").Workers("mixed", 4, 4, "cpu=2 role=launcher");
  EXPECT_THAT(c.Cycle(), BindsTasks("mixed-[0-4]", "n0,n1,n2,n3,c0"));
}

TEST_F(TightPlaces, TheChainLeavesTheLauncherTheOnlyNodeItMayUse) {
  c.Leaf("S1", "n0", "gpu=1 hca=1 pods=1 label=rack:a").Leaf("S1", "n1", "gpu=1 hca=1");
  c.Quotas("q", "gpu=1 hca=1").Quotas("l", "cpu=1");
  Group("mixed", 2);
  c.Workers("mixed", 0, 0, "gpu=1 hca=1 role=worker");
  c.Workers("mixed", 1, 1, "cpu=1 role=launcher select=rack:a");
  EXPECT_THAT(c.Cycle(), BindsTasks("mixed-[0-1]", "n1,n0"));
}

TEST_F(TightPlaces, ALauncherSharesItsWorkersQuota) {
  c.Leaf("S1", "n0", "gpu=1 hca=1").Quotas("q", "gpu=1 hca=1 cpu=1");
  Group("mixed", 2);
  c.Workers("mixed", 0, 0, "gpu=1 hca=1 role=worker").Workers("mixed", 1, 1, "cpu=1 role=launcher");
  EXPECT_THAT(c.Cycle(), BindsQuotas("q", "n0"));
}

TEST_F(TightPlaces, AnotherMemberThatFitsNowhereUndoesWhatItsLikesOpened) {
  c.Leaf("S1", "n0", "gpu=8 hca=8").Quotas("q", "gpu=1 hca=1").Quotas("c", "cpu=4");
  Group("mixed", 3);
  c.Workers("mixed", 0, 0, "gpu=1 hca=1 role=worker").Workers("mixed", 1, 1, "cpu=1 role=a");
  c.Workers("mixed", 2, 2, "cpu=2 role=b select=no:where");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/mixed"), "NodeSelectorMismatch");
}

// --- spec codes ---

TEST_F(TightPlaces, A100AndH100AreNeverInOneJob) {
  c.Leaf("S1", "a0", "gpu=1 hca=1 spec=a100").Leaf("S1", "b0", "gpu=1 hca=1 spec=h100");
  c.Nodes("c0", "gpu=1 spec=a100").Nodes("d0", "gpu=1 spec=h100");
  c.Quotas("q[0-3]", "gpu=1");
  c.Job("zoned", 2, "gpu=1 hca=1", {0, "zones=2"});
  c.Job("plain", 3, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  Group("mixed", 2);
  c.Workers("mixed", 0, 0, "gpu=1 hca=1 role=worker").Workers("mixed", 1, 1, "gpu=1 role=launcher");
  const auto bound = c.Cycle();
  ASSERT_EQ(bound.size(), 2u) << c.Why("default/mixed");
  EXPECT_THAT(bound, BindsTasks("mixed-[0-1]", "a0,c0"));
  Group("again", 2);
  c.Remove<api::Node>("d0");
  c.Nodes("e0", "gpu=1 spec=a100");
  c.Workers("again", 0, 0, "gpu=1 hca=1 role=worker").Workers("again", 1, 1, "gpu=1 role=launcher");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "its launcher's card would be another";
}

TEST_F(TightPlaces, WhoAsksNoDeviceMayStandOnAnotherSpecCode) {
  c.Nodes("a0", "gpu=1 pods=1 spec=a100").Nodes("b0", "cpu=8 spec=h100");
  c.Quotas("q", "gpu=1").Quotas("l", "cpu=1");
  Group("mixed", 2);
  c.Workers("mixed", 0, 0, "gpu=1 role=worker").Workers("mixed", 1, 1, "cpu=1 role=launcher");
  EXPECT_THAT(c.Cycle(), BindsTasks("mixed-[0-1]", "a0,b0"));
}

// --- hopeless gangs in front ---

TEST_F(TightPlaces, HopelessGangsInFrontCostTheOthersNothing) {
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=8 hca=8");
  c.Leaf("S2", "n4", "gpu=8 hca=8");
  for (int i = 0; i < 20; ++i) c.Job(fmt::format("a{}", i), 6, "gpu=8 hca=8");
  c.Pod("stranger", "gpu=1 scheduler=other node=n0").Job("late", 3, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("late-[0-2]", "n[1-3]")) << "in the very first cycle";
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.result().asleep.size(), 20u) << "nobody looks at them again";
}

// --- and wake when what they lack may have come, before others take it ---

TEST_F(TightPlaces, WhoSleepsWakesWhenAQuotaInUseGetsRoom) {
  c.Leaf("S1", "n0", "gpu=8 hca=8").Quotas("q[0-1]", "gpu=8 hca=8");
  c.Job("a", 1, "gpu=4 hca=4").Job("b", 1, "gpu=4 hca=4");
  ASSERT_EQ(c.Cycle().size(), 2u);
  c.Job("c", 1, "gpu=4 hca=4");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(c.Cycle(), BindsNothing());
  ASSERT_EQ(c.result().asleep.size(), 1u);
  c.Finish("default/b-0");
  c.Job("d", 1, "gpu=4 hca=4");
  EXPECT_THAT(c.Cycle(), BindsTasks("c-0", "n0"));
}

TEST_F(TightPlaces, WhoSleepsWakesForAQuotaOfAnotherShape) {
  c.Leaf("S1", "n0", "gpu=8 hca=8").Quotas("u", "gpu=6 hca=6").Quotas("big", "gpu=8 hca=8");
  c.Pod("u", "gpu=6 hca=6 required=u");
  ASSERT_EQ(c.Cycle().size(), 1u);
  c.Job("c", 1, "gpu=2 hca=2");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(c.Cycle(), BindsNothing());
  ASSERT_EQ(c.result().asleep.size(), 1u);
  c.Quotas("small", "gpu=2 hca=2");
  c.Job("d", 1, "gpu=2 hca=2");
  EXPECT_THAT(c.Cycle(), BindsTasks("c-0", "n0"));
}

}  // namespace
}  // namespace sky::actions
