// SPDX-License-Identifier: Apache-2.0
// Passes over nodes: ranks from the left, at most `cap` a node, each pair asked of the callbacks
// and, when it holds, charged at once, so that the next rank sees it.
#include <algorithm>

#include "actions/planner.h"
#include "topology/order.h"

namespace sky::actions {

using model::NodeId;
using model::QuotaId;
using model::TaskId;

bool Planner::TryPair(TaskId task, QuotaId quota_id, NodeId node) {
  const model::Quota& quota = cluster_.quotas()[quota_id];
  const NodeId there = quota.node.valid() ? quota.node : quota.planned;
  if (there.valid() && there != node) return false;
  if (!session_.task_to_quota.Feasible(task, quota_id).fit()) return false;
  if (!there.valid() && !session_.quota_to_node.Feasible(quota_id, node).fit()) return false;
  if (!FitsRoom(cluster_, task, quota_id, node).fit()) return false;
  round_.statement.AllocateTaskToQuota(task, quota_id, node);
  round_.plan.tasks.push_back(
      {task, quota_id, node, policy_.enabled ? ZoneOf(node) : model::ZoneId{}});
  return true;
}

// Quotas that are on the node come first, then free ones.
bool Planner::TryNode(TaskId task, NodeId node, bool bound_only) {
  if (!session_.task_to_node.Feasible(task, node).fit()) return false;
  const Pool& pool = PoolOf(task);
  const auto here = [&](QuotaId id) {
    const model::Quota& quota = cluster_.quotas()[id];
    return (quota.node.valid() ? quota.node : quota.planned) == node;
  };
  for (const QuotaId quota : pool.quotas)
    if (here(quota) && TryPair(task, quota, node)) return true;
  if (bound_only) return false;
  for (const QuotaId quota : pool.quotas) {
    const model::Quota& row = cluster_.quotas()[quota];
    if (row.node.valid() || row.planned.valid()) continue;
    if (TryPair(task, quota, node)) return true;
    // Free quotas of one class answer alike on this node.
    if (pool.quotas.size() > 64 && !FitsRoom(cluster_, task, quota, node).fit()) return false;
  }
  return false;
}

bool Planner::Pass(std::span<const TaskId> tasks, std::span<const NodeId> nodes, int64_t cap,
                   bool in_order) {
  const bool any_bound =
      std::any_of(PoolOf(tasks.front()).quotas.begin(), PoolOf(tasks.front()).quotas.end(),
                  [&](QuotaId quota) { return cluster_.quotas()[quota].node.valid(); });
  return (any_bound && PassOnce(tasks, nodes, cap, in_order, true)) ||
         PassOnce(tasks, nodes, cap, in_order, false);
}

bool Planner::PassOnce(std::span<const TaskId> tasks, std::span<const NodeId> nodes, int64_t cap,
                       bool in_order, bool prefer_bound) {
  const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
  const model::Job& job = cluster_.jobs()[round_.job];
  std::vector<int64_t> load(nodes.size(), 0);    // of this pass
  std::vector<int64_t> before(nodes.size(), 0);  // siblings that are there already
  const auto position = [&](NodeId node) -> std::optional<int64_t> {
    const auto at = std::find(nodes.begin(), nodes.end(), node);
    return at == nodes.end() ? std::nullopt : std::optional<int64_t>(at - nodes.begin());
  };
  std::vector<int64_t> bound(nodes.size(), 0);
  int64_t any_bound = 0;
  if (prefer_bound)
    for (const QuotaId quota : PoolOf(tasks.front()).quotas)
      if (const NodeId node = cluster_.quotas()[quota].node;
          node.valid() && cluster_.quotas()[quota].tasks.empty())
        if (const auto at = position(node)) ++bound[static_cast<size_t>(*at)], ++any_bound;
  const auto bound_beyond = [&](size_t from) {
    int64_t count = 0;
    for (size_t i = from; any_bound > 0 && i < bound.size(); ++i)
      count += std::max<int64_t>(bound[i] - load[i], 0);
    return count;
  };
  // Placed members fix the intervals of the others; without any, ranks only rise.
  topology::Positions positions(job.ranked.size());
  std::map<TaskId, size_t> rank_of;
  bool siblings = false;
  for (size_t rank = 0; rank < job.ranked.size(); ++rank) {
    rank_of[job.ranked[rank]] = rank;
    const model::Task& task = cluster_.tasks()[job.ranked[rank]];
    const NodeId node = task.bound() ? task.node : task.claim.node;
    if (!node.valid() || !policy_.enabled) continue;
    positions[rank] = position(node);
    if (positions[rank]) ++before[static_cast<size_t>(*positions[rank])];
    siblings = true;
  }
  int64_t last = 0;
  auto left = static_cast<int64_t>(tasks.size());
  for (const TaskId task : tasks) {
    --left;
    topology::Interval interval{last, INT64_MAX};
    if (siblings) interval = topology::IntervalOf(positions, rank_of.at(task));
    if (!in_order) interval = topology::Interval{};
    bool placed = false;
    for (size_t i = 0; i < nodes.size() && !placed; ++i) {
      if (!interval.Holds(static_cast<int64_t>(i)) || before[i] + load[i] >= cap) continue;
      // Idle bound quotas come before free ones: leave this node alone when the tasks that are left
      // are just enough for those at and beyond it.
      placed = TryNode(task, nodes[i], bound_beyond(i) > left);
      if (!placed) continue;
      ++load[i];
      last = static_cast<int64_t>(i);
      positions[rank_of.at(task)] = last;
    }
    if (placed) continue;
    round_.statement.RollBackTo(start);
    round_.plan.tasks.resize(planned);
    return false;
  }
  return true;
}

// `spread`: the least number a node that works; `pack`: no cap.
bool Planner::PlaceOrdered(std::span<const TaskId> tasks, std::span<const NodeId> nodes) {
  const auto n = static_cast<int64_t>(tasks.size()), m = static_cast<int64_t>(nodes.size());
  if (!policy_.pack) {
    // Siblings count towards a node's share, so that no cap is higher than with all on one node.
    const auto members = static_cast<int64_t>(cluster_.jobs()[round_.job].ranked.size());
    int64_t low = (n + m - 1) / m, high = std::max(n, members);
    if (Pass(tasks, nodes, low, true)) return true;
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
      const bool fits = Pass(tasks, nodes, middle, true);
      if (!fits) {
        low = middle;
        continue;
      }
      high = middle;
      round_.statement.RollBackTo(start);
      round_.plan.tasks.resize(planned);
    }
    if (Pass(tasks, nodes, high, true)) return true;
  } else if (Pass(tasks, nodes, INT64_MAX, true)) {
    return true;
  }
  // Ranks of a gang that isn't strict may also stand out of order rather than wait.
  return !policy_.strict && Pass(tasks, nodes, INT64_MAX, false);
}

