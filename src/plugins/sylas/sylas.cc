// SPDX-License-Identifier: Apache-2.0
#include "plugins/sylas/sylas.h"

#include <algorithm>
#include <map>

#include "model/budgets.h"
#include "model/occupied.h"

namespace sky::plugins {
namespace {

using framework::Reads;
using framework::Session;
using model::Cluster;
using model::NodeId;
using model::Reason;
using model::Resources;
using model::TaskId;
using model::Verdict;

// A spot pod's own pool, itself not counted.
Verdict PoolHolds(const Cluster& cluster, TaskId id, NodeId node_id) {
  const model::Task& task = cluster.tasks()[id];
  const model::PodFacts& facts = *task.facts;
  const model::Node& node = cluster.nodes()[node_id];
  model::SpotUse use = node.spot;
  if (task.node == node_id || task.claim.node == node_id) use.Add(facts.spot, -facts.spot_asked());
  // Cards are room's matter: pods leave, pools don't grow.
  const int64_t left = model::SpotRoom(node.pools, use, facts.spot, INT64_MAX / 2);
  if (facts.spot_asked() <= left) return Verdict::Fit();
  return Verdict::NotNow(Reason::kSpotPoolFull, facts.spot_asked(), left, facts.spot_resource);
}

// Room of quotas that aren't in use is lent only to those who give it back when it is asked for: an
// owner that a disruption budget, a shared card, or a queue that isn't reclaimable, keeps out would
// wait for ever (F29). What is kept for a gang that waits already is lent only to those who may be
// asked at once: of a stream of short ones none might ever have run for long enough.
Verdict MayBorrow(const Session& session, TaskId id, NodeId node_id) {
  const Cluster& cluster = session.cluster();
  const model::Node& node = cluster.nodes()[node_id];
  const model::PodFacts& facts = *cluster.tasks()[id].facts;
  model::Occupied others(node.pools), with(node.pools);
  for (const auto* tasks : {&node.tasks, &node.direct})
    for (const TaskId other : *tasks)
      if (other != id && cluster.tasks()[other].facts->direct()) {
        others.Add(*cluster.tasks()[other].facts);
        with.Add(*cluster.tasks()[other].facts);
      }
  with.Add(facts);
  const bool kept = session.earmarks().On(node_id);
  const Resources room = kept ? Resources{} : node.Room();
  const Resources own = room - others.Sum(), needs = with.Sum() - others.Sum();
  const model::ResourceId lent = model::FirstMissing(needs, own, cluster.names().resources);
  if (!lent.valid()) return Verdict::Fit();
  const TaskId self[] = {id};
  const model::JobId job = cluster.tasks()[id].job;
  const bool gives = !job.valid() || !cluster.jobs()[job].queue.valid() ||
                     cluster.queues()[cluster.jobs()[job].queue].reclaimable();
  if (gives && facts.spot == model::SpotMode::kExclusive && session.Evicts() &&
      model::DisruptionsLeft(cluster, facts).value_or(1) > 0 &&
      !session.Reclaimable(id, self).empty() &&
      (!kept || session.config().min_run_time == Duration::zero()))
    return Verdict::Fit();
  if (kept) return Verdict::NotNow(Reason::kEarmarkedForOther);
  return Verdict::NotNow(Reason::kInsufficientIdle, needs[lent], std::max<int64_t>(own[lent], 0),
                         lent);
}

Verdict SpotMay(const Session& session, TaskId id, NodeId node) {
  if (!session.cluster().tasks()[id].facts->direct()) return Verdict::Fit();
  if (const Verdict pool = PoolHolds(session.cluster(), id, node); !pool.fit()) return pool;
  return MayBorrow(session, id, node);
}

int64_t RunSeconds(const model::PodFacts& facts, WallTime now) {
  const Duration runs = now - facts.since(now);
  return std::max<int64_t>(std::chrono::floor<std::chrono::seconds>(runs).count(), 0);
}

// The exclusive spot pods of a node that may leave, as candidates with their groups and budgets, of
// which those that leave other nodes have their part already.
struct Offer {
  std::vector<Candidate> candidates;
  Limits limits;
};

Offer OfferOf(const Session& session, TaskId task, NodeId node,
              const Session::Victims& leaving = {}) {
  const Cluster& cluster = session.cluster();
  std::map<model::JobId, size_t> groups;
  std::map<std::string_view, size_t> budgets;
  Offer offer;
  for (const TaskId id : session.Reclaimable(task, model::EvictableOn(cluster, node))) {
    const model::Task& row = cluster.tasks()[id];
    const auto [group, fresh] = groups.try_emplace(row.job, groups.size());
    if (fresh && row.job.valid()) {
      const model::Job& job = cluster.jobs()[row.job];
      offer.limits.spare.push_back(std::max(job.bound - job.needed, 0));
    } else if (fresh) {  // of no job: bound by hand while they waited for their group
      offer.limits.spare.push_back(INT32_MAX);
    }
    Candidate one;
    one.task = id;
    one.name = row.facts->meta().Key();
    one.priority = row.facts->priority;
    one.group = group->second;
    one.seconds = RunSeconds(*row.facts, session.now().wall);
    one.gives = row.facts->uses();
    for (const std::string_view key : model::BudgetsOf(cluster.budgets(), *row.facts)) {
      const auto [budget, first] = budgets.try_emplace(key, budgets.size());
      if (first)
        offer.limits.budgets.push_back(model::DisruptionsLeft(cluster, *row.facts).value_or(0));
      one.budget.push_back(budget->second);
    }
    offer.candidates.push_back(std::move(one));
  }
  for (const TaskId id : leaving) {
    const model::Task& row = cluster.tasks()[id];
    if (const auto group = groups.find(row.job); group != groups.end() && row.job.valid())
      --offer.limits.spare[group->second];
    for (const std::string_view key : model::BudgetsOf(cluster.budgets(), *row.facts))
      if (const auto budget = budgets.find(key); budget != budgets.end())
        --offer.limits.budgets[budget->second];
  }
  return offer;
}

}  // namespace

std::optional<Session::Victims> Sylas::PredictEvicted(const Session& session, TaskId task,
                                                      NodeId node, const Resources& missing,
                                                      const Session::Victims& leaving) const {
  const Offer offer = OfferOf(session, task, node, leaving);
  const auto chosen = ChooseVictims(strategies_, offer.candidates, missing, offer.limits);
  if (!chosen) return std::nullopt;
  std::vector<TaskId> victims;
  for (const Candidate* one : *chosen) victims.push_back(one->task);
  std::ranges::sort(victims);
  return victims;
}

// 100 where nobody has to leave, less the more it costs.
int64_t Sylas::Score(const Session& session, TaskId task, NodeId id) const {
  const model::Node& node = session.cluster().nodes()[id];
  if (!node.has_spot()) return 100;
  const Resources missing =
      model::Shortfall(session.cluster().tasks()[task].facts->request, node.Free());
  if (missing.IsZero()) return 100;
  const Offer offer = OfferOf(session, task, id);
  const auto chosen = ChooseVictims(strategies_, offer.candidates, missing, offer.limits);
  return chosen ? 99 - CostOf(strategies_, *chosen, missing) * 99 / kMostCost : 0;
}

void Sylas::OnSessionOpen(Session& session) {
  session.task_to_node.AddPredicate(
      "sylas", Reads::kNodeDynamic,
      [&session](TaskId task, NodeId node) { return SpotMay(session, task, node); });
  session.predict_evicted = [this, &session](TaskId task, NodeId node, const Resources& missing,
                                             const Session::Victims& leaving) {
    return PredictEvicted(session, task, node, missing, leaving);
  };
  session.task_to_node.n_order.Add(
      "sylas", [this, &session](TaskId task, NodeId node) -> std::optional<int64_t> {
        if (session.cluster().tasks()[task].facts->direct()) return std::nullopt;
        return Score(session, task, node);
      });
  session.quota_to_node.n_order.Add(
      "sylas", [this, &session](model::QuotaId quota, NodeId node) -> std::optional<int64_t> {
        const auto& tasks = session.cluster().quotas()[quota].tasks;
        if (tasks.empty()) return std::nullopt;  // it is its task's matter, which is asked itself
        return Score(session, tasks.front(), node);
      });
}

framework::PluginKind Sylas::Kind() {
  using framework::ArgType;
  return {[](const framework::PluginArgs& args,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            Strategies strategies;
            strategies.priority = TRY(args.Int("priority", strategies.priority, 0, 1000));
            strategies.tasks = TRY(args.Int("tasks", strategies.tasks, 0, 1000));
            strategies.resources = TRY(args.Int("resources", strategies.resources, 0, 1000));
            strategies.run_time = TRY(args.Int("runTime", strategies.run_time, 0, 1000));
            strategies.longest_first = TRY(args.Bool("longestFirst", false));
            strategies.low = static_cast<int32_t>(
                TRY(args.Int("lowPriority", strategies.low, INT32_MIN, INT32_MAX)));
            strategies.high = static_cast<int32_t>(
                TRY(args.Int("highPriority", strategies.high, INT32_MIN, INT32_MAX)));
            return std::make_unique<Sylas>(strategies);
          },
          {{"priority", ArgType::kInt},
           {"tasks", ArgType::kInt},
           {"resources", ArgType::kInt},
           {"runTime", ArgType::kInt},
           {"longestFirst", ArgType::kBool},
           {"lowPriority", ArgType::kInt},
           {"highPriority", ArgType::kInt}},
          {"taskToNode.predicate", "taskToNode.nOrder", "quotaToNode.nOrder"}};
}

}  // namespace sky::plugins
