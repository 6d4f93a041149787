// SPDX-License-Identifier: Apache-2.0
// Scores by how much of a node is used. They cost a look at each pod of each candidate, and are
// off unless the configuration weighs them.
#include <algorithm>
#include <array>
#include <cmath>

#include "api/pod_requests.h"
#include "plugins/nodeorder/scores.h"

namespace sky::plugins {
namespace {

using model::NodeId;
using model::TaskId;

// cpu in thousandths, memory in bytes.
using Pair = std::array<int64_t, 2>;

Pair AsPair(const model::Resources& amounts) {
  return {amounts[model::ResourceNames::kCpu], amounts[model::ResourceNames::kMemory]};
}

// What a pod counts for: a container without a request of its own isn't free.
Pair Counted(const model::Cluster& cluster, TaskId task, bool real) {
  const model::PodFacts& facts = *cluster.tasks()[task].facts;
  if (real) return AsPair(facts.request);
  static const auto kCpu = api::Quantity::Milli(100, api::Quantity::Format::kDecimalSI);
  static const auto kMemory =
      api::Quantity::Units(int64_t{200} << 20, api::Quantity::Format::kBinarySI);
  api::Pod pod = *facts.pod;
  for (auto* containers : {&pod.spec.containers, &pod.spec.init_containers})
    for (api::Container& container : *containers) {
      container.resources.requests.emplace("cpu", kCpu);
      container.resources.requests.emplace("memory", kMemory);
    }
  return AsPair(model::FromList(api::PodRequests(pod), cluster.names().resources));
}

// Of the pods that are there or are about to be.
Pair Used(const model::Cluster& cluster, TaskId but, NodeId id, bool real) {
  const model::Node& node = cluster.nodes()[id];
  Pair sum{};
  const auto add = [&](TaskId task) {
    if (task == but) return;
    const Pair one = Counted(cluster, task, real);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
  };
  for (const TaskId task : node.tasks) add(task);
  for (const auto* quotas : {&node.quotas, &node.planned_quotas})
    for (const model::QuotaId quota : *quotas)
      for (const TaskId task : cluster.quotas()[quota].tasks)
        if (!cluster.tasks()[task].bound() && cluster.PlaceOf(task) == id) add(task);
  return sum;
}

// 100 · (1 − half the distance of both shares).
int64_t Evenness(const Pair& used, const Pair& offered) {
  std::array<double, 2> shares{};
  size_t counted = 0;
  for (size_t i = 0; i < used.size(); ++i)
    if (offered[i] != 0)
      shares[counted++] =
          std::min(1.0, static_cast<double>(used[i]) / static_cast<double>(offered[i]));
  const double spread = counted == 2 ? std::abs((shares[0] - shares[1]) / 2) : 0;
  return static_cast<int64_t>((1 - spread) * 100.0);
}

int64_t Share(const Pair& used, const Pair& offered, Amounts by) {
  int64_t sum = 0, counted = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    if (offered[i] == 0) continue;
    ++counted;
    const int64_t within = std::min(used[i], offered[i]);
    const int64_t part = by == Amounts::kMost ? within : offered[i] - within;
    sum += part * 100 / offered[i];
  }
  return counted == 0 ? 0 : sum / counted;
}

}  // namespace

Scores ScoreAmounts(const model::Cluster& cluster, Amounts by, TaskId task, Candidates nodes) {
  const bool real = by == Amounts::kBalanced;
  const Pair asked = Counted(cluster, task, real);
  if (real && asked == Pair{}) return std::nullopt;
  std::vector<int64_t> scores;
  for (const NodeId node : nodes) {
    const Pair before = Used(cluster, task, node, real);
    const Pair offered = AsPair(cluster.nodes()[node].allocatable);
    Pair after = before;
    for (size_t i = 0; i < after.size(); ++i) after[i] += asked[i];
    scores.push_back(real ? 50 + (50 + Evenness(after, offered) - Evenness(before, offered)) / 2
                          : Share(after, offered, by));
  }
  return scores;
}

}  // namespace sky::plugins
