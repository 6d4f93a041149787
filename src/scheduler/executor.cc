// SPDX-License-Identifier: Apache-2.0
// Rounds from their submission to the moment at which their bindings may go, and how they end.
// Bindings stand in executor_bind.cc, records in records.cc.
#include "scheduler/executor.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "scheduler/executor_running.h"
#include "scheduler/words.h"

namespace sky::scheduler {

using cache::Round;
using cache::RoundEntry;

Executor::Executor(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
                   Options options, ExecutorEvents events)
    : loop_(loop),
      cache_(cache),
      writer_(writer),
      options_(options),
      events_(std::move(events)),
      records_(
          loop, cache, writer,
          {[this] { return !stopped_ && events_.may_write(); }, [this] { return events_.epoch(); },
           [this](const std::string& job, const std::string& uid) { return Open(job, uid); },
           [this](const std::string& job, const std::string& why) { RecordDelayed(job, why); }}),
      volumes_(
          loop, writer, [this] { return !stopped_ && events_.may_write(); },
          [this] { VolumesChanged(); }) {}

Executor::~Executor() = default;

bool Executor::Idle() const {
  return in_flight_ == 0 && reads_ == 0 && records_.calls() == 0 && volumes_.in_flight() == 0 &&
         (stopped_ || (running_.empty() && records_.Idle()));
}

Executor::RunningPtr Executor::Begin(Round round) {
  auto running = std::make_shared<Running>();
  running->round = std::move(round);
  const size_t size = running->round.entries.size();
  running->states.assign(size, EntryState::kClaimed);
  running->open_until.assign(size, MonoTime{});
  running->read_waits.assign(size, Duration::zero());
  running_[running->round.number] = running;
  for (size_t i = 0; i < size; ++i)
    entries_.emplace(running->round.entries[i].uid, std::pair(running->round.number, i));
  return running;
}

void Executor::Submit(Round round) {
  const RunningPtr running = Begin(std::move(round));
  if (!running->round.recorded)
    Acknowledged(running);
  else if (!Probe(running))
    WriteRecord(running);
}

void Executor::Adopt(Round round) { Acknowledged(Begin(std::move(round))); }

void Executor::Approve(uint64_t number) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  found->second->approved = true;
  Start(found->second);
}

// A group's whole record: what is open from earlier rounds stays in it.
std::vector<const RoundEntry*> Executor::Open(const std::string& job,
                                              const std::string& uid) const {
  std::vector<const RoundEntry*> open;
  std::set<std::string_view> named;
  for (const auto& [number, running] : running_) {
    const Round& round = running->round;
    if (!round.recorded || round.job != job || round.group_uid != uid) continue;
    if (!running->writing && running->acknowledged == 0) continue;
    for (size_t i = 0; i < round.entries.size(); ++i)
      if (running->states[i] != EntryState::kVoid && running->states[i] != EntryState::kBound &&
          named.insert(round.entries[i].uid).second)
        open.push_back(&round.entries[i]);
  }
  return open;
}

void Executor::WriteRecord(const RunningPtr& running) {
  running->writing = true;
  records_.Write(running->round, true, alive_.Guard([this, running](const Status& status) {
    RecordAnswered(running, status);
  }));
}

void Executor::RecordDelayed(const std::string& job, const std::string& why) {
  for (const auto& [number, running] : running_)
    if (running->writing && running->acknowledged == 0 && running->round.job == job)
      return events_.delayed(running->round, "record", why);
}

void Executor::RecordAnswered(const RunningPtr& running, const Status& status) {
  if (!running_.contains(running->round.number)) {  // ended meanwhile
    if (status && running->dirty) Rewrite(running->round);
    return;
  }
  if (status) {
    Acknowledged(running);
    if (std::exchange(running->dirty, false)) Rewrite(running->round);
    return;
  }
  // Not the leader any more: nothing was refused, and whoever leads next reads what was written.
  if (status.error().code() == Code::kCancelled) return End(running);
  if (status.error().code() != Code::kNotFound)
    events_.refused(running->round, nullptr, model::Reason::kBackoff,
                    fmt::format("the API server refused its record: {}", Words(status.error())));
  End(running);
  events_.replan();
}

void Executor::End(const RunningPtr& running) {
  loop_.Cancel(running->timeout);
  Unqueue(running);
  Forget(*running);
  cache_.DropRound(running->round.number);
}

void Executor::Acknowledged(const RunningPtr& running) {
  running->acknowledged = ++sequence_;
  // Without a record the binding itself is the durable step.
  if (running->round.recorded) cache_.Acknowledge(running->round.number);
  ArmTimeout(running);
  if (running->approved)
    Start(running);
  else
    events_.replan();  // the bind action is asked
}

void Executor::Start(const RunningPtr& running) {
  if (running->acknowledged == 0 || running->pictures_pending || running->stopped) return;
  const bool pictures_first =
      options_.order == framework::CommitOrder::kQuotaFirst && running->round.recorded;
  if (pictures_first && !running->pictured) return WritePictures(running, [] {});
  // Half a gang is never begun knowingly: all of it waits for the last volume.
  if (running->approved && HasVolumes(running)) EnqueueAll(running);
}

