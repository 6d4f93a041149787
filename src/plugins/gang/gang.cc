// SPDX-License-Identifier: Apache-2.0
#include "plugins/gang/gang.h"

#include <algorithm>
#include <map>

#include "framework/session.h"
#include "model/roles.h"

namespace sky::plugins {
namespace {

using framework::JobRound;
using framework::Refusals;
using model::Job;
using model::JobId;
using model::Reason;
using model::Verdict;

// Damaged (started, but short of its minimum) 0, new 1, whole (wants extras only) 2; then by
// creation.
int64_t OrderKey(const Job& job) {
  if (job.ready >= job.needed) return 2;
  return job.started ? 0 : 1;
}

Verdict EnoughPods(const model::Cluster& cluster, const Job& job) {
  // More than one record can hold: known before its pods are there.
  constexpr auto kMost = static_cast<int64_t>(api::kMostPlacementEntries);
  if (job.needed > kMost && job.ready < job.needed)
    return Verdict::Never(Reason::kLargerThanPossible, job.needed, kMost);
  const int64_t could = int64_t{job.ready} + job.placeable;
  if (could < job.needed) {
    // Gated members may come; say so rather than "too few".
    const Reason reason =
        int64_t{job.ready} + job.waiting >= job.needed ? Reason::kGated : Reason::kNotEnoughPods;
    return Verdict::NotNow(reason, job.needed, could);
  }
  if (const auto lacks = model::FindShortRole(cluster, job))
    return Verdict::NotNow(Reason::kNotEnoughPods, lacks->least, lacks->could);
  return Verdict::Fit();
}

// Members that have a place once this round is carried out; with `on_nodes` only those whose quota
// has a node. Counted from the tasks: the job's own counts are of before the round.
bool Whole(const model::Cluster& cluster, const JobRound& round, Refusals& why, bool on_nodes) {
  const Job& job = cluster.jobs()[round.job];
  int64_t placed = 0;
  for (const model::TaskId id : job.members) {
    const model::Task& task = cluster.tasks()[id];
    if (task.state == model::TaskState::kSucceeded) ++placed;
    if (task.facts->terminal || task.facts->deleting) continue;
    if (task.bound()) ++placed;
    const bool there = !task.claim.quota.valid() || cluster.quotas()[task.claim.quota].node.valid();
    if (task.claim.open() && (!on_nodes || there)) ++placed;
  }
  if (placed >= job.needed) return true;
  why.Add(Verdict::NotNow(on_nodes ? Reason::kInsufficientQuotaIdle : Reason::kInsufficientQuota,
                          job.needed, placed));
  return false;
}

struct Members {
  int64_t all = 0;
  std::map<std::string_view, int64_t> of_role;
  void Add(const model::Task& task) { ++all, ++of_role[task.facts->role]; }
  // As many as the gang needs, and of each role too.
  bool Suffice(const Job& job) const {
    if (all < job.needed) return false;
    const auto enough = [&](const auto& role) {
      const auto found = of_role.find(role.first);
      return (found == of_role.end() ? 0 : found->second) >= role.second;
    };
    return !job.object || std::ranges::all_of(job.object->spec.min_task_member, enough);
  }
};

// Every member that has a claim fits physically now (F13), and a gang that doesn't run yet has
// enough of them, in each role too. One that runs was whole when it was decided: what is left of it
// goes on, whoever was lost since.
bool Startable(const model::Cluster& cluster, const Job& job) {
  int64_t bound = 0;
  Members members;
  std::map<model::NodeId, model::Resources> claimed;  // all of the gang's claims on a node together
  for (const model::TaskId id : job.members) {
    const model::Task& task = cluster.tasks()[id];
    const bool succeeded = task.state == model::TaskState::kSucceeded;
    const bool live = !task.facts->terminal && !task.facts->deleting;
    const bool claims = live && task.claim.open() && task.claim.node.valid();
    if (claims) claimed[task.claim.node] += task.facts->request;
    if (succeeded || (live && task.bound())) ++bound;
    if (succeeded || claims || (live && task.bound())) members.Add(task);
  }
  for (const auto& [node, request] : claimed)
    if (!model::Fits(request, cluster.nodes()[node].Idle(), cluster.names().resources))
      return false;
  return bound > 0 || members.Suffice(job);
}

// Members that have a place or a claim, wherever their room comes from.
bool Pipelined(const model::Cluster& cluster, const Job& job) {
  Members placed;
  for (const model::TaskId id : job.members) {
    const model::Task& task = cluster.tasks()[id];
    const bool live = !task.facts->terminal && !task.facts->deleting;
    if (task.state == model::TaskState::kSucceeded || (live && (task.bound() || task.claim.open())))
      placed.Add(task);
  }
  return placed.Suffice(job);
}

// What a gang may lose and stay whole: members beyond its minimum, and beyond each role's.
std::vector<model::TaskId> BeyondTheMinimum(const model::Cluster& cluster,
                                            std::span<const model::TaskId> candidates) {
  struct Left {
    int64_t members = 0;
    std::map<std::string_view, int64_t> of_role;
  };
  std::map<JobId, Left> gangs;
  const auto count = [&](const Job& job) {
    Left left;
    for (const model::TaskId id : job.members) {
      const model::Task& task = cluster.tasks()[id];
      const bool live = task.bound() && !task.facts->terminal && !task.facts->deleting;
      if (!live && task.state != model::TaskState::kSucceeded) continue;
      ++left.members;
      ++left.of_role[task.facts->role];
    }
    return left;
  };
  std::vector<model::TaskId> victims;
  for (const model::TaskId id : candidates) {
    const model::Task& task = cluster.tasks()[id];
    if (!task.job.valid()) continue;
    const Job& job = cluster.jobs()[task.job];
    const auto [at, added] = gangs.try_emplace(task.job);
    if (added) at->second = count(job);
    int64_t& of_role = at->second.of_role[task.facts->role];
    const int64_t least = job.object ? job.object->spec.min_task_member.contains(task.facts->role)
                                           ? job.object->spec.min_task_member.at(task.facts->role)
                                           : 0
                                     : 0;
    if (at->second.members <= job.needed || of_role <= least) continue;
    --at->second.members, --of_role;
    victims.push_back(id);
  }
  std::sort(victims.begin(), victims.end());
  return victims;
}

}  // namespace

void Gang::OnSessionOpen(framework::Session& session) {
  const model::Cluster& cluster = session.cluster();
  session.job_order.Add("gang", [&](JobId job) { return OrderKey(cluster.jobs()[job]); });
  session.job_valid.Add("gang",
                        [&](JobId job) { return EnoughPods(cluster, cluster.jobs()[job]); });
  session.job_ready.Add("gang", [&](JobId job) { return Startable(cluster, cluster.jobs()[job]); });
  session.quota_ready.Add("gang", [&](const JobRound& round, Refusals& why) {
    return Whole(cluster, round, why, false);
  });
  session.quota_allocate.Add("gang", [&](const JobRound& round, Refusals& why) {
    return Whole(cluster, round, why, true);
  });
  session.job_pipelined.Add("gang",
                            [&](JobId job) { return Pipelined(cluster, cluster.jobs()[job]); });
  session.job_starving.Add(
      "gang", [&](JobId id) { return cluster.jobs()[id].ready < cluster.jobs()[id].needed; });
  const auto beyond = [&](model::TaskId, std::span<const model::TaskId> candidates) {
    return BeyondTheMinimum(cluster, candidates);
  };
  session.preemptable.Add("gang", beyond);
  // Spot pods give way whatever their gang needs; sylas takes those first that it can do without.
  session.reclaimable.Add(
      "gang", [&cluster, beyond](model::TaskId task, std::span<const model::TaskId> candidates) {
        std::vector<model::TaskId> held, given;
        for (const model::TaskId id : candidates)
          (cluster.tasks()[id].facts->direct() ? given : held).push_back(id);
        const std::vector<model::TaskId> spare = beyond(task, held);
        given.insert(given.end(), spare.begin(), spare.end());
        std::ranges::sort(given);
        return std::optional(std::move(given));
      });
}

framework::PluginKind Gang::Kind() {
  return {[](const framework::PluginArgs&, const framework::Config&)
              -> Result<std::unique_ptr<framework::Plugin>> { return std::make_unique<Gang>(); },
          {},
          {"jobOrder", "jobValid", "jobReady", "quotaReady", "quotaAllocate", "jobPipelined",
           "jobStarving", "preemptable", "reclaimable"}};
}

}  // namespace sky::plugins
