// SPDX-License-Identifier: Apache-2.0
// Commit: compare the whole gang with the newest facts and open its claims, or change nothing (F6).
#include <algorithm>

#include "api/keys.h"
#include "base/check.h"
#include "cache/cache.h"

namespace sky::cache {

using model::Claim;
using model::NodeId;
using model::QuotaId;
using model::TaskId;

namespace {

std::string CheckJob(const model::Cluster& cluster, const Round& round,
                     const model::Cluster& seen) {
  const model::JobId id = cluster.jobs().Find(round.job);
  if (!id.valid() || !cluster.jobs()[id].exists())
    return fmt::format("group {} is gone", round.job);
  const model::Job& job = cluster.jobs()[id];
  if (job.uid() != round.group_uid) return fmt::format("group {} was made anew", round.job);
  const model::JobId seen_id = seen.jobs().Find(round.job);
  if (!seen_id.valid() || seen.jobs()[seen_id].queue != job.queue)
    return fmt::format("group {} changed its queue", round.job);
  if (job.unconfirmed)
    return fmt::format("group {} must be read again: a member is newer than its last word",
                       round.job);
  // Whether less than the minimum may begin the session has judged: here only what has changed.
  const auto lacks = [&](const model::Job& one) {
    return one.ready + static_cast<int64_t>(round.entries.size()) < one.needed;
  };
  if (lacks(job) && !lacks(seen.jobs()[seen_id]))
    return fmt::format("group {} needs {} members now, {} have a place", round.job, job.needed,
                       job.ready + static_cast<int64_t>(round.entries.size()));
  return {};
}

std::string CheckQuota(const model::Cluster& cluster, const RoundEntry& entry,
                       const model::Cluster& seen) {
  const QuotaId quota_id = cluster.quotas().Find(entry.quota_name);
  if (!quota_id.valid() || !cluster.quotas()[quota_id].usable())
    return fmt::format("quota {} can't be used any more", entry.quota_name);
  const model::Quota& quota = cluster.quotas()[quota_id];
  const model::Quota& seen_quota = seen.quotas()[entry.quota];
  if (!seen_quota.exists() || quota.object->metadata.uid != seen_quota.object->metadata.uid ||
      quota.quota_class != seen_quota.quota_class)
    return fmt::format("quota {} changed", entry.quota_name);
  if (quota.node.valid() && cluster.nodes()[quota.node].name != entry.node_name)
    return fmt::format("quota {} is bound to {} meanwhile", entry.quota_name,
                       cluster.nodes()[quota.node].name);
  return {};
}

std::string CheckEntry(const model::Cluster& cluster, const RoundEntry& entry,
                       const model::Cluster& seen) {
  const TaskId task = cluster.tasks().Find(entry.uid);
  if (!task.valid()) return fmt::format("pod {}/{} is gone", entry.namespace_, entry.name);
  if (!cluster.tasks()[task].placeable())
    return fmt::format("pod {}/{} can't be placed any more", entry.namespace_, entry.name);
  if (cluster.tasks()[task].facts->task_class != seen.tasks()[entry.task].facts->task_class)
    return fmt::format("pod {}/{} changed", entry.namespace_, entry.name);

  if (!entry.direct())
    if (std::string what = CheckQuota(cluster, entry, seen); !what.empty()) return what;
  const NodeId node_id = cluster.nodes().Find(entry.node_name);
  if (!node_id.valid() || !cluster.nodes()[node_id].exists())
    return fmt::format("node {} is gone", entry.node_name);
  const model::Node& node = cluster.nodes()[node_id];
  const model::Node& was = seen.nodes()[entry.node];
  if (!node.ready && was.ready) return fmt::format("node {} is no longer ready", entry.node_name);
  if (node.object->metadata.deleting() && !was.object->metadata.deleting())
    return fmt::format("node {} is being deleted", entry.node_name);
  if (node.static_generation != was.static_generation)
    return fmt::format("node {} changed", entry.node_name);
  return {};
}

// What quotas keep for the round's job, as it was before the session gave it up (F36): put back
// when the round is refused.
class GivenUpPlaces {
 public:
  GivenUpPlaces(model::Cluster& cluster, const Round& round) : cluster_(cluster) {
    for (const auto& [name, place_only] : round.lifted) {
      const QuotaId id = cluster.quotas().Find(name);
      if (!id.valid() || cluster.quotas()[id].reserved.empty()) continue;
      const model::Quota& quota = cluster.quotas()[id];
      before_.push_back({id, quota.reserved, quota.kept});
      model::LeftKept left = model::WithoutPlacesOf(quota, round.job, place_only);
      cluster.SetReserved(id, std::move(left.reserved), left.kept);
    }
    cluster.Flush();
  }
  void PutBack() {
    for (Before& one : before_) cluster_.SetReserved(one.quota, std::move(one.reserved), one.kept);
    cluster_.Flush();
  }