// The statuses of its quotas, then `next`, then its bindings if they may go.
void Executor::WritePictures(const RunningPtr& running, std::function<void()> next) {
  running->pictures_pending = true;
  events_.write_pictures(
      running->round, alive_.Guard([this, running, next = std::move(next)](const Status& done) {
        running->pictures_pending = false;
        running->pictured = true;
        if (done) {
          next();
          return running->approved ? Start(running) : void();
        }
        // One refused status rolls the job back, record included.
        running->stopped = true;
        GiveBackUnsent(running, nullptr);
        events_.refused(running->round, nullptr, model::Reason::kBackoff,
                        fmt::format("the status of a quota was refused: {}", Words(done.error())));
      }));
}

void Executor::GiveUp(const cache::GivenUp& places) {
  const auto found = running_.find(places.round);
  if (found == running_.end()) return;
  const RunningPtr running = found->second;
  const std::set<std::string> uids(places.uids.begin(), places.uids.end());
  const bool runs = Runs(*running);
  if (!runs) running->stopped = true;
  if (!GiveBackUnsent(running, runs ? &uids : nullptr)) return;
  events_.in_vain(running->round, places.in_vain);
  events_.refused(running->round, nullptr, model::Reason::kBackoff,
                  "its places were given up: " + places.why);
}

void Executor::EndLives(const std::string& group, const std::string& uid) {
  if (uid.empty()) refused_.erase(group);
  std::vector<RunningPtr> ended;
  for (const auto& [number, running] : running_)
    if (running->round.job == group && running->round.group_uid != uid) ended.push_back(running);
  for (const RunningPtr& running : ended) {
    running->stopped = true;
    GiveBackUnsent(running, nullptr);
  }
}

void Executor::PodChanged(const std::string& uid) {
  const auto [first, last] = entries_.equal_range(uid);
  const std::multimap<std::string, std::pair<uint64_t, size_t>> concerned(first, last);
  for (const auto& [name, entry] : concerned) {
    const auto& [number, index] = entry;
    const auto found = running_.find(number);
    if (found == running_.end()) continue;
    const RunningPtr running = found->second;
    const bool unsent = running->states[index] == EntryState::kClaimed ||
                        running->states[index] == EntryState::kQueued;
    if (unsent && !cache_.ClaimOpen(number, uid)) EntryDropped(running, index);
  }
}

void Executor::Forget(const Running& running) {
  for (const cache::RoundEntry& entry : running.round.entries) {
    const auto [first, last] = entries_.equal_range(entry.uid);
    for (auto at = first; at != last;)
      at = at->second.first == running.round.number ? entries_.erase(at) : std::next(at);
  }
  volumes_.Forget(running.round.number);
  without_volumes_.erase(running.round.number);
  running_.erase(running.round.number);
}

bool Executor::Runs(const Running& running) const {
  return running.round.started || cache_.Runs(running.round.job);
}

// F13: claims that don't become physical in time go back, and where they waited is the last place
// that is tried next time (F29): the nodes without room, or all of them if it isn't room that they
// lack.
void Executor::ArmTimeout(const RunningPtr& running) {
  if (running->timeout != 0) return;
  running->timeout =
      loop_.RunAfter(options_.claim_timeout + running->grace, alive_.Guard([this, running] {
        running->timeout = 0;
        Expire(running);
      }));
}

void Executor::Expire(const RunningPtr& running) {
  if (!running_.contains(running->round.number)) return;
  if (running->pictures_pending) return ArmTimeout(running);
  cache::GivenUp places;
  places.round = running->round.number;
  places.why = fmt::format(
      "{} within {}",
      running->waits_for.empty() ? "they weren't free" : running->waits_for + " wasn't bound",
      FormatDuration(options_.claim_timeout + running->grace));
  for (size_t i = 0; i < running->states.size(); ++i)
    if (running->states[i] == EntryState::kClaimed) {
      places.uids.push_back(running->round.entries[i].uid);
      places.in_vain.push_back(running->round.entries[i].node_name);
    }
  if (auto full = cache_.NotFree(running->round); !full.empty()) places.in_vain = std::move(full);
  if (!places.uids.empty()) GiveUp(places);
}

void Executor::Rewrite(const Round& round) {
  if (!round.recorded) return;
  records_.Write(round, false, [key = round.job](const Status& status) {
    if (status || status.error().code() == Code::kCancelled ||
        status.error().code() == Code::kNotFound)
      return;
    spdlog::warn("Placement {}: what was given up stays in it: {}", key, status.error().message());
  });
}

void Executor::Abandon() {
  queue_.clear();
  refused_.clear();
  records_.Forget();
  const auto all = running_;
  for (const auto& [number, running] : all) {
    running->stopped = true;
    for (EntryState& state : running->states)
      if (state == EntryState::kQueued) state = EntryState::kClaimed;
    GiveBackUnsent(running, nullptr);
  }
}

}  // namespace sky::scheduler
