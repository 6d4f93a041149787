// SPDX-License-Identifier: Apache-2.0
// Why a job isn't even planned: each pending job has a current, true reason.
#include <gtest/gtest.h>

#include "testing/matchers.h"

namespace sky::actions {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;

struct Reasons : ::testing::Test {
  Cluster c;
  Reasons() { c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=1 hca=1"); }
};

TEST_F(Reasons, PodsOfAMissingGroupSaySo) {
  c.Workers("ghost", 0, 1, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/ghost"), "NoPodGroup");
}

TEST_F(Reasons, AGangShortOfMembersSaysSoAndStartsWhenTheLastOneComes) {
  c.Job("train", 3, "gpu=1 hca=1", {4, ""});
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/train"), "NotEnoughPods");
  c.Workers("train", 3, 3, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-[0-3]", "n[0-3]"));
}

TEST_F(Reasons, ARoleThatLacksMembersIsNamed) {
  c.Job("train", 3, "gpu=1 hca=1 role=worker");
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) {
    group.spec.min_task_member = {{"worker", 1}, {"ps", 1}};
  });
  c.Cycle();
  EXPECT_EQ(c.Why("default/train"), "NotEnoughPods");
  EXPECT_EQ(c.Detail("default/train"), "0 of 1 members of role ps can run");
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) {
    group.spec.min_task_member = {{"worker", 4}, {"ps", 1}};
  });
  c.Cycle();
  EXPECT_EQ(c.Detail("default/train"), "") << "the gang's own numbers say it: 3 of 5";
}

TEST_F(Reasons, AGangOfMoreMembersThanARecordHoldsIsTold) {
  c.Job("vast", 1, "gpu=1 hca=1", {5000, ""});
  c.Cycle();
  EXPECT_EQ(c.Why("default/vast"), "LargerThanPossible");
  EXPECT_EQ(c.Detail("default/vast"), "it needs 5000 members, and a gang has at most 4096");
}

TEST(ReasonOrder, TheFirstNodesInPhysicalOrderGiveItWhicheverWereHeardOfFirst) {
  for (const bool turned : {false, true}) {
    Cluster c;
    for (const bool first : {!turned, turned})
      if (first)
        c.Nodes("n[0-1]", "gpu=8 hca=8 spec=h100");
      else
        c.Nodes("n[2-3]", "gpu=8 hca=8 spec=a100");
    c.Quotas("q[0-1]", "gpu=1 hca=1").Job("train", 2, "gpu=1 hca=1");
    for (const char* node : {"n0", "n1"})
      c.Edit<api::Node>(node, [](api::Node& it) { it.spec.unschedulable = true; });
    for (const char* node : {"n2", "n3"})
      c.Edit<api::Node>(node, [](api::Node& it) { it.status.conditions[0].status = "False"; });
    EXPECT_THAT(c.Cycle(), BindsNothing());
    EXPECT_EQ(c.Why("default/train"), "NodeUnschedulable") << turned;
  }
}

TEST_F(Reasons, GatedMembersAreNamedAsThat) {
  c.Job("train", 2, "gpu=1 hca=1 gated");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/train"), "Gated");
  for (const char* pod : {"default/train-0", "default/train-1"})
    c.Edit<api::Pod>(pod, [](api::Pod& it) { it.spec.scheduling_gates.clear(); });
  EXPECT_EQ(c.Cycle().size(), 2u);
}

TEST_F(Reasons, QueuesThatAreMissingOrClosedKeepTheirJobsWaiting) {
  c.Job("lost", 1, "gpu=1 hca=1", {0, "queue=nowhere"});
  c.Job("late", 1, "gpu=1 hca=1");
  c.Edit<api::Queue>("default", [](api::Queue& queue) { queue.status.state = "Closed"; });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/lost"), "QueueNotFound");
  EXPECT_EQ(c.Why("default/late"), "QueueClosed");
  c.Edit<api::Queue>("default", [](api::Queue& queue) { queue.status.state = "Open"; });
  EXPECT_THAT(c.Cycle(), BindsTasks("late-0", "n0"));
}

TEST_F(Reasons, AMissingPriorityClassKeepsOnlyItsJobWaiting) {
  c.Job("train", 1, "gpu=1 hca=1", {0, "priority=urgent"}).Job("other", 1, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("other-0", "n0"));
  EXPECT_EQ(c.Why("default/train"), "PriorityClassNotFound");
  api::PriorityClass urgent;
  urgent.metadata.name = "urgent";
  urgent.value = 1000;
  c.Put(urgent);
  EXPECT_EQ(c.Cycle().size(), 1u);
}

TEST_F(Reasons, PrioritiesThatDifferOnlyInTheHighBytesAreInOrder) {
  for (const auto& [name, value] :
       {std::pair("low", 1), std::pair("high", 257), std::pair("lowest", INT32_MIN)}) {
    api::PriorityClass one;
    one.metadata.name = name;
    one.value = value;
    c.Put(one);
  }
  c.Quotas("big", "gpu=8 hca=8");
  for (const char* name : {"lowest", "low", "high"})
    c.Job(name, 1, "gpu=8 hca=8", {0, std::string("priority=") + name});
  EXPECT_THAT(c.Cycle(), BindsTasks("high-0", "n0"));
  c.Finish("default/high-0");
  EXPECT_THAT(c.Cycle(), BindsTasks("low-0", "n0"));
}

TEST_F(Reasons, AnObjectOfAnOlderSchemaHurtsOnlyItsOwner) {
  c.Job("bad", 1, "gpu=1 hca=1").Job("good", 1, "gpu=1 hca=1");
  c.Edit<api::PodGroup>("default/bad", [](api::PodGroup& group) { group.spec.min_member = -1; });
  EXPECT_THAT(c.Cycle(), BindsTasks("good-0", "n0"));
  EXPECT_EQ(c.Why("default/bad"), "InvalidObject");
}

TEST_F(Reasons, AQueueWithoutQuotasNamesIt) {
  c.Queue("poor").Job("train", 2, "gpu=1 hca=1", {0, "queue=poor"});
  c.Cycle();
  EXPECT_EQ(c.Why("default/train"), "InsufficientQuota");
  EXPECT_NE(c.Detail("default/train").find("poor"), std::string::npos);
}

TEST_F(Reasons, AGangThatAskedForMoreThanItsQueueHasTakesNoneOfIt) {
  c.Queue("small").Quotas("s[0-2]", "gpu=1 hca=1 queue=small");
  c.Job("train", 4, "gpu=1 hca=1", {0, "queue=small"});
  c.Job("behind", 3, "gpu=1 hca=1", {0, "queue=small"});
  EXPECT_EQ(c.Cycle().size(), 3u) << "the hopeless gang in front holds nothing";
  EXPECT_EQ(c.Why("default/train"), "InsufficientQuota");
}

}  // namespace
}  // namespace sky::actions
