// SPDX-License-Identifier: Apache-2.0
// Strong dense ids: an index that can't be mixed up with another kind's. Ids index vectors
// directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace sky {

template <class Tag>
class Id {
 public:
  static constexpr uint32_t kNoValue = std::numeric_limits<uint32_t>::max();

  constexpr Id() = default;
  constexpr explicit Id(uint32_t value) : value_(value) {}
  constexpr explicit Id(size_t value) : value_(static_cast<uint32_t>(value)) {}

  constexpr uint32_t value() const { return value_; }
  constexpr size_t index() const { return value_; }
  constexpr bool valid() const { return value_ != kNoValue; }
  constexpr explicit operator bool() const { return valid(); }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  uint32_t value_ = kNoValue;
};

}  // namespace sky

template <class Tag>
struct std::hash<sky::Id<Tag>> {
  size_t operator()(sky::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.value()); }
};
