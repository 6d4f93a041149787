// SPDX-License-Identifier: Apache-2.0
// Cells and their choice; passes over nodes stand in planner_pass.cc.
#include "actions/planner.h"

#include <algorithm>
#include <set>

#include "base/natural.h"

namespace sky::actions {

using framework::Refusals;
using model::CellKey;
using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::TaskId;
using model::Verdict;

Planner::Planner(framework::Session& session, framework::JobRound& round)
    : session_(session),
      round_(round),
      cluster_(session.cluster()),
      policy_(session.PredicateZone(round.job)) {}

bool Planner::MakeWhole(std::span<const TaskId> tasks) {
  const model::Job& job = cluster_.jobs()[round_.job];
  const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
  std::vector<TaskId> chain, others;
  for (const TaskId task : tasks) {
    const bool in_chain =
        policy_.enabled && (cluster_.tasks()[task].facts->needs_rdma || !job.needs_rdma);
    (in_chain ? chain : others).push_back(task);
  }
  if (EnoughQuotas(tasks) && PlaceChain(chain) && PlaceAnywhere(others)) return true;
  round_.statement.RollBackTo(start);
  round_.plan.tasks.resize(planned);
  return false;
}

bool Planner::Make() {
  const model::Job& job = cluster_.jobs()[round_.job];
  const std::vector<TaskId> tasks = RoundTasks(cluster_, job);
  if (tasks.empty()) return false;
  round_.extras = job.ready >= job.needed;
  if (round_.extras) {
    for (const TaskId& task : tasks)
      if (!MakeWhole(std::span(&task, 1))) break;  // the next one would ask the same in vain
  } else if (!MakeWhole(tasks)) {
    return false;
  }
  std::map<TaskId, size_t> rank_of;
  for (size_t rank = 0; rank < job.ranked.size(); ++rank) rank_of[job.ranked[rank]] = rank;
  std::sort(round_.plan.tasks.begin(), round_.plan.tasks.end(),
            [&](const auto& a, const auto& b) { return rank_of[a.task] < rank_of[b.task]; });
  return round_.plan.found();
}

const Planner::Pool& Planner::PoolOf(TaskId task) {
  const model::PodFacts& facts = *cluster_.tasks()[task].facts;
  auto [at, added] = pools_.try_emplace({facts.task_class, facts.required_quota});
  Pool& pool = at->second;
  if (!added) return pool;
  std::vector<QuotaId> candidates;
  if (!facts.required_quota.empty()) {
    const QuotaId demanded = cluster_.quotas().Find(facts.required_quota);
    if (demanded.valid() && cluster_.quotas()[demanded].exists())
      candidates.push_back(demanded);
    else
      pool.why.Add(Reason::kQuotaNotFound);
  } else {
    candidates = cluster_.queues()[cluster_.jobs()[round_.job].queue].quotas;
  }
  std::vector<std::pair<int64_t, QuotaId>> scored;
  for (const QuotaId quota : candidates) {
    const Verdict verdict = session_.task_to_quota.Feasible(task, quota);
    pool.why.Add(verdict);
    if (!verdict.fit()) continue;
    const QuotaId one[] = {quota};
    scored.emplace_back(session_.task_to_quota.Scores(task, one)[0], quota);
  }
  std::sort(scored.begin(), scored.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    return NaturalLess{}(cluster_.quotas()[a.second].name, cluster_.quotas()[b.second].name);
  });
  for (const auto& [score, quota] : scored) pool.quotas.push_back(quota);
  return pool;
}

