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
using model::QuotaId;
using model::Reason;
using model::Resources;
using model::TaskId;
using model::Verdict;

// A spot pod's own pool, itself not counted.
Verdict PoolHolds(const Cluster& cluster, TaskId id, NodeId node_id) {
  const model::Task& task = cluster.tasks()[id];
  const model::PodFacts& facts = *task.facts;
  if (!facts.direct()) return Verdict::Fit();
  const model::Node& node = cluster.nodes()[node_id];
  model::SpotUse use = node.spot;
  if (task.node == node_id || task.claim.node == node_id) use.Add(facts.spot, -facts.spot_asked());
  // Cards are room's matter: pods leave, pools don't grow.
  const int64_t left = model::SpotRoom(node.pools, use, facts.spot, INT64_MAX / 2);
  if (facts.spot_asked() <= left) return Verdict::Fit();
  return Verdict::NotNow(Reason::kSpotPoolFull, facts.spot_asked(), left, facts.spot_resource);
}

// What one spot pod gives back.
Resources Gives(const model::PodFacts& facts) {
  Resources cards;
  cards.Set(facts.spot_device, facts.spot_asked());
  return facts.request + cards;
}

int64_t RunSeconds(const model::PodFacts& facts, WallTime now) {
  const WallTime since =
      facts.pod->status.start_time.at.value_or(facts.meta().creation_timestamp.at.value_or(now));
  return std::max<int64_t>(std::chrono::floor<std::chrono::seconds>(now - since).count(), 0);
}

// The exclusive spot pods of a node that may leave, as candidates with their groups and budgets.
struct Offer {
  std::vector<Candidate> candidates;
  Limits limits;
};

Offer OfferOf(const Session& session, TaskId task, const model::Node& node) {
  const Cluster& cluster = session.cluster();
  std::vector<TaskId> ids;
  for (const TaskId id : node.tasks)
    if (cluster.tasks()[id].evictable) ids.push_back(id);
  std::map<model::JobId, size_t> groups;
  std::map<std::string_view, size_t> budgets;
  Offer offer;
  for (const TaskId id : session.Reclaimable(task, ids)) {
    const model::Task& row = cluster.tasks()[id];
    const auto [group, fresh] = groups.try_emplace(row.job, groups.size());
    if (fresh) {
      const model::Job& job = cluster.jobs()[row.job];
      offer.limits.spare.push_back(std::max(job.bound - job.needed, 0));
    }
    Candidate one;
    one.task = id;
    one.name = row.facts->meta().Key();
    one.priority = row.facts->priority;
    one.group = group->second;
    one.seconds = RunSeconds(*row.facts, session.now().wall);
    one.gives = Gives(*row.facts);
    for (const std::string_view key : model::BudgetsOf(cluster.budgets(), *row.facts)) {
      const auto [budget, first] = budgets.try_emplace(key, budgets.size());
      if (first)
        offer.limits.budgets.push_back(model::DisruptionsLeft(cluster, *row.facts).value_or(0));
      one.budget.push_back(budget->second);
    }
    offer.candidates.push_back(std::move(one));
  }
  return offer;
}

}  // namespace

std::optional<std::vector<TaskId>> Sylas::PredictEvicted(const Session& session, TaskId task,
                                                         NodeId node,
                                                         const Resources& missing) const {
  const Offer offer = OfferOf(session, task, session.cluster().nodes()[node]);
  const auto chosen = ChooseVictims(strategies_, offer.candidates, missing, offer.limits);
  if (!chosen) return std::nullopt;
  std::vector<TaskId> victims;
  for (const Candidate* one : *chosen) victims.push_back(one->task);
  std::ranges::sort(victims);
  return victims;
}

void Sylas::OnSessionOpen(Session& session) {
  const Cluster& cluster = session.cluster();
  session.task_to_node.AddPredicate(
      "sylas", Reads::kNodeDynamic,
      [&cluster](TaskId task, NodeId node) { return PoolHolds(cluster, task, node); });
  session.predict_evicted = [this, &session](TaskId task, NodeId node, const Resources& missing) {
    return PredictEvicted(session, task, node, missing);
  };
  // 100 where nobody has to leave, less the more it costs.
  session.quota_to_node.n_order.Add(
      "sylas", [this, &session](QuotaId id, NodeId node_id) -> std::optional<int64_t> {
        const Cluster& rows = session.cluster();
        const model::Node& node = rows.nodes()[node_id];
        const auto& tasks = rows.quotas()[id].tasks;
        if (!node.has_spot() || tasks.empty())
          return node.has_spot() ? std::nullopt : std::optional<int64_t>(100);
        Resources missing;
        const Resources free = node.Free();
        for (const auto& [name, asked] : rows.tasks()[tasks.front()].facts->request)
          if (asked > 0 && free[name] < asked) missing.Set(name, asked - free[name]);
        if (missing.IsZero()) return 100;
        const Offer offer = OfferOf(session, tasks.front(), node);
        const auto chosen = ChooseVictims(strategies_, offer.candidates, missing, offer.limits);
        return chosen ? 99 - CostOf(strategies_, *chosen, missing) * 99 / 100'000 : 0;
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
          {"taskToNode.predicate", "quotaToNode.nOrder"}};
}

}  // namespace sky::plugins
