// SPDX-License-Identifier: Apache-2.0
// Does a gang wait for one zone, rather than be split for its whole life (F42)?
#include <algorithm>

#include "actions/planner_asked.h"
#include "actions/round_tasks.h"
#include "model/pod_terms.h"

namespace sky::actions {

using model::CellId;
using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::TaskId;

// How many zones may the gang have beside those where it is? It may span as many as it says, once
// its patience is over; else one, or as many as it takes when there is none to wait for.
int64_t Planner::MostMore(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  if (more_) return *more_;
  int64_t most = policy_.max_zones.value_or(INT64_MAX);
  const bool patient = !policy_.max_zones || session_.now().wall < policy_.patient_until;
  waits_for_zone_ = patient && CouldWait(chain, cells);
  if (waits_for_zone_) most = 1;
  more_ = std::max(most - static_cast<int64_t>(own_.size()), int64_t{0});
  return *more_;
}

// For any zone that could hold the whole gang. One that has begun in one zone stays there, whatever
// that zone has lost since: one is what it may have.
bool Planner::CouldWait(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  if (own_.empty())
    return std::ranges::any_of(cells, [&](const Cell& cell) { return CouldHold(chain, cell); });
  return own_.size() == 1 && SomeCouldHoldAll(chain, cells);
}

// The whole of a gang that has begun, as if none of it was placed. Extras don't count, they are no
// reason to leave a zone that holds the gang.
bool Planner::SomeCouldHoldAll(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  const std::set<TaskId> planned(chain.begin(), chain.end());
  std::vector<TaskId> whole;
  std::set<TaskId> placed;
  std::set<QuotaId> theirs;
  for (const TaskId id : cluster_.jobs()[round_.job].ranked) {
    if (!InChain(id)) continue;
    if (cluster_.PlaceOf(id).valid()) {
      placed.insert(id);
      theirs.insert(cluster_.tasks()[id].used_quota());
      whole.push_back(id);
    } else if (!round_.extras && planned.contains(id)) {
      whole.push_back(id);
    }
  }
  std::erase_if(theirs, [&](QuotaId quota) {
    return !quota.valid() || !std::ranges::all_of(cluster_.quotas()[quota].tasks, [&](TaskId task) {
      return placed.contains(task);
    });
  });
  Demanded demanded = demanded_;
  for (const TaskId task : whole)
    if (const QuotaId quota = cluster_.quotas().Find(DemandOf(cluster_, task));
        quota.valid() && (theirs.contains(quota) || !cluster_.quotas()[quota].node.valid()))
      demanded.insert(quota);
  std::map<std::pair<model::ClassId, std::string>, Pool> pools;
  std::vector<int64_t> kinds = kinds_;
  std::swap(pools, pools_);
  for (const TaskId task : whole) {
    const model::PodFacts& facts = *cluster_.tasks()[task].facts;
    const auto [at, added] =
        pools_.try_emplace({facts.task_class, std::string(DemandOf(cluster_, task))});
    if (added) at->second = DrawPoolWith(session_, task, demanded, theirs);
  }
  std::vector<CellId> where;
  for (const Cell& cell : cells)
    for (const CellId id : {cell.id, cell.degraded})
      if (id.valid()) where.push_back(id);
  const std::vector<Cell> all = Survey(whole, where, true);
  const bool could =
      std::ranges::any_of(all, [&](const Cell& cell) { return CouldHold(whole, cell); });
  std::swap(pools, pools_);
  std::swap(kinds, kinds_);
  return could;
}

// What keeps the task away passes by itself, or (where its gang runs already) is for newcomers.
bool Planner::Passes(const model::Verdict& verdict, NodeId node) const {
  if (verdict.reason == Reason::kEarmarkedForOther) return true;
  if (verdict.reason == Reason::kNodeNotReady)
    return !own_.empty() || (cluster_.nodes()[node].exists() && !cluster_.nodes()[node].lost);
  return !own_.empty() && (verdict.reason == Reason::kNodeUnschedulable ||
                           verdict.reason == Reason::kTaintNotTolerated);
}

// Could the cell hold these tasks if nothing else was there? Counts say no for certain; yes, where
// all tasks are alike and get a share each. For the others the search says, without end of quotas.
bool Planner::CouldHold(std::span<const TaskId> tasks, const Cell& cell) {
  const auto n = static_cast<int64_t>(tasks.size());
  if (cell.size < n) return false;
  const bool apart = model::OneOnANode(*cluster_.tasks()[tasks.front()].facts->pod);
  if (cell.empty >= n && OneShareEach(tasks) && !apart) return true;
  const std::vector<NodeId>& nodes = NodesIn(cell);
  const bool some_pass = std::ranges::any_of(nodes, [&](NodeId node) {
    return Passes(session_.task_to_node.Feasible(tasks.front(), node), node);
  });
  if (cell.empty < n && !some_pass) return false;
  return HoldsWhenEmpty(tasks, nodes);
}

bool Planner::HoldsWhenEmpty(Tasks tasks, std::vector<NodeId> nodes) {
  Asked asked = Draw(tasks, std::move(nodes), policy_.strict, SIZE_MAX);
  AsIfEmpty(asked);
  const topology::Answer answer =
      topology::FindPlaces(asked.question, cluster_.names().resources, budget_ / 16);
  budget_ -= answer.steps + 1;
  return answer.found();
}

namespace {

// Of a node that is empty but for what never leaves it: pods of DaemonSets, and its own.
model::Resources RoomWhenEmpty(const model::Cluster& cluster, NodeId id) {
  model::Resources room = cluster.nodes()[id].allocatable;
  for (const TaskId task : cluster.nodes()[id].tasks) {
    const model::PodFacts& facts = *cluster.tasks()[task].facts;
    if (facts.tied_to_node()) room -= facts.uses();
  }
  return room;
}

}  // namespace

void Planner::AsIfEmpty(Asked& asked) const {
  topology::Question& question = asked.question;
  question.fill = topology::Fill::kPack;
  const auto spots = asked.nodes.size();
  for (size_t s = 0; s < asked.shelves.size(); ++s) {
    const FreeShelf& shelf = asked.shelves[s];
    question.shelves[s].left = shelf.demanded ? 1 : static_cast<int64_t>(asked.tasks.size());
    for (size_t spot = 0; spot < spots && !shelf.direct; ++spot) {
      // Room isn't all that it may lack.
      bool passes = true;
      session_.quota_to_node.Feasible(
          shelf.sample, asked.nodes[spot], [&](const std::string&, const model::Verdict& verdict) {
            passes = passes && (LacksRoomAlone(verdict) || Passes(verdict, asked.nodes[spot]));
          });
      // A quota that somebody named may be on a node, for as long as it is used.
      const NodeId at = shelf.demanded ? cluster_.quotas()[shelf.sample].node : NodeId{};
      question.shelves[s].admits[spot] = passes && (!at.valid() || at == asked.nodes[spot]);
    }
  }
  const model::PodFacts& first = *cluster_.tasks()[asked.tasks.front()].facts;
  for (size_t spot = 0; spot < spots; ++spot) {
    const model::Resources all = RoomWhenEmpty(cluster_, asked.nodes[spot]);
    question.spots[spot] = {all, all, 0, {}};
    if (first.direct())
      question.spots[spot].idle = SpotIdleWhenEmpty(cluster_, asked.nodes[spot], first);
  }
  for (size_t h = 0; h < asked.held.size(); ++h) {
    topology::Spot& spot = question.spots[question.held[h].spot];
    spot.room -= cluster_.quotas()[asked.held[h]].charge;
    spot.quota_room -= cluster_.quotas()[asked.held[h]].request;
  }
  for (size_t k = 0; k < asked.kinds.size(); ++k)
    for (size_t spot = 0; spot < spots; ++spot) {
      topology::Kind& kind = question.kinds[k];
      const model::Verdict verdict =
          session_.task_to_node.Feasible(asked.kinds[k]->task, asked.nodes[spot]);
      kind.admits[spot] =
          (verdict.fit() || Passes(verdict, asked.nodes[spot])) &&
          std::none_of(kind.request.begin(), kind.request.end(), [&](const model::Amount& one) {
            return one.value > 0 && question.spots[spot].room[one.name] < 0;
          });
    }
  for (topology::Chained& task : question.tasks) task.lowest = 0, task.highest = INT64_MAX;
  // Who can't stand beside its like: as if a node had one slot.
  const bool apart = std::ranges::all_of(asked.kinds, [&](const Pool* kind) {
    return model::OneOnANode(*cluster_.tasks()[kind->task].facts->pod);
  });
  if (!apart) return;
  for (topology::Spot& spot : question.spots) {
    const auto slot = [](model::Resources& room) {
      constexpr auto kPods = model::ResourceNames::kPods;
      room.Set(kPods, std::min<int64_t>(room[kPods], 1000));
    };
    slot(spot.room);
    if (spot.idle) slot(*spot.idle);
  }
}

}  // namespace sky::actions