// A cheap necessary condition, and the reason that people can act on: are there quotas at all?
bool Planner::EnoughQuotas(std::span<const TaskId> tasks) {
  const model::Job& job = cluster_.jobs()[round_.job];
  std::set<QuotaId> usable;
  int64_t room = 0;
  for (const TaskId task : tasks) {
    const Pool& pool = PoolOf(task);
    if (pool.quotas.empty()) {
      round_.plan.why = pool.why;
      if (round_.plan.why.empty())
        round_.plan.why.Add(
            Verdict::NotNow(Reason::kInsufficientQuota, static_cast<int64_t>(tasks.size()), 0));
      const model::PodFacts& facts = *cluster_.tasks()[task].facts;
      // A demanded quota says by its numbers, or by its absence, why it doesn't take the pod.
      if (facts.required_quota.empty())
        round_.plan.why.detail =
            fmt::format("queue {} has no quota for {}", job.queue_name, facts.meta().name);
      else if (pool.why.main == Reason::kQuotaNotFound)
        round_.plan.why.detail = fmt::format("quota {} doesn't exist", facts.required_quota);
      else if (pool.why.main == Reason::kQuotaQueueMismatch)
        round_.plan.why.detail = fmt::format("quota {} is not for jobs of queue {}",
                                             facts.required_quota, job.queue_name);
      return false;
    }
    for (const QuotaId quota : pool.quotas) {
      if (!usable.insert(quota).second) continue;
      model::Resources asked, left = cluster_.quotas()[quota].request +
                                     cluster_.quotas()[quota].shadow -
                                     cluster_.quotas()[quota].task_sum;
      for (const model::ResourceId name : cluster_.quotas()[quota].listed)
        asked.Set(name, cluster_.tasks()[task].facts->request[name]);
      room += model::TimesFit(asked, left, cluster_.names().resources,
                              static_cast<int64_t>(tasks.size()));
    }
  }
  if (room >= static_cast<int64_t>(tasks.size())) return true;
  round_.plan.why.Add(
      Verdict::NotNow(Reason::kInsufficientQuota, static_cast<int64_t>(tasks.size()), room));
  round_.plan.why.detail =
      fmt::format("queue {} has quotas for {} of {}", job.queue_name, room, tasks.size());
  return false;
}

model::ZoneId Planner::ZoneOf(NodeId node) const {
  return cluster_.nodes()[node].zone(policy_.network);
}

void Planner::Measure(Cell& cell, std::span<const TaskId> tasks) {
  const TaskId first = tasks.front();
  const Pool& pool = PoolOf(first);
  const QuotaId sample = pool.quotas.front();
  const auto limit = static_cast<int64_t>(tasks.size());
  const model::Resources asked = model::Resources::Max(cluster_.quotas()[sample].request,
                                                       cluster_.tasks()[first].facts->request);
  for (const NodeId node : cell.nodes) {
    if (!session_.task_to_node.Feasible(first, node).fit()) continue;
    cell.capacity +=
        model::TimesFit(asked, cluster_.nodes()[node].Room(), cluster_.names().resources, limit);
    cell.empty_capacity += model::TimesFit(asked, cluster_.nodes()[node].allocatable,
                                           cluster_.names().resources, limit);
  }
  for (const NodeId node : cell.nodes)
    cell.size += model::TimesFit(asked, cluster_.nodes()[node].allocatable,
                                 cluster_.names().resources, limit);
  for (const QuotaId quota : pool.quotas) {
    const NodeId node = cluster_.quotas()[quota].node;
    if (!node.valid() || !std::binary_search(cluster_.nodes()[node].quotas.begin(),
                                             cluster_.nodes()[node].quotas.end(), quota))
      continue;
    if (std::find(cell.nodes.begin(), cell.nodes.end(), node) == cell.nodes.end()) continue;
    ++cell.bound;
    // Its share of the node is charged already: the task goes there without needing more.
    if (FitsRoom(cluster_, first, quota, node).fit()) ++cell.capacity;
  }
}

namespace {

int64_t FirstIndex(const model::Cluster& cluster, const std::vector<NodeId>& nodes) {
  return cluster.nodes()[nodes.front()].index;
}

std::string_view SpecName(const model::Cluster& cluster, const CellKey& key) {
  return key.spec.valid() ? cluster.names().specs.Name(key.spec) : std::string_view{};
}

std::string_view ZoneName(const model::Cluster& cluster, const CellKey& key) {
  return key.zone.valid() ? cluster.names().zones.Name(key.zone) : std::string_view{};
}

// Physical order; a total one, whatever ids the names got.
bool Before(const model::Cluster& cluster, const CellKey& a, const CellKey& b) {
  const int64_t first_a = FirstIndex(cluster, cluster.cells().at(a)),
                first_b = FirstIndex(cluster, cluster.cells().at(b));
  if (first_a != first_b) return first_a < first_b;
  if (a.zone != b.zone) return NaturalLess{}(ZoneName(cluster, a), ZoneName(cluster, b));
  return NaturalLess{}(SpecName(cluster, a), SpecName(cluster, b));
}

}  // namespace

