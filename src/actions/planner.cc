// SPDX-License-Identifier: Apache-2.0
// A round from its tasks to its plan, and the choice of cells. The questions that are asked inside
// them stand in planner_ask.cc, what doesn't care for zones in planner_score.cc.
#include "actions/planner.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "actions/round_tasks.h"
#include "base/natural.h"
#include "topology/order.h"

namespace sky::actions {

using model::CellId;
using model::NodeId;
using model::QuotaId;
using model::TaskId;

namespace {

// Steps that one gang may cost in one cycle.
constexpr int64_t kGangSteps = 200'000;
// Sets of cells that are tried for a gang whose tasks aren't alike, where counts decide nothing.
constexpr size_t kSmall = 6;

// No more tasks than this find quotas: of each kind as many as there are, and of each quota what it
// takes of the kind that it takes most of, or of all kinds where two of them fit into it together.
int64_t QuotasFor(const model::Cluster& cluster, const std::map<const Pool*, int64_t>& kinds) {
  struct Alike {
    QuotaId sample;
    int64_t left, most, sum;
    bool mixed;
    std::vector<const Pool*> kinds;
  };
  std::map<std::pair<model::ClassId, QuotaId>, Alike> quotas;
  int64_t by_kind = 0;
  for (const auto& [pool, count] : kinds) {
    int64_t room = 0;
    const auto add = [&](model::ClassId quota_class, QuotaId sample, int64_t left, int64_t each) {
      const QuotaId alone = quota_class.valid() ? QuotaId{} : sample;
      Alike& alike = quotas.try_emplace({quota_class, alone}, Alike{sample, left, 0, 0, false, {}})
                         .first->second;
      each = std::min(each, count);
      alike.most = std::max(alike.most, each);
      alike.sum += each;
      for (const Pool* other : alike.kinds)
        alike.mixed = alike.mixed || SitTogether(cluster, sample, pool->task, other->task);
      alike.kinds.push_back(pool);
      room += each * left;
    };
    for (const FreeShelf& shelf : pool->shelves)
      add(shelf.demanded ? model::ClassId{} : shelf.quota_class, shelf.sample, shelf.left,
          shelf.tasks_each);
    for (const HeldQuota& held : pool->held) add({}, held.quota, 1, held.tasks);
    by_kind += std::min(room, count);
  }
  int64_t by_quota = 0;
  for (const auto& [key, alike] : quotas)
    by_quota += (alike.mixed ? alike.sum : alike.most) * alike.left;
  return std::min(by_kind, by_quota);
}

}  // namespace

Planner::Planner(framework::Session& session, framework::JobRound& round, Capacities& capacities)
    : session_(session),
      round_(round),
      capacities_(capacities),
      cluster_(session.cluster()),
      policy_(round.policy),
      budget_(kGangSteps) {
  for (const TaskId task : topology::Unranked(cluster_, cluster_.jobs()[round.job]))
    unranked_.insert(task);
}

int64_t Planner::spent() const { return kGangSteps - budget_; }

bool Planner::Make() {
  const model::Job& job = cluster_.jobs()[round_.job];
  const std::vector<TaskId> tasks = RoundTasks(cluster_, job);
  if (tasks.empty()) return false;
  round_.extras = job.ready >= job.needed;
  if (round_.extras) {
    // Each stands for itself; one like another that found nothing would ask the same in vain.
    std::set<std::pair<model::ClassId, std::string>> hopeless;
    for (const TaskId& task : tasks)
      if (const model::PodFacts& facts = *cluster_.tasks()[task].facts;
          !hopeless.contains({facts.task_class, facts.required_quota}) &&
          !MakeWhole(std::span(&task, 1)))
        hopeless.insert({facts.task_class, facts.required_quota});
  } else if (!MakeWhole(tasks)) {
    return false;
  }
  std::map<TaskId, size_t> rank_of;
  for (size_t rank = 0; rank < job.ranked.size(); ++rank) rank_of[job.ranked[rank]] = rank;
  std::sort(round_.plan.tasks.begin(), round_.plan.tasks.end(),
            [&](const auto& a, const auto& b) { return rank_of[a.task] < rank_of[b.task]; });
  return round_.plan.found();
}

// Stands in a zone, and in the order of ranks.
bool Planner::InChain(TaskId task) const {
  return policy_.enabled &&
         (cluster_.tasks()[task].facts->needs_rdma || !cluster_.jobs()[round_.job].needs_rdma);
}

bool Planner::MakeWhole(std::span<const TaskId> tasks) {
  pools_.clear();  // an extra before this one may have taken quotas
  std::vector<TaskId> chain, others;
  for (const TaskId task : tasks) (InChain(task) ? chain : others).push_back(task);
  demanded_.clear();
  for (const TaskId task : tasks) {
    const QuotaId quota = cluster_.quotas().Find(cluster_.tasks()[task].facts->required_quota);
    if (quota.valid() && !cluster_.quotas()[quota].node.valid() &&
        !cluster_.quotas()[quota].planned.valid())
      demanded_.insert(quota);
  }
  if (!EnoughQuotas(tasks)) return false;
  return chain.empty() ? PlaceAnywhere(others) : PlaceChain(chain, others);
}

const Pool& Planner::PoolOf(TaskId task) {
  const model::PodFacts& facts = *cluster_.tasks()[task].facts;
  const auto [at, added] = pools_.try_emplace({facts.task_class, facts.required_quota});
  if (added) at->second = DrawPool(session_, task, demanded_);
  return at->second;
}

// A cheap necessary condition, and the reason that people can act on: are there quotas at all?
bool Planner::EnoughQuotas(std::span<const TaskId> tasks) {
  const auto n = static_cast<int64_t>(tasks.size());
  std::map<const Pool*, int64_t> kinds;
  bool takes_many = false;
  for (const TaskId task : tasks) {
    const Pool& pool = PoolOf(task);
    ++kinds[&pool];
    takes_many = takes_many || pool.TakesMany();
    if (!pool.empty()) continue;
    if (cluster_.tasks()[task].facts->required_quota.empty()) want_ = {Want::What::kQuotas, 1};
    ExplainQuotas(tasks, pool);
    return false;
  }
  const int64_t all = QuotasFor(cluster_, kinds);
  if (all >= n) return true;
  if (!takes_many) want_ = {Want::What::kQuotas, n};
  round_.plan.why.Add(model::Verdict::NotNow(model::Reason::kInsufficientQuota, n, all));
  round_.plan.why.detail = fmt::format("queue {} has quotas for {} of {}",
                                       cluster_.jobs()[round_.job].queue_name, all, n);
  return false;
}

model::ZoneId Planner::ZoneOf(NodeId node) const {
  return cluster_.nodes()[node].zone(policy_.network);
}

// Where a member is, or will be by what is decided so far.
NodeId Planner::PlaceOf(TaskId id) const {
  const model::Task& task = cluster_.tasks()[id];
  if (task.bound() || task.claim.node.valid()) return task.bound() ? task.node : task.claim.node;
  if (!task.claim.quota.valid()) return {};
  const model::Quota& quota = cluster_.quotas()[task.claim.quota];
  return quota.node.valid() ? quota.node : quota.planned;
}

// Accelerators of one job stay on one spec code: where members are placed already, theirs.
std::optional<model::SpecId> Planner::SpecOfPlaced(std::span<const TaskId> tasks) const {
  if (std::none_of(tasks.begin(), tasks.end(),
                   [&](TaskId task) { return AsksAccelerator(cluster_, task); }))
    return std::nullopt;
  for (const TaskId id : cluster_.jobs()[round_.job].ranked) {
    const NodeId node = PlaceOf(id);
    if (node.valid() && AsksAccelerator(cluster_, id)) return cluster_.nodes()[node].spec;
  }
  return std::nullopt;
}

std::vector<CellId> Planner::OfOneSpec(std::span<const TaskId> tasks,
                                       std::span<const CellId> cells) const {
  std::vector<CellId> kept(cells.begin(), cells.end());
  if (const auto spec = SpecOfPlaced(tasks))
    std::erase_if(kept, [&](CellId cell) { return cluster_.cells()[cell].key.spec != *spec; });
  return kept;
}

// What each cell holds for the chain. Of tasks that aren't alike: how many of each kind, so never
// less than what really fits.
std::vector<Planner::Cell> Planner::Survey(std::span<const TaskId> tasks,
                                           std::span<const CellId> where) {
  std::map<const Pool*, int64_t> kinds;
  for (const TaskId task : tasks) ++kinds[&PoolOf(task)];
  const std::vector<uint32_t>& ranks = capacities_.Ranks(cluster_);
  std::vector<size_t> position(cluster_.cells().size(), SIZE_MAX);
  std::vector<Cell> cells;
  for (const CellId id : where) {
    cells.push_back({id, cluster_.cells()[id].key.spec, ranks[id.index()]});
  }
  // By ids they would stand in the order in which their names were first heard, and the first that
  // refuses gives the reason.
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return a.rank < b.rank; });
  for (size_t i = 0; i < cells.size(); ++i) position[cells[i].id.index()] = i;
  const bool zoned = !cells.empty() && cluster_.cells()[cells[0].id].key.zone.valid();
  const int64_t before = capacities_.steps();
  std::vector<int64_t> held(cells.size()), held_empty(cells.size()), slack(cells.size(), INT64_MAX);
  for (const auto& [pool, count] : kinds) {
    const size_t subject = capacities_.Subject(session_, *pool);
    std::fill(held.begin(), held.end(), 0);
    std::fill(held_empty.begin(), held_empty.end(), 0);
    for (const HeldQuota& one : pool->held) {
      const model::Quota& quota = cluster_.quotas()[one.quota];
      const NodeId node = quota.node.valid() ? quota.node : quota.planned;
      const model::Node& row = cluster_.nodes()[node];
      const CellId in =
          cluster_.cells().Find(zoned ? model::CellKey{policy_.network, ZoneOf(node), row.spec}
                                      : model::CellKey{model::Network::kRoce, {}, row.spec});
      if (!in.valid() || position[in.index()] == SIZE_MAX) continue;
      if (!session_.task_to_node.Feasible(pool->task, node).fit()) continue;
      held_empty[position[in.index()]] += one.tasks;
      if (!FitsRoom(cluster_, pool->task, one.quota, node).fit()) continue;
      held[position[in.index()]] += one.tasks;
      if (pool == &PoolOf(tasks.front()) && quota.tasks.empty())
        ++cells[position[in.index()]].bound;
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      const Capacities::Count& free = capacities_.Of(session_, *pool, subject, cells[i].id);
      const int64_t now = free.now + held[i];
      const bool alone = kinds.size() == 1;
      cells[i].capacity += alone ? now : std::min(now, count);
      const int64_t empty = free.empty + held_empty[i];
      cells[i].empty += alone ? empty : std::min(empty, count);
      cells[i].size += alone ? free.size : std::min(free.size, count);
      slack[i] = std::min(slack[i], now - count);
    }
  }
  for (size_t i = 0; i < cells.size() && kinds.size() > 1; ++i)
    cells[i].capacity += std::max<int64_t>(slack[i], 0);
  budget_ -= capacities_.steps() - before;
  return cells;
}

