// SPDX-License-Identifier: Apache-2.0
#include "load/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/json.h"
#include "api/keys.h"
#include "api/validate.h"

namespace sky::load {
namespace {

Options Small() {
  Options options;
  options.mode = Mode::kBurst;
  options.shape.nodes = 4;
  options.shape.nodes_per_leaf = 2;
  options.shape.pods = 18;
  options.shape.gang = 8;
  return options;
}

Plan Planned(const Options& options) {
  auto plan = MakePlan(options, RoomsToMake(options.shape));
  EXPECT_TRUE(plan.has_value()) << plan.error().message();
  return std::move(*plan);
}

template <class T>
std::vector<T> Of(const std::vector<Made>& objects) {
  std::vector<T> found;
  for (const Made& object : objects)
    if (object.kind == &api::KindOf<T>()) found.push_back(api::Decode<T>(object.json).value());
  return found;
}

std::map<std::string, size_t> Counted(const Plan& plan) {
  std::map<std::string, size_t> counts;
  for (const Made& object : plan.ground) ++counts[std::string(object.kind->kind)];
  return counts;
}

TEST(LoadPlan, MakesAWholeClusterForOurScheduler) {
  const Plan plan = Planned(Small());
  EXPECT_EQ(Counted(plan), (std::map<std::string, size_t>{{"Node", 4},
                                                          {"NodeTopology", 4},
                                                          {"Queue", 1},
                                                          {"Quota", 32},
                                                          {"PodGroup", 4}}));  // one of the probe
  EXPECT_EQ(plan.pods.size(), 18u);
  for (const api::Pod& pod : Of<api::Pod>(plan.pods)) {
    EXPECT_EQ(pod.spec.scheduler_name, "sky-scheduler");
    EXPECT_TRUE(pod.metadata.name.starts_with(pod.metadata.Annotation(api::key::kGroupName)));
  }
}

TEST(LoadPlan, TheLastGangIsAsLargeAsWhatIsLeft) {
  const Plan plan = Planned(Small());
  std::map<std::string, int32_t> members;
  for (const api::PodGroup& group : Of<api::PodGroup>(plan.ground))
    members[group.metadata.name] = group.spec.min_member;
  EXPECT_EQ(members, (std::map<std::string, int32_t>{
                         {"load-0", 8}, {"load-1", 8}, {"load-2", 2}, {"load-probe", 1}}));
  EXPECT_EQ(plan.layout.gangs(), 3u);
  EXPECT_EQ(plan.layout.GangOf(17), 2u);
}

TEST(LoadPlan, NodesAreReadyAndHangUnderTheirLeaves) {
  const Plan plan = Planned(Small());
  for (const api::Node& node : Of<api::Node>(plan.ground))
    EXPECT_EQ(node.FindCondition("Ready")->status, "True");
  std::vector<std::string> leaves;
  for (const api::NodeTopology& topology : Of<api::NodeTopology>(plan.ground))
    leaves.push_back(topology.spec.net.ib.at(0).switch_name);
  EXPECT_EQ(leaves,
            (std::vector<std::string>{"load-leaf-0", "load-leaf-0", "load-leaf-1", "load-leaf-1"}));
}

TEST(LoadPlan, QuotasFillTheClusterWhateverTheirSize) {
  for (const int per_quota : {1, 8}) {
    Options options = Small();
    options.shape.per_quota = per_quota;
    std::map<std::string, int64_t> offered, shared;
    const Plan plan = Planned(options);
    for (const api::Node& node : Of<api::Node>(plan.ground))
      for (const char* name : {"nvidia.com/gpu", "rdma/hca"})
        offered[name] += node.status.allocatable.at(name).Value();
    for (const api::Quota& quota : Of<api::Quota>(plan.ground))
      for (const char* name : {"nvidia.com/gpu", "rdma/hca"})
        shared[name] += quota.spec.request.at(name).Value();
    EXPECT_EQ(offered, shared);
    EXPECT_EQ(plan.layout.per_quota, per_quota);
  }
}

TEST(LoadPlan, OtherSchedulersGetPlainPods) {
  Options options = Small();
  options.shape.scheduler = "default-scheduler";
  options.shape.groups = false;
  const Plan plan = Planned(options);
  EXPECT_EQ(Counted(plan), (std::map<std::string, size_t>{{"Node", 4}}));
  EXPECT_EQ(plan.layout.per_quota, 0);
  for (const api::Pod& pod : Of<api::Pod>(plan.pods)) {
    EXPECT_EQ(pod.spec.scheduler_name, "default-scheduler");
    EXPECT_TRUE(pod.metadata.annotations.empty());
  }
}

TEST(LoadPlan, DirectPodsAreNobodysAndFillNodeAfterNode) {
  Options options = Small();
  options.mode = Mode::kDirect;
  const Plan plan = Planned(options);
  for (const api::Pod& pod : Of<api::Pod>(plan.pods)) EXPECT_EQ(pod.spec.scheduler_name, kMadeBy);
  std::map<std::string, int> on_node;
  for (const std::string& node : DirectPlaces(plan.layout)) ++on_node[node];
  EXPECT_EQ(on_node, (std::map<std::string, int>{{"load-0", 8}, {"load-1", 8}, {"load-2", 2}}));
}

TEST(LoadPlan, EverythingCarriesTheLabelAndANameOfItsOwn) {
  Plan plan = Planned(Small());
  std::set<std::string> names;
  std::vector<Made> all = plan.ground;
  all.insert(all.end(), plan.pods.begin(), plan.pods.end());
  all.push_back(plan.probe);
  for (const Made& object : all) {
    EXPECT_NE(object.json.find("\"load.infini-ai.com/made-by\":\"skyctl-load\""), std::string::npos)
        << object.json;
    EXPECT_TRUE(names.insert(std::string(object.kind->kind) + " " + object.name).second);
  }
}

TEST(LoadPlan, NodesThatAreThereCountByWhatTheyHold) {
  const auto node = [](const std::string& name, int gpus, int hcas, int cpu) {
    api::Node out;
    out.metadata.name = name;
    out.status.allocatable = {{"nvidia.com/gpu", api::Quantity::Units(gpus)},
                              {"rdma/hca", api::Quantity::Units(hcas)},
                              {"cpu", api::Quantity::Units(cpu)}};
    return out;
  };
  api::Node bare;
  bare.metadata.name = "bare";
  const auto rooms = RoomsOf({node("a", 8, 8, 64), bare, node("b", 8, 4, 64), node("c", 8, 8, 9)});
  ASSERT_EQ(rooms.size(), 3u);
  EXPECT_EQ(rooms[0].room, 8);
  EXPECT_EQ(rooms[1].room, 4);
  EXPECT_EQ(rooms[2].room, 2);
  Options options = Small();
  options.make_nodes = false;
  const auto refused = MakePlan(options, rooms);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message().find("at most --pods 14"), std::string::npos);
  options.shape.pods = 14;
  const auto plan = MakePlan(options, rooms);
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(Of<api::Node>(plan->ground).empty());
  EXPECT_EQ(Of<api::Quota>(plan->ground).size(), 14u);
}

}  // namespace
}  // namespace sky::load
