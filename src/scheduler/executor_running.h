// SPDX-License-Identifier: Apache-2.0
// A round under way, shared by the executor's sources only.
#pragma once

#include "scheduler/executor.h"

namespace sky::scheduler {

//   Claimed ⇄ Queued ─► Sent ⇄ Unknown (Sent, until it can't land any more) ─► Bound | Void
enum class Executor::EntryState : uint8_t { kClaimed, kQueued, kSent, kBound, kVoid };

struct Executor::Running {
  cache::Round round;
  std::vector<EntryState> states;
  std::vector<MonoTime> open_until;  // until then an attempt of unknown outcome may still land
  std::vector<Duration> read_waits;  // after reads of its pod that failed, in a row
  size_t probes = 0;                 // answers to come before its record is written
  bool writing = false;              // its record was asked for
  uint64_t acknowledged = 0;         // 0: not yet
  bool approved = false;
  bool pictured = false, pictures_pending = false;  // its quotas' statuses are written
  std::string waits_for;                            // a claim that has no volume yet
  bool checked = false;                             // all of it was looked at before the first went
  bool stopped = false;                             // nothing of it is sent any more
  bool dirty = false;  // the record holds entries whose claims have ended
  kube::TimerId timeout = 0;
  Duration grace{};                      // of the slowest of those who were asked to leave
  std::set<std::string> asked_to_leave;  // UIDs
  // The server pushed back: entries stand aside, one goes first when the pause ends.
  Duration pause{};
  MonoTime paused_until{};
  bool paused = false, probing = false;
  size_t in_flight = 0;
  std::vector<size_t> aside;
};

// A write's deadline at the server (F9: 4 s at most) and two seconds for clocks that differ.
inline constexpr Duration kMayStillLand = std::chrono::seconds(6);

}  // namespace sky::scheduler
