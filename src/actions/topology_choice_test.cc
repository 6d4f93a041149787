// SPDX-License-Identifier: Apache-2.0
// Where gangs with topology go when several places would do: blocks of neighbours, zones of those
// that attract them, whole and degraded members of a zone, zones that are near, whole nodes.
#include <gtest/gtest.h>

#include "testing/matchers.h"

namespace sky::actions {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;

constexpr const char* kContinuity = R"(
plugins:
- {name: gang}
- {name: topology, args: {algorithms: {rdma: 0, continuity: 100}}}
- {name: predicates}
- {name: quotapredicates}
)";

// --- continuity ---

TEST(Continuity, AGangTakesTheSmallestBlockOfNeighboursThatHoldsIt) {
  Cluster c;
  c.Nodes("n[0-8]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Quotas("old[0-1]", "gpu=8 hca=8").Pod("x", "gpu=8 hca=8 node=n4 quota=old0");
  c.Pod("y", "gpu=8 hca=8 node=n7 quota=old1").Job("g", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-1]", "n5,n6")) << "of n0-n3, n5-n6 and n8";
}

TEST(Continuity, AGapInTheNumbersEndsABlock) {
  Cluster c;
  c.Nodes("n[0-1],n[3-5]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Job("g", 3, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-2]", "n[3-5]"));
}

TEST(Continuity, NoBlockIsOfTwoSpecCodes) {
  Cluster c;
  c.Nodes("n0,n[2-3]", "gpu=8 hca=8 spec=a100").Nodes("n1,n[4-5]", "gpu=8 hca=8 spec=h100");
  c.Quotas("q[0-9]", "gpu=8 hca=8").Job("g", 3, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-2]", "n0,n2,n3"));
}

