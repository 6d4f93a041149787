// SPDX-License-Identifier: Apache-2.0
// Tasks that don't care for zones: each to its best node by score, bound quotas before free ones.
// Accelerators of one job stay on one spec code.
#include <algorithm>
#include <queue>

#include "actions/planner.h"
#include "actions/round_tasks.h"

namespace sky::actions {

using model::NodeId;
using model::QuotaId;
using model::TaskId;

namespace {

// The nodes that a free quota's class may go to with one class of tasks, best first. Scores are of
// one node each; whoever takes a node asks anew for that one.
class BestNodes {
 public:
  // An invalid quota: the tasks go there themselves.
  BestNodes(const framework::Session& session, TaskId task, QuotaId quota,
            std::span<const NodeId> nodes, bool evicts)
      : session_(session), nodes_(nodes), evicts_(evicts) {
    std::vector<NodeId> feasible;
    std::vector<size_t> at;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (Feasible(task, quota, i) || MayLater(task, i))
        feasible.push_back(nodes[i]), at.push_back(i);
    const std::vector<int64_t> scores = Scores(task, quota, feasible);
    for (size_t i = 0; i < feasible.size(); ++i) heap_.push({scores[i], at[i]});
  }

  // The best node for `task` now; absent when there is none.
  std::optional<NodeId> Take(TaskId task, QuotaId quota) {
    std::vector<Entry> aside;  // tasks elsewhere keep it away now, and not for ever
    const std::optional<NodeId> taken = TakeNow(task, quota, aside);
    for (const Entry& entry : aside) heap_.push(entry);
    return taken;
  }