bool Planner::PlaceChain(std::span<const TaskId> chain, std::span<const TaskId> others) {
  const std::vector<Cell> cells = Survey(chain, OfOneSpec(chain, policy_.cells));
  std::vector<Choice> choices = OneCell(chain, cells);
  for (Choice& several : SeveralCells(chain, cells)) choices.push_back(std::move(several));
  if (choices.empty()) WantRoom(chain, cells);
  const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
  for (const Choice& choice : choices) {
    const std::vector<NodeId> nodes = NodesOf(choice);
    // Ranks of a gang that isn't strict may also stand out of order rather than wait.
    const bool in_order = Place(chain, nodes, true);
    if (!in_order && (policy_.strict || !Place(chain, nodes, false))) {
      if (budget_ <= 0) break;
      continue;
    }
    pools_.clear();  // the chain took quotas, and opened some that the others may share
    if (others.empty() || PlaceAnywhere(others)) return true;
    round_.statement.RollBackTo(start);
    round_.plan.tasks.resize(planned);
    pools_.clear();
    if ((in_order && PlaceTogether(chain, others, choice, true)) ||
        (!policy_.strict && PlaceTogether(chain, others, choice, false))) {
      round_.plan.why = {};
      return true;
    }
    if (budget_ <= 0) break;
  }
  if (const Duration left = policy_.patient_until - session_.now().wall; left > Duration::zero())
    want_.at_most = left;
  // What the others said stands, if the chain found a place at all.
  if (round_.plan.why.empty()) Explain(chain, cells);
  return false;
}

