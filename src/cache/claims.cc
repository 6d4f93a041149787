// SPDX-License-Identifier: Apache-2.0
// What becomes of open claims: acknowledged, approved, sent, bound or dropped; and the questions
// before a binding is sent, when something may have changed since the bind action approved it.
#include <algorithm>
#include <map>

#include "api/keys.h"
#include "cache/cache.h"
#include "model/begin.h"
#include "model/room.h"

namespace sky::cache {

using model::Claim;
using model::NodeId;
using model::QuotaId;
using model::TaskId;

namespace {

Basis BasisOf(const model::Cluster& cluster, std::string_view uid) {
  const TaskId id = cluster.tasks().Find(uid);
  if (!id.valid() || !cluster.tasks()[id].claim.node.valid()) return {};
  const model::Task& task = cluster.tasks()[id];
  return {
      cluster.nodes()[task.claim.node].static_generation, task.facts->task_class,
      task.claim.quota.valid() ? cluster.quotas()[task.claim.quota].quota_class : model::ClassId{}};
}

}  // namespace

void Cache::Acknowledge(uint64_t round) {
  const std::lock_guard lock(mutex_);
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) return;
  for (const auto& [uid, approval] : found->second) {
    const TaskId id = cluster_.tasks().Find(uid);
    if (!id.valid()) continue;
    Claim claim = cluster_.tasks()[id].claim;
    if (claim.round != round || claim.phase != Claim::Phase::kWriting) continue;
    claim.phase = Claim::Phase::kClaimed;
    cluster_.SetClaim(id, claim);
  }
}

bool Cache::Approve(uint64_t round, const model::Cluster& seen) {
  const std::lock_guard lock(mutex_);
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) return false;
  std::vector<TaskId> approved;
  for (const auto& [uid, approval] : found->second) {
    const TaskId id = cluster_.tasks().Find(uid);
    if (!id.valid()) continue;
    const Claim& claim = cluster_.tasks()[id].claim;
    if (claim.round != round || !claim.open()) continue;
    if (claim.approved && claim.phase == Claim::Phase::kSending) continue;
    if (!(BasisOf(cluster_, uid) == BasisOf(seen, uid))) return false;
    // Who is approved already wasn't asked about now, and stands on what was seen then.
    if (!claim.approved) approved.push_back(id);
  }
  for (const TaskId id : approved) {
    Claim claim = cluster_.tasks()[id].claim;
    claim.approved = true;
    cluster_.SetClaim(id, claim);
    const model::TaskId then = seen.tasks().Find(cluster_.tasks()[id].name);
    const model::JobId job = seen.tasks()[then].job;
    found->second[cluster_.tasks()[id].name] = {BasisOf(cluster_, cluster_.tasks()[id].name),
                                                job.valid() && seen.jobs()[job].complete};
  }
  return true;
}

