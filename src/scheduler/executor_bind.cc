// SPDX-License-Identifier: Apache-2.0
// Bindings: who goes first, what each answer means, and when a claim may be dropped.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>

#include "scheduler/executor_running.h"
#include "scheduler/waits.h"
#include "scheduler/words.h"

namespace sky::scheduler {

using cache::RoundEntry;

// Started gangs first, then priority, then the order of acknowledgement (2.7).
bool Executor::Waiting::operator<(const Waiting& other) const {
  return std::tuple(!started, -int64_t{priority}, acknowledged, sequence) <
         std::tuple(!other.started, -int64_t{other.priority}, other.acknowledged, other.sequence);
}

void Executor::Enqueue(const RunningPtr& running, size_t index) {
  running->states[index] = EntryState::kQueued;
  queue_.insert({running->round.started, running->round.priority, running->acknowledged,
                 ++sequence_, running, index});
}

void Executor::EnqueueAll(const RunningPtr& running) {
  for (size_t i = 0; i < running->states.size(); ++i)
    if (running->states[i] == EntryState::kClaimed) Enqueue(running, i);
  Pump();
}

// Nothing of the round waits to be sent any more.
void Executor::Unqueue(const RunningPtr& running) {
  std::erase_if(queue_, [&](const Waiting& one) { return one.running == running; });
  running->aside.clear();
  for (EntryState& state : running->states)
    if (state == EntryState::kQueued) state = EntryState::kClaimed;
}

void Executor::Pump() {
  if (pumping_) return;
  pumping_ = true;
  while (in_flight_ < pace_.window() && !queue_.empty() && !stopped_) {
    if (!events_.may_write()) break;  // claims stay; the loop pumps again when the lease is renewed
    if (pace_.next() > loop_.Now()) {
      if (pace_timer_ == 0)
        pace_timer_ = loop_.RunAt(pace_.next(), alive_.Guard([this] {
          pace_timer_ = 0;
          Pump();
        }));
      break;
    }
    const Waiting next = queue_.extract(queue_.begin()).value();
    Send(next.running, next.entry);
  }
  pumping_ = false;
}

void Executor::Send(const RunningPtr& running, size_t index) {
  if (running->states[index] != EntryState::kQueued) return;
  if (running->paused || (running->probing && running->in_flight > 0)) {
    running->aside.push_back(index);
    return;
  }
  const RoundEntry& entry = running->round.entries[index];
  if (!running->checked && !Runs(*running)) {
    // Half a gang is never begun knowingly.
    if (cache_.MayStart(running->round) == cache::Send::kAskAgain) return Withdraw(running, index);
    running->checked = true;
  }
  const cache::Send may = cache_.MayBind(running->round, entry);
  if (may == cache::Send::kAskAgain) return Withdraw(running, index);
  if (may == cache::Send::kGone) {
    // The pod has gone, or its group has.
    if (cache_.ClaimOpen(running->round.number, entry.uid))
      GiveBack(running, index);
    else
      EntryDropped(running, index);
    if (!Runs(*running)) Withdraw(running, index);  // is what is left of it still whole?
    return;
  }
  running->states[index] = EntryState::kSent;
  cache_.MarkSending(running->round.number, entry.uid);
  ++in_flight_;
  ++running->in_flight;
  pace_.Sent(loop_.Now());
  writer_.Bind(Request(entry), alive_.Guard([this, running, index](Result<cache::Written> answer) {
    --in_flight_;
    --running->in_flight;
    Answered(running, index, std::move(answer));
    Pump();
  }));
}

// Something has changed since the bind action approved it: it must say so again. Of a gang that
// doesn't run, all that wasn't sent waits for its word.
void Executor::Withdraw(const RunningPtr& running, size_t index) {
  if (!running_.contains(running->round.number)) return;
  const bool runs = Runs(*running);
  if (!runs) {
    Unqueue(running);
    running->approved = running->checked = false;
  } else if (running->states[index] == EntryState::kQueued) {
    running->states[index] = EntryState::kClaimed;
  }
  std::vector<std::string> uids;
  for (size_t i = 0; i < running->states.size(); ++i)
    if (running->states[i] == EntryState::kClaimed && (!runs || i == index))
      uids.push_back(running->round.entries[i].uid);
  cache_.Withdraw(running->round, uids);
  if (runs) GoOn(running);
  ArmTimeout(running);
  events_.replan();
}

void Executor::Answered(const RunningPtr& running, size_t index, Result<cache::Written> answer) {
  if (answer) {
    pace_.Taken();
    return Settle(running, index);
  }
  const Error& error = answer.error();
  switch (error.code()) {
    case Code::kTooManyRequests:
    case Code::kUnavailable:  // it never left
      return PushedBack(running, index, error.retry_after(), Words(error));
    case Code::kCancelled:  // the lease's deadline was too near
      running->states[index] = EntryState::kQueued;
      loop_.RunAfter(std::chrono::seconds(1), alive_.Guard([this, running, index] {
        if (running->states[index] != EntryState::kQueued) return;
        Enqueue(running, index);
        Pump();
      }));
      return;
    case Code::kUnknownOutcome:
      running->open_until[index] = loop_.Now() + kMayStillLand;
      return ReadPod(running, index, false, Words(error));
    default:
      return ReadPod(running, index, true, Words(error));
  }
}

// The claim stays, and the same binding goes again: after a pause of the whole round, doubled each
// time up to a minute, one entry first.
void Executor::PushedBack(const RunningPtr& running, size_t index, Duration at_least,
                          const std::string& why) {
  const MonoTime now = loop_.Now();
  pace_.PushedBack(now);
  if (running->stopped) return GiveBack(running, index);
  running->states[index] = EntryState::kQueued;
  running->aside.push_back(index);
  running->paused_until = std::max(running->paused_until, now + at_least);
  events_.delayed(running->round, "bindings", why);
  if (running->paused) return;
  running->paused = true;
  running->pause = NextWait(running->pause);
  running->paused_until = std::max(running->paused_until, now + Stretched(running->pause, jitter_));
  loop_.RunAt(running->paused_until, alive_.Guard([this, running] { Resume(running); }));
}

void Executor::Resume(const RunningPtr& running) {
  if (loop_.Now() < running->paused_until) {  // told to wait longer meanwhile
    loop_.RunAt(running->paused_until, alive_.Guard([this, running] { Resume(running); }));
    return;
  }
  running->paused = false;
  running->probing = true;
  if (running->aside.empty()) return GoOn(running);
  const size_t first = running->aside.front();
  running->aside.erase(running->aside.begin());
  if (running->states[first] == EntryState::kQueued) Enqueue(running, first);
  Pump();
}

// The server answers again: whoever stood aside follows.
void Executor::GoOn(const RunningPtr& running) {
  if (running->paused || !running->probing) return;
  running->probing = false;
  running->pause = Duration::zero();
  for (const size_t index : std::exchange(running->aside, {}))
    if (running->states[index] == EntryState::kQueued) Enqueue(running, index);
  Pump();
}

// What a refusal means is read from the pod, never from its text (F11); an unknown outcome is only
// ever cleared by the pod itself, and the same binding is safe to repeat (F10).
void Executor::ReadPod(const RunningPtr& running, size_t index, bool definite,
                       const std::string& refusal) {
  const RoundEntry& entry = running->round.entries[index];
  ++reads_;
  writer_.GetPod(
      entry.namespace_, entry.name,
      alive_.Guard([this, running, index, definite, refusal](const Result<api::Pod>& pod) {
        --reads_;
        PodRead(running, index, definite, refusal, pod);
      }));
}

void Executor::PodRead(const RunningPtr& running, size_t index, bool definite,
                       const std::string& refusal, const Result<api::Pod>& pod) {
  const RoundEntry& wanted = running->round.entries[index];
  if (!pod && pod.error().code() != Code::kNotFound) {
    Duration& wait = running->read_waits[index];
    wait = NextWait(wait);
    loop_.RunAfter(std::max<Duration>(wait, pod.error().retry_after()),
                   alive_.Guard([this, running, index, definite, refusal] {
                     ReadPod(running, index, definite, refusal);
                   }));
    return;
  }
  running->read_waits[index] = Duration::zero();
  if (!pod || pod->metadata.uid != wanted.uid || pod->terminal())
    return EntryDropped(running, index);
  if (pod->spec.node_name == wanted.node_name) return Settle(running, index);
  if (!pod->spec.node_name.empty()) return EntryDropped(running, index);  // by another hand
  if (!definite) return PushedBack(running, index, Duration::zero(), refusal);
  // No binding of such a pod is ever accepted, an older attempt neither.
  if (pod->metadata.deleting() || !pod->spec.scheduling_gates.empty())
    return EntryDropped(running, index);
  if (!refusal.empty()) return Refused(running, index, refusal);
  EntryDropped(running, index);  // it was held until it couldn't land any more: this is the proof
}

void Executor::Refused(const RunningPtr& running, size_t index, const std::string& refusal) {
  const RoundEntry& entry = running->round.entries[index];
  const bool runs = Runs(*running);
  if (running->round.recorded && cache_.GroupUid(running->round.job) == running->round.group_uid)
    refused_[running->round.job].insert(entry.uid);
  GiveBack(running, index);
  events_.refused(running->round, &entry, model::Reason::kBindRefused,
                  fmt::format("{}: {}", entry.name, refusal));
  // F12a: none of its members runs, and one was refused: the unsent ones are given up at once.
  if (!runs) {
    running->stopped = true;
    GiveBackUnsent(running, nullptr);
  }
  GoOn(running);
}

void Executor::Settle(const RunningPtr& running, size_t index) {
  const RoundEntry& entry = running->round.entries[index];
  running->states[index] = EntryState::kBound;
  if (!std::exchange(running->round.started, true)) events_.replan();  // its extras may follow
  if (const auto refused = refused_.find(running->round.job); refused != refused_.end())
    refused->second.erase(entry.uid);
  cache_.NoteBound(entry.uid, entry.node_name, entry.quota_name);
  cache_.Drop(running->round.number, entry.uid);  // the watch may have told first
  events_.bound(entry, running->round);
  GoOn(running);
  FinishIfSettled(running);
}

// The entry won't be sent again. Its claim ends now, unless an attempt whose outcome nobody knows
// may still land: then it is held until that can't be any more, and the pod has the last word
// (F10).
void Executor::GiveBack(const RunningPtr& running, size_t index) {
  const MonoTime until = running->open_until[index];
  MarkDirty(running);
  if (until == MonoTime{}) return EntryDropped(running, index);
  running->states[index] = EntryState::kSent;
  if (loop_.Now() >= until) return ReadPod(running, index, true, "");
  loop_.RunAt(until, alive_.Guard([this, running, index] { ReadPod(running, index, true, ""); }));
}

// Of those that weren't sent; `uids` null: all. False: there was none.
bool Executor::GiveBackUnsent(const RunningPtr& running, const std::set<std::string>* uids) {
  if (uids == nullptr) Unqueue(running);
  bool any = false;
  for (size_t i = 0; i < running->states.size(); ++i) {
    const bool unsent =
        running->states[i] == EntryState::kClaimed || running->states[i] == EntryState::kQueued;
    if (!unsent || (uids != nullptr && !uids->contains(running->round.entries[i].uid))) continue;
    any = true;
    GiveBack(running, i);
  }
  FinishIfSettled(running);
  return any;
}

// The record still holds what has just ended: one write for all that ends together.
void Executor::MarkDirty(const RunningPtr& running) {
  if (std::exchange(running->dirty, true)) return;
  loop_.Post(alive_.Guard([this, running] {
    if (running->acknowledged == 0) return;  // when it is written
    running->dirty = false;
    Rewrite(running->round);
  }));
}

// The claim ends: on proof, or because it was never sent.
void Executor::EntryDropped(const RunningPtr& running, size_t index) {
  running->states[index] = EntryState::kVoid;
  cache_.Drop(running->round.number, running->round.entries[index].uid);
  events_.replan();
  GoOn(running);
  FinishIfSettled(running);
}

void Executor::FinishIfSettled(const RunningPtr& running) {
  size_t bound = 0;
  for (const EntryState state : running->states) {
    if (state != EntryState::kBound && state != EntryState::kVoid) return;
    bound += state == EntryState::kBound ? 1 : 0;
  }
  if (!running_.contains(running->round.number)) return;
  Forget(*running);
  loop_.Cancel(running->timeout);
  spdlog::info("job {}: {} of {} members bound, round {}", running->round.job, bound,
               running->states.size(), running->round.number);
}

}  // namespace sky::scheduler
