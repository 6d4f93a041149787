// SPDX-License-Identifier: Apache-2.0
// Natural order of names: runs of digits compare as numbers (q-2 before q-10), everything else as
// bytes; names equal in that order ("a01", "a1") are told apart by bytes, so the order is total.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sky {

std::strong_ordering NaturalCompare(std::string_view a, std::string_view b);

struct NaturalLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return std::is_lt(NaturalCompare(a, b));
  }
};

// Bytes whose plain order is the natural order of `name`; for names of at most 255 bytes without a
// zero byte, as all names of the API are.
std::string NaturalKey(std::string_view name);

// The number at the end of a name ("gpu-node-012" → 12), absent without one or when it exceeds
// int64.
std::optional<int64_t> TrailingNumber(std::string_view name);

}  // namespace sky