// Only numbers were looked at, so only a number has to change. Quotas that are on nodes, and tasks
// that aren't alike, are left to a whole look.
void Planner::WantRoom(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  const Pool& pool = PoolOf(chain.front());
  const bool alike =
      std::all_of(chain.begin(), chain.end(), [&](TaskId task) { return &PoolOf(task) == &pool; });
  if (!alike || !pool.held.empty() || policy_.with_siblings) return;
  const auto n = static_cast<int64_t>(chain.size());
  want_ = {Want::What::kRoom,
           n,
           MostCells(chain, cells) < 2,
           pool,
           capacities_.Subject(session_, pool),
           policy_.network,
           !cells.empty() && cluster_.cells()[cells[0].id].key.zone.valid()};
}

// More idle bound quotas first, then the tightest fit, then physical order (3.7).
std::vector<Planner::Choice> Planner::OneCell(std::span<const TaskId> chain,
                                              const std::vector<Cell>& cells) const {
  const auto n = static_cast<int64_t>(chain.size());
  Choice fitting;
  for (const Cell& cell : cells)
    if (cell.capacity >= n) fitting.push_back(&cell);
  std::sort(fitting.begin(), fitting.end(), [&](const Cell* a, const Cell* b) {
    const int64_t bound_a = std::min(a->bound, n), bound_b = std::min(b->bound, n);
    if (bound_a != bound_b) return bound_a > bound_b;
    if (a->capacity != b->capacity) return a->capacity < b->capacity;
    return a->rank < b->rank;
  });
  std::vector<Choice> choices;
  for (const Cell* cell : fitting) choices.push_back({cell});
  return choices;
}