 private:
  struct Before {
    QuotaId quota;
    std::vector<model::Reservation> reserved;
    NodeId kept;
  };
  model::Cluster& cluster_;
  std::vector<Before> before_;
};

// Required terms about where quotas, and pods on them, are were judged by what was seen. Whoever
// has come to a node since then, by another's hand, may be just whom somebody keeps away from.
std::string CheckComings(const model::Cluster& cluster, const model::Touched& changed,
                         const model::Cluster& seen) {
  if (cluster.with_terms().empty() && cluster.with_notes().empty()) return {};
  for (const QuotaId id : changed.quotas) {
    if (!cluster.quotas().Live(id) || !cluster.quotas()[id].node.valid()) continue;
    const model::Quota& quota = cluster.quotas()[id];
    if (!seen.quotas().Live(id) || seen.quotas()[id].place() != quota.node ||
        seen.quotas()[id].quota_class != quota.quota_class)
      return fmt::format("quota {} came to node {} meanwhile", quota.name,
                         cluster.nodes()[quota.node].name);
  }
  for (const TaskId id : changed.tasks) {
    if (!cluster.tasks().Live(id) || !cluster.tasks()[id].used_quota().valid()) continue;
    const NodeId node = cluster.PlaceOf(id);
    if (node.valid() && (!seen.tasks().Live(id) || seen.PlaceOf(id) != node))
      return fmt::format("pod {} came to node {} meanwhile",
                         cluster.tasks()[id].facts->meta().Key(), cluster.nodes()[node].name);
  }
  return {};
}

// With the claims open: what spot pods use is nobody else's, and within its pool.
std::string CheckSpotRoom(const model::Cluster& cluster, const RoundEntry& entry) {
  const model::Node& node = cluster.nodes()[entry.node];
  const model::PodFacts& facts = *cluster.tasks()[entry.task].facts;
  if (!model::PoolsHold(node.pools, node.spot))
    return fmt::format("the spot pool of node {} is full", entry.node_name);
  model::Resources taken;
  for (const auto& [name, value] : node.used + node.pledged)
    if (facts.request[name] > 0 || name == facts.spot_device) taken.Set(name, value);
  if (const auto missing = model::FirstMissing(taken, node.allocatable, cluster.names().resources);
      missing.valid())
    return fmt::format("node {} has no room left for {}", entry.node_name,
                       cluster.names().resources.Name(missing));
  return {};
}

}  // namespace

// With the claims open: does every quota and node still hold what it carries? Only what a task asks
// for, or the round adds, can be refused: a node that is short of something else stays usable.
std::string Cache::CheckRoom(const Round& round, const CommittedBefore& before) const {
  for (const RoundEntry& entry : round.entries) {
    if (entry.direct()) {
      if (std::string what = CheckSpotRoom(cluster_, entry); !what.empty()) return what;
      continue;
    }
    const model::Quota& quota = cluster_.quotas()[entry.quota];
    const model::Resources& asked = cluster_.tasks()[entry.task].facts->request;
    const model::Resources limited = quota.Limited(asked);
    const model::Resources taken = quota.task_sum + KeptFromOthers(quota, entry.task);
    if (const auto missing =
            model::FirstMissing(limited, quota.limit() - taken + limited, names_->resources);
        missing.valid())
      return fmt::format("quota {} has no room left for {}", entry.quota_name,
                         names_->resources.Name(missing));
    const model::Node& node = cluster_.nodes()[entry.node];
    const model::Resources& had = before.at(entry.node);
    model::Resources committed;
    for (const auto& [name, value] : node.committed)
      if (asked[name] > 0 || value > had[name]) committed.Set(name, value);
    if (const auto missing = model::FirstMissing(committed, node.allocatable, names_->resources);
        missing.valid())
      return fmt::format("node {} has no room left for {}", entry.node_name,
                         names_->resources.Name(missing));
  }
  return {};
}

Cache::CommittedBefore Cache::CommittedOn(const Round& round) const {
  CommittedBefore committed;
  for (const RoundEntry& entry : round.entries)
    committed.emplace(entry.node, cluster_.nodes()[entry.node].committed);
  return committed;
}

void Cache::OpenClaims(const Round& round, Claim::Phase phase) {
  for (const RoundEntry& entry : round.entries)
    cluster_.SetClaim(entry.task, Claim{phase, entry.quota, entry.node, round.number});
}

void Cache::CloseClaims(const Round& round) {
  for (const RoundEntry& entry : round.entries) cluster_.SetClaim(entry.task, Claim{});
}

std::expected<uint64_t, Refusal> Cache::Assume(Round& round, const model::Cluster& seen) {
  SKY_CHECK(!round.entries.empty(), "job {}", round.job);
  const std::lock_guard lock(mutex_);
  Settle();
  GivenUpPlaces given_up(cluster_, round);
  const auto refuse = [&](std::string what) {
    given_up.PutBack();
    return std::unexpected(Refusal{model::Reason::kPlacementConflict, std::move(what)});
  };
  if (std::string what = CheckJob(cluster_, round, seen); !what.empty())
    return refuse(std::move(what));
  for (const RoundEntry& entry : round.entries)
    if (std::string what = CheckEntry(cluster_, entry, seen); !what.empty())
      return refuse(std::move(what));
  if (std::string what = CheckComings(cluster_, changed_, seen); !what.empty())
    return refuse(std::move(what));
  // Ids are stable while a snapshot holds them; resolve once more all the same, by what was
  // checked.
  for (RoundEntry& entry : round.entries) {
    entry.task = cluster_.tasks().Find(entry.uid);
    entry.quota = entry.direct() ? QuotaId{} : cluster_.quotas().Find(entry.quota_name);
    entry.node = cluster_.nodes().Find(entry.node_name);
  }
  round.number = next_round_++;
  const CommittedBefore before = CommittedOn(round);
  OpenClaims(round, Claim::Phase::kWriting);
  cluster_.Flush();
  if (std::string what = CheckRoom(round, before); !what.empty()) {
    CloseClaims(round);
    cluster_.Flush();
    return refuse(std::move(what));
  }
  for (const RoundEntry& entry : round.entries) rounds_[round.number][entry.uid] = {};
  Settle();
  return round.number;
}

}  // namespace sky::cache
