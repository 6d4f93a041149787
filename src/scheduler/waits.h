// SPDX-License-Identifier: Apache-2.0
// How long whoever was refused waits before the next try: 1 s, doubled up to a minute, stretched by
// up to a quarter so that those refused together don't come back together. Pure.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "base/rng.h"

namespace sky::scheduler {

// After a wait of `last`; zero: there was none.
inline Duration NextWait(Duration last) {
  return std::clamp<Duration>(last * 2, std::chrono::seconds(1), std::chrono::seconds(60));
}
inline Duration Stretched(Duration wait, Rng& jitter) {
  return Duration(
      static_cast<int64_t>(static_cast<double>(wait.count()) * (1 + jitter.Unit() / 4)));
}

}  // namespace sky::scheduler
