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

std::string Cache::CheckJob(const Round& round, const model::Cluster& seen) const {
  const model::JobId id = cluster_.jobs().Find(round.job);
  if (!id.valid() || !cluster_.jobs()[id].exists())
    return fmt::format("group {} is gone", round.job);
  const model::Job& job = cluster_.jobs()[id];
  if (job.uid() != round.group_uid) return fmt::format("group {} was made anew", round.job);
  const model::JobId seen_id = seen.jobs().Find(round.job);
  if (!seen_id.valid() || seen.jobs()[seen_id].queue != job.queue)
    return fmt::format("group {} changed its queue", round.job);
  if (job.unconfirmed)
    return fmt::format("group {} must be read again: a member is newer than its last word",
                       round.job);
  if (job.ready + static_cast<int64_t>(round.entries.size()) < job.needed)
    return fmt::format("group {} needs {} members now, {} have a place", round.job, job.needed,
                       job.ready + static_cast<int64_t>(round.entries.size()));
  return {};
}

std::string Cache::CheckEntry(const RoundEntry& entry, const model::Cluster& seen) const {
  const TaskId task = cluster_.tasks().Find(entry.uid);
  if (!task.valid()) return fmt::format("pod {}/{} is gone", entry.namespace_, entry.name);
  if (!cluster_.tasks()[task].placeable())
    return fmt::format("pod {}/{} can't be placed any more", entry.namespace_, entry.name);
  if (cluster_.tasks()[task].facts->task_class != seen.tasks()[entry.task].facts->task_class)
    return fmt::format("pod {}/{} changed", entry.namespace_, entry.name);

  const QuotaId quota_id = cluster_.quotas().Find(entry.quota_name);
  if (!quota_id.valid() || !cluster_.quotas()[quota_id].usable())
    return fmt::format("quota {} can't be used any more", entry.quota_name);
  const model::Quota& quota = cluster_.quotas()[quota_id];
  const model::Quota& seen_quota = seen.quotas()[entry.quota];
  if (!seen_quota.exists() || quota.object->metadata.uid != seen_quota.object->metadata.uid ||
      quota.quota_class != seen_quota.quota_class)
    return fmt::format("quota {} changed", entry.quota_name);
  if (quota.node.valid() && cluster_.nodes()[quota.node].name != entry.node_name)
    return fmt::format("quota {} is bound to {} meanwhile", entry.quota_name,
                       cluster_.nodes()[quota.node].name);

  const NodeId node_id = cluster_.nodes().Find(entry.node_name);
  if (!node_id.valid() || !cluster_.nodes()[node_id].exists())
    return fmt::format("node {} is gone", entry.node_name);
  const model::Node& node = cluster_.nodes()[node_id];
  if (!node.ready) return fmt::format("node {} is no longer ready", entry.node_name);
  if (node.object->metadata.deleting())
    return fmt::format("node {} is being deleted", entry.node_name);
  if (node.static_generation != seen.nodes()[entry.node].static_generation)
    return fmt::format("node {} changed", entry.node_name);
  return {};
}

