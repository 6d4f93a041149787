// SPDX-License-Identifier: Apache-2.0
// Spot pods and places: what a node has idle for those that go there without a quota, and what
// those that have one may use beside spot pods, or get from them.
#include <algorithm>

#include "actions/planner.h"
#include "actions/round_tasks.h"

namespace sky::actions {

using model::NodeId;
using model::Resources;
using model::SpotMode;
using model::TaskId;

// What tasks may use on the node; absent: what charges leave says it all. `mode`: of spot pods
// among them, whose pool counts too.
std::optional<Resources> Planner::IdleOf(NodeId id, SpotMode mode) const {
  const model::Node& node = cluster_.nodes()[id];
  if (mode == SpotMode::kNone && !node.has_spot()) return std::nullopt;
  return SpotIdle(cluster_, id, mode) +
         (evicts_ && !full_.contains(id) ? node.evictable : Resources{});
}

// With what is planned there already: is there room now, or who would have to leave for it?
bool Planner::MakesRoom(TaskId task, NodeId id) const {
  const model::Node& node = cluster_.nodes()[id];
  if (!node.has_spot() || cluster_.tasks()[task].facts->direct()) return true;
  const Resources missing = model::Shortfall(cluster_.tasks()[task].facts->request, node.Free());
  if (missing.IsZero()) return true;
  return evicts_ && !full_.contains(id) && session_.PredictEvicted(task, id, missing).has_value();
}

// Of the nodes that the plan takes, in its order, the first whose spot pods can't leave when those
// of the nodes before it do; absent: all can.
std::optional<NodeId> Planner::FirstThatStays() const {
  std::map<NodeId, Resources> asked;
  std::vector<std::pair<NodeId, TaskId>> order;
  for (const framework::PlannedTask& one : round_.plan.tasks) {
    // Nobody leaves for a spot pod, or where there is none.
    if (cluster_.tasks()[one.task].facts->direct() || !cluster_.nodes()[one.node].has_spot())
      continue;
    const auto [at, first] = asked.try_emplace(one.node);
    at->second += cluster_.tasks()[one.task].facts->request;
    if (first) order.emplace_back(one.node, one.task);
  }
  framework::Session::Victims leaving;
  for (const auto& [node, task] : order) {
    // What is planned there is pledged already.
    const Resources& request = asked.at(node);
    const Resources missing = model::Shortfall(request, cluster_.nodes()[node].Free() + request);
    if (missing.IsZero()) continue;
    const auto victims = session_.PredictEvicted(task, node, missing, leaving);
    if (!victims) return node;
    leaving.insert(leaving.end(), victims->begin(), victims->end());
  }
  return std::nullopt;
}

}  // namespace sky::actions
