// SPDX-License-Identifier: Apache-2.0
#include "scheduler/member_words.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace sky::scheduler {
namespace {

constexpr std::string_view kType = "PodScheduled", kReason = "Unschedulable";

const api::Condition* Said(const api::Pod& pod) {
  const auto found = std::ranges::find(pod.status.conditions, kType, &api::Condition::type);
  return found == pod.status.conditions.end() ? nullptr : &*found;
}

}  // namespace

void MemberWords::Cycle(const model::Cluster& cluster, const framework::CycleResult& result) {
  for (const cache::Round& round : result.committed) gangs_.erase(round.job);
  for (const auto& [id, why] : result.refusals) {
    if (!cluster.jobs().Live(id)) continue;
    if (const model::Job& job = cluster.jobs()[id]; job.object) Refused(cluster, job, why);
  }
  std::erase_if(gangs_, [&](const auto& item) {
    const model::JobId id = cluster.jobs().Find(item.first);
    return !id.valid() || !cluster.jobs()[id].object || cluster.jobs()[id].waiting == 0;
  });
  if (std::ranges::any_of(gangs_, [](const auto& item) { return !item.second.due.empty(); }))
    Look(Duration::zero());
}

void MemberWords::Refused(const model::Cluster& cluster, const model::Job& job,
                          const framework::Refusals& why) {
  Gang& gang = gangs_[job.name];
  const std::string reason(model::ReasonName(why.main));
  if (gang.tick == job.tick && gang.reason == reason && gang.who == why.who) return;
  if (gang.reason != reason) gang.since = loop_.Now();
  gang.tick = job.tick;
  gang.reason = reason;
  gang.who = why.who;
  gang.due.clear();
  const std::string text =
      fmt::format("{}{}: its PodGroup {} says more", reason,
                  why.who.empty() ? "" : " of " + why.who, job.object->metadata.name);
  for (const model::TaskId id : job.ranked) {
    const model::Task& task = cluster.tasks()[id];
    // A gate is told by the API server.
    if (!task.placeable() || sending_.contains(task.name)) continue;
    const api::Pod& pod = *task.facts->pod;
    const api::Condition* said = Said(pod);
    if (said != nullptr && said->status == "False" && said->reason == kReason &&
        said->message == text)
      continue;
    Word& word = gang.due.emplace_back();
    word.pod.namespace_ = pod.metadata.namespace_;
    word.pod.name = pod.metadata.name;
    word.pod.uid = pod.metadata.uid;
    word.pod.resource_version = pod.metadata.resource_version;
    word.condition.type = kType;
    word.condition.status = "False";
    word.condition.reason = kReason;
    word.condition.message = text;
    if (said != nullptr && said->status == "False")
      word.condition.last_transition_time = said->last_transition_time;
    if (!word.condition.last_transition_time.at)
      word.condition.last_transition_time.at = loop_.clock().Wall();
  }
}

void MemberWords::Look(Duration wait) {
  if (std::exchange(looking_, true)) return;
  loop_.RunAfter(wait, alive_.Guard([this] {
    looking_ = false;
    Send();
  }));
}

// What can't be written for want of leadership is looked at again after the next cycle.
void MemberWords::Send() {
  if (!may_write_()) return;
  if (busy_()) return Look(kBehind);
  std::optional<MonoTime> next;
  for (auto& [job, gang] : gangs_) {
    if (gang.due.empty()) continue;
    const MonoTime at = gang.since + kStands;
    if (at > loop_.Now()) {
      next = next ? std::min(*next, at) : at;
      continue;
    }
    // Taken first: one that is refused at once comes back, and has its pause.
    std::vector<Word> due = std::exchange(gang.due, {});
    while (!due.empty() && sending_.size() < kMostInFlight) {
      Word word = std::move(due.back());
      due.pop_back();
      Send(job, std::move(word));
    }
    std::ranges::move(due, std::back_inserter(gang.due));
    if (!due.empty()) return;  // an answer brings us here again
  }
  if (next) Look(*next - loop_.Now());
}

void MemberWords::Send(const std::string& job, Word word) {
  sending_.insert(word.pod.uid);
  writer_.ApplyPodCondition(word.pod, word.condition,
                            alive_.Guard([this, job, word](Result<cache::Written> answer) {
                              sending_.erase(word.pod.uid);
                              Answered(job, word, answer);
                              Look(Duration::zero());
                            }));
}

void MemberWords::Answered(const std::string& job, Word word,
                           const Result<cache::Written>& answer) {
  const auto found = gangs_.find(job);
  if (answer || found == gangs_.end()) return;
  Gang& gang = found->second;
  const Error& error = answer.error();
  if (error.code() == Code::kNotFound) return;
  // It has changed meanwhile: whether it still waits says the next refusal.
  if (error.code() == Code::kConflict) {
    gang.tick = 0;
    return;
  }
  spdlog::warn("condition of pod {}/{} not written: {}", word.pod.namespace_, word.pod.name,
               error.message());
  gang.due.push_back(std::move(word));
  gang.since =
      loop_.Now() - kStands + std::max<Duration>(error.retry_after(), std::chrono::seconds(5));
}

}  // namespace sky::scheduler
