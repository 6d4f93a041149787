// SPDX-License-Identifier: Apache-2.0
#include "actions/volume_reasons.h"

#include <set>

#include "actions/round_tasks.h"
#include "model/volume_rules.h"

namespace sky::actions {
namespace {

using framework::Refusals;
using framework::Session;
using model::Reason;
using model::TaskId;
using model::Verdict;

// One of each class that has claims, of the job's next round.
std::vector<TaskId> WithClaims(const Session& session, model::JobId job) {
  const model::Cluster& cluster = session.cluster();
  std::vector<TaskId> tasks;
  if (!cluster.volumes().used()) return tasks;
  std::set<model::ClassId> classes;
  for (const TaskId task : RoundTasks(session, cluster.jobs()[job]))
    if (const model::PodFacts& facts = *cluster.tasks()[task].facts;
        !facts.claims.empty() && classes.insert(facts.task_class).second)
      tasks.push_back(task);
  return tasks;
}

void Say(const model::Cluster& cluster, TaskId task, Refusals& why) {
  const model::Task& row = cluster.tasks()[task];
  why.main = Reason::kVolumeNotBound;
  why.who = cluster.jobs()[row.job].members.size() > 1 ? row.facts->meta().name : "";
  why.detail = model::WhyVolumes(cluster, task);
}

// What all nodes say to it; empty: one would take it. `limit` is told of one that attaches no more.
Refusals OfAllNodes(const Session& session, TaskId task, int64_t& budget, Verdict& limit) {
  const model::Cluster& cluster = session.cluster();
  Refusals why;
  for (const auto& [key, cell] : cluster.cells().by_key()) {
    if (key.zone.valid()) continue;
    for (const model::NodeId node : cluster.cells()[cell].nodes) {
      const Verdict verdict = session.task_to_node.Feasible(task, node);
      if (--budget < 0 || verdict.fit()) return {};
      if (verdict.reason == Reason::kVolumeNotBound && verdict.wanted > 0) limit = verdict;
      why.Add(verdict);
    }
  }
  return why;
}

}  // namespace

bool VolumesMissing(const Session& session, model::JobId job, Refusals& why) {
  const model::Cluster& cluster = session.cluster();
  // Extras stand each for itself.
  if (cluster.jobs()[job].ready >= cluster.jobs()[job].needed) return false;
  for (const TaskId task : WithClaims(session, job)) {
    if (model::ClaimsReady(cluster, task)) continue;
    why.Add(Reason::kVolumeNotBound);
    Say(cluster, task, why);
    return true;
  }
  return false;
}

void NameVolumes(const Session& session, model::JobId job, Refusals& why) {
  const model::Cluster& cluster = session.cluster();
  int64_t budget = 20'000;  // questions
  const std::vector<TaskId> tasks = WithClaims(session, job);
  for (const TaskId task : tasks) {
    Verdict limit;
    Refusals all = OfAllNodes(session, task, budget, limit);
    if (budget < 0) return;
    if (!all.counts.contains(Reason::kVolumeNotBound)) continue;
    why = std::move(all);
    Say(cluster, task, why);
    if (!limit.fit())
      why.detail += fmt::format("; a node that could have it attaches {} of its driver, not {}",
                                limit.have, limit.wanted);
    return;
  }
  // Each alone could run somewhere, and not all of them together.
  if (why.main == Reason::kVolumeNotBound && !tasks.empty()) Say(cluster, tasks.back(), why);
}

}  // namespace sky::actions