 private:
  struct Entry {
    int64_t score;
    size_t at;
    bool operator<(const Entry& other) const {
      return score != other.score ? score < other.score : at > other.at;
    }
  };
  std::optional<NodeId> TakeNow(TaskId task, QuotaId quota, std::vector<Entry>& aside) {
    while (!heap_.empty()) {
      const Entry top = heap_.top();
      heap_.pop();
      if (!Feasible(task, quota, top.at)) {
        if (MayLater(task, top.at)) aside.push_back(top);
        continue;
      }
      const NodeId one[] = {nodes_[top.at]};
      const int64_t score = Scores(task, quota, one)[0];
      const Entry now{score, top.at};
      if (score != top.score && !heap_.empty() && now < heap_.top()) {
        heap_.push(now);
        continue;
      }
      heap_.push(now);  // it may take more
      return nodes_[top.at];
    }
    return std::nullopt;
  }
  // It isn't the node that refuses, but what stands on others: other tasks of the round change
  // that.
  bool MayLater(TaskId task, size_t at) const {
    const auto reason = session_.task_to_node.Feasible(task, nodes_[at]).reason;
    return reason != model::Reason::kNone && reason != model::Reason::kEarmarkedForOther &&
           session_.task_to_node.Alone(task, nodes_[at]).fit();
  }
  // The quota holds nobody yet, so what its task would rather have is asked of the task.
  std::vector<int64_t> Scores(TaskId task, QuotaId quota, std::span<const NodeId> nodes) const {
    std::vector<int64_t> scores = session_.task_to_node.Scores(task, nodes);
    if (!quota.valid()) return scores;
    const std::vector<int64_t> of_quota = session_.quota_to_node.Scores(quota, nodes);
    for (size_t i = 0; i < scores.size(); ++i) scores[i] += of_quota[i];
    return scores;
  }
  bool Feasible(TaskId task, QuotaId quota, size_t at) const {
    return session_.task_to_node.Feasible(task, nodes_[at]).fit() &&
           (!quota.valid() || session_.quota_to_node.Feasible(quota, nodes_[at]).fit()) &&
           FitsRoom(session_.cluster(), task, quota, nodes_[at], evicts_).fit();
  }
  const framework::Session& session_;
  std::span<const NodeId> nodes_;
  const bool evicts_;
  std::priority_queue<Entry> heap_;
};

}  // namespace

// A cell for each spec code that the tasks may have, by its name.
std::vector<model::CellId> Planner::Everywhere(Tasks tasks) const {
  std::vector<model::CellId> everywhere;
  for (const auto& [key, id] : cluster_.cells().by_key())
    if (!key.zone.valid()) everywhere.push_back(id);
  everywhere = OfOneSpec(tasks, everywhere);
  const auto spec = [&](model::CellId cell) {
    const model::SpecId code = cluster_.cells()[cell].key.spec;
    return code.valid() ? cluster_.names().specs.Name(code) : std::string_view{};
  };
  std::sort(everywhere.begin(), everywhere.end(),
            [&](model::CellId a, model::CellId b) { return spec(a) < spec(b); });
  return everywhere;
}

bool Planner::PlaceAnywhere(std::span<const TaskId> tasks) {
  if (tasks.empty()) return true;
  // Drawn now: what is tried below is undone, and quotas that it opened aren't on nodes any more.
  for (const TaskId task : tasks) PoolOf(task);
  const std::vector<model::CellId> everywhere = Everywhere(tasks);
  const bool accelerated = std::any_of(
      tasks.begin(), tasks.end(), [&](TaskId task) { return AsksAccelerator(cluster_, task); });
  std::vector<NodeId> all;
  for (const model::CellId cell : everywhere) {
    const std::vector<NodeId>& nodes = cluster_.cells()[cell].nodes;
    all.insert(all.end(), nodes.begin(), nodes.end());
  }
  const bool could_evict = session_.Evicts() && std::ranges::any_of(all, [&](NodeId node) {
                             return !cluster_.nodes()[node].evictable.IsZero();
                           });
  // Nobody is sent away where that isn't needed.
  for (const bool evicts : {false, true}) {
    if (evicts && !could_evict) break;
    evicts_ = evicts;
    for (const model::CellId cell : everywhere)
      if (accelerated && (PlaceByScore(tasks, cluster_.cells()[cell].nodes) ||
                          PlaceOnSpec(tasks, cluster_.cells()[cell])))
        return true;
    if (!accelerated && (PlaceByScore(tasks, all) || Place(tasks, all, false))) return true;
  }
  Explain(tasks, Survey(tasks, everywhere, true));
  return false;
}

bool Planner::PlaceByScore(std::span<const TaskId> tasks, std::span<const NodeId> nodes) {
  const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
  std::map<std::pair<const Pool*, size_t>, BestNodes> best;
  for (const TaskId task : tasks) {
    const Pool& pool = PoolOf(task);
    // One that an earlier task of the round has opened may have room for this one.
    bool placed = std::any_of(round_.plan.tasks.begin() + static_cast<ptrdiff_t>(planned),
                              round_.plan.tasks.end(), [&](const framework::PlannedTask& one) {
                                return pool.TakesMany() && TryPair(task, one.quota, one.node);
                              });
    placed = placed || TryHeld(task, nodes);
    for (size_t s = 0; s < pool.shelves.size() && !placed; ++s) {
      const std::vector<QuotaId> next = pool.shelves[s].direct
                                            ? std::vector<QuotaId>{QuotaId{}}
                                            : TakeFrom(cluster_, pool.shelves[s], 1, demanded_);
      if (next.empty()) continue;
      auto at = best.find({&pool, s});
      if (at == best.end()) {
        budget_ -= static_cast<int64_t>(nodes.size());
        at = best.try_emplace({&pool, s}, session_, task, next[0], nodes, evicts_).first;
      }
      if (const auto node = at->second.Take(task, next[0])) placed = TryPair(task, next[0], *node);
    }
    if (placed) continue;
    round_.statement.RollBackTo(start);
    round_.plan.tasks.resize(planned);
    return false;
  }
  return true;
}

// A quota that is on a node comes before a free one.
bool Planner::TryHeld(TaskId task, std::span<const NodeId> nodes) {
  const Pool& pool = PoolOf(task);
  if (pool.held.empty()) return false;
  return std::any_of(pool.held.begin(), pool.held.end(), [&](const HeldQuota& held) {
    const NodeId node = cluster_.quotas()[held.quota].place();
    return node.valid() && std::find(nodes.begin(), nodes.end(), node) != nodes.end() &&
           TryPair(task, held.quota, node);
  });
}

bool Planner::TryPair(TaskId task, QuotaId quota_id, NodeId node) {
  if (quota_id.valid()) {
    const NodeId there = cluster_.quotas()[quota_id].place();
    if (there.valid() && there != node) return false;
  }
  if (!QuotaMay(task, quota_id, node) || !session_.task_to_node.Feasible(task, node).fit() ||
      !FitsRoom(cluster_, task, quota_id, node, evicts_).fit() || !MakesRoom(task, node))
    return false;
  return Charge(task, quota_id, node);
}

}  // namespace sky::actions
