// SPDX-License-Identifier: Apache-2.0
// A round under way, shared by the executor's sources only.
#pragma once

#include "scheduler/executor.h"

namespace sky::scheduler {

enum class EntryState : uint8_t { kClaimed, kSent, kBound, kVoid };

struct Executor::Running {
  cache::Round round;
  std::vector<EntryState> states;
  std::vector<MonoTime> open_until;  // until then an attempt of unknown outcome may still land
  bool approved = false, queued = false, stopped = false;
  bool pictures_pending = false;
  bool voiding = false;  // only takes entries out of the record
  bool absent = false;
  uint64_t acknowledged = 0;  // 0: not yet
  int tries = 0;
  api::Placement wanted;                       // what was written last
  std::shared_ptr<const api::Placement> read;  // what was there when we looked
};

// A write's deadline at the server (F9: 4 s at most) and two seconds for clocks that differ.
inline constexpr Duration kMayStillLand = std::chrono::seconds(6);
inline constexpr int kMaxTries = 8;

}  // namespace sky::scheduler
