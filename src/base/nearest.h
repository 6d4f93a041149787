// SPDX-License-Identifier: Apache-2.0
// "Did you mean …?": the known name nearest to a mistyped one, counted in inserted, dropped,
// changed and swapped letters. For messages only; nothing is ever corrected quietly. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sky {

// Edits that turn a into b: insert, drop or change a letter, or swap two neighbours. Case counts.
size_t EditDistance(std::string_view a, std::string_view b);

// How many edits still look like a slip: one in short names, a third of the letters in longer ones.
size_t SlipLimit(std::string_view name);

// The first of the nearest names, if one is within SlipLimit.
template <class Names>
std::optional<std::string_view> Nearest(std::string_view name, const Names& known) {
  std::optional<std::string_view> nearest;
  size_t best = SlipLimit(name) + 1;
  for (const auto& candidate : known) {
    const size_t distance = EditDistance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

// "; did you mean 'period'?", or nothing when no name is near.
template <class Names>
std::string DidYouMean(std::string_view name, const Names& known) {
  const std::optional<std::string_view> nearest = Nearest(name, known);
  return nearest ? "; did you mean '" + std::string(*nearest) + "'?" : std::string();
}

}  // namespace sky
