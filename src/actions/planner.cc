// SPDX-License-Identifier: Apache-2.0
// A round from its tasks to its plan, and the choice of cells. The questions that are asked inside
// them stand in planner_ask.cc, what doesn't care for zones in planner_score.cc.
#include "actions/planner_asked.h"

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
  int64_t direct = 0;
  for (const auto& [pool, count] : kinds) {
    if (pool->direct()) {
      direct += count;
      continue;
    }
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
  return direct + std::min(by_kind, by_quota);
}

// Where ranks can't keep their order: nodes by how far they are from the place of the first one
// that is lost (F39), nothing if nobody stands beside it.
void NearestFirst(const model::Cluster& cluster, const model::Job& job, TaskId lost,
                  std::vector<NodeId>& nodes) {
  topology::Positions placed;
  size_t rank = 0;
  for (const TaskId id : job.ranked) {
    if (job.needs_rdma && !cluster.tasks()[id].facts->needs_rdma) continue;
    if (id == lost) rank = placed.size();
    const NodeId node = cluster.PlaceOf(id);
    placed.push_back(node.valid() ? std::optional(cluster.nodes()[node].index) : std::nullopt);
  }
  const topology::Interval between = topology::IntervalOf(placed, rank);
  const auto far = [&](NodeId node) -> int64_t {
    const int64_t index = cluster.nodes()[node].index;
    if (between.lowest != INT64_MIN && index < between.lowest) return between.lowest - index;
    if (between.highest != INT64_MAX && index > between.highest) return index - between.highest;
    return 0;
  };
  std::vector<std::pair<int64_t, size_t>> keyed;
  for (size_t i = 0; i < nodes.size(); ++i) keyed.emplace_back(far(nodes[i]), i);
  std::ranges::sort(keyed);
  const std::vector<NodeId> before = nodes;
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = before[keyed[i].second];
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

// As if its last nodes were kept for somebody else (F29), and only then with them.
// Each node's spot pods were asked for alone, but a budget or a gang may span nodes: then without
// those of one node after the other, a few times.
bool Planner::Make() {
  constexpr size_t kTries = 4;
  const size_t start = round_.statement.Savepoint();
  full_.clear();
  while (MakeOnFirstNodes()) {
    const std::optional<NodeId> stays = FirstThatStays();
    if (!stays) return true;
    round_.statement.RollBackTo(start);
    round_.plan = {};
    want_ = {};
    cut_ = false;
    full_.insert(*stays);
    if (full_.size() == kTries) break;
  }
  if (full_.empty()) return false;
  framework::Refusals why;
  why.Add(model::Reason::kReclaimNoVictim, std::ssize(full_));
  why.Add(round_.plan.why);
  why.detail = fmt::format("spot pods on {} can't leave together with those of the other nodes",
                           cluster_.nodes()[*full_.begin()].name);
  round_.plan.why = std::move(why);
  want_ = {};
  return false;
}

bool Planner::MakeOnFirstNodes() {
  const std::set<NodeId> last = session_.LastNodes(round_.job);
  if (last.empty()) return MakeRound();
  auto& bar = session_.task_to_node.bar;
  const auto law = bar;
  bar = [&](TaskId task, NodeId node) {
    if (last.contains(node)) return model::Verdict::NotNow(model::Reason::kEarmarkedForOther);
    return law ? law(task, node) : model::Verdict::Fit();
  };
  const int64_t kept = budget_ / 2;
  budget_ -= kept;
  const bool made = MakeRound();
  budget_ += kept;
  bar = law;
  if (made) return true;
  round_.plan.why = {};
  want_ = {};
  cut_ = false;
  return MakeRound();
}

bool Planner::MakeRound() {
  lacks_quotas_ = false;
  const model::Job& job = cluster_.jobs()[round_.job];
  const std::vector<TaskId> tasks = RoundTasks(session_, job);
  if (tasks.empty()) return false;
  round_.extras = job.ready >= job.needed;
  if (round_.extras) {
    // Each stands for itself; one like another that found nothing would ask the same in vain.
    std::set<std::pair<model::ClassId, std::string>> hopeless;
    for (const TaskId& task : tasks)
      if (const model::PodFacts& facts = *cluster_.tasks()[task].facts;
          !hopeless.contains({facts.task_class, std::string(DemandOf(cluster_, task))}) &&
          !MakeWhole(std::span(&task, 1)))
        hopeless.insert({facts.task_class, std::string(DemandOf(cluster_, task))});
  } else if (!MakeKept(tasks)) {
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
  demanded_ = session_.earmarks().DemandedByOthers(round_.job);
  for (const TaskId task : tasks) {
    const QuotaId quota = cluster_.quotas().Find(DemandOf(cluster_, task));
    if (quota.valid() && !cluster_.quotas()[quota].node.valid() &&
        !cluster_.quotas()[quota].planned.valid())
      demanded_.insert(quota);
  }
  FindSiblings();
  if (!EnoughQuotas(tasks)) return false;
  return chain.empty() ? PlaceAnywhere(others) : PlaceChain(chain, others);
}

// All alike, each with a free quota of its own and of one shelf: counts decide, not quotas.
bool Planner::OneShareEach(Tasks tasks) {
  const Pool& pool = PoolOf(tasks.front());
  return pool.held.empty() && pool.shelves.size() == 1 && !pool.TakesMany() &&
         std::ranges::all_of(tasks, [&](TaskId task) { return &PoolOf(task) == &pool; });
}

const Pool& Planner::PoolOf(TaskId task) {
  const model::PodFacts& facts = *cluster_.tasks()[task].facts;
  const auto [at, added] =
      pools_.try_emplace({facts.task_class, std::string(DemandOf(cluster_, task))});
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
    lacks_quotas_ = true;
    if (DemandOf(cluster_, task).empty()) want_ = {Want::What::kQuotas, 1};
    ExplainQuotas(tasks, pool);
    return false;
  }
  const int64_t all = QuotasFor(cluster_, kinds);
  if (all >= n) return true;
  lacks_quotas_ = true;
  if (!takes_many) want_ = {Want::What::kQuotas, n};
  round_.plan.why.Add(model::Verdict::NotNow(model::Reason::kInsufficientQuota, n, all));
  for (const auto& [pool, count] : kinds) ExplainOtherQuotas(*pool);
  const std::string_view demanded = DemandOf(cluster_, tasks.front());
  round_.plan.why.detail = kinds.size() == 1 && !demanded.empty()
                               ? fmt::format("quota {} is enough for {} of {}", demanded, all, n)
                               : fmt::format("queue {} has quotas for {} of {}",
                                             cluster_.jobs()[round_.job].queue_name, all, n);
  return false;
}

model::ZoneId Planner::ZoneOf(NodeId node) const {
  return cluster_.nodes()[node].zone(policy_.network);
}

// Accelerators of one job stay on one spec code: where members are placed already, theirs.
std::optional<model::SpecId> Planner::SpecOfPlaced(std::span<const TaskId> tasks) const {
  if (std::none_of(tasks.begin(), tasks.end(),
                   [&](TaskId task) { return AsksAccelerator(cluster_, task); }))
    return std::nullopt;
  for (const TaskId id : cluster_.jobs()[round_.job].ranked) {
    const NodeId node = cluster_.PlaceOf(id);
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

bool Planner::PlaceChain(std::span<const TaskId> chain, std::span<const TaskId> others) {
  const std::vector<CellId> where = Candidates(chain);
  const Cells cells = Survey(chain, where, true);
  const auto n = static_cast<int64_t>(chain.size());
  std::vector<Attempt> attempts;
  const Cells blocks = BlocksOf(chain, cells);
  const Cells* const together[] = {&blocks};
  AddAttempts(n, INT32_MAX, together, attempts);
  // Nodes that have lost switches are the last choice of a gang that hasn't begun.
  Cells whole;
  if (own_.empty() && std::ranges::any_of(cells, [&](const Cell& cell) {
        return cell.degraded.valid() || cluster_.cells()[cell.id].key.degraded;
      }))
    whole = Survey(chain, where, false);
  const Cells* const ranked[] = {&whole, &cells};
  AddAttempts(n, MostMore(chain, cells), ranked, attempts);
  if (attempts.empty()) WantRoom(chain, cells);
  for (size_t first = 0; first < attempts.size() && budget_ > 0;) {
    size_t last = first;
    while (last < attempts.size() && attempts[last].group == attempts[first].group) ++last;
    LikelyFirst(chain, std::span(attempts).subspan(first, last - first));
    for (; first < last && budget_ > 0; ++first)
      if (TryAttempt(chain, others, attempts[first])) return true;
  }
  if (const Duration left = policy_.patient_until - session_.now().wall; left > Duration::zero())
    want_.at_most = left;
  want_.zoned_job = true;
  want_.zone = waits_for_zone_;
  // What the others said stands, if the chain found a place at all.
  if (round_.plan.why.empty()) Explain(chain, cells);
  return false;
}

// Where tasks or quotas differ a search may go through many ways: those where one pass finds places
// come first, so that a zone that holds nobody costs the others nothing.
void Planner::LikelyFirst(std::span<const TaskId> chain, std::span<Attempt> attempts) {
  constexpr size_t kMost = 64;
  if (attempts.size() < 2 || OneShareEach(chain)) return;
  std::vector<Attempt> likely, rest;
  for (size_t i = 0; i < attempts.size(); ++i) {
    evicts_ = attempts[i].evicts;
    bool found = false;
    if (i < kMost && budget_ > 0) {
      const topology::Answer answer = topology::FindPlaces(
          Question(chain, NodesOf(attempts[i].cells)), cluster_.names().resources, 0);
      budget_ -= answer.steps + 1;
      found = answer.found();
    }
    (found ? likely : rest).push_back(std::move(attempts[i]));
  }
  std::ranges::move(rest, std::ranges::move(likely, attempts.begin()).out);
}

bool Planner::TryAttempt(std::span<const TaskId> chain, std::span<const TaskId> others,
                         const Attempt& attempt) {
  const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
  evicts_ = attempt.evicts;
  const std::vector<NodeId> nodes = NodesOf(attempt.cells);
  // Ranks of a gang that isn't strict may also stand out of order rather than wait.
  const bool in_order = Place(chain, nodes, true);
  if (!in_order && policy_.strict) return false;
  if (!in_order) {
    std::vector<NodeId> nearest = nodes;
    NearestFirst(cluster_, cluster_.jobs()[round_.job], chain.front(), nearest);
    if (!Place(chain, std::move(nearest), false)) return false;
  }
  pools_.clear();  // the chain took quotas, and opened some that the others may share
  if (others.empty() || PlaceAnywhere(others)) return true;
  round_.statement.RollBackTo(start);
  round_.plan.tasks.resize(planned);
  pools_.clear();
  evicts_ = attempt.evicts;
  if ((in_order && PlaceTogether(chain, others, attempt.cells, true)) ||
      (!policy_.strict && PlaceTogether(chain, others, attempt.cells, false))) {
    round_.plan.why = {};
    return true;
  }
  return false;
}

// Only numbers were looked at, so only a number has to change. Quotas that are on nodes, and tasks
// that aren't alike, are left to a whole look.
void Planner::WantRoom(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  const Pool& pool = PoolOf(chain.front());
  const bool alike =
      std::all_of(chain.begin(), chain.end(), [&](TaskId task) { return &PoolOf(task) == &pool; });
  if (!alike || !pool.held.empty() || !own_.empty()) return;
  const auto n = static_cast<int64_t>(chain.size());
  want_ = {Want::What::kRoom,
           n,
           MostMore(chain, cells) < 2,
           pool,
           capacities_.Subject(session_, pool),
           policy_.network,
           Zoned(cells)};
}

}  // namespace sky::actions