std::vector<Planner::Cell> Planner::Survey(std::span<const TaskId> tasks) {
  std::vector<Cell> cells;
  for (const CellKey& key : policy_.cells) {
    Cell cell;
    cell.key = key;
    for (const NodeId node : cluster_.cells().at(key))
      if (!key.zone.valid() || ZoneOf(node) == key.zone) cell.nodes.push_back(node);
    if (cell.nodes.empty()) continue;
    Measure(cell, tasks);
    cells.push_back(std::move(cell));
  }
  std::sort(cells.begin(), cells.end(),
            [&](const Cell& a, const Cell& b) { return Before(cluster_, a.key, b.key); });
  return cells;
}

bool Planner::PlaceChain(std::span<const TaskId> tasks) {
  if (tasks.empty()) return true;
  std::vector<Cell> cells = Survey(tasks);
  const auto n = static_cast<int64_t>(tasks.size());
  std::vector<Cell*> fitting;
  for (Cell& cell : cells)
    if (cell.capacity >= n) fitting.push_back(&cell);
  if (PlaceInOneCell(tasks, std::move(fitting))) return true;
  if (PlaceAcrossCells(tasks, cells)) return true;
  Explain(tasks, cells);
  return false;
}

// More idle bound quotas first, then the tightest fit, then physical order (3.7).
bool Planner::PlaceInOneCell(std::span<const TaskId> tasks, std::vector<Cell*> cells) {
  const auto n = static_cast<int64_t>(tasks.size());
  std::sort(cells.begin(), cells.end(), [&](const Cell* a, const Cell* b) {
    const int64_t bound_a = std::min(a->bound, n), bound_b = std::min(b->bound, n);
    if (bound_a != bound_b) return bound_a > bound_b;
    if (a->capacity != b->capacity) return a->capacity < b->capacity;
    return Before(cluster_, a->key, b->key);
  });
  for (const Cell* cell : cells)
    if (PlaceOrdered(tasks, cell->nodes)) return true;
  return false;
}

// The fewest cells of one spec code, when the gang may span more than one: it says so, or no zone
// could hold it even when empty (F42). Siblings' cells are all its own.
bool Planner::PlaceAcrossCells(std::span<const TaskId> tasks, std::vector<Cell>& cells) {
  const auto n = static_cast<int64_t>(tasks.size());
  const bool could_wait = std::any_of(cells.begin(), cells.end(),
                                      [&](const Cell& cell) { return cell.empty_capacity >= n; });
  const int64_t most =
      policy_.max_zones.value_or(could_wait && !policy_.with_siblings ? 1 : INT64_MAX);
  if (most < 2) return false;
  std::map<model::SpecId, std::vector<Cell*>> by_spec;
  for (Cell& cell : cells)
    if (cell.capacity > 0) by_spec[cell.key.spec].push_back(&cell);
  std::vector<std::vector<Cell*>> choices;
  for (auto& [spec, all] : by_spec) {
    std::sort(all.begin(), all.end(), [&](const Cell* a, const Cell* b) {
      if (a->capacity != b->capacity) return a->capacity > b->capacity;
      return Before(cluster_, a->key, b->key);
    });
    int64_t sum = 0;
    size_t k = 0;
    while (k < all.size() && sum < n) sum += all[k++]->capacity;
    if (sum < n || static_cast<int64_t>(k) > most) continue;
    // The last one only has to hold the rest: the smallest that does.
    const int64_t rest = n - (sum - all[k - 1]->capacity);
    size_t last = k - 1;
    for (size_t i = k; i < all.size() && all[i]->capacity >= rest; ++i)
      if (all[i]->capacity < all[last]->capacity) last = i;
    std::vector<Cell*> choice(all.begin(), all.begin() + static_cast<ptrdiff_t>(k) - 1);
    choice.push_back(all[last]);
    choices.push_back(std::move(choice));
  }
  std::sort(choices.begin(), choices.end(), [&](const auto& a, const auto& b) {
    if (a.size() != b.size()) return a.size() < b.size();
    return NaturalLess{}(SpecName(cluster_, a[0]->key), SpecName(cluster_, b[0]->key));
  });
  for (std::vector<Cell*>& choice : choices) {
    std::sort(choice.begin(), choice.end(),
              [&](const Cell* a, const Cell* b) { return Before(cluster_, a->key, b->key); });
    std::vector<NodeId> nodes;
    for (const Cell* cell : choice)
      nodes.insert(nodes.end(), cell->nodes.begin(), cell->nodes.end());
    if (policy_.strict)
      std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
        const model::Node &x = cluster_.nodes()[a], &y = cluster_.nodes()[b];
        return x.index != y.index ? x.index < y.index : NaturalLess{}(x.name, y.name);
      });
    if (PlaceOrdered(tasks, nodes)) return true;
  }
  return false;
}

