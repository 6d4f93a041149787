// SPDX-License-Identifier: Apache-2.0
// Spot pods that give way to a round, or move. The order is record, evictions, bindings: a pod that
// leaves for a decision that nobody remembers would have left for nothing (F14). A round without a
// record has the statuses of its quotas written first, they name its tasks.
#include <spdlog/spdlog.h>

#include "scheduler/executor_running.h"
#include "scheduler/words.h"

namespace sky::scheduler {

using cache::Eviction;

void Executor::Evict(const Eviction& eviction) {
  if (eviction.round == 0) return EvictNow(nullptr, eviction);
  const auto found = running_.find(eviction.round);
  if (found == running_.end()) return;
  const RunningPtr running = found->second;
  if (running->acknowledged == 0 || running->stopped || running->pictures_pending) return;
  if (running->round.recorded || running->pictured) return EvictNow(running, eviction);
  WritePictures(running, [this, running, eviction] {
    if (running_.contains(running->round.number)) EvictNow(running, eviction);
  });
}

// `running` null: they move.
void Executor::EvictNow(const RunningPtr& running, const Eviction& eviction) {
  if (!events_.may_write() || stopped_) return;
  for (const Eviction::Victim& victim : eviction.victims) {
    if (running && !running->asked_to_leave.insert(victim.uid).second) continue;
    if (running && victim.grace > running->grace) {
      // They may take their grace: the claim waits for that long beside its own time (F13).
      running->grace = victim.grace;
      loop_.Cancel(running->timeout);
      running->timeout = 0;
      ArmTimeout(running);
    }
    ++reads_;
    writer_.Evict(victim.namespace_, victim.name, victim.uid,
                  alive_.Guard([this, running, victim,
                                why = eviction.why](const Result<cache::Written>& answer) {
                    --reads_;
                    Evicted(running, victim, why, answer);
                  }));
  }
}

void Executor::Evicted(const RunningPtr& running, const Eviction::Victim& victim,
                       const std::string& why, const Result<cache::Written>& answer) {
  if (answer) {
    spdlog::info("pod {}/{} on {} {}", victim.namespace_, victim.name, victim.node, why);
    return events_.evicted(victim, why);
  }
  const Error& error = answer.error();
  if (!running) {  // it stays
    spdlog::info("pod {}/{} on {} may not be evicted: {}", victim.namespace_, victim.name,
                 victim.node, Words(error));
    return;
  }
  switch (error.code()) {
    case Code::kNotFound:
    case Code::kConflict:  // another life of that name: it has left already
      return;
    case Code::kUnavailable:
    case Code::kUnknownOutcome:
    case Code::kCancelled:
      running->asked_to_leave.erase(victim.uid);  // asked again by the next cycle
      return;
    default:
      break;
  }
  // A budget, or a rule of the server's: the decision is made anew, with what is known then.
  if (!running_.contains(running->round.number)) return;
  cache::GivenUp places;
  places.round = running->round.number;
  places.why =
      fmt::format("pod {}/{} may not be evicted: {}", victim.namespace_, victim.name, Words(error));
  for (const cache::RoundEntry& entry : running->round.entries) places.uids.push_back(entry.uid);
  places.in_vain = {victim.node};
  GiveUp(places);
}

}  // namespace sky::scheduler
