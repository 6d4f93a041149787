// SPDX-License-Identifier: Apache-2.0
// Spot pods that give way to a round, or move. The order is record, evictions, bindings: a pod that
// leaves for a decision that nobody remembers would have left for nothing (F14). A round without a
// record has the statuses of its quotas written first, they name its tasks.
#include <spdlog/spdlog.h>

#include "scheduler/executor_running.h"
#include "scheduler/words.h"

namespace sky::scheduler {

using cache::Eviction;

namespace {

// Another life of that name too: it has left already.
bool Gone(const Error& error) {
  return error.code() == Code::kNotFound || error.code() == Code::kConflict;
}

bool Unanswered(const Error& error) {
  return error.code() == Code::kUnavailable || error.code() == Code::kUnknownOutcome ||
         error.code() == Code::kCancelled;
}

}  // namespace

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
  if (!running) return SendEvictions(running, eviction);
  Eviction due = eviction;
  std::erase_if(due.victims, [&](const Eviction::Victim& victim) {
    return !running->asked_to_leave.insert(victim.uid).second;
  });
  // One that may not leave makes the others leave for nothing: all are asked dry before.
  if (due.victims.size() > 1) return AskDry(running, due);
  SendEvictions(running, due);
}

void Executor::AskDry(const RunningPtr& running, const Eviction& eviction) {
  struct Asked {
    size_t open = 0;
    bool over = false;     // one may not leave: the places are given up
    bool unknown = false;  // one didn't answer: all are asked again by the next cycle
  };
  auto asked = std::make_shared<Asked>();
  asked->open = eviction.victims.size();
  for (const Eviction::Victim& victim : eviction.victims) {
    ++reads_;
    writer_.Evict(victim.namespace_, victim.name, victim.uid, true,
                  alive_.Guard([this, running, eviction, victim,
                                asked](const Result<cache::Written>& answer) {
                    --reads_;
                    if (!answer && !Gone(answer.error())) {
                      if (Unanswered(answer.error()))
                        asked->unknown = true;
                      else if (!std::exchange(asked->over, true))
                        MayNotLeave(running, victim, answer.error());
                    }
                    if (--asked->open > 0 || asked->over) return;
                    if (asked->unknown) {
                      for (const Eviction::Victim& one : eviction.victims)
                        running->asked_to_leave.erase(one.uid);
                    } else if (running_.contains(running->round.number) && events_.may_write()) {
                      SendEvictions(running, eviction);
                    }
                  }));
  }
}

void Executor::SendEvictions(const RunningPtr& running, const Eviction& eviction) {
  for (const Eviction::Victim& victim : eviction.victims) {
    if (running && victim.grace > running->grace) {
      // They may take their grace: the claim waits for that long beside its own time (F13).
      running->grace = victim.grace;
      loop_.Cancel(running->timeout);
      running->timeout = 0;
      ArmTimeout(running);
    }
    ++reads_;
    writer_.Evict(victim.namespace_, victim.name, victim.uid, false,
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
  if (Gone(error)) return;
  if (!Unanswered(error)) return MayNotLeave(running, victim, error);
  if (running) running->asked_to_leave.erase(victim.uid);  // asked again by the next cycle
}

// A budget, or a rule of the server's: the decision is made anew, with what is known then.
void Executor::MayNotLeave(const RunningPtr& running, const Eviction::Victim& victim,
                           const Error& error) {
  cache_.NoteStays(victim.uid);
  const std::string why =
      fmt::format("pod {}/{} may not be evicted: {}", victim.namespace_, victim.name, Words(error));
  if (!running) return spdlog::info("{}", why);
  if (!running_.contains(running->round.number)) return;
  cache::GivenUp places;
  places.round = running->round.number;
  places.why = why;
  for (const cache::RoundEntry& entry : running->round.entries) places.uids.push_back(entry.uid);
  places.in_vain = {victim.node};
  GiveUp(places);
}

}  // namespace sky::scheduler
