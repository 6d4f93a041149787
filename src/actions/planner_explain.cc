// SPDX-License-Identifier: Apache-2.0
// Why a round has no place: the numbers of the best zone, and what each node and quota says.
#include <algorithm>

#include "actions/planner.h"
#include "actions/round_tasks.h"
#include "model/zone_text.h"

namespace sky::actions {

using framework::Refusals;
using model::NodeId;
using model::Reason;
using model::TaskId;
using model::Verdict;

void Planner::ExplainQuotas(std::span<const TaskId> tasks, const Pool& pool) {
  Refusals& why = round_.plan.why;
  const model::Job& job = cluster_.jobs()[round_.job];
  const model::PodFacts& facts = *cluster_.tasks()[pool.task].facts;
  why = pool.why;
  if (why.empty())
    why.Add(Verdict::NotNow(Reason::kInsufficientQuota, static_cast<int64_t>(tasks.size()), 0));
  // A demanded quota says by its numbers, or by its absence, why it doesn't take the pod.
  if (facts.required_quota.empty())
    why.detail =
        fmt::format("queue {} has no quota with room for {}", job.queue_name, facts.meta().name);
  else if (pool.why.main == Reason::kQuotaNotFound)
    why.detail = fmt::format("quota {} doesn't exist", facts.required_quota);
  else if (pool.why.main == Reason::kQuotaQueueMismatch)
    why.detail =
        fmt::format("quota {} is not for jobs of queue {}", facts.required_quota, job.queue_name);
}

// Members that differ answer for themselves: the reason is that of the first kind that lacks room
// even alone.
void Planner::Explain(std::span<const TaskId> tasks, const std::vector<Cell>& cells) {
  std::map<const Pool*, std::vector<TaskId>> kinds;
  for (const TaskId task : tasks) kinds[&PoolOf(task)].push_back(task);
  std::vector<model::CellId> where;
  for (const Cell& cell : cells) where.push_back(cell.id);
  for (const TaskId task : tasks) {
    const std::vector<TaskId>& alike = kinds.at(&PoolOf(task));
    if (kinds.size() == 1 || alike.front() != task) continue;
    const std::vector<Cell> alone = Survey(alike, where);
    int64_t room = 0;
    for (const Cell& cell : alone) room += cell.capacity;
    if (room >= static_cast<int64_t>(alike.size())) continue;
    ExplainAlike(alike, alone);
    round_.plan.why.who = cluster_.tasks()[task].facts->meta().name;
    if (alike.size() > 1) round_.plan.why.who += fmt::format(" and {} like it", alike.size() - 1);
    return;
  }
  ExplainAlike(tasks, cells);
}

void Planner::ExplainAlike(std::span<const TaskId> tasks, const std::vector<Cell>& cells) {
  const auto n = static_cast<int64_t>(tasks.size());
  Refusals& why = round_.plan.why;
  const Pool& pool = PoolOf(tasks.front());
  // Quotas that are all on nodes already: those nodes say why.
  if (pool.shelves.empty()) ExplainNodes(pool, cells);
  if (!why.empty()) return;
  const bool zoned = !cells.empty() && cluster_.cells()[cells[0].id].key.zone.valid();
  const Cell* best = nullptr;
  int64_t size = 0, room = 0;
  for (const Cell& cell : cells) {
    if (best == nullptr || cell.capacity > best->capacity ||
        (cell.capacity == best->capacity && cell.rank < best->rank))
      best = &cell;
    size += cell.size;
    room += cell.capacity;
  }
  const bool full = zoned && (best->capacity < n || policy_.strict);
  if (best == nullptr && policy_.without_topology > 0) {
    why.Add(Reason::kNoTopology, policy_.without_topology);
  } else if (size < n && pool.held.empty()) {
    why.Add(Verdict::NotNow(Reason::kLargerThanPossible, n, size));
    if (best == nullptr) why.detail = "the cluster has no node";
  } else if (full) {
    const bool could =
        std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.size >= n; });
    const bool order = policy_.strict && best->capacity >= n;
    why.Add(Verdict::NotNow(order   ? Reason::kNodeOrderNotMonotone
                            : could ? Reason::kZoneFull
                                    : Reason::kNoZoneFits,
                            n, best->capacity));
  }
  const bool never = why.main == Reason::kLargerThanPossible;
  if (full && !never) {
    const model::ZoneId zone = cluster_.cells()[best->id].key.zone;
    why.detail = fmt::format("{} has room for {} of {}",
                             model::ZoneText(cluster_.names().zones.Name(zone)), best->capacity, n);
  }
  if (policy_.without_topology > 0 && why.main != Reason::kNoTopology)
    why.Add(Reason::kNoTopology, policy_.without_topology);
  if (!pool.shelves.empty()) ExplainNodes(pool, cells);
  // What nodes lack now is no matter to who doesn't fit the empty cluster.
  if (never)
    std::erase_if(why.examples, [&](const auto& example) {
      const bool passes = example.first != why.main && example.first != Reason::kNoTopology &&
                          example.second.severity != model::Severity::kNever;
      if (passes) why.counts.erase(example.first);
      return passes;
    });
  if (!why.empty()) return;
  why.Add(Verdict::NotNow(Reason::kInsufficientIdle, n, room));
}

// What the nodes say to a free quota; without one, what those say where its bound quotas are.
void Planner::ExplainNodes(const Pool& pool, const std::vector<Cell>& cells) {
  Refusals& why = round_.plan.why;
  const int64_t before = capacities_.steps();
  if (!pool.shelves.empty()) {
    const size_t subject = capacities_.Subject(session_, pool);
    for (const Cell& cell : cells) why.Add(capacities_.Why(session_, pool, subject, cell.id));
  } else {
    for (const HeldQuota& held : pool.held)
      if (const NodeId node = cluster_.quotas()[held.quota].node; node.valid()) {
        if (!cluster_.nodes()[node].exists())
          why.detail = fmt::format("quota {} is bound to node {}, which doesn't exist",
                                   cluster_.quotas()[held.quota].name, cluster_.nodes()[node].name);
        Verdict verdict = session_.task_to_node.Feasible(pool.task, node);
        if (verdict.fit()) verdict = FitsRoom(cluster_, pool.task, held.quota, node);
        why.Add(verdict);
      }
  }
  budget_ -= capacities_.steps() - before;
}

}  // namespace sky::actions
