// SPDX-License-Identifier: Apache-2.0
#include "actions/naps.h"

#include <algorithm>

namespace sky::actions {

using framework::Session;
using model::Cluster;
using model::JobId;

namespace {

uint64_t Grown(const Cluster& cluster) {
  return std::max(cluster.cells().grown(), cluster.shelves().grown());
}

// The tick of the last change on any node, and of the last quota that had more to give.
uint64_t Changed(const Cluster& cluster) {
  return std::max(cluster.cells().changed(), cluster.shelves().grown());
}

// Do the job's places depend on pods anywhere, or does a pod that is there keep such as it away?
// Its first and last member stand for all: a nap is a hint.
bool DependsOnPods(Session& session, JobId job) {
  const Cluster& cluster = session.cluster();
  const auto& members = cluster.jobs()[job].ranked;
  if (members.empty()) return false;
  for (const model::TaskId member : {members.front(), members.back()}) {
    const api::Pod& pod = *cluster.tasks()[member].facts->pod;
    const auto kept_away = [&](const auto& held) {
      return held.second.members > 0 && held.second.terms.front().Matches(pod.metadata);
    };
    if (model::HasPodTerms(pod) ||
        std::ranges::any_of(session.neighbours().forbidding(), kept_away))
      return true;
  }
  return false;
}

bool HasClaims(const Cluster& cluster, JobId job) {
  if (!cluster.volumes().used()) return false;
  return std::ranges::any_of(cluster.jobs()[job].ranked, [&](model::TaskId member) {
    return !cluster.tasks()[member].facts->claims.empty();
  });
}

uint64_t PodsMoved(Session& session) {
  session.neighbours().Follow(session.cluster());
  return session.neighbours().changed() + 1;
}

}  // namespace

void Naps::Sleep(Session& session, JobId job, Want want) {
  const Cluster& cluster = session.cluster();
  const Duration longest = std::min<Duration>(kLongest, want.at_most);
  const bool depends = want.what != Want::What::kItself && DependsOnPods(session, job);
  const uint64_t neighbours = depends ? PodsMoved(session) : 0;
  Nap& nap = naps_[job.index()];
  nap = {};
  nap.job = cluster.jobs()[job].tick;
  nap.queues = cluster.queues_changed();
  nap.neighbours = neighbours;
  nap.volumes = HasClaims(cluster, job) ? cluster.volumes().offered() + 1 : 0;
  nap.cells = want.zoned_job ? cluster.cells().rearranged() : 0;
  nap.statics = want.zone ? cluster.static_generation() + 1 : 0;
  nap.seen = Grown(cluster);
  nap.earmarks = session.earmarks().ended();
  nap.told = want.what == Want::What::kItself ? UINT64_MAX : Changed(cluster);
  nap.since = session.now().mono;
  nap.until = nap.since + longest;
  nap.want = std::move(want);
}

bool Naps::Asleep(Session& session, Capacities& capacities, JobId job) {
  const auto at = naps_.find(job.index());
  if (at == naps_.end()) return false;
  Nap& nap = at->second;
  const Cluster& cluster = session.cluster();
  bool asleep = session.now().mono < nap.until && nap.job == cluster.jobs()[job].tick &&
                nap.queues == cluster.queues_changed() &&
                nap.earmarks == session.earmarks().ended() &&
                (nap.neighbours == 0 || nap.neighbours == PodsMoved(session)) &&
                (nap.volumes == 0 || nap.volumes == cluster.volumes().offered() + 1) &&
                (nap.cells == 0 || nap.cells == cluster.cells().rearranged()) &&
                (nap.statics == 0 || nap.statics == cluster.static_generation() + 1);
  if (const uint64_t grown = Grown(cluster);
      asleep && nap.seen != grown && nap.want.what != Want::What::kItself) {
    asleep = StillHopeless(session, capacities, job, nap.want);
    nap.seen = grown;
  }
  if (!asleep) naps_.erase(at);
  return asleep;
}

std::vector<JobId> Naps::Overtaken(const Session& session, std::span<const JobId> asleep) const {
  // Pods say the main reason too: those of a large gang aren't written anew every second.
  constexpr Duration kStands = std::chrono::seconds(1), kEach = std::chrono::milliseconds(10);
  const uint64_t changed = Changed(session.cluster());
  std::vector<std::pair<MonoTime, JobId>> overtaken;
  for (const JobId job : asleep) {
    const Nap& nap = naps_.at(job.index());
    const Duration stands = kStands + kEach * session.cluster().jobs()[job].waiting;
    if (nap.told < changed && session.now().mono - nap.since >= stands)
      overtaken.emplace_back(nap.since, job);
  }
  std::ranges::sort(overtaken);
  std::vector<JobId> jobs;
  int64_t steps = 0;
  for (const auto& [since, job] : overtaken) {
    if (!jobs.empty() && steps >= kSteps) break;
    steps += naps_.at(job.index()).want.steps;
    jobs.push_back(job);
  }
  std::ranges::sort(jobs);
  return jobs;
}

bool Naps::StillHopeless(const Session& session, Capacities& capacities, JobId job, Want& want) {
  const Cluster& cluster = session.cluster();
  switch (want.what) {
    case Want::What::kItself:
      return true;
    case Want::What::kAnything:
      return false;
    case Want::What::kQuotas:
      return QuotasOf(session, cluster.jobs()[job].queue) < want.tasks;
    case Want::What::kRoom:
      break;
  }
  // Other quotas than those that it was counted for, or some that are on nodes and have room: then
  // it is worth a whole look.
  if (!cluster.tasks().Live(want.pool.task)) return false;
  const Pool& pool = PoolNow(session, cluster.jobs()[job].queue, want.pool.task);
  const auto alike = [](const FreeShelf& a, const FreeShelf& b) {
    return a.quota_class == b.quota_class && a.demanded == b.demanded &&
           a.tasks_each == b.tasks_each;
  };
  if (!pool.held.empty() || !std::ranges::equal(pool.shelves, want.pool.shelves, alike))
    return false;
  want.pool.shelves = pool.shelves;
  const auto [known, added] = best_.try_emplace({want.subject, want.network, want.zoned});
  auto& [largest, sum] = known->second;
  int64_t of_zone = 0;
  model::CellKey last;
  if (added)
    for (const auto& [key, cell] : cluster.cells().by_key()) {
      if (key.zone.valid() != want.zoned || (want.zoned && key.network != want.network)) continue;
      const int64_t room = capacities.Of(session, want.pool, want.subject, cell).now;
      // A zone's degraded nodes come right after its others.
      of_zone =
          key.degraded && key.zone == last.zone && key.spec == last.spec ? of_zone + room : room;
      last = key;
      largest = std::max(largest, of_zone);
      sum += room;
    }
  return (want.one_cell ? largest : sum) < want.tasks;
}

// What a class of tasks of a queue may use in this cycle.
const Pool& Naps::PoolNow(const Session& session, model::QueueId queue, model::TaskId task) {
  const model::PodFacts& facts = *session.cluster().tasks()[task].facts;
  const auto [at, added] = pools_.try_emplace(
      {queue.index(), facts.task_class, std::string(model::DemandOf(session.cluster(), task))});
  if (added) at->second = DrawPool(session, task, {});
  return at->second;
}

int64_t Naps::QuotasOf(const Session& session, model::QueueId queue) {
  const auto [at, added] = quotas_.try_emplace(queue.index(), 0);
  if (!added) return at->second;
  for (const auto& [quota_class, count] : session.cluster().queues()[queue].classes)
    if (const model::Shelf* shelf = session.cluster().shelves().Find(quota_class))
      at->second +=
          static_cast<int64_t>(shelf->free.size() + shelf->held.size() + shelf->partial.size());
  return at->second;
}

}  // namespace sky::actions
