// SPDX-License-Identifier: Apache-2.0
// What the executor tells the rest of the scheduler, and what it asks of it. All on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cache/round.h"
#include "model/verdict.h"

namespace sky::scheduler {

struct ExecutorEvents {
  std::function<void(const cache::RoundEntry&, const cache::Round&)> bound;
  // A round, or one member, failed; the job backs off. `entry` null: the round as a whole.
  std::function<void(const cache::Round&, const cache::RoundEntry* entry, model::Reason,
                     const std::string& why)>
      refused;
  // The server doesn't take the round's record, or bindings, now: they are sent again.
  std::function<void(const cache::Round&, std::string_view what, const std::string& why)> delayed;
  std::function<void()> replan;     // claims or approvals were dropped: a cycle is worthwhile
  std::function<bool()> may_write;  // leading, and the lease's deadline is far enough
  std::function<int64_t()> epoch;   // of our leadership
  std::function<void(const cache::Eviction::Victim&, const cache::Round&)> evicted;
  // Writes the round's quota statuses now; done(true) when all are acknowledged.
  std::function<void(const cache::Round&, std::function<void(Status)>)> write_pictures;
};

}  // namespace sky::scheduler
