// SPDX-License-Identifier: Apache-2.0
#include "cache/heirs.h"

#include <algorithm>
#include <set>
#include <string>

#include "api/keys.h"
#include "base/natural.h"

namespace sky::cache {

using model::Cluster;
using model::JobId;
using model::QuotaId;
using model::Reservation;
using model::TaskId;

namespace {

std::string_view NamedBy(const model::Task& task) {
  return task.facts->meta().Annotation(api::key::kInheritResourceFrom);
}

bool Names(std::string_view named, std::string_view pod, std::string_view uid) {
  return named == uid || named == pod;
}

// The place is big enough, its quota is one that the pod may use, and it came in time.
bool Suits(const Cluster& cluster, TaskId id, QuotaId quota, const Reservation& place) {
  const model::PodFacts& facts = *cluster.tasks()[id].facts;
  const model::Quota& row = cluster.quotas()[quota];
  if (!facts.required_quota.empty() && facts.required_quota != row.name) return false;
  const auto made = facts.meta().creation_timestamp.at;
  if (facts.direct() || (made && *made > place.expires)) return false;
  return model::Fits(row.Limited(facts.request), place.request, cluster.names().resources);
}

// The oldest first; of equals by rank.
std::vector<TaskId> Waiting(const Cluster& cluster, const model::Job& job) {
  std::vector<std::pair<WallTime, size_t>> ages;
  for (size_t rank = 0; rank < job.ranked.size(); ++rank) {
    const model::Task& task = cluster.tasks()[job.ranked[rank]];
    if (!task.bound() && !task.claim.open() && !task.heir_of.valid())
      ages.emplace_back(task.facts->meta().creation_timestamp.at.value_or(WallTime{}), rank);
  }
  std::ranges::sort(ages);
  std::vector<TaskId> waiting;
  for (const auto& [made, rank] : ages) waiting.push_back(job.ranked[rank]);
  return waiting;
}

}  // namespace

bool InheritsInCircle(const Cluster& cluster, TaskId start) {
  const JobId job = cluster.tasks()[start].job;
  if (!job.valid()) return false;
  const std::vector<TaskId>& ranked = cluster.jobs()[job].ranked;
  std::set<TaskId> met;
  for (TaskId at = start; met.insert(at).second;) {
    const std::string_view named = NamedBy(cluster.tasks()[at]);
    if (named.empty()) return false;
    const auto next = std::ranges::find_if(ranked, [&](TaskId id) {
      const api::ObjectMeta& meta = cluster.tasks()[id].facts->meta();
      return named == meta.uid || (named == meta.name && id != at);
    });
    if (next == ranked.end()) return false;
    at = *next;
  }
  return true;
}

bool IsHeir(const Cluster& cluster, const Reservation& place, JobId job) {
  if (!cluster.tasks().Live(place.heir)) return false;
  const model::Task& task = cluster.tasks()[place.heir];
  return task.name == place.successor_uid && task.job == job && !task.facts->deleting &&
         !task.facts->terminal;
}

std::vector<std::pair<Reservation*, TaskId>> MatchHeirs(const Cluster& cluster, JobId job_id,
                                                        const Places& places) {
  const model::Job& job = cluster.jobs()[job_id];
  std::vector<std::pair<Reservation*, TaskId>> matched;
  std::vector<std::pair<QuotaId, Reservation*>> open = places;
  std::ranges::sort(open, [](const auto& a, const auto& b) {
    const Reservation &x = *a.second, &y = *b.second;
    if (x.expires != y.expires) return x.expires < y.expires;
    return x.pod != y.pod ? NaturalLess{}(x.pod, y.pod) : x.pod_uid < y.pod_uid;
  });
  std::vector<TaskId> waiting = Waiting(cluster, job);
  const auto pass = [&](auto fits) {
    std::erase_if(waiting, [&](TaskId id) {
      const auto place = std::ranges::find_if(open, [&](const auto& item) {
        return fits(*item.second, id) && Suits(cluster, id, item.first, *item.second);
      });
      if (place == open.end()) return false;
      matched.emplace_back(place->second, id);
      open.erase(place);
      return true;
    });
  };
  const auto facts = [&](TaskId id) -> const model::PodFacts& {
    return *cluster.tasks()[id].facts;
  };
  // As the status told it, before a restart.
  pass([&](const Reservation& place, TaskId id) {
    return place.successor_uid == cluster.tasks()[id].name;
  });
  pass([&](const Reservation& place, TaskId id) {
    const std::string_view named = NamedBy(cluster.tasks()[id]);
    return !named.empty() && Names(named, place.pod, place.pod_uid) &&
           !InheritsInCircle(cluster, id);
  });
  std::erase_if(waiting, [&](TaskId id) { return !NamedBy(cluster.tasks()[id]).empty(); });
  pass([&](const Reservation& place, TaskId id) {
    return place.index && place.role == facts(id).role && place.index == facts(id).index;
  });
  pass([&](const Reservation& place, TaskId id) {
    model::Resources asked = facts(id).request;
    asked.Set(model::ResourceNames::kPods, 0);
    return !(place.index && facts(id).index) && place.role == facts(id).role &&
           place.request == asked;
  });
  return matched;
}

Shortage::Shortage(const Cluster& cluster, const model::Job& job) {
  of_any_ = int64_t{job.needed} - job.bound;
  if (!job.object) return;
  std::map<std::string_view, int64_t> bound;
  for (const TaskId id : job.members) {
    const model::Task& task = cluster.tasks()[id];
    const bool counts = task.state == model::TaskState::kSucceeded ||
                        (task.bound() && !task.facts->terminal && !task.facts->deleting);
    if (counts) ++bound[task.facts->role];
  }
  for (const auto& [role, least] : job.object->spec.min_task_member)
    of_role_[role] = std::max<int64_t>(least - bound[role], 0);
}

bool Shortage::Take(std::string_view role) {
  const auto own = of_role_.find(role);
  int64_t of_roles = 0;
  for (const auto& [name, lacks] : of_role_) of_roles += lacks;
  if (own != of_role_.end() && own->second > 0) {
    --own->second;
    --of_any_;
    return true;
  }
  if (of_any_ <= of_roles) return false;
  --of_any_;
  return true;
}

std::vector<Reservation> AdoptedFrom(const Cluster& cluster, const api::QuotaStatus& status,
                                     WallTime now, Duration ttl) {
  std::vector<Reservation> all;
  for (const api::ReservedTask& row : status.reserved_tasks) {
    Reservation& kept = all.emplace_back();
    kept.job = row.job;
    kept.role = row.role;
    kept.pod = row.pod;
    kept.pod_uid = row.pod_uid;
    kept.successor_uid = row.successor_uid;
    kept.index = row.index;
    kept.request = model::FromList(row.request, cluster.names().resources);
    kept.expires = row.expires.at.value_or(now);
    if (const TaskId heir = cluster.tasks().Find(row.successor_uid); heir.valid()) kept.heir = heir;
  }
  // F17, and what the last leader didn't come to write: its pod is gone.
  for (const api::QuotaTask& row : status.tasks) {
    const TaskId id = cluster.tasks().Find(row.uid);
    const bool gone = !id.valid() || cluster.tasks()[id].state == model::TaskState::kFailed;
    const bool known = std::ranges::find(all, row.uid, &Reservation::pod_uid) != all.end();
    if (!gone || known || row.job.empty() || ttl <= Duration::zero()) continue;
    Reservation& kept = all.emplace_back();
    kept.job = row.job;
    kept.role = row.role;
    kept.pod = row.name;
    kept.pod_uid = row.uid;
    kept.index = row.index;
    kept.request = model::FromList(row.request, cluster.names().resources);
    kept.expires = WallTime::max();  // one TTL at most
  }
  return all;
}

}  // namespace sky::cache
