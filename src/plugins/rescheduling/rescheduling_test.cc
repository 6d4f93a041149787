// SPDX-License-Identifier: Apache-2.0
// Who is asked to move, who isn't, and when it ends. The plan itself is held to its laws in
// moves_law_test.cc.
#include "plugins/rescheduling/rescheduling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace sky::plugins {
namespace {

using namespace std::chrono_literals;
using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Names = std::vector<std::string>;

std::string With(const std::string& strategies, const char* young) {
  std::string plugins;
  for (const char* name :
       {"priority", "gang", "conformance", "drf", "topology", "binpack", "jobqueue", "backoff",
        "predicates", "quotapredicates", "quotaaffinity", "nodeorder", "storage", "sylas"})
    plugins += fmt::format("- name: {}\n", name);
  return fmt::format(
      "minRunTime: {}\nstarveAfter: 0s\nplugins:\n{}"
      "- {{name: rescheduling, args: {{interval: 1m, strategies: [{}]}}}}\n",
      young, plugins, strategies);
}
const char* const kBalance =
    "{name: lowNodeUtilization, params: {thresholds: {nvidia.com/gpu: 30}, "
    "targetThresholds: {nvidia.com/gpu: 75}}}";

struct Rescheduled : ::testing::Test {
  explicit Rescheduled(const std::string& strategies = kBalance, const char* young = "1s")
      : c(With(strategies, young)) {}
  // A spot pod on the node ("": waiting), of a controller ("": its own).
  void Spot(const std::string& name, int cards, const std::string& node,
            const std::string& owner = "", const std::string& words = "") {
    std::string text = fmt::format("spot={} {}", cards, words);
    if (!node.empty()) text += " node=" + node;
    if (owner != "nobody") text += " owner=" + (owner.empty() ? "of-" + name : owner);
    c.Pod(name, text);
  }
  // Who is asked when the next look is due.
  Names Look() {
    c.Decide();  // it counts from its first session
    c.Tick(61s);
    c.Decide();
    Names names;
    for (const cache::Eviction& eviction : c.result().evictions)
      for (const auto& victim : eviction.victims) names.push_back(victim.name);
    return names;
  }
  void Gone(const std::string& pod) { c.Remove<api::Pod>("default/" + pod); }
  Cluster c;
};

TEST_F(Rescheduled, AFullNodeGivesToAnEmptyOneUntilItIsBelowItsTargetAndNobodyMore) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  for (int i = 0; i < 4; ++i) Spot(fmt::format("s-{}", i), 2, "n0");
  EXPECT_THAT(Look(), ElementsAre("s-0"));
}

TEST_F(Rescheduled, OneLargePodRatherThanItAndThoseThatCameBeforeIt) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  Spot("a-small", 1, "n0"), Spot("b-large", 2, "n0"), Spot("rest", 5, "n0");
  c.Edit<api::Pod>("default/rest", [](api::Pod& pod) { pod.spec.priority = 9; });
  EXPECT_THAT(Look(), ElementsAre("b-large")) << "a-small alone wouldn't do, and isn't needed";
}

TEST_F(Rescheduled, NobodyIsAskedBeforeTheFirstIntervalIsOverOrTwiceInOne) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  Spot("s-0", 4, "n0"), Spot("s-1", 4, "n0");
  c.Decide();
  c.Tick(59s);
  c.Decide();
  EXPECT_THAT(c.result().evictions, IsEmpty());
  c.Tick(2s);
  c.Decide();
  EXPECT_EQ(c.result().evictions.size(), 1u);
  c.Decide();
  EXPECT_THAT(c.result().evictions, IsEmpty());
}

TEST_F(Rescheduled, WithoutAnyNodeWithRoomToGiveNobodyMoves) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  Spot("s-0", 4, "n0"), Spot("s-1", 4, "n0"), Spot("other", 3, "n1");
  EXPECT_THAT(Look(), IsEmpty()) << "3 of 8 is more than 30 %";
}

TEST_F(Rescheduled, NobodyMovesToWhereItWouldBeTooMuch) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  Spot("s-0", 7, "n0"), Spot("other", 2, "n1");
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(Rescheduled, WhoMayNotGoToAnyOtherNodeStays) {
  c.Nodes("n0", "gpu=8 spot=8 label=room:a").Nodes("n1", "gpu=8 spot=8");
  Spot("tied", 4, "n0", "", "select=room:a"), Spot("free", 4, "n0");
  EXPECT_THAT(Look(), ElementsAre("free"));
}

TEST_F(Rescheduled, OnlySpotPodsWithAControllerThatAreOldEnoughAndNobodyKeeps) {
  c.Nodes("n[0-1]", "gpu=8 spot=8").Quotas("q", "gpu=1");
  c.Pod("owner", "gpu=1 node=n0 quota=q owner=set");
  Spot("bare", 1, "n0", "nobody"), Spot("kept", 1, "n0", "", "label=keep:me");
  Spot("system", 1, "n0");
  Spot("plain", 3, "n0");
  c.Edit<api::Pod>("default/system",
                   [](api::Pod& pod) { pod.spec.priority_class_name = "system-node-critical"; });
  api::PodDisruptionBudget budget;
  budget.metadata.name = "keep", budget.metadata.namespace_ = "default";
  budget.spec.selector.emplace();
  budget.spec.selector->match_labels.insert_or_assign("keep", "me");
  c.Put(budget);
  EXPECT_THAT(Look(), ElementsAre("plain"));
}