TEST(Continuity, WhereNoBlockHoldsItTheFewestDo) {
  Cluster c;
  c.Nodes("n0,n[2-3],n[5-7],n9", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Job("g", 5, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-4]", "n[2-3],n[5-7]"));
}

TEST(Continuity, ALostMemberComesBackToItsBlock) {
  Cluster c;
  c.Nodes("n0,n[2-5]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Put(testing::MakeGroup("g", 2, *testing::ReadWords("")));
  c.Workers("g", 0, 0, "gpu=8 hca=8 node=n2 quota=q0").Workers("g", 1, 1, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-1", "n3")) << "though n0 is a smaller block";
}

TEST(Continuity, ZonesDontMatterWhenItWeighsMore) {
  Cluster c(kContinuity);
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8")
      .Leaf("S2", "n[2-3]", "gpu=8 hca=8")
      .Nodes("n4", "gpu=8 hca=8");
  c.Quotas("q[0-9]", "gpu=8 hca=8").Quotas("old", "gpu=8 hca=8");
  c.Pod("x", "gpu=8 hca=8 node=n0 quota=old").Job("g", 4, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n[1-4]"));
}

TEST(Continuity, AStrictGangSaysThatOrderIsWhatItLacks) {
  Cluster c;
  c.Nodes("n[0-3]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Put(testing::MakeGroup("g", 3, *testing::ReadWords("strict")));
  c.Workers("g", 0, 0, "gpu=8 hca=8 node=n0 quota=q0");
  c.Workers("g", 1, 1, "gpu=8 hca=8").Workers("g", 2, 2, "gpu=8 hca=8 node=n1 quota=q2");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/g"), "NodeOrderNotMonotone");
}

// --- topology-affinity-key ---

struct Attracted : ::testing::Test {
  Cluster c;
  Attracted() {
    c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Leaf("S2", "n[4-7]", "gpu=8 hca=8");
    c.Leaf("S3", "n[8-9]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
    c.Quotas("old[0-2]", "gpu=1 hca=1");
    c.Workers("data", 0, 1, "gpu=1 hca=1 node=n5 quota=old0");
    c.Workers("data", 2, 2, "gpu=1 hca=1 node=n0 quota=old1");
    c.Put(testing::MakeGroup("data", 3, *testing::ReadWords("attract=set-7")));
  }
};

TEST_F(Attracted, AGangGoesWhereMostOfThoseAreThatAttractIt) {
  c.Job("g", 2, "gpu=8 hca=8", {0, "attract=set-7"}).Job("h", 2, "gpu=8 hca=8");
  const auto bound = c.Cycle();
  EXPECT_THAT(bound, BindsTasks("g-[0-1],h-[0-1]", "n4,n6,n8,n9")) << "h has the tightest fit";
}

TEST_F(Attracted, WhereTheyHaveNoRoomItGoesElsewhere) {
  for (const char* node : {"n4", "n6", "n7"})
    c.Pod(fmt::format("on-{}", node), fmt::format("gpu=1 scheduler=other node={}", node));
  c.Job("g", 2, "gpu=8 hca=8", {0, "attract=set-7"});
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-1]", "n1,n2")) << "where the other one is";
}

TEST_F(Attracted, TwoGangsOfOneCycleAttractEachOther) {
  c.Job("a", 1, "gpu=8 hca=8", {0, "attract=new"}).Job("b", 1, "gpu=8 hca=8", {0, "attract=new"});
  EXPECT_THAT(c.Cycle(), BindsTasks("a-0,b-0", "n8,n9"));
  c.Job("c", 1, "gpu=8 hca=8", {0, "attract=new"});
  EXPECT_THAT(c.Cycle(), BindsTasks("c-0", "n1")) << "S3 is full: the tightest fit";
}

TEST_F(Attracted, OfEquallyTightZonesTheSmallerOneIsTaken) {
  Cluster d;
  d.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Leaf("S2", "n[4-5]", "gpu=8 hca=8");
  d.Quotas("q[0-9]", "gpu=8 hca=8").Quotas("old[0-1]", "gpu=8 hca=8");
  d.Pod("x", "gpu=8 hca=8 node=n0 quota=old0").Pod("y", "gpu=8 hca=8 node=n1 quota=old1");
  d.Job("g", 2, "gpu=8 hca=8");
  EXPECT_THAT(d.Cycle(), BindsTasks("g-[0-1]", "n[4-5]"));
}

// --- degraded members (F41) ---

struct Degraded : ::testing::Test {
  Cluster c;
  Degraded() {
    c.Leaf("A,B,C,D", "n[0-3]", "gpu=8 hca=4").Leaf("E,F", "m[4-5]", "gpu=8 hca=4");
    c.Quotas("q[0-9]", "gpu=8 hca=1").Quotas("f[0-9]", "gpu=8 hca=4");
    c.Put(testing::MakeTopology("n0", "roce", {"A", "B", "C"}));
  }
};

TEST_F(Degraded, ALostSwitchCountsAfterTheHoldDown) {
  c.Job("g", 4, "gpu=8 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n[0-3]"));
}

TEST_F(Degraded, ItIsTheLastChoiceOfANewGang) {
  c.Tick(seconds(60));
  c.Job("g", 3, "gpu=8 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-2]", "n[1-3]"));
  c.Job("h", 1, "gpu=8 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("h-0", "m4")) << "another zone is whole";
  c.Job("i", 2, "gpu=8 hca=1");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "one zone could hold both";
}

TEST_F(Degraded, AGangThatNeedsItHasItsZone) {
  c.Tick(seconds(60));
  c.Job("g", 4, "gpu=8 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n[0-3]"));
}

TEST_F(Degraded, ItIsInTheZoneOfItsSiblings) {
  c.Tick(seconds(60));
  c.Put(testing::MakeGroup("g", 4, *testing::ReadWords("")));
  c.Workers("g", 1, 1, "gpu=8 hca=1 node=n1 quota=q1")
      .Workers("g", 2, 2, "gpu=8 hca=1 node=n2 quota=q2");
  c.Workers("g", 3, 3, "gpu=8 hca=1 node=n3 quota=q3").Workers("g", 0, 0, "gpu=8 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-0", "n0"));
}

TEST_F(Degraded, WhoAsksMoreRailsThanAreLeftHasNoChoiceThere) {
  c.Tick(seconds(60));
  c.Job("g", 4, "gpu=8 hca=4", {0, "zones=1"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Remove<api::PodGroup>("default/g");
  c.Job("h", 3, "gpu=8 hca=4");
  EXPECT_THAT(c.Cycle(), BindsTasks("h-[0-2]", "n[1-3]"));
}

TEST_F(Degraded, TheLinkComesBackAndTheNodeIsWholeAtOnce) {
  c.Tick(seconds(60));
  c.Job("g", 4, "gpu=8 hca=4", {0, "zones=1"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Put(testing::MakeTopology("n0", "roce", {"A", "B", "C", "D"}));
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n[0-3]"));
}

// --- several zones ---

TEST(NearZones, AsManyThatShareSwitchesComeFirst) {
  Cluster c;
  c.Leaf("A,B", "n[0-1]", "gpu=8 hca=8").Leaf("C,D", "n[2-3]", "gpu=8 hca=8");
  c.Leaf("D,E", "n[4-5]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Job("g", 4, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n[2-5]"));
}

TEST(NearZones, AsManyBelowALowTierComeFirst) {
  Cluster c;
  const auto rack = [&](const std::string& leaf, const std::string& nodes, const std::string& pod) {
    c.Nodes(nodes, "gpu=8 hca=8");
    const std::vector<std::string> expanded = *testing::ExpandNames(nodes);
    for (const std::string& node : expanded) {
      api::NodeTopology topology = testing::MakeTopology(node, "roce", {leaf});
      topology.spec.tiers = {{3, "roce", "site"}, {2, "roce", pod}};
      c.Put(topology);
    }
  };
  rack("A", "n[0-1]", "pod1"), rack("B", "n[2-3]", "pod2"), rack("C", "n[4-5]", "pod1");
  c.Quotas("q[0-9]", "gpu=8 hca=8").Job("g", 4, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n[0-1],n[4-5]"));
}

TEST(NearZones, AMemberThatHasToGoElsewhereGoesNear) {
  Cluster c;
  c.Leaf("A,B", "n0", "gpu=8 hca=8")
      .Leaf("C,D", "n1", "gpu=8 hca=8")
      .Leaf("B,E", "n2", "gpu=8 hca=8");
  c.Quotas("q[0-9]", "gpu=8 hca=8").Put(testing::MakeGroup("g", 2, *testing::ReadWords("")));
  c.Workers("g", 0, 0, "gpu=8 hca=8 node=n0 quota=q0").Workers("g", 1, 1, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-1", "n2"));
}

TEST(NearZones, LeafGroupsAreZonesWhenTheConfigurationSaysSo) {
  Cluster c("zoneFrom: leafGroup");
  const std::vector<std::pair<std::string, std::string>> wired = {
      {"A", "su0"}, {"X", "su0"}, {"B", "su1"}, {"B", "su1"}};
  for (size_t i = 0; i < wired.size(); ++i) {
    const std::string node = fmt::format("n{}", i);
    c.Nodes(node, "gpu=8 hca=8");
    api::NodeTopology topology = testing::MakeTopology(node, "roce", {wired[i].first});
    topology.spec.tiers = {{1, "roce", wired[i].second}};
    c.Put(topology);
  }
  c.Quotas("q[0-9]", "gpu=8 hca=8").Job("g", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-1]", "n[0-1]"));
}

// --- pick: leastFragment (F44) ---

struct LeastFragment : ::testing::Test {
  Cluster c{"pick: leastFragment"};
  LeastFragment() {
    c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=1 hca=1");
    c.Quotas("old", "gpu=4 hca=4").Pod("x", "gpu=4 hca=4 node=n2 quota=old");
  }
};

TEST_F(LeastFragment, NodesThatAreBrokenAlreadyComeBeforeWholeOnes) {
  c.Job("g", 4, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n2"));
}

TEST_F(LeastFragment, AsFewWholeNodesAsCanBeAreBroken) {
  c.Job("g", 6, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-5]", "n0,n0,n0,n2,n2,n2"))
      << "one is enough, the first, and both are filled evenly";
}

TEST_F(LeastFragment, RanksKeepTheirOrder) {
  c.Put(testing::MakeGroup("g", 3, *testing::ReadWords("strict")));
  c.Workers("g", 0, 0, "gpu=1 hca=1 node=n3 quota=q0").Workers("g", 1, 2, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[1-2]", "n3"));
}

TEST(LeastFragmentOff, TheLowestIndexComesFirst) {
  Cluster c;
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=1 hca=1");
  c.Quotas("old", "gpu=4 hca=4").Pod("x", "gpu=4 hca=4 node=n2 quota=old");
  c.Job("g", 4, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-3]", "n[0-3]"));
}

// --- a lost rank (F39) ---

TEST(LostRank, AfterATtlItSaysThatTheOrderNeedsAWholeRestart) {
  Cluster c;
  c.Leaf("S1", "n[0-3],n5", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Put(testing::MakeGroup("g", 4, *testing::ReadWords("strict")));
  for (const int rank : {0, 1, 3})
    c.Workers("g", rank, rank, fmt::format("gpu=8 hca=8 node=n{} quota=q{}", rank, rank));
  c.Workers("g", 2, 2, "gpu=8 hca=8").Remove<api::Node>("n2");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/g"), "NodeOrderNotMonotone");
  EXPECT_EQ(c.Detail("default/g"), "there is room for 1, but not in the order of ranks");
  c.Tick(minutes(10) - seconds(1));
  c.Cycle();
  EXPECT_EQ(c.Detail("default/g"), "there is room for 1, but not in the order of ranks");
  c.Tick(seconds(1));
  c.Cycle();
  EXPECT_EQ(c.Why("default/g"), "NodeOrderNotMonotone");
  EXPECT_EQ(c.Detail("default/g"),
            "the order needs a whole restart: no place keeps the ranks in order");
  c.Leaf("S1", "n2", "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-2", "n2"));
  EXPECT_EQ(c.Why("default/g"), "");
}

TEST(LostRank, AGangThatIsNotStrictTakesAnyNodeOfItsZone) {
  Cluster c;
  c.Leaf("S1", "n[0-3],n5", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Put(testing::MakeGroup("g", 4, *testing::ReadWords("")));
  for (const int rank : {0, 1, 3})
    c.Workers("g", rank, rank, fmt::format("gpu=8 hca=8 node=n{} quota=q{}", rank, rank));
  c.Workers("g", 2, 2, "gpu=8 hca=8").Remove<api::Node>("n2");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-2", "n5"));
}

TEST(LostRank, AGangThatIsNotStrictTakesTheNearestNode) {
  Cluster c;
  c.Leaf("S1", "n[0-9]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8").Quotas("old[0-3]", "gpu=1");
  c.Put(testing::MakeGroup("g", 4, *testing::ReadWords("")));
  for (const int rank : {0, 1, 3})
    c.Workers("g", rank, rank, fmt::format("gpu=8 hca=8 node=n{} quota=q{}", rank + 4, rank));
  c.Workers("g", 2, 2, "gpu=8 hca=8").Remove<api::Node>("n6");
  c.Pod("x", "gpu=1 node=n3 quota=old0").Pod("y", "gpu=1 node=n8 quota=old1");
  EXPECT_THAT(c.Cycle(), BindsTasks("g-2", "n9")) << "two from n7, and n2 is three from n5";
}

// --- two networks ---

// Each node hangs on both: the resource that is asked says which zones count.
TEST(TwoNetworks, EachGangStaysUnderOneSwitchOfItsOwnNetwork) {
  Cluster c;
  const auto wire = [&](const std::string& node, const std::string& roce, const std::string& ib) {
    c.Nodes(node, "gpu=8 hca=8 roce=8");
    api::NodeTopology topology = testing::MakeTopology(node, "roce", {roce});
    topology.spec.net.ib = testing::MakeTopology(node, "ib", {ib}).spec.net.ib;
    c.Put(topology);
  };
  wire("n0", "R1", "I1"), wire("n1", "R2", "I1"), wire("n2", "R1", "I2"), wire("n3", "R2", "I2");
  c.Quotas("h[0-1]", "gpu=4 hca=4").Quotas("r[0-1]", "gpu=4 roce=4");
  c.Job("ib", 2, "gpu=4 hca=4").Job("roce", 2, "gpu=4 roce=4");
  EXPECT_THAT(c.Cycle(), BindsTasks("ib-[0-1],roce-[0-1]", "n0,n1,n0,n2"));
}

TEST(TwoNetworks, ADualHomedNodeIsInTheZoneOfBothItsSwitchesAlone) {
  Cluster c;
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n[5-6]", "gpu=8 hca=8");
  c.Leaf("S1,S2", "n[3-4]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=8 hca=8");
  c.Job("three", 3, "gpu=8 hca=8", {0, "zones=1"});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Remove<api::PodGroup>("default/three");
  c.Job("two", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("two-[0-1]", "n[0-1]"));
  c.Job("more", 2, "gpu=8 hca=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("more-[0-1]", "n[3-4]"));
}

}  // namespace
}  // namespace sky::actions
