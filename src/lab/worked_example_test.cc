// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lab/simulation.h"
#include "scheduler/known.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

framework::Config Defaults() { return framework::DefaultConfig(scheduler::AllKnown().Known()); }

std::string NodeJson(int i) {
  return fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n{0}"}},
    "status":{{"allocatable":{{"cpu":"64","memory":"512Gi","pods":"110","nvidia.com/gpu":"8","rdma/hca":"8"}},
    "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                     i);
}

TEST(WorkedExample, FourWorkersLandUnderOneSwitchInRankOrder) {
  auto sim = Simulation::Create({Defaults(), 1, false});
  ASSERT_TRUE(sim.has_value()) << sim.error().message();
  Simulation& lab = **sim;
  const auto apply = [&](std::string document) {
    const Status status = lab.Apply(document);
    ASSERT_TRUE(status.has_value()) << status.error().message();
  };
  for (int i = 0; i < 8; ++i) {
    apply(NodeJson(i));
    apply(fmt::format(
        R"({{"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"NodeTopology","metadata":{{"name":"n{0}"}},
      "spec":{{"net":{{"roce":[{{"name":"eth0","switchName":"{1}"}}]}}}}}})",
        i, i < 4 ? "S1" : "S2"));
  }
  for (int i = 0; i < 4; ++i)
    apply(fmt::format(
        R"({{"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"Quota","metadata":{{"name":"q-train-{0}"}},
      "spec":{{"queueName":"default","request":{{"nvidia.com/gpu":"1","rdma/hca":"1"}}}}}})",
        i));
  lab.StartScheduler();
  lab.Advance(2s);
  apply(
      R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"PodGroup","metadata":{"name":"train","namespace":"default"},
    "spec":{"queue":"default","minMember":4}})");
  for (int i = 0; i < 4; ++i)
    apply(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"worker-{0}","namespace":"default",
      "annotations":{{"scheduling.infini-ai.com/group-name":"train"}}}},
      "spec":{{"schedulerName":"sky-scheduler","containers":[{{"name":"c","image":"i","resources":{{"requests":{{"nvidia.com/gpu":"1","rdma/hca":"1"}},
      "limits":{{"nvidia.com/gpu":"1","rdma/hca":"1"}}}}}}]}}}})",
        i));
  lab.Advance(1s);
  for (int i = 0; i < 4; ++i) {
    const auto pod = lab.Get<api::Pod>("default", fmt::format("worker-{}", i));
    ASSERT_TRUE(pod.has_value());
    EXPECT_EQ(pod->spec.node_name, fmt::format("n{}", i));
    EXPECT_EQ(pod->metadata.Annotation("scheduling.infini-ai.com/quota-name"),
              fmt::format("q-train-{}", i));
    const auto quota = lab.Get<api::Quota>("", fmt::format("q-train-{}", i));
    ASSERT_TRUE(quota.has_value());
    EXPECT_EQ(quota->status.phase, "QuotaBound");
    EXPECT_EQ(quota->status.node_name, fmt::format("n{}", i));
    EXPECT_EQ(quota->status.allocated.at("nvidia.com/gpu").ToString(), "1");
  }
  EXPECT_EQ(lab.scheduler()->cache().Audit(), "");
}

}  // namespace
}  // namespace sky::lab