bool Planner::AnyBound(TaskId task) {
  const std::vector<QuotaId>& quotas = PoolOf(task).quotas;
  return std::any_of(quotas.begin(), quotas.end(),
                     [&](QuotaId quota) { return cluster_.quotas()[quota].node.valid(); });
}

// One node's answer; a quota that is bound can only say anything about its own.
Verdict Planner::WhyNot(TaskId task, QuotaId quota, NodeId node) const {
  const NodeId there = cluster_.quotas()[quota].node;
  if (there.valid() && there != node) return Verdict::Fit();
  Verdict verdict = session_.task_to_node.Feasible(task, node);
  if (verdict.fit() && !there.valid()) verdict = session_.quota_to_node.Feasible(quota, node);
  return verdict.fit() ? FitsRoom(cluster_, task, quota, node) : verdict;
}

// Why the chain has no place: numbers for the best zone, and what each node says.
void Planner::Explain(std::span<const TaskId> tasks, const std::vector<Cell>& cells) {
  const auto n = static_cast<int64_t>(tasks.size());
  Refusals& why = round_.plan.why;
  const Cell* best = nullptr;
  int64_t size = 0;
  for (const Cell& cell : cells) {
    if (best == nullptr || cell.capacity > best->capacity ||
        (cell.capacity == best->capacity && Before(cluster_, cell.key, best->key)))
      best = &cell;
    size += cell.size;
  }
  const bool zoned = best != nullptr && best->key.zone.valid();
  const bool full = zoned && (best->capacity < n || policy_.strict);
  if (best == nullptr) {
    why.Add(Reason::kNoTopology, std::max<int64_t>(policy_.without_topology, 1));
  } else if (size < n && !AnyBound(tasks.front())) {
    why.Add(Verdict::NotNow(Reason::kLargerThanPossible, n, size));
  } else if (full) {
    const bool could =
        std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return cell.size >= n; });
    const bool order = policy_.strict && best->capacity >= n;
    why.Add(Verdict::NotNow(order   ? Reason::kNodeOrderNotMonotone
                            : could ? Reason::kZoneFull
                                    : Reason::kNoZoneFits,
                            n, best->capacity));
  }
  if (full) {
    std::string zone(ZoneName(cluster_, best->key));
    std::replace(zone.begin(), zone.end(), '\0', ',');
    why.detail = fmt::format("{} has room for {} of {}", zone, best->capacity, n);
  }
  if (policy_.without_topology > 0 && why.main != Reason::kNoTopology)
    why.Add(Reason::kNoTopology, policy_.without_topology);
  const TaskId first = tasks.front();
  const Pool& pool = PoolOf(first);
  for (const Cell& cell : cells)
    for (const NodeId node : cell.nodes) why.Add(WhyNot(first, pool.quotas.front(), node));
  if (!why.empty()) return;
  // Its quotas are bound where nobody is.
  for (const QuotaId quota : pool.quotas) {
    const NodeId node = cluster_.quotas()[quota].node;
    if (!node.valid() || cluster_.nodes()[node].exists()) continue;
    why.Add(Reason::kNodeNotReady);
    why.detail = fmt::format("quota {} is bound to node {}, which doesn't exist",
                             cluster_.quotas()[quota].name, cluster_.nodes()[node].name);
    return;
  }
  why.Add(Verdict::NotNow(Reason::kInsufficientIdle, n, best == nullptr ? 0 : best->capacity));
}

}  // namespace sky::actions
