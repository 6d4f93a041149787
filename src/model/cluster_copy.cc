// SPDX-License-Identifier: Apache-2.0
// What a cluster derives for itself beside its rows: cells and shelves with their clock, and the
// copy of rows from another cluster that keeps them true.
#include <algorithm>

#include "model/cluster.h"

namespace sky::model {
namespace {

std::vector<CellKey> CellsOf(const Node& node) {
  std::vector<CellKey> cells;
  if (!node.live || !node.object) return cells;
  cells.push_back({Network::kRoce, ZoneId{}, node.spec});
  for (const Network network : {Network::kRoce, Network::kIb})
    if (node.zone(network).valid()) cells.push_back(node.cell(network));
  return cells;
}

bool SamePlace(const Node& a, const Node& b) {
  return a.index == b.index && a.name == b.name && CellsOf(a) == CellsOf(b);
}

// May anything be placed there now that couldn't be before?
bool Grew(const Node& before, const Node& after) {
  if (before.static_generation != after.static_generation || before.mounts != after.mounts ||
      before.pools != after.pools)
    return true;
  if (AnyLess(before.Room(), after.Room()) || AnyLess(before.QuotaIdle(), after.QuotaIdle()))
    return true;
  if (before.has_spot() &&
      (AnyLess(before.Free(), after.Free()) || AnyLess(before.evictable, after.evictable)))
    return true;
  // A pod that left may have held a port.
  return !std::includes(after.tasks.begin(), after.tasks.end(), before.tasks.begin(),
                        before.tasks.end());
}

// It goes to one node alone, and that isn't Ready.
bool AwaitsNode(const Table<NodeId, Node>& nodes, const Quota& quota) {
  if (!quota.static_node.valid()) return false;
  const Node& node = nodes[quota.static_node];
  return !node.forsaken && !(node.exists() && node.ready);
}

}  // namespace

void Cluster::LeaveCells(NodeId id, const Node& row) {
  cells_.Rearranged();
  for (const CellKey& key : CellsOf(row)) {
    const CellId cell = cells_.Find(key);
    std::vector<NodeId>& nodes = cells_[cell].nodes;
    nodes.erase(std::find(nodes.begin(), nodes.end(), id));
    cells_.NoteChange(cell, false);
    if (nodes.empty()) cells_.Free(cell);
  }
}

void Cluster::EnterCells(NodeId id) {
  cells_.Rearranged();
  const auto physical = [&](NodeId a, NodeId b) { return StandsBefore(nodes_[a], nodes_[b]); };
  for (const CellKey& key : CellsOf(nodes_[id])) {
    const CellId cell = cells_.FindOrAdd(key);
    std::vector<NodeId>& nodes = cells_[cell].nodes;
    nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), id, physical), id);
    cells_.NoteChange(cell, true);
  }
}

void Cluster::NoteCells(NodeId id, bool grew) {
  for (const CellKey& key : CellsOf(nodes_[id]))
    if (const CellId cell = cells_.Find(key); cell.valid()) cells_.NoteChange(cell, grew);
}

void Cluster::NoteShelf(QuotaId id) {
  const Quota& quota = quotas_[id];
  Shelves::Place place = Shelves::Place::kNone;
  if (quota.live && quota.usable()) {
    const auto left = [&](ResourceId name) {
      const int64_t limit = quota.request[name] + quota.shadow[name];
      return limit <= 0 || quota.task_sum[name] + quota.reserved_sum[name] < limit;
    };
    const auto& listed = quota.listed;
    if (!quota.place().valid())
      place = !quota.reserved.empty() || AwaitsNode(nodes_, quota) ? Shelves::Place::kNone
                                                                   : Shelves::Place::kFree;
    else if (std::all_of(listed.begin(), listed.end(), left))
      place = Shelves::Place::kHeld;
    else
      place = Shelves::Place::kPartial;
  }
  shelves_.Note(id, place, quota.quota_class, quota.name);
  const auto& terms = quota.object ? quota.object->spec.affinity : std::nullopt;
  if (quota.live && terms && (terms->quota || terms->pod_quota))
    with_terms_.insert(id);
  else
    with_terms_.erase(id);
}

void Cluster::MoveInCells(NodeId id, const Node& before) {
  if (SamePlace(before, nodes_[id])) return;
  LeaveCells(id, before);
  EnterCells(id);
}

std::vector<JobId> Cluster::CopyFrom(const Cluster& other, const Touched& changed) {
  Touched mine = TakeTouched();
  const auto copy = [](auto& ids, const auto& theirs, auto& table, const auto& from) {
    ids.insert(ids.end(), theirs.begin(), theirs.end());
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const auto id : ids)
      if (id.index() < from.size()) table.CopyRow(id, from);
  };
  copy(mine.tasks, changed.tasks, tasks_, other.tasks_);
  copy(mine.jobs, changed.jobs, jobs_, other.jobs_);
  for (const JobId id : mine.jobs) NoteWaiting(id);
  for (const TaskId id : mine.tasks) NoteSets(id);
  copy(mine.queues, changed.queues, queues_, other.queues_);
  copy(mine.job_queues, changed.job_queues, job_queues_, other.job_queues_);
  mine.uses.insert(mine.uses.end(), changed.uses.begin(), changed.uses.end());
  uses_.CopyFrom(other.uses_, mine.uses);
  copy(mine.quotas, changed.quotas, quotas_, other.quotas_);
  mine.nodes.insert(mine.nodes.end(), changed.nodes.begin(), changed.nodes.end());
  std::sort(mine.nodes.begin(), mine.nodes.end());
  mine.nodes.erase(std::unique(mine.nodes.begin(), mine.nodes.end()), mine.nodes.end());
  std::vector<std::pair<NodeId, Node>> before;
  for (const NodeId id : mine.nodes) {
    if (id.index() >= other.nodes_.size()) continue;
    before.emplace_back(id, id.index() < nodes_.size() ? nodes_[id] : Node{});
    nodes_.CopyRow(id, other.nodes_);
  }
  for (const QuotaId id : mine.quotas)
    if (id.index() < quotas_.size()) NoteShelf(id);
  for (const auto& [id, row] : before) NoteCells(id, Grew(row, nodes_[id]));
  // All leave before any enters: the order inside a cell is compared by the new rows.
  std::erase_if(before,
                [&](const auto& change) { return SamePlace(change.second, nodes_[change.first]); });
  for (const auto& [id, row] : before) LeaveCells(id, row);
  for (const auto& [id, row] : before) EnterCells(id);
  queues_changed_ = other.queues_changed_;
  priority_classes_ = other.priority_classes_;
  budgets_ = other.budgets_;
  volumes_.Follow(other.volumes_);
  static_generation_ = other.static_generation_;
  return std::move(mine.jobs);
}

Touched Cluster::TakeTouched() {
  touched_.uses = uses_.TakeTouched();
  return std::exchange(touched_, Touched{});
}

void Cluster::ReleaseFreed() {
  tasks_.ReleaseFreed();
  jobs_.ReleaseFreed();
  queues_.ReleaseFreed();
  quotas_.ReleaseFreed();
  nodes_.ReleaseFreed();
  job_queues_.ReleaseFreed();
}

}  // namespace sky::model
