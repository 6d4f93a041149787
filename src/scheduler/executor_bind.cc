// SPDX-License-Identifier: Apache-2.0
// Bindings: who goes first, what each answer means, and when a claim may be dropped.
#include <algorithm>
#include <tuple>

#include "api/keys.h"
#include "scheduler/executor_running.h"

namespace sky::scheduler {

using cache::RoundEntry;

// Started gangs first, then priority, then the order of acknowledgement (2.7).
bool Executor::Waiting::operator<(const Waiting& other) const {
  return std::tuple(!started, -int64_t{priority}, acknowledged, sequence) <
         std::tuple(!other.started, -int64_t{other.priority}, other.acknowledged, other.sequence);
}

void Executor::Enqueue(const RunningPtr& running) {
  if (running->queued || running->pictures_pending) return;
  running->queued = true;
  for (size_t i = 0; i < running->round.entries.size(); ++i)
    queue_.insert({running->round.started, running->round.priority, running->acknowledged,
                   ++sequence_, running, i});
  Pump();
}

void Executor::Pump() {
  if (pumping_) return;
  pumping_ = true;
  while (in_flight_ < kMaxInFlight && !queue_.empty() && !stopped_) {
    if (!events_.may_write()) break;  // claims stay; the loop pumps again when the lease is renewed
    const Waiting next = queue_.extract(queue_.begin()).value();
    SendBinding(next.running, next.entry);
  }
  pumping_ = false;
}

void Executor::SendBinding(const RunningPtr& running, size_t index) {
  const RoundEntry& entry = running->round.entries[index];
  if (running->states[index] != EntryState::kClaimed) return;
  if (running->stopped) return GiveBack(running, index);
  if (!cache_.MayBind(running->round.number, entry)) return GiveBack(running, index);
  running->states[index] = EntryState::kSent;
  cache_.MarkSending(running->round.number, entry.uid);
  ++in_flight_;
  cache::BindRequest request;
  request.namespace_ = entry.namespace_;
  request.name = entry.name;
  request.uid = entry.uid;
  request.node = entry.node_name;
  request.annotations[std::string(api::key::kQuotaName)] = entry.quota_name;
  writer_.Bind(request, alive_.Guard([this, running, index](Result<cache::Written> answer) {
    --in_flight_;
    BindingAnswered(running, index, std::move(answer));
    Pump();
  }));
}

void Executor::BindingAnswered(const RunningPtr& running, size_t index,
                               Result<cache::Written> answer) {
  if (answer) return Settle(running, index);
  const Error& error = answer.error();
  const auto again = [&](Duration wait) {
    running->states[index] = EntryState::kClaimed;
    Retry(running, wait, [this, running, index] {
      queue_.insert({running->round.started, running->round.priority, running->acknowledged,
                     ++sequence_, running, index});
      Pump();
    });
  };
  switch (error.code()) {
    case Code::kTooManyRequests:
      return again(std::max<Duration>(error.retry_after(), std::chrono::seconds(1)));
    case Code::kCancelled:
    case Code::kUnavailable:
      return again(
          std::chrono::seconds(1));  // it never left: the claim stays, the same binding goes again
    case Code::kUnknownOutcome:
      running->open_until[index] = loop_.Now() + kMayStillLand;
      return ReadPod(running, index, false, error.message());
    default:
      return ReadPod(running, index, true, error.message());
  }
}

// What a refusal means is read from the pod, never from its text (F11); an unknown outcome is only
// ever cleared by the pod itself, and the same binding is safe to repeat (F10).
void Executor::ReadPod(const RunningPtr& running, size_t index, bool definite,
                       std::string refusal) {
  const RoundEntry& entry = running->round.entries[index];
  ++pending_writes_;
  writer_.GetPod(entry.namespace_, entry.name,
                 alive_.Guard([this, running, index, definite,
                               refusal = std::move(refusal)](Result<api::Pod> pod) {
                   --pending_writes_;
                   const RoundEntry& wanted = running->round.entries[index];
                   if (!pod && pod.error().code() != Code::kNotFound)
                     return Retry(running, std::chrono::seconds(1),
                                  [this, running, index, definite, refusal] {
                                    ReadPod(running, index, definite, refusal);
                                  });
                   if (!pod || pod->metadata.uid != wanted.uid || pod->terminal())
                     return EntryDropped(running, index);
                   if (pod->spec.node_name == wanted.node_name) return Settle(running, index);
                   if (!pod->spec.node_name.empty())
                     return EntryDropped(running, index);  // bound elsewhere by another hand
                   if (!definite) {
                     running->states[index] = EntryState::kClaimed;
                     return Retry(running, std::chrono::milliseconds(200), [this, running, index] {
                       queue_.insert({running->round.started, running->round.priority,
                                      running->acknowledged, ++sequence_, running, index});
                       Pump();
                     });
                   }
                   // No binding of such a pod is ever accepted, an older attempt neither.
                   if (pod->metadata.deleting() || !pod->spec.scheduling_gates.empty())
                     return EntryDropped(running, index);
                   GiveBack(running, index);
                   if (refusal.empty()) return;
                   events_.refused(running->round, model::Reason::kBindRefused,
                                   fmt::format("{}: {}", wanted.name, refusal));
                   StopSending(running);
                 }));
}

void Executor::Settle(const RunningPtr& running, size_t index) {
  const RoundEntry& entry = running->round.entries[index];
  running->states[index] = EntryState::kBound;
  running->round.started = true;
  cache_.NoteBound(entry.uid, entry.node_name, entry.quota_name);
  cache_.Drop(running->round.number, entry.uid);  // the watch may have told first
  events_.bound(entry, running->round);
  FinishIfSettled(running);
}

// The entry won't be sent again. Its claim ends now, unless an attempt whose outcome nobody knows
// may still land: then it is held until that can't be any more, and the pod has the last word
// (F10).
void Executor::GiveBack(const RunningPtr& running, size_t index) {
  const MonoTime until = running->open_until[index];
  if (loop_.Now() >= until) return EntryDropped(running, index);
  running->states[index] = EntryState::kSent;
  Retry(running, until - loop_.Now(),
        [this, running, index] { ReadPod(running, index, true, ""); });
}

// The claim ends: on proof, or because it was never sent.
void Executor::EntryDropped(const RunningPtr& running, size_t index) {
  running->states[index] = EntryState::kVoid;
  cache_.Drop(running->round.number, running->round.entries[index].uid);
  events_.replan();
  FinishIfSettled(running);
}

// F12a: none of its members runs, and one was refused: the unsent ones are given up at once.
void Executor::StopSending(const RunningPtr& running) {
  if (running->round.started || running->stopped) return;
  running->stopped = true;
  for (size_t i = 0; i < running->states.size(); ++i)
    if (running->states[i] == EntryState::kClaimed) GiveBack(running, i);
  if (running->round.recorded) Void(running->round);
  FinishIfSettled(running);
}

void Executor::Abandon() {
  queue_.clear();
  approved_early_.clear();
  last_written_.clear();
  const auto all = running_;
  for (const auto& [number, running] : all) {
    running->stopped = true;
    for (size_t i = 0; i < running->states.size(); ++i)
      if (running->states[i] == EntryState::kClaimed) GiveBack(running, i);
  }
}

void Executor::FinishIfSettled(const RunningPtr& running) {
  const bool open = std::any_of(
      running->states.begin(), running->states.end(),
      [](EntryState state) { return state == EntryState::kClaimed || state == EntryState::kSent; });
  if (!open) running_.erase(running->round.number);
}

}  // namespace sky::scheduler
