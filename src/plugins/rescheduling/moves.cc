// SPDX-License-Identifier: Apache-2.0
#include "plugins/rescheduling/moves.h"

#include <algorithm>
#include <tuple>

#include "base/natural.h"
#include "model/budgets.h"

namespace sky::plugins {

using model::NodeId;
using model::Resources;
using model::TaskId;

namespace {

// Made anew elsewhere when it is gone.
bool ComesBack(const model::PodFacts& facts) {
  return facts.meta().Controller() != nullptr && !facts.tied_to_node();
}

// The most that may be used before it is more than so many percent.
int64_t Percent(int64_t all, int64_t percent) {
  return all / 100 * percent + all % 100 * percent / 100;
}

}  // namespace

bool Offers(const model::Node& node, const Levels& levels) {
  return node.exists() && std::ranges::all_of(levels, [&](const Level& level) {
           return node.allocatable[level.name] > 0;
         });
}

bool AboveTarget(const model::Node& node, const Levels& levels, const Resources& present) {
  return std::ranges::any_of(levels, [&](const Level& level) {
    return present[level.name] > Percent(node.allocatable[level.name], level.target);
  });
}

Resources Present(const model::Node& node) { return node.used + node.pledged - node.releasing; }

Moves::Moves(const framework::Session& session, const Levels& levels,
             std::function<bool(TaskId)> stays)
    : session_(session), cluster_(session.cluster()), levels_(levels), stays_(std::move(stays)) {}

std::vector<TaskId> Moves::Candidates(NodeId from) const {
  std::vector<TaskId> candidates = model::EvictableOn(cluster_, from);
  std::ranges::sort(candidates, [&](TaskId a, TaskId b) {
    const model::PodFacts &one = *cluster_.tasks()[a].facts, &other = *cluster_.tasks()[b].facts;
    if (one.priority != other.priority) return one.priority < other.priority;
    const WallTime begun = one.since({}), other_begun = other.since({});
    if (begun != other_begun) return begun > other_begun;
    return NaturalLess{}(one.meta().Key(), other.meta().Key());
  });
  return candidates;
}

bool Moves::MayLeave(TaskId id) const {
  const model::Task& task = cluster_.tasks()[id];
  const model::PodFacts& facts = *task.facts;
  if (!task.evictable || !task.job.valid() || !ComesBack(facts) || stays_(id)) return false;
  const model::Job& job = cluster_.jobs()[task.job];
  if (job.queue.valid() && !cluster_.queues()[job.queue].reclaimable()) return false;
  std::vector<TaskId> with = {id};
  int64_t of_job = 0;
  for (const Move& move : planned_) {
    if (move.task == id) return false;
    with.push_back(move.task);
    of_job += cluster_.tasks()[move.task].job == task.job ? 1 : 0;
  }
  for (const cache::Eviction& eviction : session_.evictions)
    for (const auto& victim : eviction.victims)
      if (victim.uid == facts.meta().uid) return false;
  // Nobody stops a gang for the sake of order.
  if (!job.single && job.bound - of_job <= job.needed) return false;
  const std::vector<TaskId> given = session_.Reclaimable(id, with);
  if (!std::ranges::binary_search(given, id)) return false;
  const auto left = model::DisruptionsLeft(cluster_, facts);
  const auto budgets = model::BudgetsOf(cluster_.budgets(), facts);
  const auto same = std::ranges::count_if(planned_, [&](const Move& move) {
    return model::BudgetsOf(cluster_.budgets(), *cluster_.tasks()[move.task].facts) == budgets;
  });
  return !left || same < *left;
}

bool Moves::Takes(TaskId id, NodeId to) const {
  const model::Task& task = cluster_.tasks()[id];
  const model::Node& node = cluster_.nodes()[to];
  if (to == task.node || !node.usable() || session_.earmarks().On(to)) return false;
  const Resources uses = task.facts->uses();
  if (!model::Fits(uses, FreeOn(to), cluster_.names().resources)) return false;
  if (Offers(node, levels_) && AboveTarget(node, levels_, PresentOn(to) + uses)) return false;
  model::SpotUse use = node.spot;
  for (const Move& move : planned_)
    if (move.to == to) {
      const model::PodFacts& other = *cluster_.tasks()[move.task].facts;
      use.Add(other.spot, other.spot_asked());
    }
  return model::SpotRoom(node.pools, use, task.facts->spot, INT64_MAX / 2) >=
             task.facts->spot_asked() &&
         session_.task_to_node.Feasible(id, to).fit();
}

bool Moves::Plan(TaskId task, std::span<const NodeId> targets) {
  if (!MayLeave(task)) return false;
  const auto to = std::ranges::find_if(targets, [&](NodeId node) { return Takes(task, node); });
  if (to == targets.end()) return false;
  planned_.push_back({task, cluster_.tasks()[task].node, *to});
  return true;
}

void Moves::DropNeedless(size_t first, const std::function<bool()>& enough) {
  for (size_t i = first; i < planned_.size();) {
    const Move move = planned_[i];
    planned_.erase(planned_.begin() + static_cast<ptrdiff_t>(i));
    if (enough()) continue;
    planned_.insert(planned_.begin() + static_cast<ptrdiff_t>(i), move);
    ++i;
  }
}

void Moves::TakeBack(size_t first) { planned_.resize(first); }

Resources Moves::PresentOn(NodeId node) const {
  Resources present = Present(cluster_.nodes()[node]);
  for (const Move& move : planned_) {
    if (move.from == node) present -= cluster_.tasks()[move.task].facts->uses();
    if (move.to == node) present += cluster_.tasks()[move.task].facts->uses();
  }
  return present;
}

Resources Moves::FreeOn(NodeId node) const {
  Resources free = cluster_.nodes()[node].Free();
  for (const Move& move : planned_) {
    if (move.from == node) free += cluster_.tasks()[move.task].facts->uses();
    if (move.to == node) free -= cluster_.tasks()[move.task].facts->uses();
  }
  return free;
}

}  // namespace sky::plugins
