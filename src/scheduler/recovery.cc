// SPDX-License-Identifier: Apache-2.0
// What was decided before us: Placements of an earlier life are adopted or voided, dead ones
// deleted.
#include <spdlog/spdlog.h>

#include "api/keys.h"
#include "scheduler/scheduler.h"

namespace sky::scheduler {

using cache::Effect;

void Scheduler::MakeDefaultQueue() {
  if (cache_.HasQueue("default")) return;
  api::Queue queue;
  queue.metadata.name = "default";
  queue.spec.weight = 1;
  writer_.CreateQueue(queue, [](Result<cache::Written> answer) {
    if (answer)
      spdlog::info("made the queue default");
    else if (answer.error().code() != Code::kAlreadyExists)
      spdlog::warn("the queue default can't be made: {}", answer.error().message());
  });
}

void Scheduler::AdoptAll() {
  for (const auto& placement : cache_.Placements()) AdoptOne(*placement);
}

// 2.5: entries that hold keep their claims and go on, once the bind action has judged them as if
// newly planned; when some don't and nobody runs yet, the whole round is voided and planned again;
// with running members only those that don't hold are.
void Scheduler::AdoptOne(const api::Placement& placement) {
  const std::string key = placement.metadata.Key();
  cache::Adoption adoption = cache_.CheckPlacement(placement);
  std::erase_if(adoption.unseen, [&](const auto& entry) { return gone_.contains(entry.pod_uid); });
  if (!adoption.unseen.empty()) return AskForPods(placement, adoption.unseen);
  if (adoption.spent || adoption.round.group_uid.empty()) return DeleteDead(placement);
  for (const std::string& what : adoption.void_entries)
    spdlog::warn("Placement {}: not kept: {}", key, what);
  cache::Round round = std::move(adoption.round);
  const size_t held = round.entries.size();
  if (!adoption.void_entries.empty() && !adoption.any_bound) round.entries.clear();
  if (!round.entries.empty()) cache_.Adopt(round);
  if (round.entries.size() < held && !adoption.any_bound && round.number != 0) {
    cache_.DropRound(round.number);
    round.entries.clear();
  }
  const bool changed =
      !adoption.void_entries.empty() || adoption.disputed || round.entries.size() < held;
  if (!round.entries.empty()) {
    spdlog::info("Placement {}: {} members taken over", key, round.entries.size());
    executor_.Adopt(round);
  }
  if (changed) executor_.Rewrite(round);
  ScheduleCycle(engine_->config().batch_delay);
}

// F17: kinds are no consistent cut. An entry is dropped only when a quorum read says that its pod
// is gone; one that is there comes by the watch. Until all are known nothing is planned.
void Scheduler::AskForPods(const api::Placement& placement,
                           const std::vector<api::PlacementEntry>& unseen) {
  const std::string key = placement.metadata.Key(), ns = placement.metadata.namespace_;
  if (asking_.contains(key)) return;
  asking_[key] = {unseen.size(), false};
  for (const api::PlacementEntry& entry : unseen)
    writer_.GetPod(
        ns, entry.task, alive_.Guard([this, key, uid = entry.pod_uid](const Result<api::Pod>& pod) {
          const bool there = pod && pod->metadata.uid == uid && !pod->terminal();
          // What can't be decoded is left out everywhere, and can't be placed.
          const bool known =
              pod || pod.error().code() == Code::kNotFound || pod.error().code() == Code::kInvalid;
          Asking& asking = asking_[key];
          if (known && !there)
            gone_.insert(uid);
          else
            asking.again = true;
          if (--asking.open > 0) return;
          loop_.RunAfter(asking.again ? Duration(std::chrono::seconds(1)) : Duration::zero(),
                         alive_.Guard([this, key] { PodsAsked(key); }));
        }));
}

void Scheduler::PodsAsked(const std::string& key) {
  asking_.erase(key);
  if (!Active()) return;
  if (const auto placement = cache_.FindPlacement(key)) AdoptOne(*placement);
  if (!asking_.empty()) return;
  gone_.clear();
  ScheduleCycle(Duration::zero());
}

void Scheduler::DeleteDead(const api::Placement& placement) {
  const std::string key = placement.metadata.Key();
  const bool alive = cache_.GroupUid(key) == placement.spec.pod_group_uid;
  if (alive || placement.metadata.deleting() || !deleting_.insert(key).second) return;
  writer_.DeletePlacement(
      placement.metadata.namespace_, placement.metadata.name, placement.metadata.uid,
      alive_.Guard([this, key](Result<cache::Written> answer) {
        deleting_.erase(key);
        if (answer || answer.error().code() == Code::kNotFound) return;
        spdlog::warn("Placement {} of a group that is gone can't be deleted now: {}", key,
                     answer.error().message());
        loop_.RunAfter(std::max<Duration>(answer.error().retry_after(), kDeleteAgain),
                       alive_.Guard([this, key] {
                         if (!Active()) return;
                         if (const auto there = cache_.FindPlacement(key)) DeleteDead(*there);
                       }));
      }));
}

void Scheduler::AfterDelta(const api::Delta<api::Placement>& delta, Effect) {
  const api::Placement& placement = *delta.object;
  if (delta.type == api::Delta<api::Placement>::Type::kDelete)
    return executor_.records().Gone(placement);
  if (!Active()) return;
  // Ours may have been written while its group was being deleted.
  if (cache_.GroupUid(placement.metadata.Key()) != placement.spec.pod_group_uid)
    return DeleteDead(placement);
  // Whatever we didn't write (an old leader's late word, a stranger's) is checked like a record
  // found at the start.
  if (!executor_.records().Knows(placement)) AdoptOne(placement);
}

// A new member, or another wish: what failed before may work now.
void Scheduler::AfterDelta(const api::Delta<api::Pod>& delta, Effect) {
  using Type = api::Delta<api::Pod>::Type;
  const api::ObjectMeta& meta = delta.object->metadata;
  const auto group = [&] {
    return meta.namespace_ + "/" + std::string(meta.Annotation(api::key::kGroupName));
  };
  executor_.PodChanged(meta.uid);
  if (backoffs_.empty()) return;
  if (delta.type == Type::kDelete) backoffs_.Forget("pod:" + meta.Key());
  if (delta.type == Type::kAdd) backoffs_.Forget(group());
  if (delta.type == Type::kDelete || delta.object->terminal())
    backoffs_.PodLeft(delta.object->spec.node_name);
}

void Scheduler::AfterDelta(const api::Delta<api::Node>& delta, Effect effect) {
  if (effect == Effect::kRelevant) backoffs_.NodeChanged(delta.object->metadata.name);
}

void Scheduler::AfterDelta(const api::Delta<api::PodGroup>& delta, Effect effect) {
  const std::string key = delta.object->metadata.Key();
  if (effect == Effect::kRelevant) backoffs_.Forget(key);
  if (!Active()) return;
  executor_.EndLives(key, cache_.GroupUid(key));
  if (const auto placement = cache_.FindPlacement(key))
    if (delta.type == api::Delta<api::PodGroup>::Type::kDelete ||
        placement->spec.pod_group_uid != delta.object->metadata.uid)
      DeleteDead(*placement);
}

void Scheduler::AfterDelta(const api::Delta<api::Queue>& delta, Effect) {
  if (Active() && delta.type == api::Delta<api::Queue>::Type::kDelete &&
      delta.object->metadata.name == "default")
    MakeDefaultQueue();
}

}  // namespace sky::scheduler
