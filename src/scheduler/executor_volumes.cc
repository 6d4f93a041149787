// SPDX-License-Identifier: Apache-2.0
// A round's volumes, between its approval and its first binding. Everything follows from what the
// cache says now, so whoever leads next goes on with it; claimTimeout ends the wait.
#include <algorithm>

#include "scheduler/executor_running.h"

namespace sky::scheduler {

// False: not yet, or never; it is asked again when something has changed.
bool Executor::HasVolumes(const RunningPtr& running) {
  const uint64_t number = running->round.number;
  cache::VolumeWork work = cache_.VolumesOf(running->round);
  running->waits_for = work.waits_for;
  if (work.done()) return without_volumes_.erase(number), true;
  without_volumes_.insert(number);
  if (work.lost.empty()) work.lost = volumes_.Send(number, work.writes);
  if (work.lost.empty()) return false;
  std::vector<std::string> nodes;  // what was sent is over when its pod says so
  for (size_t i = 0; i < running->states.size(); ++i)
    if (const cache::RoundEntry& entry = running->round.entries[i];
        running->states[i] == EntryState::kClaimed &&
        std::ranges::find(work.uids, entry.uid) != work.uids.end())
      nodes.push_back(entry.node_name);
  if (nodes.empty()) return false;
  // Elsewhere it may go better.
  GiveUp({number, std::move(work.uids), std::move(work.lost), std::move(nodes)});
  VolumesChanged();  // the others go on
  return false;
}

// Once for all that changes together.
void Executor::VolumesChanged() {
  if (without_volumes_.empty() || std::exchange(looking_, true)) return;
  loop_.Post(alive_.Guard([this] {
    looking_ = false;
    const std::set<uint64_t> waiting = without_volumes_;
    for (const uint64_t number : waiting)
      if (const auto found = running_.find(number); found != running_.end()) {
        const RunningPtr running = found->second;
        Start(running);
      }
  }));
}

void Executor::ClearStrayChoices() {
  if (!stopped_) volumes_.Clear(cache_.StrayChoices());
}

}  // namespace sky::scheduler
