// SPDX-License-Identifier: Apache-2.0
// Placements that this process didn't write: which of their entries still speak of something that
// is there, and the claims of those.
#include <algorithm>
#include <set>
#include <string_view>

#include "cache/cache.h"

namespace sky::cache {

using model::NodeId;
using model::QuotaId;
using model::TaskId;

std::shared_ptr<const api::Placement> Cache::FindPlacement(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = placements_.find(key);
  return found == placements_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const api::Placement>> Cache::Placements() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const api::Placement>> all;
  for (const auto& [key, placement] : placements_) all.push_back(placement);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    const auto made_a = a->metadata.creation_timestamp.at,
               made_b = b->metadata.creation_timestamp.at;
    return made_a != made_b ? made_a < made_b : a->metadata.Key() < b->metadata.Key();
  });
  return all;
}

namespace {

template <class T>
const T* At(const std::vector<T>& table, int32_t index) {
  return index >= 0 && static_cast<size_t>(index) < table.size()
             ? &table[static_cast<size_t>(index)]
             : nullptr;
}

}  // namespace

// Does it still speak of a live, unbound member, and of a quota and a node that it may use? What
// the predicates say is asked by the bind action, as of any older round.
void Cache::CheckAdopted(const api::PlacementSpec& spec, const api::PlacementEntry& entry,
                         model::JobId job, Adoption& adoption) const {
  const TaskId task_id = cluster_.tasks().Find(entry.pod_uid);
  if (!task_id.valid()) {
    adoption.unseen.push_back(entry);
    return;
  }
  const model::Task& task = cluster_.tasks()[task_id];
  if (task.bound() || task.facts->terminal || task.facts->deleting) return;  // spent
  const std::string* quota = At(spec.quotas, entry.quota);
  const std::string* node = At(spec.nodes, entry.node);
  const std::string* zone = At(spec.zones, entry.zone);
  if (task.claim.open()) {  // ours already
    const QuotaId ours = task.claim.quota;
    const bool same_quota = ours.valid() && quota != nullptr
                                ? cluster_.quotas()[ours].name == *quota
                                : !ours.valid() && quota == nullptr;
    const bool same =
        same_quota && node != nullptr && cluster_.nodes()[task.claim.node].name == *node;
    adoption.disputed = adoption.disputed || !same;
    return;
  }
  const auto void_entry = [&](std::string why) {
    adoption.void_entries.push_back(fmt::format("{}: {}", entry.task, why));
  };
  if (task.job != job) return void_entry("the pod is not a member of the group");
  if (task.facts->gated) return void_entry("the pod is gated");
  if ((quota == nullptr) != task.facts->direct() || node == nullptr)
    return void_entry("names no quota or node");
  const QuotaId quota_id = quota == nullptr ? QuotaId{} : cluster_.quotas().Find(*quota);
  const NodeId node_id = cluster_.nodes().Find(*node);
  if (quota != nullptr && (!quota_id.valid() || !cluster_.quotas()[quota_id].usable()))
    return void_entry(fmt::format("quota {} can't be used", *quota));
  if (quota != nullptr && !cluster_.MayUse(cluster_.jobs()[job].queue, cluster_.quotas()[quota_id]))
    return void_entry(fmt::format("quota {} is not its queue's", *quota));
  if (!node_id.valid() || !cluster_.nodes()[node_id].exists() || !cluster_.nodes()[node_id].ready)
    return void_entry(fmt::format("node {} can't be used", *node));
  adoption.round.entries.push_back({task_id, entry.pod_uid, task.facts->meta().namespace_,
                                    task.facts->meta().name, entry.role, task.facts->index,
                                    quota_id, quota == nullptr ? std::string() : *quota, node_id,
                                    *node, zone == nullptr ? std::string() : *zone});
}

Adoption Cache::CheckPlacement(const api::Placement& placement) {
  const std::lock_guard lock(mutex_);
  cluster_.Flush();
  Adoption adoption;
  Round& round = adoption.round;
  round.job = placement.metadata.Key();
  round.namespace_ = placement.metadata.namespace_;
  round.group = placement.metadata.name;
  round.group_uid = placement.spec.pod_group_uid;
  round.recorded = true;
  const model::JobId job_id = cluster_.jobs().Find(round.job);
  if (!job_id.valid() || cluster_.jobs()[job_id].uid() != round.group_uid) {
    adoption.spent = true;
    return adoption;
  }
  const model::Job& job = cluster_.jobs()[job_id];
  round.priority = job.priority;
  adoption.any_bound = round.started = job.bound > 0;
  std::set<std::string_view> named;
  for (const api::PlacementEntry& entry : placement.spec.entries)
    if (named.insert(entry.pod_uid).second)
      CheckAdopted(placement.spec, entry, job_id, adoption);
    else
      adoption.void_entries.push_back(fmt::format("{}: named twice", entry.task));
  adoption.spent = round.entries.empty() && adoption.void_entries.empty() &&
                   adoption.unseen.empty() && !adoption.disputed;
  return adoption;
}

Effect Cache::Adopt(Round& round) {
  const std::lock_guard lock(mutex_);
  round.number = next_round_++;
  // The record is the newer word: what it gave to others of the gang is kept for nobody.
  for (const RoundEntry& entry : round.entries) {
    if (entry.direct() || cluster_.quotas()[entry.quota].reserved.empty()) continue;
    std::vector<model::Reservation> left = cluster_.quotas()[entry.quota].reserved;
    std::erase_if(left, [&](const model::Reservation& one) {
      return one.job == round.job && one.heir != entry.task;
    });
    const NodeId kept = left.empty() ? NodeId{} : cluster_.quotas()[entry.quota].kept;
    cluster_.SetReserved(entry.quota, std::move(left), kept);
  }
  const CommittedBefore before = CommittedOn(round);
  OpenClaims(round, model::Claim::Phase::kClaimed);
  cluster_.Flush();
  // What doesn't fit any more goes, entry by entry, from the last rank.
  while (!round.entries.empty() && !CheckRoom(round, before).empty()) {
    cluster_.SetClaim(round.entries.back().task, model::Claim{});
    round.entries.pop_back();
    cluster_.Flush();
  }
  if (round.entries.empty()) return Effect::kNothing;
  for (const RoundEntry& entry : round.entries) rounds_[round.number][entry.uid] = {};
  Settle();
  return Effect::kRelevant;
}

}  // namespace sky::cache
