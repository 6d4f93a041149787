// SPDX-License-Identifier: Apache-2.0
// The record: writing, reading back and voiding Placements. Bindings stand in executor_bind.cc.
#include <algorithm>
#include <map>

#include "scheduler/executor_running.h"

namespace sky::scheduler {

using cache::Round;
using cache::RoundEntry;

Executor::Executor(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
                   framework::CommitOrder order, ExecutorEvents events)
    : loop_(loop), cache_(cache), writer_(writer), order_(order), events_(std::move(events)) {}

Executor::~Executor() = default;

bool Executor::Idle() const {
  return in_flight_ == 0 && pending_writes_ == 0 && (stopped_ || running_.empty());
}

void Executor::Submit(Round round) {
  auto running = std::make_shared<Running>();
  running->round = std::move(round);
  running->states.assign(running->round.entries.size(), EntryState::kClaimed);
  running->open_until.assign(running->round.entries.size(), MonoTime{});
  running->approved = approved_early_.erase(running->round.number) > 0;
  running_[running->round.number] = running;
  if (running->round.recorded)
    WritePlacement(running);
  else
    Acknowledged(running);
}

void Executor::Adopt(Round round) {
  auto running = std::make_shared<Running>();
  running->round = std::move(round);
  running->states.assign(running->round.entries.size(), EntryState::kClaimed);
  running->open_until.assign(running->round.entries.size(), MonoTime{});
  running->approved = approved_early_.erase(running->round.number) > 0;
  running_[running->round.number] = running;
  Acknowledged(running);
}

void Executor::Approve(uint64_t number) {
  cache_.Approve(number);
  const auto found = running_.find(number);
  if (found == running_.end()) {
    approved_early_.insert(number);
    return;
  }
  found->second->approved = true;
  if (found->second->acknowledged > 0) Enqueue(found->second);
}

// The gang's whole record: what is open from earlier rounds stays in it.
api::Placement Executor::Record(const Running& running) const {
  const Round& round = running.round;
  api::Placement placement;
  placement.metadata.name = round.group;
  placement.metadata.namespace_ = round.namespace_;
  placement.metadata.owner_references.push_back({"scheduling.infini-ai.com/v1alpha1", "PodGroup",
                                                 round.group, round.group_uid, false, false});
  api::PlacementSpec& spec = placement.spec;
  spec.pod_group_uid = round.group_uid;
  spec.leader_epoch = events_.epoch();
  std::map<std::string, int32_t> nodes, zones, quotas;
  const auto row = [](std::map<std::string, int32_t>& index, std::vector<std::string>& table,
                      const std::string& name) {
    const auto [at, added] = index.try_emplace(name, static_cast<int32_t>(table.size()));
    if (added) table.push_back(name);
    return at->second;
  };
  std::set<std::string> mine;
  const auto add = [&](const RoundEntry& entry) {
    if (!mine.insert(entry.uid).second) return;
    api::PlacementEntry& out = spec.entries.emplace_back();
    out.task = entry.name;
    out.pod_uid = entry.uid;
    out.role = entry.role;
    if (entry.rank && *entry.rank <= INT32_MAX) out.rank = static_cast<int32_t>(*entry.rank);
    out.quota = row(quotas, spec.quotas, entry.quota_name);
    out.node = row(nodes, spec.nodes, entry.node_name);
    if (!entry.zone.empty()) out.zone = row(zones, spec.zones, entry.zone);
  };
  const auto add_open = [&](const Running& other) {
    for (size_t i = 0; i < other.round.entries.size(); ++i)
      if (other.states[i] != EntryState::kVoid && other.states[i] != EntryState::kBound)
        add(other.round.entries[i]);
  };
  add_open(running);
  for (const auto& [number, other] : running_)
    if (other->round.job == round.job && other->round.recorded && other->acknowledged > 0)
      add_open(*other);
  return placement;
}

void Executor::WritePlacement(const RunningPtr& running) {
  if (stopped_ || !events_.may_write()) return Forsake(running);
  const std::string key = running->round.namespace_ + "/" + running->round.group;
  api::Placement placement = Record(*running);
  // What we were told last is newer than what the watch has shown.
  std::shared_ptr<const api::Placement> known =
      running->read ? running->read : cache_.FindPlacement(key);
  if (const auto written = last_written_.find(key);
      written != last_written_.end() && !running->read)
    known = written->second;
  ++pending_writes_;
  auto answered = alive_.Guard([this, running](Result<api::Placement> answer) {
    --pending_writes_;
    PlacementAnswered(running, std::move(answer));
  });
  if (!known) {
    placement.spec.round = 1;
    running->wanted = placement;
    return writer_.CreatePlacement(placement, std::move(answered));
  }
  if (known->spec.pod_group_uid != running->round.group_uid) {
    // Another life of the group's name: its record goes first (F15).
    return writer_.DeletePlacement(placement.metadata.namespace_, placement.metadata.name,
                                   known->metadata.uid,
                                   alive_.Guard([this, running, key](Result<cache::Written> gone) {
                                     --pending_writes_;
                                     if (!gone && gone.error().code() != Code::kNotFound &&
                                         gone.error().code() != Code::kConflict)
                                       return ReadPlacement(running);
                                     last_written_.erase(key);
                                     ReadPlacement(running);
                                   }));
  }
  placement.metadata.uid = known->metadata.uid;
  placement.metadata.resource_version = known->metadata.resource_version;
  placement.spec.extra = known->spec.extra;
  placement.spec.round = known->spec.round + 1;
  running->wanted = placement;
  writer_.UpdatePlacement(placement, std::move(answered));
}

void Executor::PlacementAnswered(const RunningPtr& running, Result<api::Placement> answer) {
  const std::string key = running->round.namespace_ + "/" + running->round.group;
  if (answer) {
    last_written_[key] = std::make_shared<const api::Placement>(std::move(*answer));
    return running->voiding ? Forget(running) : Acknowledged(running);
  }
  const Error& error = answer.error();
  switch (error.code()) {
    case Code::kTooManyRequests:
      return Retry(running, std::max<Duration>(error.retry_after(), std::chrono::seconds(1)),
                   [this, running] { WritePlacement(running); });
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kNotFound:
    case Code::kUnknownOutcome:
      return ReadPlacement(running);
    case Code::kUnavailable:
      return Retry(running, std::chrono::seconds(1), [this, running] { WritePlacement(running); });
    default:
      return GiveUp(running, model::Reason::kPlacementConflict, error.message());
  }
}

// Same content: it was ours after all. Else write again on top of what is there.
void Executor::ReadPlacement(const RunningPtr& running) {
  if (++running->tries > kMaxTries)
    return GiveUp(running, model::Reason::kPlacementConflict, "the Placement can't be written");
  ++pending_writes_;
  writer_.GetPlacement(
      running->round.namespace_, running->round.group,
      alive_.Guard([this, running](Result<api::Placement> there) {
        --pending_writes_;
        const std::string key = running->round.namespace_ + "/" + running->round.group;
        if (!there && there.error().code() != Code::kNotFound)
          return Retry(running, std::chrono::seconds(1),
                       [this, running] { ReadPlacement(running); });
        if (!there) {
          last_written_.erase(key);
          running->read = nullptr;
          running->absent = true;
          return WriteAnew(running);
        }
        const bool ours = there->spec.pod_group_uid == running->wanted.spec.pod_group_uid &&
                          there->spec.round == running->wanted.spec.round &&
                          there->spec.leader_epoch == running->wanted.spec.leader_epoch &&
                          there->spec.entries == running->wanted.spec.entries;
        if (ours) return PlacementAnswered(running, std::move(there));
        running->read = std::make_shared<const api::Placement>(std::move(*there));
        WritePlacement(running);
      }));
}

// The record is gone: a create, whatever the watch still shows.
void Executor::WriteAnew(const RunningPtr& running) {
  if (stopped_ || !events_.may_write()) return Forsake(running);
  api::Placement placement = Record(*running);
  placement.spec.round = 1;
  running->wanted = placement;
  ++pending_writes_;
  writer_.CreatePlacement(placement, alive_.Guard([this, running](Result<api::Placement> answer) {
    --pending_writes_;
    PlacementAnswered(running, std::move(answer));
  }));
}

void Executor::Retry(const RunningPtr& running, Duration wait, std::function<void()> again) {
  ++pending_writes_;
  loop_.RunAfter(wait, alive_.Guard([this, running, again = std::move(again)] {
    --pending_writes_;
    again();
  }));
}

void Executor::Acknowledged(const RunningPtr& running) {
  running->acknowledged = ++sequence_;
  running->tries = 0;
  // Without a record the binding itself is the durable step.
  if (running->round.recorded) cache_.Acknowledge(running->round.number);
  if (order_ != framework::CommitOrder::kQuotaFirst || !running->round.recorded) {
    if (running->approved) Enqueue(running);
    return;
  }
  running->pictures_pending = true;
  events_.write_pictures(running->round, alive_.Guard([this, running](Status done) {
    running->pictures_pending = false;
    if (done) {
      if (running->approved) Enqueue(running);
      return;
    }
    // One refused status rolls the job back, record included.
    const std::string why = done.error().message();
    for (size_t i = 0; i < running->states.size(); ++i) running->states[i] = EntryState::kVoid;
    GiveUp(running, model::Reason::kPlacementConflict, why);
    Void(running->round);
  }));
}

void Executor::GiveUp(const RunningPtr& running, model::Reason reason, const std::string& why) {
  if (running->voiding) return Forget(running);
  running_.erase(running->round.number);
  cache_.DropRound(running->round.number);
  events_.refused(running->round, reason, why);
  events_.replan();
}

// Not the leader any more: nothing was refused, and whoever leads next reads what was written.
void Executor::Forsake(const RunningPtr& running) {
  if (running->voiding) return Forget(running);
  running_.erase(running->round.number);
  cache_.DropRound(running->round.number);
}

void Executor::Forget(const RunningPtr& running) { std::erase(voids_, running); }

void Executor::ForgetRecord(const api::Placement& placement) {
  const auto written = last_written_.find(placement.metadata.Key());
  if (written != last_written_.end() && written->second->metadata.uid == placement.metadata.uid)
    last_written_.erase(written);
}

bool Executor::Knows(const api::Placement& placement) const {
  const std::string key = placement.metadata.Key();
  const auto same = [&](const api::Placement& mine) {
    return mine.spec.pod_group_uid == placement.spec.pod_group_uid &&
           mine.spec.round >= placement.spec.round;
  };
  if (const auto written = last_written_.find(key);
      written != last_written_.end() && same(*written->second))
    return true;
  for (const auto& [number, running] : running_)
    if (running->round.job == key && same(running->wanted)) return true;
  for (const RunningPtr& running : voids_)
    if (running->round.job == key && same(running->wanted)) return true;
  return false;
}

void Executor::Void(const Round& round) {
  auto running = std::make_shared<Running>();
  running->round = round;
  running->round.entries.clear();
  running->voiding = true;
  voids_.push_back(running);
  WritePlacement(running);
}

}  // namespace sky::scheduler