// Does it have to wait for one cell, rather than be split for its whole life (F42)? Siblings' cells
// are all its own.
bool Planner::CouldWait(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  return !policy_.with_siblings && std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
    return CouldHoldEmpty(chain, cell);
  });
}

// How many cells may the gang span? As many as it says, once its patience is over; else one, or as
// many as it takes when no zone could hold it even when empty.
int64_t Planner::MostCells(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  if (policy_.max_zones && session_.now().wall >= policy_.patient_until) return *policy_.max_zones;
  return CouldWait(chain, cells) ? 1 : policy_.max_zones.value_or(INT64_MAX);
}

// The fewest cells of one spec code.
std::vector<Planner::Choice> Planner::SeveralCells(std::span<const TaskId> chain,
                                                   const std::vector<Cell>& cells) {
  const auto n = static_cast<int64_t>(chain.size());
  const int64_t most = MostCells(chain, cells);
  if (most < 2) return {};
  std::map<model::SpecId, Choice> by_spec;
  for (const Cell& cell : cells)
    if (cell.capacity > 0) by_spec[cell.spec].push_back(&cell);
  std::vector<Choice> choices;
  for (auto& [spec, all] : by_spec) {
    const auto limit = std::min(most, static_cast<int64_t>(all.size()));
    AddSets(n, static_cast<size_t>(limit), std::move(all), choices);
  }
  for (Choice& choice : choices)
    std::sort(choice.begin(), choice.end(),
              [](const Cell* a, const Cell* b) { return a->rank < b->rank; });
  const auto spec_name = [&](const Choice& choice) {
    const model::SpecId spec = choice[0]->spec;
    return spec.valid() ? cluster_.names().specs.Name(spec) : std::string_view{};
  };
  // Among equals the order of making decides.
  std::vector<size_t> order(choices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (choices[a].size() != choices[b].size()) return choices[a].size() < choices[b].size();
    if (const auto x = spec_name(choices[a]), y = spec_name(choices[b]); x != y)
      return NaturalLess{}(x, y);
    return a < b;
  });
  std::vector<Choice> sorted;
  for (const size_t i : order)
    if (std::find(sorted.begin(), sorted.end(), choices[i]) == sorted.end())
      sorted.push_back(choices[i]);
  return sorted;
}

// Sets of 2 to `limit` cells of one spec code that may hold `n` tasks. Tasks that are alike: the
// largest ones, and of the last that only has to hold the rest the smallest that does. Others, and
// those whom an order of nodes constrains: more than just enough, too, and every set where there
// are few cells.
void Planner::AddSets(int64_t n, size_t limit, Choice all, std::vector<Choice>& choices) {
  std::sort(all.begin(), all.end(), [&](const Cell* a, const Cell* b) {
    if (a->capacity != b->capacity) return a->capacity > b->capacity;
    return a->rank < b->rank;
  });
  const auto first = [&](size_t count) {
    return Choice(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
  };
  const auto sum_of = [](const Choice& choice) {
    return std::accumulate(choice.begin(), choice.end(), int64_t{0},
                           [](int64_t sum, const Cell* cell) {
                             return sum + std::min<int64_t>(cell->capacity, INT32_MAX);
                           });
  };
  size_t fewest = 2;  // one alone was tried
  while (fewest < limit && sum_of(first(fewest)) < n) ++fewest;
  if (fewest > limit || sum_of(first(fewest)) < n) return;
  const int64_t rest = n - sum_of(first(fewest - 1));
  size_t last = fewest - 1;
  for (size_t i = fewest; i < all.size() && all[i]->capacity >= rest; ++i)
    if (all[i]->capacity < all[last]->capacity) last = i;
  Choice tight = first(fewest - 1);
  tight.push_back(all[last]);
  choices.push_back(std::move(tight));
  for (size_t more = fewest; more <= std::min(limit, fewest + 3); ++more)
    choices.push_back(first(more));
  if (limit > fewest + 3) choices.push_back(first(limit));
  if (all.size() > kSmall) return;
  for (unsigned set = 1; set < 1u << all.size(); ++set) {
    Choice choice;
    for (size_t i = 0; i < all.size(); ++i)
      if ((set >> i & 1) != 0) choice.push_back(all[i]);
    if (choice.size() >= 2 && choice.size() <= limit && sum_of(choice) >= n)
      choices.push_back(std::move(choice));
  }
}

}  // namespace sky::actions
