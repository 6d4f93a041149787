// SPDX-License-Identifier: Apache-2.0
// What was decided before us: Placements of an earlier life are adopted or voided, dead ones
// deleted.
#include <spdlog/spdlog.h>

#include "scheduler/scheduler.h"

namespace sky::scheduler {

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

// 2.5: entries that hold keep their claims and go on; when some don't and nobody runs yet, the
// whole round is voided and planned again; with running members only those that don't hold are.
void Scheduler::AdoptOne(const api::Placement& placement) {
  cache::Cache::Adoption adoption = cache_.CheckPlacement(placement);
  const std::string key = placement.metadata.Key();
  if (adoption.spent) return DeleteDead(placement);
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
  const bool voided = !adoption.void_entries.empty() || round.entries.size() < held;
  if (!round.entries.empty()) {
    spdlog::info("Placement {}: {} members taken over", key, round.entries.size());
    executor_.Adopt(round);
  }
  if (voided) executor_.Void(round);
  ScheduleCycle(engine_->config().batch_delay);
}

void Scheduler::DeleteDead(const api::Placement& placement) {
  const std::string key = placement.metadata.Key();
  const bool alive = cache_.GroupUid(key) == placement.spec.pod_group_uid;
  if (alive || placement.metadata.deleting() || !deleting_.insert(key).second) return;
  writer_.DeletePlacement(
      placement.metadata.namespace_, placement.metadata.name, placement.metadata.uid,
      alive_.Guard([this, key](Result<cache::Written> answer) {
        deleting_.erase(key);
        if (!answer && answer.error().code() != Code::kNotFound)
          spdlog::warn("Placement {} of a group that is gone can't be deleted: {}", key,
                       answer.error().message());
      }));
}

void Scheduler::AfterDelta(const api::Delta<api::Placement>& delta) {
  if (delta.type == api::Delta<api::Placement>::Type::kDelete)
    return executor_.ForgetRecord(*delta.object);
  if (!Active()) return;
  // Whatever this leadership didn't write (an old leader's late word, a stranger's) is checked like
  // a record found at the start.
  if (delta.object->spec.leader_epoch != leadership_.epoch() || !executor_.Knows(*delta.object))
    AdoptOne(*delta.object);
}

void Scheduler::AfterDelta(const api::Delta<api::Pod>& delta) {
  if (delta.type == api::Delta<api::Pod>::Type::kDelete && !backoffs_.empty())
    backoffs_.erase("pod:" + delta.object->metadata.Key());
}

void Scheduler::AfterDelta(const api::Delta<api::PodGroup>& delta) {
  if (delta.type == api::Delta<api::PodGroup>::Type::kDelete)
    backoffs_.erase(delta.object->metadata.Key());
  if (!Active()) return;
  if (const auto placement = cache_.FindPlacement(delta.object->metadata.Key()))
    if (delta.type == api::Delta<api::PodGroup>::Type::kDelete ||
        placement->spec.pod_group_uid != delta.object->metadata.uid)
      DeleteDead(*placement);
}

void Scheduler::AfterDelta(const api::Delta<api::Queue>& delta) {
  if (Active() && delta.type == api::Delta<api::Queue>::Type::kDelete &&
      delta.object->metadata.name == "default")
    MakeDefaultQueue();
}

}  // namespace sky::scheduler