// With the claims open: does every quota and node still hold what it carries? Only what a task asks
// for, or the round adds, can be refused: a node that is short of something else stays usable.
std::string Cache::CheckRoom(const Round& round, const CommittedBefore& before) const {
  for (const RoundEntry& entry : round.entries) {
    const model::Quota& quota = cluster_.quotas()[entry.quota];
    const model::Resources& asked = cluster_.tasks()[entry.task].facts->request;
    const model::Resources limited = quota.Limited(asked);
    if (const auto missing = model::FirstMissing(limited, quota.limit() - quota.task_sum + limited,
                                                 names_->resources);
        missing.valid())
      return fmt::format("quota {} has no room left for {}", entry.quota_name,
                         names_->resources.Name(missing));
    const model::Node& node = cluster_.nodes()[entry.node];
    const model::Resources& had = before.at(entry.node);
    model::Resources committed;
    for (size_t i = 0; i < node.committed.size(); ++i)
      if (const model::ResourceId name(i); asked[name] > 0 || node.committed[name] > had[name])
        committed.Set(name, node.committed[name]);
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
  cluster_.Flush();
  const auto refuse = [&](std::string what) {
    return std::unexpected(Refusal{model::Reason::kPlacementConflict, std::move(what)});
  };
  if (std::string what = CheckJob(round, seen); !what.empty()) return refuse(std::move(what));
  for (const RoundEntry& entry : round.entries)
    if (std::string what = CheckEntry(entry, seen); !what.empty()) return refuse(std::move(what));
  // Ids are stable while a snapshot holds them; resolve once more all the same, by what was
  // checked.
  for (RoundEntry& entry : round.entries) {
    entry.task = cluster_.tasks().Find(entry.uid);
    entry.quota = cluster_.quotas().Find(entry.quota_name);
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
  std::set<std::string>& open = rounds_[round.number];
  for (const RoundEntry& entry : round.entries) open.insert(entry.uid);
  Settle();
  return round.number;
}

void Cache::Acknowledge(uint64_t round) {
  const std::lock_guard lock(mutex_);
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) return;
  for (const std::string& uid : found->second) {
    const TaskId id = cluster_.tasks().Find(uid);
    if (!id.valid()) continue;
    Claim claim = cluster_.tasks()[id].claim;
    if (claim.round != round || claim.phase != Claim::Phase::kWriting) continue;
    claim.phase = Claim::Phase::kClaimed;
    cluster_.SetClaim(id, claim);
  }
}

void Cache::Approve(uint64_t round) {
  const std::lock_guard lock(mutex_);
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) return;
  for (const std::string& uid : found->second) {
    const TaskId id = cluster_.tasks().Find(uid);
    if (!id.valid() || cluster_.tasks()[id].claim.round != round ||
        !cluster_.tasks()[id].claim.open())
      continue;
    Claim claim = cluster_.tasks()[id].claim;
    claim.approved = true;
    cluster_.SetClaim(id, claim);
  }
}

void Cache::MarkSending(uint64_t round, const std::string& uid) {
  const std::lock_guard lock(mutex_);
  const TaskId id = cluster_.tasks().Find(uid);
  if (!id.valid() || cluster_.tasks()[id].claim.round != round ||
      !cluster_.tasks()[id].claim.open())
    return;
  Claim claim = cluster_.tasks()[id].claim;
  claim.phase = Claim::Phase::kSending;
  cluster_.SetClaim(id, claim);
}

void Cache::Drop(uint64_t round, const std::string& uid) {
  const std::lock_guard lock(mutex_);
  if (const auto found = rounds_.find(round); found != rounds_.end()) {
    found->second.erase(uid);
    if (found->second.empty()) rounds_.erase(found);
  }
  const TaskId id = cluster_.tasks().Find(uid);
  if (id.valid() && cluster_.tasks()[id].claim.open() && cluster_.tasks()[id].claim.round == round)
    cluster_.SetClaim(id, Claim{});
}

void Cache::DropRound(uint64_t round) {
  const std::lock_guard lock(mutex_);
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) return;
  std::set<std::string> sending;
  for (const std::string& uid : found->second) {
    const TaskId id = cluster_.tasks().Find(uid);
    if (!id.valid() || cluster_.tasks()[id].claim.round != round) continue;
    if (cluster_.tasks()[id].claim.phase == Claim::Phase::kSending) {
      sending.insert(uid);
    } else {
      cluster_.SetClaim(id, Claim{});
    }
  }
  if (sending.empty())
    rounds_.erase(found);
  else
    found->second = std::move(sending);
}

bool Cache::ClaimOpen(uint64_t round, const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const TaskId id = cluster_.tasks().Find(uid);
  return id.valid() && cluster_.tasks()[id].claim.open() &&
         cluster_.tasks()[id].claim.round == round;
}

// Does the node still hold what is bound there, what was sent before, and this one? It may have
// shrunk or been replaced since the decision, or strangers came; claims that weren't sent yet give
// way, so that the last in order are the ones without a place (F26).
bool Cache::HasRoomNow(const model::Task& task, const model::Node& node) const {
  model::Resources held = node.committed;
  for (const QuotaId id : node.quotas) {
    const model::Quota& quota = cluster_.quotas()[id];
    const bool waits = std::all_of(quota.tasks.begin(), quota.tasks.end(), [&](TaskId other) {
      const Claim& claim = cluster_.tasks()[other].claim;
      return claim.open() && claim.phase != Claim::Phase::kSending;
    });
    if (id != task.claim.quota && waits && !quota.tasks.empty()) held -= quota.charge;
  }
  const model::Resources& asked = task.facts->request;
  model::Resources needed;
  for (size_t i = 0; i < asked.size(); ++i)
    if (const model::ResourceId name(i); asked[name] > 0) needed.Set(name, held[name]);
  return !model::FirstMissing(needed, node.allocatable, names_->resources).valid();
}

