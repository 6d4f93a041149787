// SPDX-License-Identifier: Apache-2.0
#include "plugins/drf/drf.h"

#include <algorithm>
#include <map>

#include "framework/session.h"

namespace sky::plugins {
namespace {

using framework::QueuePart;
using model::Cluster;
using model::JobId;
using model::TaskId;

// Of the whole queue for its weight; of its own jobs, beside its children, as if they weighed 1.
int64_t QueueKey(const Cluster& cluster, model::QueueId id, QueuePart part) {
  const model::QueueUse& use = cluster.uses().Of(id);
  const model::Resources& offered = cluster.uses().offered();
  if (part == QueuePart::kOwnJobs) return Drf::Share(use.own, offered);
  const auto& object = cluster.queues()[id].object;
  const int64_t weight = object ? std::max(object->spec.weight, 1) : 1;
  return Drf::Share(use.below, offered) / weight;
}

// A victim goes only while the job that it leaves has no smaller share afterwards than the one that
// comes.
std::vector<TaskId> Richer(const Cluster& cluster, TaskId comes,
                           std::span<const TaskId> candidates) {
  // Shares this close are equal.
  constexpr int64_t kEqual = Drf::kWhole / 1'000'000;
  const model::Resources& offered = cluster.uses().offered();
  const auto used = [&](JobId job) {
    return job.valid() ? cluster.jobs()[job].used : model::Resources{};
  };
  const model::Task& task = cluster.tasks()[comes];
  const int64_t mine = Drf::Share(used(task.job) + task.facts->request, offered);
  std::map<JobId, model::Resources> left;
  std::vector<TaskId> victims;
  for (const TaskId candidate : candidates) {
    const model::Task& victim = cluster.tasks()[candidate];
    const auto [at, added] = left.try_emplace(victim.job);
    if (added) at->second = used(victim.job);
    const model::Resources after = at->second - victim.facts->request;
    if (mine > Drf::Share(after, offered) + kEqual) continue;
    at->second = after;
    victims.push_back(candidate);
  }
  std::sort(victims.begin(), victims.end());
  return victims;
}

}  // namespace

int64_t Drf::Share(const model::Resources& used, const model::Resources& offered) {
  int64_t share = 0;
  for (const auto& [name, amount] : used) {
    if (amount <= 0) continue;
    const int64_t all = offered[name];
    const api::Int128 part = all <= 0 ? api::Int128{kWhole} : api::Int128{amount} * kWhole / all;
    share = std::max(share, static_cast<int64_t>(std::min<api::Int128>(part, INT64_MAX / 2)));
  }
  return share;
}

void Drf::OnSessionOpen(framework::Session& session) {
  const Cluster& cluster = session.cluster();
  session.job_order.Add(
      "drf", [&](JobId job) { return Share(cluster.jobs()[job].used, cluster.uses().offered()); });
  session.queue_order.Add(
      "drf", [&](model::QueueId queue, QueuePart part) { return QueueKey(cluster, queue, part); });
  session.preemptable.Add("drf", [&](TaskId task, std::span<const TaskId> candidates) {
    return Richer(cluster, task, candidates);
  });
}

framework::PluginKind Drf::Kind() {
  return {[](const framework::PluginArgs&, const framework::Config&)
              -> Result<std::unique_ptr<framework::Plugin>> { return std::make_unique<Drf>(); },
          {},
          {"jobOrder", "queueOrder", "preemptable"}};
}

}  // namespace sky::plugins