// Without topology: each task to its best node by score. Accelerators of one job stay on one spec
// code.
bool Planner::PlaceAnywhere(std::span<const TaskId> tasks) {
  if (tasks.empty()) return true;
  std::vector<model::CellKey> cells;
  for (const auto& [key, nodes] : cluster_.cells())
    if (!key.zone.valid()) cells.push_back(key);
  const auto spec = [&](const model::CellKey& key) {
    return key.spec.valid() ? cluster_.names().specs.Name(key.spec) : std::string_view{};
  };
  std::sort(cells.begin(), cells.end(),
            [&](const auto& a, const auto& b) { return spec(a) < spec(b); });
  const bool accelerated = std::any_of(tasks.begin(), tasks.end(), [&](TaskId id) {
    const model::Resources& request = cluster_.tasks()[id].facts->request;
    for (size_t i = 0; i < request.size(); ++i)
      if (request[model::ResourceId(i)] > 0 &&
          cluster_.names().resources.IsScalar(model::ResourceId(i)))
        return true;
    return false;
  });
  std::vector<NodeId> all;
  for (const model::CellKey& key : cells) {
    const auto& nodes = cluster_.cells().at(key);
    all.insert(all.end(), nodes.begin(), nodes.end());
    if (accelerated && PlaceByScore(tasks, nodes)) return true;
  }
  if (!accelerated && PlaceByScore(tasks, all)) return true;
  Cell everywhere;
  everywhere.nodes = std::move(all);
  Measure(everywhere, tasks);
  Explain(tasks, {everywhere});
  return false;
}

bool Planner::PlaceByScore(std::span<const TaskId> tasks, std::span<const NodeId> nodes) {
  const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
  for (const TaskId task : tasks) {
    bool placed = false;
    // Bound quotas before free ones (tier first where zones don't matter).
    for (const NodeId node : nodes)
      if (!placed && !cluster_.nodes()[node].quotas.empty()) placed = TryNode(task, node, true);
    const Pool& pool = PoolOf(task);
    for (size_t q = 0; q < pool.quotas.size() && !placed; ++q) {
      const QuotaId quota = pool.quotas[q];
      if (cluster_.quotas()[quota].node.valid() || cluster_.quotas()[quota].planned.valid())
        continue;
      std::vector<NodeId> feasible;
      for (const NodeId node : nodes)
        if (session_.task_to_node.Feasible(task, node).fit() &&
            session_.quota_to_node.Feasible(quota, node).fit() &&
            FitsRoom(cluster_, task, quota, node).fit())
          feasible.push_back(node);
      if (const auto best = session_.quota_to_node.Best(quota, feasible))
        placed = TryPair(task, quota, *best);
    }
    if (placed) continue;
    round_.statement.RollBackTo(start);
    round_.plan.tasks.resize(planned);
    return false;
  }
  return true;
}

}  // namespace sky::actions
