// SPDX-License-Identifier: Apache-2.0
// What the executor tells the rest of the scheduler, and what it asks of it. All on the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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
  // Before that: on these nodes it waited for room that didn't come.
  std::function<void(const cache::Round&, const std::vector<std::string>& nodes)> in_vain;
  // The server doesn't take the round's record, or bindings, now: they are sent again.
  std::function<void(const cache::Round&, std::string_view what, const std::string& why)> delayed;
  std::function<void()> replan;     // claims or approvals were dropped: a cycle is worthwhile
  std::function<bool()> may_write;  // leading, and the lease's deadline is far enough
  std::function<int64_t()> epoch;   // of our leadership
  std::function<void(const cache::Eviction::Victim&, const std::string& why)> evicted;
  // Writes the round's quota statuses now; done(true) when all are acknowledged.
  std::function<void(const cache::Round&, std::function<void(Status)>)> write_pictures;
};

}  // namespace sky::scheduler
