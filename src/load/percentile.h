// SPDX-License-Identifier: Apache-2.0
// Percentiles by nearest rank: always a value that was measured, never one in between. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"

namespace sky::load {

// The smallest value that at least `percent` of all values don't exceed; 1 to 100. nullopt of none.
std::optional<Duration> Percentile(std::vector<Duration> values, int percent);

struct Spread {
  Duration p50{}, p99{};
  bool operator==(const Spread&) const = default;
};
std::optional<Spread> SpreadOf(const std::vector<Duration>& values);

}  // namespace sky::load