bool Cache::MayBind(uint64_t round, const RoundEntry& entry) {
  const std::lock_guard lock(mutex_);
  cluster_.Flush();
  const TaskId id = cluster_.tasks().Find(entry.uid);
  if (!id.valid()) return false;
  const model::Task& task = cluster_.tasks()[id];
  if (!task.claim.open() || task.claim.round != round || task.bound() || task.facts->deleting)
    return false;
  const NodeId node_id = cluster_.nodes().Find(entry.node_name);
  if (!node_id.valid()) return false;
  const model::Node& node = cluster_.nodes()[node_id];
  return node.exists() && node.ready && !node.object->metadata.deleting() &&
         (!node.unschedulable || task.facts->tolerates_cordon) && HasRoomNow(task, node);
}

void Cache::NoteBound(const std::string& uid, const std::string& node, const std::string& quota) {
  const std::lock_guard lock(mutex_);
  const TaskId id = cluster_.tasks().Find(uid);
  if (!id.valid() || cluster_.tasks()[id].bound()) return;
  auto pod = std::make_shared<api::Pod>(*cluster_.tasks()[id].facts->pod);
  pod->spec.node_name = node;
  if (!quota.empty())
    pod->metadata.annotations.insert_or_assign(std::string(api::key::kQuotaName), quota);
  auto facts = std::make_shared<model::PodFacts>(*cluster_.tasks()[id].facts);
  facts->pod = std::move(pod);
  facts->node_name = node;
  facts->quota_name = quota;
  const uint64_t round = cluster_.tasks()[id].claim.round;
  cluster_.SetPod(std::move(facts));
  if (const auto found = rounds_.find(round); found != rounds_.end()) {
    found->second.erase(uid);
    if (found->second.empty()) rounds_.erase(found);
  }
}

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

Cache::Adoption Cache::CheckPlacement(const api::Placement& placement) const {
  const std::lock_guard lock(mutex_);
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
  for (const model::TaskId member : job.members)
    adoption.any_bound = adoption.any_bound || cluster_.tasks()[member].bound();
  round.started = adoption.any_bound;
  for (const api::PlacementEntry& entry : placement.spec.entries) {
    const TaskId task_id = cluster_.tasks().Find(entry.pod_uid);
    if (!task_id.valid()) continue;  // gone: spent
    const model::Task& task = cluster_.tasks()[task_id];
    if (task.bound() || task.facts->terminal || task.facts->deleting) continue;
    const std::string* quota = At(placement.spec.quotas, entry.quota);
    const std::string* node = At(placement.spec.nodes, entry.node);
    const std::string* zone = At(placement.spec.zones, entry.zone);
    const auto void_entry = [&](std::string why) {
      adoption.void_entries.push_back(fmt::format("{}: {}", entry.task, why));
    };
    if (task.claim.open()) continue;  // ours already
    if (task.job != job_id) {
      void_entry("the pod is not a member of the group");
      continue;
    }
    if (quota == nullptr || node == nullptr) {
      void_entry("names no quota or node");
      continue;
    }
    const QuotaId quota_id = cluster_.quotas().Find(*quota);
    const NodeId node_id = cluster_.nodes().Find(*node);
    if (!quota_id.valid() || !cluster_.quotas()[quota_id].usable()) {
      void_entry(fmt::format("quota {} can't be used", *quota));
      continue;
    }
    if (!cluster_.MayUse(job.queue, cluster_.quotas()[quota_id])) {
      void_entry(fmt::format("quota {} is not its queue's", *quota));
      continue;
    }
    if (!node_id.valid() || !cluster_.nodes()[node_id].exists() ||
        !cluster_.nodes()[node_id].ready) {
      void_entry(fmt::format("node {} can't be used", *node));
      continue;
    }
    round.entries.push_back({task_id, entry.pod_uid, task.facts->meta().namespace_,
                             task.facts->meta().name, entry.role, task.facts->index, quota_id,
                             *quota, node_id, *node, zone == nullptr ? std::string() : *zone});
  }
  adoption.spent = round.entries.empty() && adoption.void_entries.empty();
  return adoption;
}

}  // namespace sky::cache
