// SPDX-License-Identifier: Apache-2.0
#include "load/meter.h"

#include <gtest/gtest.h>

#include "api/keys.h"

namespace sky::load {
namespace {

using std::chrono::milliseconds;
using Problems = std::vector<std::string>;

constexpr MonoTime At(int ms) { return MonoTime(milliseconds(ms)); }

// Two nodes of two places under a leaf each, four pods in gangs of two.
Layout Four(int per_quota) {
  return {
      {{"n0", 2, 0}, {"n1", 2, 1}}, {"load-0-0", "load-0-1", "load-1-0", "load-1-1"}, 2, per_quota};
}

api::Pod PodOf(const std::string& name, const std::string& node = "",
               const std::string& quota = "") {
  api::Pod pod;
  pod.metadata.name = name;
  pod.metadata.uid = "uid-" + name;
  pod.spec.node_name = node;
  if (!quota.empty()) pod.metadata.annotations.emplace(api::key::kQuotaName, quota);
  return pod;
}

api::Quota QuotaOf(const std::string& name, const std::string& node,
                   const std::vector<std::string>& pods) {
  api::Quota quota;
  quota.metadata.name = name;
  quota.status.phase = node.empty() ? "QuotaEmpty" : "QuotaBound";
  quota.status.node_name = node;
  for (const std::string& pod : pods) {
    api::QuotaTask& task = quota.status.tasks.emplace_back();
    task.name = pod;
    task.uid = "uid-" + pod;
  }
  return quota;
}

api::Pod Waiting(const std::string& name, const std::string& message) {
  api::Pod pod = PodOf(name);
  api::Condition& condition = pod.status.conditions.emplace_back();
  condition.type = "PodScheduled";
  condition.status = "False";
  condition.message = message;
  return pod;
}

class PlainMeter : public ::testing::Test {
 protected:
  void CreateAll() {
    for (size_t i = 0; i < 4; ++i) {
      meter.Creating(i, At(100 + static_cast<int>(i) * 10));
      meter.Seen(PodOf(meter.layout().pods[i]), At(150));
    }
  }
  void Bind(const std::string& pod, const std::string& node, int ms) {
    meter.Seen(PodOf(pod, node), At(ms));
  }
  Meter meter{Four(0)};
};

TEST_F(PlainMeter, TellsRatesAndSpansOfItsEvents) {
  CreateAll();
  EXPECT_TRUE(meter.AllSeen());
  Bind("load-0-1", "n0", 210);
  Bind("load-0-0", "n0", 220);
  Bind("load-1-0", "n1", 310);
  EXPECT_FALSE(meter.Finished());
  Bind("load-1-1", "n1", 510);
  EXPECT_TRUE(meter.Finished());
  const Reading reading = meter.Read(At(100));
  EXPECT_EQ(reading.bound, 4u);
  EXPECT_EQ(reading.gangs_bound, 2u);
  EXPECT_EQ(reading.first_bind, milliseconds(110));
  EXPECT_EQ(reading.last_bind, milliseconds(410));
  EXPECT_DOUBLE_EQ(reading.bindings_per_second.value(), 10);  // three spans in 300 ms
  EXPECT_DOUBLE_EQ(reading.creations_per_second.value(), 100);
  EXPECT_EQ(reading.pod_latency, (Spread{milliseconds(120), milliseconds(380)}));
  EXPECT_EQ(reading.gang_latency, (Spread{milliseconds(120), milliseconds(390)}));
  EXPECT_EQ(reading.gangs_across_leaves, 0u);
  EXPECT_EQ(reading.quotas_caught_up, std::nullopt);
  EXPECT_EQ(reading.problems, Problems());
}

TEST_F(PlainMeter, AFewMillisecondsGiveNoRate) {
  for (size_t i = 0; i < 4; ++i) {
    meter.Creating(i, At(100 + static_cast<int>(i)));
    Bind(meter.layout().pods[i], "n0", 119 + static_cast<int>(i));
  }
  EXPECT_EQ(meter.Read(At(100)).creations_per_second, std::nullopt);
  EXPECT_EQ(meter.Read(At(100)).bindings_per_second, std::nullopt);
}

TEST_F(PlainMeter, TheFirstSightOfABindingCounts) {
  CreateAll();
  Bind("load-0-0", "n0", 200);
  Bind("load-0-0", "n0", 900);  // a later event of the same pod
  EXPECT_EQ(meter.bound(), 1u);
  EXPECT_EQ(meter.Read(At(0)).last_bind, milliseconds(200));
}

TEST_F(PlainMeter, ACreationThatIsSentAgainBeganTheFirstTime) {
  CreateAll();
  meter.Creating(0, At(900));
  Bind("load-0-0", "n0", 200);
  EXPECT_EQ(meter.Read(At(0)).pod_latency->p50, milliseconds(100));
}

TEST_F(PlainMeter, OnlyWholeGangsHaveALatency) {
  CreateAll();
  Bind("load-0-0", "n0", 200);
  Bind("load-1-0", "n1", 300);
  Bind("load-1-1", "n1", 400);
  const Reading reading = meter.Read(At(0));
  EXPECT_EQ(reading.gangs, 2u);
  EXPECT_EQ(reading.gangs_bound, 1u);
  EXPECT_EQ(reading.gang_latency->p99, milliseconds(280));
}

TEST_F(PlainMeter, OfNoBindingItSaysNothing) {
  CreateAll();
  const Reading reading = meter.Read(At(0));
  EXPECT_EQ(reading.first_bind, std::nullopt);
  EXPECT_EQ(reading.bindings_per_second, std::nullopt);
  EXPECT_EQ(reading.gang_latency, std::nullopt);
}

TEST_F(PlainMeter, CountsGangsUnderMoreThanOneLeaf) {
  CreateAll();
  Bind("load-0-0", "n0", 200);
  Bind("load-0-1", "n1", 200);
  Bind("load-1-0", "n0", 200);
  EXPECT_EQ(meter.Read(At(0)).gangs_across_leaves, 1u);
}

TEST_F(PlainMeter, AFullNodeIsFineAndOneMoreIsAProblem) {
  CreateAll();
  Bind("load-0-0", "n0", 200);
  Bind("load-0-1", "n0", 200);
  EXPECT_EQ(meter.Read(At(0)).problems, Problems());
  Bind("load-1-0", "n0", 200);
  EXPECT_EQ(meter.Read(At(0)).problems,
            Problems{"3 pods are bound to n0, whose allocatable holds 2"});
}

TEST_F(PlainMeter, StrangeNodesAndLostPodsAreProblems) {
  CreateAll();
  Bind("load-0-0", "elsewhere", 200);
  meter.Gone(PodOf("load-1-1"));
  meter.Gone(PodOf("somebody-elses"));
  const Reading reading = meter.Read(At(0));
  EXPECT_EQ(reading.problems,
            (Problems{"1 pods are bound to elsewhere, which isn't a node of this run",
                      "1 pods were deleted meanwhile"}));
  EXPECT_EQ(reading.gangs_across_leaves, std::nullopt);
}

TEST_F(PlainMeter, CountsWhatUnboundPodsSay) {
  meter.Seen(Waiting("load-0-0", "too few GPUs"), At(1));
  meter.Seen(Waiting("load-0-1", "too few GPUs"), At(1));
  meter.Seen(PodOf("load-1-0"), At(1));
  EXPECT_EQ(meter.Unbound({}),
            (std::map<std::string, size_t>{
                {"too few GPUs", 2}, {"no scheduler has said anything", 1}, {"not created", 1}}));
  // A gang knows more than its pods.
  EXPECT_EQ(meter.Unbound({{"load-1", "NoQuota: none"}}),
            (std::map<std::string, size_t>{
                {"too few GPUs", 2}, {"NoQuota: none", 1}, {"not created", 1}}));
  EXPECT_EQ(meter.Unbound({{"load-0", "ZoneFull: room for 1 of 2"}}),
            (std::map<std::string, size_t>{{"ZoneFull: room for 1 of 2", 2},
                                           {"no scheduler has said anything", 1},
                                           {"not created", 1}}));
  // What it said before it was bound is past.
  Bind("load-0-0", "n0", 200);
  EXPECT_EQ(meter.Unbound({}).at("too few GPUs"), 1u);
}

class QuotaMeter : public ::testing::Test {
 protected:
  void Bind(const std::string& pod, const std::string& node, const std::string& quota, int ms) {
    meter.Seen(PodOf(pod, node, quota), At(ms));
  }
  void Show(const std::string& quota, const std::string& node, std::vector<std::string> pods,
            int ms) {
    meter.Seen(QuotaOf(quota, node, pods), At(ms));
  }
  void BindAll() {
    Bind("load-0-0", "n0", "q0", 100);
    Bind("load-0-1", "n0", "q0", 100);
    Bind("load-1-0", "n1", "q1", 100);
    Bind("load-1-1", "n1", "q1", 100);
  }
  Meter meter{Four(2)};
};

TEST_F(QuotaMeter, IsFinishedWhenTheLastQuotaSaysSo) {
  BindAll();
  Show("q0", "n0", {"load-0-0", "load-0-1"}, 200);
  EXPECT_FALSE(meter.Finished());
  Show("q1", "n1", {"load-1-1"}, 300);  // not all of its tasks yet
  EXPECT_FALSE(meter.Finished());
  Show("q1", "n1", {"load-1-1", "load-1-0"}, 400);
  EXPECT_TRUE(meter.Finished());
  EXPECT_EQ(meter.Read(At(0)).quotas_caught_up, milliseconds(400));
}

TEST_F(QuotaMeter, QuotasMayComeBeforeTheBindings) {
  Show("q0", "n0", {"load-0-0", "load-0-1"}, 10);
  Show("q1", "n1", {"load-1-0", "load-1-1"}, 10);
  EXPECT_FALSE(meter.Finished());
  BindAll();
  EXPECT_EQ(meter.Read(At(0)).quotas_caught_up, milliseconds(100));
}

TEST_F(QuotaMeter, AQuotaOnAnotherNodeOrWithoutItsPhaseIsBehind) {
  BindAll();
  Show("q0", "n0", {"load-0-0", "load-0-1"}, 200);
  Show("q1", "n0", {"load-1-0", "load-1-1"}, 200);
  EXPECT_EQ(meter.quotas().behind(), 1u);
  api::Quota empty = QuotaOf("q1", "n1", {"load-1-0", "load-1-1"});
  empty.status.phase = "QuotaEmpty";
  meter.Seen(empty, At(300));
  EXPECT_EQ(meter.quotas().behind(), 1u);
  Show("q1", "n1", {"load-1-0", "load-1-1"}, 400);
  EXPECT_TRUE(meter.Finished());
}

TEST_F(QuotaMeter, ADeletedQuotaSaysNothingAnyMore) {
  Show("q0", "n0", {"load-0-0"}, 10);
  meter.Gone(QuotaOf("q0", "n0", {}), At(20));
  Bind("load-0-0", "n0", "q0", 100);
  EXPECT_EQ(meter.quotas().behind(), 1u);
  EXPECT_EQ(meter.quotas().in_use(), 0u);
}

TEST_F(QuotaMeter, QuotasInUseAreThoseThatSaySo) {
  Show("q0", "", {}, 10);
  EXPECT_EQ(meter.quotas().in_use(), 0u);
  Show("q0", "n0", {"load-0-0"}, 20);
  EXPECT_EQ(meter.quotas().in_use(), 1u);
  Show("q0", "", {}, 30);
  EXPECT_EQ(meter.quotas().in_use(), 0u);
}

TEST_F(QuotaMeter, OverfullSplitAndMissingQuotasAreProblems) {
  Bind("load-0-0", "n0", "q0", 100);
  Bind("load-0-1", "n1", "q0", 100);
  Bind("load-1-0", "n1", "", 100);
  EXPECT_EQ(meter.Read(At(0)).problems,
            (Problems{"1 pods are bound without a quota",
                      "1 quotas have pods on several nodes, or more than they have room for"}));
  Meter narrow(Four(1));
  narrow.Seen(PodOf("load-0-0", "n0", "q0"), At(1));
  EXPECT_EQ(narrow.Read(At(0)).problems, Problems());
  narrow.Seen(PodOf("load-0-1", "n0", "q0"), At(1));
  EXPECT_EQ(narrow.Read(At(0)).problems.size(), 1u);
}

}  // namespace
}  // namespace sky::load