TEST_F(Rescheduled, ABudgetLetsNoMoreGoThanItSays) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  api::PodDisruptionBudget budget;
  budget.metadata.name = "one", budget.metadata.namespace_ = "default";
  budget.spec.selector.emplace();
  budget.spec.selector->match_labels.insert_or_assign("keep", "one");
  budget.status.disruptions_allowed = 1;
  c.Put(budget);
  for (int i = 0; i < 8; ++i) Spot(fmt::format("s-{}", i), 1, "n0", "", "label=keep:one");
  EXPECT_EQ(Look().size(), 1u);
}

TEST_F(Rescheduled, NoGangIsStoppedForIt) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  c.Job("all", 2, "spot=2 node=n0 owner=all", {2, ""});
  c.Job("some", 2, "spot=2 node=n0 owner=some", {1, ""});
  EXPECT_EQ(Look().size(), 1u);
  ASSERT_EQ(c.result().evictions[0].victims.size(), 1u);
  EXPECT_EQ(c.result().evictions[0].victims[0].name.substr(0, 4), "some");
}

TEST_F(Rescheduled, AQueueThatKeepsItsPodsKeepsThemInTheirPlaces) {
  api::Queue keeps;
  keeps.metadata.name = "keeps";
  keeps.spec.reclaimable = false;
  c.Put(keeps);
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  c.Job("lab", 4, "spot=2 node=n0 owner=lab", {1, "queue=keeps"});
  EXPECT_THAT(Look(), IsEmpty());
}

// Whoever waits would take what gets free.
TEST_F(Rescheduled, WhileSpotPodsWaitForRoomNobodyMoves) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  for (int i = 0; i < 4; ++i) Spot(fmt::format("s-{}", i), 2, "n0");
  Spot("large", 16, "");
  EXPECT_THAT(Look(), IsEmpty());
  Gone("large");
  EXPECT_THAT(Look(), ElementsAre("s-0"));
}

TEST_F(Rescheduled, WhoMovedGoesToTheEmptyNodeThoughBinpackWouldFillTheOther) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  for (int i = 0; i < 4; ++i) Spot(fmt::format("s-{}", i), 2, "n0", "set");
  ASSERT_THAT(Look(), ElementsAre("s-0"));
  Gone("s-0");
  Spot("s-4", 2, "", "set");
  EXPECT_THAT(c.Cycle(), ElementsAre(testing::Bound{"s-4", "", "n1"}));
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(Rescheduled, WithNowhereElseToGoASpotPodStillTakesTheLastRoom) {
  c.Nodes("n0", "gpu=8 spot=8");
  Spot("s-0", 6, "n0"), Spot("s-1", 2, "");
  EXPECT_THAT(c.Cycle(), ElementsAre(testing::Bound{"s-1", "", "n0"}));
}

// It comes back to the node that it left, for whatever reason: it isn't asked again.
TEST_F(Rescheduled, WhoseLikeCameBackIsNotAskedThereAgain) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  for (int i = 0; i < 4; ++i) Spot(fmt::format("s-{}", i), 2, "n0", "set");
  ASSERT_THAT(Look(), ElementsAre("s-0"));
  Gone("s-0");
  c.Tick(1s);
  Spot("s-4", 2, "n0", "set");
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Look(), IsEmpty());
  Spot("else", 2, "n1", "another");
  EXPECT_THAT(Look(), IsEmpty());
}

struct Cleared : Rescheduled {
  Cleared() : Rescheduled("{name: clearEarmarks}") {}
};

// The gang misses n1, where somebody with a quota runs; n0 could be free.
TEST_F(Cleared, SpotPodsLeaveTheNodesOfAnEarmarkWhereOneMoreMemberCanStandThen) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8 spot=8").Nodes("n9", "gpu=8 spot=8");
  c.Quotas("q[0-1]", "gpu=8 hca=8").Quotas("used", "gpu=1");
  c.Pod("busy", "gpu=1 node=n1 quota=used");
  Spot("a", 4, "n0"), Spot("b", 2, "n0"), Spot("beside", 2, "n1");
  c.Job("train", 2, "gpu=8 hca=8");
  c.Cycle();
  EXPECT_EQ(c.Why("default/train"), "ZoneFull");
  EXPECT_THAT(Look(), UnorderedElementsAre("a", "b")) << "on n1 it would gain nothing";
}

TEST_F(Cleared, NobodyLeavesWithoutRoomElsewhereOrHalfOfThemAlone) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8 spot=8").Nodes("n9", "gpu=4 spot=4");
  c.Quotas("q[0-1]", "gpu=8 hca=8").Quotas("used", "gpu=1");
  c.Pod("busy", "gpu=1 node=n1 quota=used");
  Spot("a", 4, "n0"), Spot("b", 2, "n0");
  c.Job("train", 2, "gpu=8 hca=8");
  c.Cycle();
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(Cleared, NobodyLeavesWhereNoGangWaits) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  for (int i = 0; i < 4; ++i) Spot(fmt::format("s-{}", i), 2, "n0");
  EXPECT_THAT(Look(), IsEmpty());
}

struct ClearedOfTheYoungest : Rescheduled {
  ClearedOfTheYoungest() : Rescheduled("{name: clearEarmarks}", "0s") {}
};

TEST_F(ClearedOfTheYoungest, SpotPodsGoToTheNodesOfAnEarmarkLast) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8 spot=8").Nodes("n9", "gpu=8 spot=8");
  c.Quotas("q[0-1]", "gpu=8 hca=8").Quotas("used", "gpu=1");
  c.Pod("busy", "gpu=1 node=n1 quota=used");
  c.Job("train", 2, "gpu=8 hca=8");
  c.Cycle();
  Spot("s-0", 8, ""), Spot("s-1", 8, "");
  EXPECT_THAT(c.Cycle(), UnorderedElementsAre(testing::Bound{"s-0", "", "n9"},
                                              testing::Bound{"s-1", "", "n0"}));
}

}  // namespace
}  // namespace sky::plugins
