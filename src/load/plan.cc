// SPDX-License-Identifier: Apache-2.0
#include "load/plan.h"

#include <algorithm>
#include <numeric>

#include "api/json.h"
#include "api/keys.h"

namespace sky::load {
namespace {

using api::Quantity;

constexpr std::string_view kQueue = "sky-load";
// What a pod asks, and so what a quota is made of.
const api::ResourceList& PodRequest() {
  static const api::ResourceList kRequest = {{"cpu", Quantity::Units(4)},
                                             {"nvidia.com/gpu", Quantity::Units(1)},
                                             {"rdma/hca", Quantity::Units(1)}};
  return kRequest;
}

template <class T>
T Named(std::string name, std::string ns = {}) {
  T object;
  object.metadata.name = std::move(name);
  object.metadata.namespace_ = std::move(ns);
  object.metadata.labels.emplace(kMadeLabel, kMadeBy);
  return object;
}

template <class T>
Made AsMade(const T& object) {
  return {&api::KindOf<T>(), object.metadata.namespace_, object.metadata.name, api::Encode(object)};
}

std::string LeafName(int leaf) { return fmt::format("load-leaf-{}", leaf); }

// Posted Ready, so that it needs no kubelet to be scheduled on.
api::Node MakeNode(const NodeRoom& room, int index) {
  auto node = Named<api::Node>(room.name);
  node.metadata.labels.emplace("kubernetes.io/hostname", room.name);
  node.metadata.labels.emplace("scheduling.infini-ai.com/spec", "load");
  node.metadata.labels.emplace("load.infini-ai.com/leaf", LeafName(room.leaf));
  node.metadata.annotations.emplace(api::key::kNodeIndex, fmt::format("{}", index));
  node.status.allocatable = {
      {"cpu", Quantity::Units(32 + int64_t{16} * room.room)},
      {"memory", Quantity::Units(int64_t{1} << 40, Quantity::Format::kBinarySI)},
      {"nvidia.com/gpu", Quantity::Units(room.room)},
      {"pods", Quantity::Units(std::max(110, 2 * room.room))},
      {"rdma/hca", Quantity::Units(room.room)}};
  node.status.capacity = node.status.allocatable;
  node.status.conditions.push_back({"Ready", "True", "KubeletReady", "", {}, {}, 0});
  return node;
}

api::NodeTopology MakeTopology(const NodeRoom& room) {
  auto topology = Named<api::NodeTopology>(room.name);
  api::TopologyNic& nic = topology.spec.net.ib.emplace_back();
  nic.name = "mlx5_0";
  nic.switch_name = LeafName(room.leaf);
  return topology;
}

api::Quota MakeQuota(int index, int pods) {
  auto quota = Named<api::Quota>(fmt::format("load-{}", index));
  quota.spec.queue_name = kQueue;
  for (const auto& [name, amount] : PodRequest())
    quota.spec.request.emplace(name, Quantity::Units(amount.Value() * pods));
  return quota;
}

api::PodGroup MakeGroup(std::string name, const std::string& ns, int members) {
  auto group = Named<api::PodGroup>(std::move(name), ns);
  group.spec.queue = kQueue;
  group.spec.min_member = members;
  return group;
}

api::Pod MakePod(const Options& options, std::string name) {
  auto pod = Named<api::Pod>(std::move(name), options.shape.ns);
  // Nobody but us may bind these.
  pod.spec.scheduler_name =
      options.mode == Mode::kDirect ? std::string(kMadeBy) : options.shape.scheduler;
  pod.spec.restart_policy = "Never";
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "main";
  container.image = "load";
  container.resources.requests = PodRequest();
  for (const auto& [resource, amount] : PodRequest())
    if (resource.find('/') != std::string::npos)
      container.resources.limits.emplace(resource, amount);
  return pod;
}

// The pod joins that group when there are groups.
Made PodOf(const Options& options, std::string name, const std::string& group, bool groups) {
  api::Pod pod = MakePod(options, std::move(name));
  if (groups) pod.metadata.annotations.emplace(api::key::kGroupName, group);
  return AsMade(pod);
}

void AddPods(const Options& options, bool groups, Plan& plan) {
  const Shape& shape = options.shape;
  for (int i = 0; i < shape.pods; ++i) {
    const std::string group = fmt::format("load-{}", i / shape.gang);
    plan.pods.push_back(PodOf(options, fmt::format("{}-{}", group, i % shape.gang), group, groups));
    plan.layout.pods.push_back(plan.pods.back().name);
    const int members = std::min(shape.gang, shape.pods - i);
    if (groups && i % shape.gang == 0)
      plan.ground.push_back(AsMade(MakeGroup(group, shape.ns, members)));
  }
  const std::string probe(kProbe);
  plan.probe = PodOf(options, probe, probe, groups);
  if (groups) plan.ground.push_back(AsMade(MakeGroup(probe, shape.ns, 1)));
}

void AddQuotas(const Options& options, Plan& plan) {
  auto queue = Named<api::Queue>(std::string(kQueue));
  plan.ground.push_back(AsMade(queue));
  int count = 0;
  for (const NodeRoom& node : plan.layout.nodes)
    for (int i = 0; i < node.room / options.shape.per_quota; ++i)
      plan.ground.push_back(AsMade(MakeQuota(count++, options.shape.per_quota)));
}

}  // namespace

size_t Layout::gangs() const { return pods.empty() ? 0 : GangOf(pods.size() - 1) + 1; }

std::vector<NodeRoom> RoomsToMake(const Shape& shape) {
  std::vector<NodeRoom> rooms;
  for (int i = 0; i < shape.nodes; ++i)
    rooms.push_back({fmt::format("load-{}", i), shape.gpus_per_node, i / shape.nodes_per_leaf});
  return rooms;
}

std::vector<NodeRoom> RoomsOf(const std::vector<api::Node>& nodes) {
  std::vector<NodeRoom> rooms;
  for (const api::Node& node : nodes) {
    int64_t room = std::numeric_limits<int>::max();
    for (const auto& [name, amount] : PodRequest()) {
      const auto has = node.status.allocatable.find(name);
      const int64_t milli = has == node.status.allocatable.end() ? 0 : has->second.MilliValue();
      room = std::min(room, milli / amount.MilliValue());
    }
    if (room > 0) rooms.push_back({node.metadata.name, static_cast<int>(room), -1});
  }
  return rooms;
}

Result<Plan> MakePlan(const Options& options, std::vector<NodeRoom> rooms) {
  const Shape& shape = options.shape;
  const auto total =
      std::accumulate(rooms.begin(), rooms.end(), int64_t{0},
                      [](int64_t sum, const NodeRoom& node) { return sum + node.room; });
  if (total < shape.pods)
    return Fail(Code::kInvalid,
                "the nodes hold {} pods of 1 nvidia.com/gpu, 1 rdma/hca and 4 cpu, not {}: at most "
                "--pods {}",
                total, shape.pods, total);
  const bool quotas = shape.groups && options.mode != Mode::kDirect;
  Plan plan;
  plan.layout = {std::move(rooms), {}, shape.gang, quotas ? shape.per_quota : 0};
  if (options.make_nodes) {
    int index = 0;
    for (const NodeRoom& room : plan.layout.nodes) {
      if (quotas) plan.ground.push_back(AsMade(MakeTopology(room)));
      plan.ground.push_back(AsMade(MakeNode(room, index++)));
    }
  }
  if (quotas) AddQuotas(options, plan);
  AddPods(options, quotas, plan);
  return plan;
}

std::vector<std::string> DirectPlaces(const Layout& layout) {
  std::vector<std::string> places;
  for (const NodeRoom& node : layout.nodes)
    for (int i = 0; i < node.room && places.size() < layout.pods.size(); ++i)
      places.push_back(node.name);
  return places;
}

}  // namespace sky::load