void Cache::Withdraw(const Round& round, const std::vector<std::string>& uids) {
  const std::lock_guard lock(mutex_);
  for (const std::string& uid : uids) {
    const TaskId id = cluster_.tasks().Find(uid);
    if (!id.valid()) continue;
    const model::Task& task = cluster_.tasks()[id];
    // A pod that is another group's now is no matter of this round's judge.
    const bool member = task.job.valid() && cluster_.jobs()[task.job].name == round.job;
    if (!member || !task.claim.open() || task.claim.round != round.number) continue;
    Claim claim = task.claim;
    claim.approved = false;
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
  std::erase_if(found->second, [&](const auto& item) {
    const TaskId id = cluster_.tasks().Find(item.first);
    if (!id.valid() || cluster_.tasks()[id].claim.round != round) return true;
    if (cluster_.tasks()[id].claim.phase == Claim::Phase::kSending) return false;
    cluster_.SetClaim(id, Claim{});
    return true;
  });
  if (found->second.empty()) rounds_.erase(found);
}

bool Cache::ClaimOpen(uint64_t round, const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const TaskId id = cluster_.tasks().Find(uid);
  return id.valid() && cluster_.tasks()[id].claim.open() &&
         cluster_.tasks()[id].claim.round == round;
}

bool Cache::Runs(std::string_view job) {
  const std::lock_guard lock(mutex_);
  cluster_.Flush();
  const model::JobId id = cluster_.jobs().Find(job);
  return id.valid() && cluster_.jobs()[id].bound > 0;
}

// Everything but room.
Send Cache::Holds(const Round& round, const RoundEntry& entry) const {
  const TaskId id = cluster_.tasks().Find(entry.uid);
  if (!id.valid()) return Send::kGone;
  const model::Task& task = cluster_.tasks()[id];
  if (!task.claim.open() || task.claim.round != round.number || task.bound() ||
      task.facts->deleting || task.facts->terminal)
    return Send::kGone;
  const bool of_group = !round.group_uid.empty();
  if (of_group && (!task.job.valid() || cluster_.jobs()[task.job].uid() != round.group_uid))
    return Send::kGone;
  const auto open = rounds_.find(round.number);
  if (!task.claim.approved || open == rounds_.end()) return Send::kAskAgain;
  const auto approval = open->second.find(entry.uid);
  if (approval == open->second.end() || !(approval->second.basis == BasisOf(cluster_, entry.uid)))
    return Send::kAskAgain;
  if (!VolumesHold(id)) return Send::kAskAgain;
  if (!task.claim.quota.valid())
    return cluster_.nodes()[task.claim.node].exists() ? Send::kNow : Send::kAskAgain;
  const model::Quota& quota = cluster_.quotas()[task.claim.quota];
  const bool there = quota.usable() && quota.node == task.claim.node && task.job.valid() &&
                     cluster_.MayUse(cluster_.jobs()[task.job].queue, quota);
  return there ? Send::kNow : Send::kAskAgain;
}

Send Cache::MayStart(const Round& round) {
  const std::lock_guard lock(mutex_);
  cluster_.Flush();
  std::vector<TaskId> open;
  for (const RoundEntry& entry : round.entries) {
    const Send answer = Holds(round, entry);
    if (answer == Send::kAskAgain) return Send::kAskAgain;
    if (answer == Send::kNow) open.push_back(cluster_.tasks().Find(entry.uid));
  }
  if (open.empty()) return Send::kGone;
  const model::Job& job = cluster_.jobs()[cluster_.tasks()[open.front()].job];
  const bool complete =
      job.complete || !rounds_.at(round.number).at(cluster_.tasks()[open.front()].name).complete;
  const bool may = job.bound > 0 || (complete && model::MayBegin(cluster_, job).fit());
  return may && model::RoomFor(cluster_, open) == model::Room::kFits ? Send::kNow : Send::kAskAgain;
}

Send Cache::MayBind(const Round& round, const RoundEntry& entry) {
  const std::lock_guard lock(mutex_);
  cluster_.Flush();
  const Send answer = Holds(round, entry);
  if (answer != Send::kNow) return answer;
  const TaskId id[] = {cluster_.tasks().Find(entry.uid)};
  return model::RoomFor(cluster_, id) == model::Room::kFits ? Send::kNow : Send::kAskAgain;
}

std::vector<std::string> Cache::NotFree(const Round& round) {
  const std::lock_guard lock(mutex_);
  cluster_.Flush();
  std::map<NodeId, std::vector<TaskId>> there;
  for (const RoundEntry& entry : round.entries) {
    const TaskId id = cluster_.tasks().Find(entry.uid);
    if (!id.valid()) continue;
    const Claim& claim = cluster_.tasks()[id].claim;
    if (claim.open() && claim.round == round.number) there[claim.node].push_back(id);
  }
  std::vector<std::string> nodes;
  for (const auto& [node, claims] : there)
    if (model::RoomFor(cluster_, claims) != model::Room::kFits)
      nodes.push_back(cluster_.nodes()[node].name);
  return nodes;
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

}  // namespace sky::cache
