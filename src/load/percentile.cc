// SPDX-License-Identifier: Apache-2.0
#include "load/percentile.h"

#include <algorithm>

#include "base/check.h"

namespace sky::load {

std::optional<Duration> Percentile(std::vector<Duration> values, int percent) {
  SKY_CHECK(percent >= 1 && percent <= 100, "percent {}", percent);
  if (values.empty()) return std::nullopt;
  const size_t rank = (values.size() * static_cast<size_t>(percent) + 99) / 100;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

std::optional<Spread> SpreadOf(const std::vector<Duration>& values) {
  const auto p50 = Percentile(values, 50), p99 = Percentile(values, 99);
  if (!p50 || !p99) return std::nullopt;
  return Spread{*p50, *p99};
}

}  // namespace sky::load
