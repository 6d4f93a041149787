// SPDX-License-Identifier: Apache-2.0
// Spot pods in whole cycles: where they go (backfill), and who leaves for whom (reclaim).
#include <gtest/gtest.h>

#include "testing/cluster.h"
#include "testing/matchers.h"

namespace sky::actions {
namespace {

using namespace std::chrono_literals;
using testing::BindsNothing;
using testing::Bound;
using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct SpotTest : ::testing::Test {
  Cluster c{"minRunTime: 0s"};
  std::vector<std::string> Victims() {
    c.Decide();
    return Asked();
  }
  // Who was asked to leave by the last cycle.
  std::vector<std::string> Asked() const {
    std::vector<std::string> victims;
    for (const cache::Eviction& eviction : c.result().evictions)
      for (const auto& victim : eviction.victims) victims.push_back(victim.name);
    return victims;
  }
  std::vector<std::string> Rounds() {
    std::vector<std::string> jobs;
    for (const cache::Round& round : c.Decide()) jobs.push_back(round.job);
    return jobs;
  }
  void Gone(const std::string& pod) { c.Remove<api::Pod>("default/" + pod); }
};

TEST_F(SpotTest, SpotPodsTakeWhatTheOthersLeaveEvenWhenTheyWereFirst) {
  c.Nodes("n[0-1]", "gpu=8 spot=8").Quotas("q[0-1]", "gpu=8");
  for (const char* pod : {"s-0", "s-1", "s-2"}) c.Pod(pod, "spot=4");
  c.Job("train", 1, "gpu=8");
  EXPECT_THAT(c.Cycle(), UnorderedElementsAre(Bound{"train-0", "q0", "n0"}, Bound{"s-0", "", "n1"},
                                              Bound{"s-1", "", "n1"}));
  EXPECT_EQ(c.Why("pod:default/s-2"), "InsufficientIdle");
}

TEST_F(SpotTest, AGangOfSpotPodsStartsAsAWholeOrNotAtAll) {
  c.Nodes("n[0-1]", "gpu=8 spot=8");
  c.Job("idle", 5, "spot=4");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Job("small", 4, "spot=4");
  EXPECT_EQ(c.Cycle().size(), 4u);
}

TEST_F(SpotTest, AnRdmaGangOfSpotPodsStandsUnderOneSwitchWithoutQuotas) {
  c.Leaf("S1", "n[0-1]", "gpu=8 spot=8 hca=8").Leaf("S2", "n[2-4]", "gpu=8 spot=8 hca=8");
  c.Job("idle", 3, "spot=8 hca=8");
  EXPECT_THAT(c.Cycle(), UnorderedElementsAre(Bound{"idle-0", "", "n2"}, Bound{"idle-1", "", "n3"},
                                              Bound{"idle-2", "", "n4"}));
}

TEST_F(SpotTest, TheSmallestSetLeavesOnTheNodeOfTheDecisionAndTheRoomIsHeld) {
  c.Nodes("n[0-1]", "gpu=8 spot=8").Quotas("q0", "gpu=4");
  c.Pod("big", "spot=8").Cycle();
  for (const char* pod : {"s-0", "s-1", "s-2", "s-3"}) c.Pod(pod, "spot=2");
  EXPECT_EQ(c.Cycle().size(), 4u);
  c.Job("train", 1, "gpu=4");
  EXPECT_THAT(Victims(), ElementsAre("big")) << "one pod rather than two";
  // Nobody else takes what it leaves.
  Gone("big");
  c.Pod("s-late", "spot=8");
  EXPECT_THAT(c.Cycle(), UnorderedElementsAre(Bound{"train-0", "q0", "n0"}));
  c.Pod("s-small", "spot=4");
  EXPECT_THAT(c.Cycle(), ElementsAre(Bound{"s-small", "", "n0"}));
}

TEST_F(SpotTest, NobodyLeavesWhereTheRoundWouldNotStart) {
  c.Nodes("n[0-1]", "gpu=8 spot=8").Quotas("q[0-3]", "gpu=8");
  c.Pod("s-0", "spot=8").Pod("s-1", "spot=8");
  EXPECT_EQ(c.Cycle().size(), 2u);
  c.Job("large", 3, "gpu=8");
  EXPECT_THAT(Victims(), IsEmpty());
  EXPECT_EQ(c.Why("default/large"), "LargerThanPossible");
  c.Job("two", 2, "gpu=8");
  EXPECT_THAT(Victims(), UnorderedElementsAre("s-0", "s-1"));
}

TEST_F(SpotTest, FreeNodesComeBeforeEvictions) {
  c.Nodes("n[0-1]", "gpu=8 spot=8").Quotas("q0", "gpu=8");
  c.Pod("s-0", "spot=1").Cycle();
  c.Job("train", 1, "gpu=8");
  EXPECT_THAT(c.Cycle(), ElementsAre(Bound{"train-0", "q0", "n1"}));
  EXPECT_THAT(Asked(), IsEmpty());
}

TEST_F(SpotTest, AYoungSpotPodKeepsItsPlaceUntilItHasRunForAWhile) {
  Cluster young{"minRunTime: 5m"};
  young.Nodes("n0", "gpu=8 spot=8").Quotas("q0", "gpu=8");
  young.Pod("s-0", "spot=8").Cycle();
  young.Job("train", 1, "gpu=8");
  young.Decide();
  EXPECT_THAT(young.result().evictions, IsEmpty());
  EXPECT_EQ(young.Why("default/train"), "ReclaimNoVictim");
  young.Tick(301s);
  young.Decide();
  young.Decide();
  ASSERT_EQ(young.result().evictions.size(), 1u);
}

struct KeptSpotTest : SpotTest {
  KeptSpotTest() {
    api::Queue keeps;
    keeps.metadata.name = "keeps";
    keeps.spec.reclaimable = false;
    c.Put(keeps);
  }
};

TEST_F(KeptSpotTest, AQueueThatIsNotReclaimableKeepsItsSpotPodsFromOthers) {
  c.Nodes("n0", "gpu=8 spot=8").Quotas("q0", "gpu=8").Quotas("k0", "gpu=8 queue=keeps");
  c.Job("idle", 1, "spot=8", {1, "queue=keeps"}).Cycle();
  c.Job("train", 1, "gpu=8");
  EXPECT_THAT(Victims(), IsEmpty());
  EXPECT_EQ(c.Why("default/train"), "ReclaimNoVictim");
  c.Job("own", 1, "gpu=8", {1, "queue=keeps"});
  EXPECT_THAT(Victims(), ElementsAre("idle-0"));
}

TEST_F(KeptSpotTest, WhatItsPodsKeepCountsAgainWhenTheQueueChanges) {
  c.Nodes("n0", "gpu=8 spot=8").Quotas("q0", "gpu=8");
  c.Job("idle", 1, "spot=8", {1, "queue=keeps"}).Cycle();
  c.Job("train", 1, "gpu=8");
  EXPECT_THAT(Victims(), IsEmpty());
  c.Edit<api::Queue>("keeps", [](api::Queue& queue) { queue.spec.reclaimable = true; });
  EXPECT_THAT(Victims(), ElementsAre("idle-0"));
}

TEST_F(KeptSpotTest, NobodyLendsThemAQuotasRoom) {
  c.Nodes("n0", "gpu=8 spot=8").Quotas("q0", "gpu=4 node=n0");
  c.Job("idle", 2, "spot=4", {1, "queue=keeps"});
  EXPECT_THAT(c.Cycle(), ElementsAre(Bound{"idle-0", "", "n0"}));
  EXPECT_THAT(c.Cycle(), BindsNothing());
}

// Bound by hand while it waits for its group.
TEST_F(SpotTest, ASpotPodOfNoJobGivesWayToo) {
  c.Nodes("n0", "gpu=8 spot=8").Quotas("q0", "gpu=8");
  c.Pod("s-0", "spot=8 node=n0");
  c.Edit<api::Pod>("default/s-0", [](api::Pod& pod) {
    pod.metadata.owner_references = {{"batch/v1", "Job", "owner", "uid-owner", true, false}};
  });
  c.Job("train", 1, "gpu=8");
  EXPECT_THAT(Victims(), ElementsAre("s-0"));
}

// F29.
TEST_F(SpotTest, RoomOfAQuotaIsLentOnlyToWhoGivesItBack) {
  c.Nodes("n0", "gpu=8 spot=24").Quotas("q0", "gpu=4 node=n0");
  c.Edit<api::Node>("n0", [](api::Node& node) {
    node.metadata.annotations["scheduling.infini-ai.com/spot-pools"] =
        R"({"shared":8,"exclusive":8,"sharesPerGPU":2})";
  });
  api::PodDisruptionBudget budget;
  budget.metadata.name = "keep", budget.metadata.namespace_ = "default";
  budget.spec.selector.emplace();
  budget.spec.selector->match_labels.insert_or_assign("keep", "me");
  budget.status.disruptions_allowed = 0;
  c.Put(budget);
  c.Pod("kept", "spot=8");
  c.Edit<api::Pod>("default/kept", [](api::Pod& pod) { pod.metadata.labels["keep"] = "me"; });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/kept"), "InsufficientIdle");
  Gone("kept");
  c.Pod("shared", "spot=16");
  c.Edit<api::Pod>("default/shared", [](api::Pod& pod) {
    pod.metadata.annotations["scheduling.infini-ai.com/spot-mode"] = "shared";
  });
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "shared ones give no card back";
  c.Pod("half", "spot=8");
  c.Edit<api::Pod>("default/half", [](api::Pod& pod) {
    pod.metadata.annotations["scheduling.infini-ai.com/spot-mode"] = "shared";
  });
  EXPECT_THAT(c.Cycle(), ElementsAre(Bound{"half", "", "n0"})) << "nobody's room is nobody's";
  c.Pod("borrower", "spot=4");
  EXPECT_THAT(c.Cycle(), ElementsAre(Bound{"borrower", "", "n0"}));
  c.Job("train", 1, "gpu=4");
  EXPECT_THAT(Victims(), ElementsAre("borrower"));
}

}  // namespace
}  // namespace sky::actions
