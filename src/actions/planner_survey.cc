// SPDX-License-Identifier: Apache-2.0
// What the cells hold for a gang: counts, which never say less than what really fits.
#include <algorithm>

#include "actions/planner.h"
#include "actions/round_tasks.h"
#include "topology/nearness.h"

namespace sky::actions {

using model::CellId;
using model::NodeId;
using model::TaskId;

// The cells with nothing counted yet, in physical order: by ids they would stand in the order in
// which their names were first heard, and the first that refuses gives the reason. A zone's
// degraded nodes are a cell of their own, and one with its others here, or left out.
Planner::Cells Planner::Gather(std::span<const CellId> where, bool degraded,
                               std::vector<size_t>& position) const {
  const std::vector<uint32_t>& ranks = capacities_.Ranks(cluster_);
  std::vector<CellId> ids(where.begin(), where.end());
  if (!degraded) std::erase_if(ids, [&](CellId id) { return cluster_.cells()[id].key.degraded; });
  std::ranges::sort(ids, {}, [&](CellId id) { return ranks[id.index()]; });
  std::map<model::CellKey, size_t> by_key;
  std::vector<Cell> cells;
  for (const bool part : {false, true})
    for (const CellId id : ids) {
      const model::Cell& row = cluster_.cells()[id];
      if (row.key.degraded != part) continue;
      model::CellKey key = row.key;
      key.degraded = false;
      const auto [at, added] = by_key.try_emplace(key, cells.size());
      if (!added) {
        cells[at->second].degraded = id;
        continue;
      }
      Cell& cell = cells.emplace_back(Cell{id, {}, key.spec, ranks[id.index()]});
      cell.own = own_.contains(key.zone);
    }
  std::ranges::sort(cells, {}, &Cell::rank);
  position.assign(cluster_.cells().size(), SIZE_MAX);
  for (size_t i = 0; i < cells.size(); ++i) {
    Cell& cell = cells[i];
    position[cell.id.index()] = i;
    if (cell.degraded.valid()) {
      position[cell.degraded.index()] = i;
      cell.nodes = cluster_.cells()[cell.id].nodes;
      const std::vector<NodeId>& more = cluster_.cells()[cell.degraded].nodes;
      cell.nodes.insert(cell.nodes.end(), more.begin(), more.end());
      SortByIndex(cluster_, cell.nodes);
    }
    if (policy_.small_zones) cell.crowd = static_cast<int64_t>(NodesIn(cell).size());
  }
  std::vector<NodeId> own;  // one of each zone
  for (const Cell& cell : cells)
    if (cell.own) own.push_back(NodesIn(cell).front());
  for (Cell& cell : cells) {
    if (cell.own || own.empty()) continue;
    cell.far = INT64_MAX;
    for (const NodeId node : own)
      cell.far = std::min(
          cell.far, topology::Distance(cluster_, policy_.network, NodesIn(cell).front(), node));
  }
  return cells;
}

// What each cell holds for the chain. Of tasks that aren't alike: how many of each kind, so never
// less than what really fits. `degraded`: with the nodes that have lost switches.
std::vector<Planner::Cell> Planner::Survey(std::span<const TaskId> tasks,
                                           std::span<const CellId> where, bool degraded) {
  std::map<const Pool*, int64_t> kinds;
  for (const TaskId task : tasks) ++kinds[&PoolOf(task)];
  std::vector<size_t> position;
  std::vector<Cell> cells = Gather(where, degraded, position);
  const bool zoned = Zoned(cells);
  const int64_t before = capacities_.steps();
  struct Held {
    int64_t now = 0, empty = 0;
  };
  struct Sums {
    std::vector<std::pair<int64_t, int64_t>> now, evicting;
  };
  std::vector<Sums> sums(cells.size());
  const auto cell_of = [&](NodeId node) {
    const model::Node& row = cluster_.nodes()[node];
    const CellId in = cluster_.cells().Find(
        zoned ? row.cell(policy_.network) : model::CellKey{model::Network::kRoce, {}, row.spec});
    return in.valid() ? position[in.index()] : SIZE_MAX;
  };
  kinds_.clear();
  for (const auto& [pool, count] : kinds) {
    kinds_.push_back(count);
    const size_t subject = capacities_.Subject(session_, *pool);
    std::vector<Held> held(cells.size());
    for (const HeldQuota& one : pool->held) {
      const model::Quota& quota = cluster_.quotas()[one.quota];
      const NodeId node = quota.place();
      const size_t at = cell_of(node);
      if (at == SIZE_MAX || !session_.task_to_node.Feasible(pool->task, node).fit()) continue;
      held[at].empty += one.tasks;
      if (!FitsRoom(cluster_, pool->task, one.quota, node).fit()) continue;
      held[at].now += one.tasks;
      if (pool == &PoolOf(tasks.front()) && quota.tasks.empty()) ++cells[at].bound;
    }
    const auto counted = [&](int64_t some) {
      return kinds.size() == 1 ? some : std::min(some, count);
    };
    for (size_t i = 0; i < cells.size(); ++i) {
      Capacities::Count free = capacities_.Of(session_, *pool, subject, cells[i].id);
      if (cells[i].degraded.valid()) {
        const Capacities::Count& more = capacities_.Of(session_, *pool, subject, cells[i].degraded);
        free.now += more.now, free.evicting += more.evicting;
        free.empty += more.empty, free.size += std::max(more.size, more.empty);
      }
      sums[i].now.emplace_back(free.now + held[i].now, count);
      sums[i].evicting.emplace_back(free.evicting + held[i].now, count);
      cells[i].empty += counted(free.empty + held[i].empty);
      cells[i].size += counted(std::max(free.size, free.empty) + held[i].empty);
      cells[i].kinds.push_back(std::min(free.now + held[i].now, count));
    }
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i].capacity = RoomForAll(sums[i].now);
    cells[i].evicting = RoomForAll(sums[i].evicting);
  }
  for (const auto& [node, some] : policy_.kin)
    if (const size_t at = cell_of(node); at != SIZE_MAX) cells[at].kin += some;
  budget_ -= capacities_.steps() - before;
  return cells;
}

}  // namespace sky::actions
