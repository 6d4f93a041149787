// SPDX-License-Identifier: Apache-2.0
// Why a round has no place: the numbers of the best zone, and what each node and quota says.
#include <algorithm>

#include "actions/planner.h"
#include "actions/round_tasks.h"
#include "model/zone_text.h"

namespace sky::actions {

using framework::Refusals;
using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::TaskId;
using model::Verdict;

namespace {

// It goes when others go.
bool LacksRoom(Reason reason) {
  return reason == Reason::kInsufficientIdle || reason == Reason::kInsufficientQuotaIdle ||
         reason == Reason::kWaitingForReleasing || reason == Reason::kPodSlotsFull;
}

}  // namespace

void Planner::ExplainQuotas(std::span<const TaskId> tasks, const Pool& pool) {
  Refusals& why = round_.plan.why;
  const model::Job& job = cluster_.jobs()[round_.job];
  const model::PodFacts& facts = *cluster_.tasks()[pool.task].facts;
  // A demanded quota says by its numbers, or by its absence, why it doesn't take the pod.
  const std::string_view demand = DemandOf(cluster_, pool.task);
  const bool asked = !demand.empty() || pool.why.counts.contains(Reason::kEarmarkedForOther);
  why = asked ? pool.why : capacities_.WhyNoQuota(session_, pool.task);
  if (why.empty())
    why.Add(Verdict::NotNow(Reason::kInsufficientQuota, static_cast<int64_t>(tasks.size()), 0));
  const bool kept = !demand.empty() && facts.required_quota.empty();
  if (demand.empty())
    why.detail =
        fmt::format("queue {} has no quota with room for {}", job.queue_name, facts.meta().name);
  else if (pool.why.main == Reason::kQuotaNotFound)
    why.detail = fmt::format("quota {} doesn't exist", demand);
  else if (pool.why.main == Reason::kQuotaQueueMismatch)
    why.detail = fmt::format("quota {} is not for jobs of queue {}", demand, job.queue_name);
  else if (tasks.size() > 1)
    why.who = fmt::format("{}, {} quota {}", facts.meta().name,
                          kept ? "which takes over a place in" : "which demands", demand);
  else
    why.who = fmt::format("quota {}", demand);
}

// What keeps a task from those that aren't enough for its gang.
void Planner::ExplainOtherQuotas(const Pool& pool) {
  Refusals& why = round_.plan.why;
  if (DemandOf(cluster_, pool.task).empty()) why.Add(capacities_.WhyNoQuota(session_, pool.task));
  for (const auto& [reason, count] : pool.why.counts)
    if (!why.counts.contains(reason)) why.Add(pool.why.examples.at(reason), count);
}

// Members that differ answer for themselves: the reason is that of the first kind that lacks room
// even alone.
void Planner::Explain(std::span<const TaskId> tasks, const std::vector<Cell>& cells) {
  std::map<const Pool*, std::vector<TaskId>> kinds;
  for (const TaskId task : tasks) kinds[&PoolOf(task)].push_back(task);
  std::vector<model::CellId> where;
  for (const Cell& cell : cells)
    for (const model::CellId id : {cell.id, cell.degraded})
      if (id.valid()) where.push_back(id);
  for (const TaskId task : tasks) {
    const std::vector<TaskId>& alike = kinds.at(&PoolOf(task));
    if (kinds.size() == 1 || alike.front() != task) continue;
    const std::vector<Cell> alone = Survey(alike, where, true);
    const int64_t more = Zoned(alone) ? MostMore(tasks, cells) : INT32_MAX;
    const int64_t room = Reach(alike, alone, &Cell::capacity, more);
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
  if (ElsewhereHeld(pool, cells)) return;
  if (cells.empty() || (own_.empty() && Reach(tasks, cells, &Cell::size, INT32_MAX) < n))
    return ExplainNever(tasks, cells);
  const int64_t more = Zoned(cells) ? MostMore(tasks, cells) : INT32_MAX;
  if (Zoned(cells) || policy_.in_blocks) ExplainZones(tasks, cells);
  const bool by_nodes = why.empty();
  if (!pool.shelves.empty()) ExplainNodes(pool, cells);
  // Where too few nodes would do even if they were empty, what most of the others say leads.
  if (by_nodes && Reach(tasks, cells, &Cell::empty, more) < n) {
    int64_t most = why.empty() || LacksRoom(why.main) ? 0 : why.counts.at(why.main);
    for (const auto& [reason, count] : why.counts)
      if (count > most && !LacksRoom(reason)) most = count, why.main = reason;
  }
  if (policy_.without_topology > 0) why.Add(Reason::kNoTopology, policy_.without_topology);
  if (!why.empty()) return;
  why.Add(
      Verdict::NotNow(Reason::kInsufficientIdle, n, Reach(tasks, cells, &Cell::capacity, more)));
  if (cut_)
    why.detail = fmt::format(
        "each of {} has room; the search for places for all of them together was cut short", n);
}

// All quotas that it could use are on nodes where its gang may not go.
bool Planner::ElsewhereHeld(const Pool& pool, const std::vector<Cell>& cells) {
  if (!pool.shelves.empty() || !Zoned(cells)) return false;
  for (const HeldQuota& held : pool.held) {
    const model::ZoneId zone = ZoneOf(cluster_.quotas()[held.quota].place());
    if (!zone.valid() || own_.empty() || own_.contains(zone) || more_.value_or(1) > 0) return false;
  }
  if (pool.held.empty()) return false;
  const QuotaId quota = pool.held.front().quota;
  round_.plan.why.Add(Reason::kZoneFull);
  round_.plan.why.detail =
      fmt::format("quota {} is on node {}, in none of its zones", cluster_.quotas()[quota].name,
                  cluster_.nodes()[cluster_.quotas()[quota].place()].name);
  return true;
}

// Nothing that is there could hold them, whatever ran there now.
void Planner::ExplainNever(std::span<const TaskId> tasks, const std::vector<Cell>& cells) {
  const auto n = static_cast<int64_t>(tasks.size());
  Refusals& why = round_.plan.why;
  if (cells.empty() && policy_.without_topology > 0)
    return why.Add(Reason::kNoTopology, policy_.without_topology);
  if (const auto spec = SpecOfPlaced(tasks); cells.empty() && spec) {
    why.Add(Reason::kSpecMismatch);
    why.detail = fmt::format("no node of the spec code of its members, {}, is left",
                             spec->valid() ? cluster_.names().specs.Name(*spec) : "none");
    return;
  }
  const int64_t size = Reach(tasks, cells, &Cell::size, INT32_MAX);
  why.Add(Verdict::NotNow(Reason::kLargerThanPossible, n, size));
  if (cells.empty())
    why.detail = "the cluster has no node";
  else if (std::ranges::any_of(cells, [&](const Cell& cell) { return cell.spec != cells[0].spec; }))
    why.detail = fmt::format("the empty cluster holds {} of {} on nodes of one spec code", size, n);
  if (policy_.without_topology > 0) why.Add(Reason::kNoTopology, policy_.without_topology);
  const Pool& pool = PoolOf(tasks.front());
  if (!pool.shelves.empty()) ExplainNodes(pool, cells);
  // What nodes lack now is no matter to who doesn't fit the empty cluster.
  std::erase_if(why.examples, [&](const auto& example) {
    const bool passes = example.first != why.main && example.first != Reason::kNoTopology &&
                        example.second.severity != model::Severity::kNever;
    if (passes) why.counts.erase(example.first);
    return passes;
  });
}

// In zones: how many of them, how large they are, and what is free there; the first that is too
// little is the reason.
void Planner::ExplainZones(std::span<const TaskId> tasks, const std::vector<Cell>& cells) {
  const auto n = static_cast<int64_t>(tasks.size());
  const int64_t more = MostMore(tasks, cells);
  const auto within = [&](int64_t Cell::* count) { return Reach(tasks, cells, count, more); };
  const int64_t size = within(&Cell::size), room = within(&Cell::capacity);
  Refusals& why = round_.plan.why;
  if (!Zoned(cells) && !(policy_.strict && room >= n)) return;
  if (policy_.strict && room >= n) {
    why.Add(Verdict::NotNow(Reason::kNodeOrderNotMonotone, n, room));
    why.detail = fmt::format("there is room for {}, but not in the order of ranks", n);
  } else if (own_.empty() && size < n) {
    why.Add(Verdict::NotNow(Reason::kNoZoneFits, n, size));
    why.detail =
        more < 2
            ? fmt::format("{} holds {} of {} even when empty", Best(cells, &Cell::size), size, n)
            : fmt::format("the {} largest zones hold {} of {} even when empty", more, size, n);
  } else if (room >= n || within(&Cell::empty) < n) {
    return;  // nodes and quotas say why
  } else if (more > (own_.empty() ? 1 : 0)) {
    why.Add(Verdict::NotNow(Reason::kInsufficientIdle, n, room));
  } else {
    why.Add(Verdict::NotNow(Reason::kZoneFull, n, room));
    why.detail =
        own_.size() > 1
            ? fmt::format("its {} zones have room for {} of {}", own_.size(), room, n)
            : fmt::format("{} has room for {} of {}", Best(cells, &Cell::capacity), room, n);
    if (policy_.max_zones && own_.size() > 1)
      why.detail += fmt::format(", and max-zones is {}", *policy_.max_zones);
  }
}

// The zone, among those that they may have, that counts most.
std::string Planner::Best(const std::vector<Cell>& cells, int64_t Cell::* count) const {
  const bool only_own = !own_.empty() && more_ == 0;
  const Cell* best = nullptr;
  for (const Cell& cell : cells)
    if (!(only_own && Fresh(cell)) && (best == nullptr || cell.*count > best->*count)) best = &cell;
  if (best == nullptr) return "no zone";
  return model::ZoneText(cluster_.names().zones.Name(cluster_.cells()[best->id].key.zone));
}

// What the nodes say to a free quota; without one, what those say where its bound quotas are.
void Planner::ExplainNodes(const Pool& pool, const std::vector<Cell>& cells) {
  Refusals& why = round_.plan.why;
  const int64_t before = capacities_.steps();
  if (!pool.shelves.empty()) {
    const size_t subject = capacities_.Subject(session_, pool);
    for (const Cell& cell : cells)
      for (const model::CellId id : {cell.id, cell.degraded})
        if (id.valid()) why.Add(capacities_.Why(session_, pool, subject, id));
  } else {
    for (const HeldQuota& held : pool.held)
      if (const NodeId node = cluster_.quotas()[held.quota].place(); node.valid()) {
        if (!cluster_.nodes()[node].exists())
          why.detail = fmt::format("quota {} is bound to node {}, which doesn't exist",
                                   cluster_.quotas()[held.quota].name, cluster_.nodes()[node].name);
        Verdict verdict = session_.task_to_node.Feasible(pool.task, node);
        if (verdict.fit()) verdict = WhyNoRoom(session_, pool.task, held.quota, node);
        why.Add(verdict);
      }
  }
  budget_ -= capacities_.steps() - before;
}

}  // namespace sky::actions
