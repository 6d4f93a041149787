// SPDX-License-Identifier: Apache-2.0
// What is kept, and until when; who takes it over stands in heirs.cc.
#include "cache/reservations.h"

#include <algorithm>

#include "cache/heirs.h"

namespace sky::cache {

using model::Cluster;
using model::NodeId;
using model::QuotaId;
using model::Reservation;
using model::TaskId;
using std::chrono::seconds;

namespace {

// A pod that is made within the last second of a reservation has its time.
constexpr Duration kSlack = seconds(1);
// What a predecessor may take beyond its grace until its successor goes elsewhere (F34).
constexpr Duration kLate = seconds(30);
constexpr Duration kLeastAvoided = seconds(60);

// As the API holds it: in whole seconds.
WallTime After(WallTime now, Duration ttl) {
  const auto whole = std::chrono::ceil<seconds>(now.time_since_epoch());
  constexpr Duration kMost = std::chrono::hours(24 * 365);
  return WallTime(whole + std::chrono::ceil<seconds>(std::min(ttl, kMost)));
}

// The kubelet didn't take it; it would refuse its like again (F35).
bool KubeletRefused(const api::Pod& pod) {
  const std::string& reason = pod.status.reason;
  return pod.status.phase == "Failed" &&
         (reason.starts_with("OutOf") || reason == "UnexpectedAdmissionError" ||
          reason == "TopologyAffinityError" || reason == "NodeAffinity");
}

Reservation Of(const Reservations::Holding& holding) {
  Reservation kept;
  kept.job = holding.job;
  kept.job_uid = holding.job_uid;
  kept.role = holding.facts->role;
  kept.pod = holding.facts->meta().name;
  kept.pod_uid = holding.facts->meta().uid;
  if (holding.facts->index && *holding.facts->index <= INT32_MAX) kept.index = holding.facts->index;
  kept.request = holding.facts->request;
  kept.request.Set(model::ResourceNames::kPods, 0);
  return kept;
}

std::vector<Reservation>::iterator Find(std::vector<Reservation>& all, std::string_view pod_uid) {
  return std::ranges::find(all, pod_uid, &Reservation::pod_uid);
}

bool Suspended(const Cluster& cluster, const model::Job& job) {
  return job.line.valid() && cluster.job_queues()[job.line].object->spec.suspended;
}

}  // namespace

std::optional<Reservations::Holding> Reservations::HeldBy(Cluster& cluster,
                                                          std::string_view uid) const {
  const TaskId id = cluster.tasks().Find(uid);
  if (!id.valid() || cluster.tasks()[id].facts->grouping != model::Grouping::kGroup) return {};
  cluster.Flush();
  const model::Task& task = cluster.tasks()[id];
  const QuotaId quota = task.used_quota();
  if (!quota.valid() || !cluster.quotas()[quota].exists() || !task.job.valid() ||
      !cluster.jobs()[task.job].object)
    return {};
  const std::vector<TaskId>& counted = cluster.quotas()[quota].tasks;
  if (!std::ranges::binary_search(counted, id)) return {};
  const model::Job& job = cluster.jobs()[task.job];
  using Phase = model::Claim::Phase;
  // Of a gang of which nobody runs yet a claim is no place that anybody had.
  if (!task.bound() && (task.claim.phase < Phase::kClaimed || job.bound == 0)) return {};
  return Holding{quota,      task.bound() ? task.node : task.claim.node,
                 job.name,   job.uid(),
                 TtlOf(job), task.facts};
}

void Reservations::Leaving(Cluster& cluster, const Holding& holding, WallTime grace_ends) {
  if (holding.ttl <= Duration::zero()) return;
  std::vector<Reservation> all = cluster.quotas()[holding.quota].reserved;
  auto kept = Find(all, holding.facts->meta().uid);
  if (kept == all.end()) kept = all.insert(all.end(), Of(holding));
  kept->leaving = true;
  kept->expires = After(grace_ends, kLate);
  cluster.SetReserved(holding.quota, std::move(all), holding.node);
  known_.insert(holding.quota);
  dirty_ = true;
}

void Reservations::Lost(Cluster& cluster, const Holding& holding, const api::Pod* failed,
                        WallTime now) {
  const bool refused = failed != nullptr && KubeletRefused(*failed);
  if (refused) {
    const model::ClassId tasks = holding.facts->node_class;
    avoided_[{cluster.nodes()[holding.node].name, tasks}] = {now + kLeastAvoided, false, {}, {}};
    cluster.SetAvoided(holding.node, tasks, true);
    dirty_ = true;
  }
  if (holding.ttl <= Duration::zero() || !cluster.quotas()[holding.quota].exists()) return;
  std::vector<Reservation> all = cluster.quotas()[holding.quota].reserved;
  auto kept = Find(all, holding.facts->meta().uid);
  if (kept == all.end()) kept = all.insert(all.end(), Of(holding));
  kept->leaving = false;
  kept->expires = After(now, holding.ttl);
  cluster.SetReserved(holding.quota, std::move(all), refused ? NodeId{} : holding.node);
  known_.insert(holding.quota);
  dirty_ = true;
}

// F31: a place is one as long as its node is. What hangs on a dead node is as good as gone.
void Reservations::EndPlace(const Cluster& cluster, Kept& kept, WallTime now) const {
  if (!kept.node.valid() || (cluster.nodes().Live(kept.node) && !cluster.nodes()[kept.node].lost))
    return;
  kept.node = NodeId{};
  for (Reservation& one : kept.all) {
    if (!std::exchange(one.leaving, false)) continue;
    const model::JobId job = cluster.jobs().Find(one.job);
    one.expires = After(now, job.valid() ? TtlOf(cluster.jobs()[job]) : ttl_);
  }
}

// F33.
void Reservations::DropEnded(const Cluster& cluster, QuotaId quota, Kept& kept) const {
  const model::Quota& row = cluster.quotas()[quota];
  std::erase_if(kept.all, [&](Reservation& one) {
    const model::JobId id = cluster.jobs().Find(one.job);
    if (!row.exists() || row.deleting() || !id.valid()) return true;
    const model::Job& job = cluster.jobs()[id];
    if (!job.object || (!one.job_uid.empty() && one.job_uid != job.uid())) return true;
    one.job_uid = job.uid();
    if (TtlOf(job) <= Duration::zero() || job.object->status.phase == "Completed" ||
        Suspended(cluster, job) || !cluster.MayUse(job.queue, row))
      return true;
    if (one.heir.valid() && !IsHeir(cluster, one, id)) {
      one.heir = TaskId{};
      one.successor_uid.clear();
    }
    if (one.heir.valid() && cluster.tasks()[one.heir].bound()) return true;
    // On its way there, or elsewhere.
    if (const model::Claim* claim = one.heir.valid() ? &cluster.tasks()[one.heir].claim : nullptr;
        claim != nullptr && claim->open())
      return claim->quota != quota;
    return false;
  });
}

// Whose time is over. A successor that was made in time has been found before, whenever it was
// seen.
void Reservations::DropExpired(Desk& desk, WallTime now) {
  for (auto& [quota, kept] : desk)
    std::erase_if(kept.all, [&](const Reservation& one) { return now >= one.expires + kSlack; });
}

// Those that stay are the ones that the gang's count needs: first for successors that are there.
void Reservations::DropSurplus(const Cluster& cluster, Desk& desk) {
  std::map<std::string_view, std::vector<std::pair<QuotaId, const Reservation*>>> of_job;
  for (const auto& [quota, kept] : desk)
    for (const Reservation& one : kept.all) of_job[one.job].emplace_back(quota, &one);
  std::set<const Reservation*> surplus;
  for (auto& [name, all] : of_job) {
    const model::Job& job = cluster.jobs()[cluster.jobs().Find(name)];
    const auto order = [](const Reservation& one) {
      return std::tuple(one.heir.valid() ? 0 : 1, -one.expires.time_since_epoch().count(),
                        std::string_view(one.role), one.index.value_or(INT64_MAX),
                        std::string_view(one.pod));
    };
    std::ranges::sort(all, {}, [&](const auto& item) { return order(*item.second); });
    Shortage lacks(cluster, job);
    for (const auto& [quota, one] : all)
      if (!lacks.Take(one->role)) surplus.insert(one);
  }
  for (auto& [quota, kept] : desk) {
    std::vector<Reservation> left;
    for (Reservation& one : kept.all)
      if (!surplus.contains(&one)) left.push_back(std::move(one));
    kept.all = std::move(left);
  }
}

void Reservations::FindHeirs(const Cluster& cluster, Desk& desk, WallTime now) const {
  std::map<model::JobId, std::vector<std::pair<QuotaId, Reservation*>>> open;
  for (auto& [quota, kept] : desk)
    for (Reservation& one : kept.all)
      if (!one.heir.valid()) open[cluster.jobs().Find(one.job)].emplace_back(quota, &one);
  for (auto& [job, places] : open)
    for (const auto& [place, heir] : MatchHeirs(cluster, job, places)) {
      place->heir = heir;
      place->successor_uid = cluster.tasks()[heir].name;
      if (!place->leaving) place->expires = After(now, TtlOf(cluster.jobs()[job]));
    }
}

// Until something changed there, and for a while at least.
bool Reservations::StillAvoided(const Cluster& cluster, NodeId id, Avoided& avoided, WallTime now) {
  if (!id.valid() || !cluster.nodes()[id].exists()) return false;
  const model::Node& node = cluster.nodes()[id];
  if (!std::exchange(avoided.seen, true)) {
    avoided.allocatable = node.allocatable;
    avoided.tasks = node.tasks;
  }
  if (avoided.allocatable == node.allocatable && avoided.tasks == node.tasks) return true;
  if (now >= avoided.at_least) return false;
  next_ = std::min(next_, avoided.at_least);
  return true;
}

void Reservations::JudgeAvoided(Cluster& cluster, WallTime now) {
  for (auto at = avoided_.begin(); at != avoided_.end();) {
    const NodeId id = cluster.nodes().Find(at->first.first);
    if (StillAvoided(cluster, id, at->second, now)) {
      ++at;
      continue;
    }
    cluster.SetAvoided(id, at->first.second, false);
    at = avoided_.erase(at);
  }
}

void Reservations::Judge(Cluster& cluster, WallTime now) {
  if ((!dirty_ && !Due(now)) || (known_.empty() && avoided_.empty())) return;
  dirty_ = false;
  cluster.Flush();
  next_ = WallTime::max();
  Desk desk;
  for (const QuotaId id : known_)
    if (cluster.quotas().Live(id))
      desk[id] = {cluster.quotas()[id].reserved, cluster.quotas()[id].kept};
  for (auto& [id, kept] : desk) {
    EndPlace(cluster, kept, now);
    DropEnded(cluster, id, kept);
  }
  DropSurplus(cluster, desk);
  FindHeirs(cluster, desk, now);
  DropExpired(desk, now);
  known_.clear();
  for (auto& [id, kept] : desk) {
    if (kept.all.empty()) kept.node = NodeId{};
    for (const Reservation& one : kept.all) next_ = std::min(next_, one.expires + kSlack);
    if (!kept.all.empty()) known_.insert(id);
    const model::Quota& quota = cluster.quotas()[id];
    if (quota.reserved == kept.all && quota.kept == kept.node) continue;
    cluster.SetReserved(id, std::move(kept.all), kept.node);
  }
  JudgeAvoided(cluster, now);
}

void Reservations::Adopt(Cluster& cluster, WallTime now) {
  cluster.Flush();
  known_.clear();
  for (size_t i = 0; i < cluster.quotas().size(); ++i) {
    const QuotaId id(i);
    if (!cluster.quotas()[id].live) continue;
    const model::Quota& quota = cluster.quotas()[id];
    std::vector<Reservation> all;
    if (quota.object) all = AdoptedFrom(cluster, quota.object->status, now, ttl_);
    for (Reservation& one : all) {
      const model::JobId job = cluster.jobs().Find(one.job);
      const Duration ttl = job.valid() ? TtlOf(cluster.jobs()[job]) : ttl_;
      one.expires = std::min(one.expires, After(now, ttl));
    }
    if (all.empty() && quota.reserved.empty()) continue;
    const NodeId node = all.empty() ? NodeId{} : quota.status_node;
    if (!all.empty()) known_.insert(id);
    cluster.SetReserved(id, std::move(all), node);
  }
  for (size_t i = 0; i < cluster.tasks().size(); ++i) {
    const model::Task& task = cluster.tasks()[TaskId(i)];
    if (!task.live || !task.facts->deleting) continue;
    // Its deletionTimestamp is when its grace ends.
    const WallTime grace_ends = task.facts->meta().deletion_timestamp.at.value_or(now);
    if (const auto holding = HeldBy(cluster, task.name)) Leaving(cluster, *holding, grace_ends);
  }
  dirty_ = true;
}

}  // namespace sky::cache
