// SPDX-License-Identifier: Apache-2.0
// The rest of a gang that has begun: its own zones come first, and others follow as far as the gang
// as a whole may span them. And the words for zones that are too few, too small, or full.
#include <gtest/gtest.h>

#include "testing/matchers.h"

namespace sky::actions {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;

// Two zones of two nodes, and a gang of eights that runs but for its last member, w-2.
struct Begun : ::testing::Test {
  Cluster c;
  Begun() {
    c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n[2-3]", "gpu=8 hca=8");
    c.Quotas("q[0-9]", "gpu=8 hca=8");
  }
  void Gang(int least, const std::string& words, const std::string& places = "n0,n1") {
    c.Put(testing::MakeGroup("w", least, *testing::ReadWords(words)));
    const std::vector<std::string> nodes = *testing::ExpandNames(places);
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
      c.Workers("w", i, i, fmt::format("gpu=8 hca=8 node={} quota=q{}", nodes[i], i));
    const int last = static_cast<int>(nodes.size());
    c.Workers("w", last, last, "gpu=8 hca=8");
  }
};

TEST_F(Begun, TheRestOfAGangThatNoZoneHoldsGoesToAnother) {
  Gang(3, "");
  EXPECT_THAT(c.Cycle(), BindsTasks("w-2", "n2"));
}

TEST_F(Begun, ItsOwnZonesComeFirst) {
  c.Leaf("S0", "m0", "gpu=8 hca=8");
  Gang(4, "", "n0,n1,n2");
  EXPECT_THAT(c.Cycle(), BindsTasks("w-3", "n3")) << "though m0 is as free and stands before it";
}

TEST_F(Begun, TheRestOfAGangThatItsZoneHoldsWaitsForIt) {
  c.Pod("stranger", "gpu=1 scheduler=other node=n1");
  Gang(2, "", "n0");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "S1 could hold both";
  EXPECT_EQ(c.Why("default/w"), "ZoneFull");
  EXPECT_EQ(c.Detail("default/w"), "roce#S1 has room for 0 of 1");
}

TEST_F(Begun, AZoneThatTheGangHasOutgrownIsWaitedForWhereAnotherCouldHoldAll) {
  c.Leaf("S3", "n[4-6]", "gpu=8 hca=8");
  Gang(3, "");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "it is a gang of one zone, and stays in the one it has";
  EXPECT_EQ(c.Why("default/w"), "ZoneFull");
}

TEST_F(Begun, ACordonInItsZoneIsNoReasonToLeaveIt) {
  Gang(2, "");
  c.Edit<api::Node>("n1", [](api::Node& it) { it.spec.unschedulable = true; });
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "the extra's zone still holds what the gang needs";
  c.Remove<api::Pod>("default/w-1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Edit<api::Node>("n1", [](api::Node& it) { it.spec.unschedulable = false; });
  EXPECT_EQ(c.Cycle().size(), 1u);
}

TEST(Away, AZoneWithANodeThatIsAwayForAMomentIsWaitedFor) {
  Cluster c;
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n2", "gpu=8 hca=8");
  c.Quotas("q[0-9]", "gpu=8 hca=8");
  c.Edit<api::Node>("n1", [](api::Node& it) { it.status.conditions[0].status = "False"; });
  c.Job("two", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Tick(std::chrono::minutes(2));
  EXPECT_THAT(c.Cycle(), BindsTasks("two-[0-1]", "n0,n2")) << "nobody waits for a lost node";
}

TEST(Away, WhoSleepsForAZoneThatShrinksIsSplitAtOnce) {
  Cluster c;
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n2", "gpu=8 hca=8");
  c.Quotas("q[0-9]", "gpu=8 hca=8").Pod("stranger", "gpu=1 scheduler=other node=n1");
  c.Job("two", 2, "gpu=8 hca=8");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(c.Cycle(), BindsNothing());
  ASSERT_EQ(c.result().asleep.size(), 1u);
  c.Remove<api::Node>("n1");
  EXPECT_THAT(c.Cycle(), BindsTasks("two-[0-1]", "n0,n2"));
}

TEST_F(Begun, ItMaySpanAsManyZonesAsItSays) {
  c.Leaf("S3", "n[4-6]", "gpu=8 hca=8");
  Gang(3, "zones=2");
  EXPECT_THAT(c.Cycle(), BindsTasks("w-2", "n2"));
  Cluster narrow;
  narrow.Leaf("S1", "n0", "gpu=8 hca=8").Leaf("S2", "n1", "gpu=8 hca=8");
  narrow.Leaf("S3", "n2", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  narrow.Put(testing::MakeGroup("w", 3, *testing::ReadWords("zones=2")));
  narrow.Workers("w", 0, 0, "gpu=8 hca=8 node=n0 quota=q0");
  narrow.Workers("w", 1, 1, "gpu=8 hca=8 node=n1 quota=q1").Workers("w", 2, 2, "gpu=8 hca=8");
  EXPECT_THAT(narrow.Cycle(), BindsNothing()) << "a third zone is one too many";
}

TEST_F(Begun, AnExtraOfAGangThatItsZoneHoldsNeverLeavesIt) {
  Gang(2, "");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "two is what the gang needs, and S1 holds two";
  c.Edit<api::PodGroup>("default/w", [](api::PodGroup& group) {
    group.metadata.annotations["scheduling.infini-ai.com/max-zones"] = "2";
  });
  EXPECT_THAT(c.Cycle(), BindsTasks("w-2", "n2"));
}

TEST_F(Begun, ExtrasTogetherKeepToTheZonesThatTheGangMayHave) {
  for (int leaf = 3; leaf < 6; ++leaf)
    c.Leaf(fmt::format("S{}", leaf), fmt::format("n{}", leaf + 1), "gpu=8 hca=8");
  Gang(2, "zones=2");
  c.Workers("w", 3, 6, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("w-2", "n4")) << "the tightest fit, and no third zone";
}

TEST_F(Begun, ItNeverLeavesItsSpecCode) {
  Cluster two;
  two.Leaf("S1", "n0", "gpu=8 hca=8 spec=a100").Leaf("S2", "n1", "gpu=8 hca=8 spec=h100");
  two.Quotas("q[0-9]", "gpu=8 hca=8").Put(testing::MakeGroup("w", 2, {}));
  two.Workers("w", 0, 0, "gpu=8 hca=8 node=n0 quota=q0").Workers("w", 1, 1, "gpu=8 hca=8");
  EXPECT_THAT(two.Cycle(), BindsNothing());
  two.Leaf("S3", "n2", "gpu=8 hca=8 spec=a100");
  EXPECT_THAT(two.Cycle(), BindsTasks("w-1", "n2"));
}

TEST_F(Begun, QuotasThatAreAllItsOwnCountAsIfTheyWereFree) {
  Cluster c2;
  c2.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n2", "gpu=8 hca=8");
  c2.Quotas("q[0-1]", "gpu=8 hca=8").Put(testing::MakeGroup("w", 2, {}));
  c2.Workers("w", 0, 0, "gpu=8 hca=8 node=n0 quota=q0").Workers("w", 1, 1, "gpu=8 hca=8");
  c2.Pod("stranger", "gpu=1 scheduler=other node=n1");
  EXPECT_THAT(c2.Cycle(), BindsNothing()) << "S1 could hold both";
  EXPECT_EQ(c2.Why("default/w"), "ZoneFull");
}

// --- words ---

TEST_F(Begun, AFullSetOfZonesIsNamedWithItsLimit) {
  c.Leaf("S3", "n4", "gpu=8 hca=8");
  for (const char* node : {"n2", "n3"})
    c.Pod(std::string("stranger-") + node, std::string("gpu=1 scheduler=other node=") + node);
  Gang(3, "zones=2", "n0,n2");
  c.Pod("stranger", "gpu=1 scheduler=other node=n1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/w"), "ZoneFull");
  EXPECT_EQ(c.Detail("default/w"), "its 2 zones have room for 0 of 1, and max-zones is 2");
}

TEST_F(Begun, OnlyNodesOfOneSpecCodeCountTogether) {
  Cluster two;
  two.Leaf("S1", "n[0-3]", "gpu=8 hca=8 spec=a100").Leaf("S2", "n[4-7]", "gpu=8 hca=8 spec=h100");
  two.Quotas("q[0-9]", "gpu=8 hca=8").Job("five", 5, "gpu=8 hca=8", {0, "zones=4"});
  two.Cycle();
  EXPECT_EQ(two.Why("default/five"), "LargerThanPossible");
  EXPECT_EQ(two.Detail("default/five"), "the empty cluster holds 4 of 5 on nodes of one spec code");
  two.Leaf("S3", "n8", "gpu=8 hca=8 spec=a100");
  EXPECT_EQ(two.Cycle().size(), 5u);
}

TEST_F(Begun, AWideGangThatOnlyHasToWaitIsToldHowManyFit) {
  c.Job("a", 1, "gpu=8 hca=8");
  c.Cycle();
  c.Job("wide", 4, "gpu=8 hca=8").Job("narrow", 3, "gpu=8 hca=8", {0, "zones=1"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/wide"), "InsufficientIdle");
  EXPECT_EQ(c.Why("default/narrow"), "NoZoneFits");
  EXPECT_EQ(c.Detail("default/narrow"), "roce#S1 holds 2 of 3 even when empty");
}

TEST_F(Begun, WhatNodesRefuseLeadsWhereNoEmptyZoneWouldDo) {
  c.Job("labels", 1, "gpu=8 hca=8 select=rack:none");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/labels"), "NodeSelectorMismatch");
  for (const char* node : {"n0", "n1", "n2", "n3"})
    c.Edit<api::Node>(node, [](api::Node& it) { it.spec.unschedulable = true; });
  c.Job("cordoned", 1, "gpu=8 hca=8", {0, "zones=2"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/cordoned"), "NodeUnschedulable");
}

TEST_F(Begun, ADemandedQuotaThatIsFullIsNamedWithWhoDemandsIt) {
  Gang(2, "", "n0");
  c.Put(testing::MakeGroup("h", 2, {}));
  c.Workers("h", 0, 0, "gpu=8 hca=8 required=q0").Workers("h", 1, 1, "gpu=8 hca=8");
  c.Cycle();
  EXPECT_EQ(c.Why("default/h"), "InsufficientQuota");
  EXPECT_EQ(c.Who("default/h"), "h-0, which demands quota q0");
  c.Job("both", 2, "gpu=8 hca=8 required=q9");
  c.Cycle();
  EXPECT_EQ(c.Detail("default/both"), "quota q9 is enough for 1 of 2");
}

// --- zones that hold nobody cost the others nothing ---

struct Unlike : ::testing::Test {
  Cluster c;
  // One member of 1 GPU and 16 of 4: 65.
  void Mixed(const std::string& words) {
    c.Quotas("one", "gpu=1 hca=1").Quotas("q[0-15]", "gpu=4 hca=4");
    c.Put(testing::MakeGroup("mixed", 17, *testing::ReadWords(words)));
    c.Workers("mixed", 0, 0, "gpu=1 hca=1").Workers("mixed", 1, 16, "gpu=4 hca=4");
  }
};

TEST_F(Unlike, AZoneThatIsAlmostLargeEnoughUsesUpNobodysSteps) {
  c.Leaf("S0", "n[0-7]", "gpu=8 hca=8").Leaf("S1", "n[8-16]", "gpu=8 hca=8");
  Mixed("zones=1");
  EXPECT_EQ(c.Cycle().size(), 17u) << c.Why("default/mixed") << c.Detail("default/mixed");
}

TEST_F(Unlike, ManyZonesThatHoldNobodyLeaveStepsForTheRightOne) {
  for (int leaf = 0; leaf < 20; ++leaf)  // 65 GPUs, in pieces of 5 where only one of 4 fits
    c.Leaf(fmt::format("S{}", leaf), fmt::format("n[{}-{}]", 13 * leaf, 13 * leaf + 12),
           "gpu=5 hca=5");
  c.Leaf("S20", "n[500-508]", "gpu=8 hca=8");
  Mixed("zones=1");
  EXPECT_EQ(c.Cycle().size(), 17u) << c.Why("default/mixed") << c.Detail("default/mixed");
}

TEST_F(Unlike, KindsThatEachNeedAnotherZoneFindThemAmongMany) {
  for (int leaf = 0; leaf < 9; ++leaf)
    c.Leaf(fmt::format("S{}", leaf), fmt::format("n[{}-{}]", 10 * leaf, 10 * leaf + 5),
           fmt::format("gpu=8 hca=8 label=rack:{}", leaf < 7    ? "x"
                                                    : leaf == 7 ? "b"
                                                                : "c"));
  c.Quotas("q[0-9]", "gpu=8 hca=8").Put(testing::MakeGroup("w", 4, *testing::ReadWords("zones=2")));
  c.Workers("w", 0, 1, "gpu=8 hca=8 select=rack:b").Workers("w", 2, 3, "gpu=8 hca=8 select=rack:c");
  EXPECT_EQ(c.Cycle().size(), 4u) << c.Why("default/w") << c.Detail("default/w");
}

}  // namespace
}  // namespace sky::actions
