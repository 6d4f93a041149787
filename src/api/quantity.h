// SPDX-License-Identifier: Apache-2.0
// Kubernetes' resource.Quantity, exact: the whole grammar (sign, decimals, n u m k M G T P E,
// Ki…Ei, decimal exponents), rounded away from zero at one nano as the API server does, saturating
// instead of wrapping. The value is an integer count of nanos in 128 bits, so sums never lose a
// digit.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sky::api {

__extension__ typedef __int128 Int128;

class Quantity {
 public:
  enum class Format : uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  constexpr Quantity() = default;
  // Whole units.
  static Quantity Units(int64_t units, Format format = Format::kDecimalSI);
  static Quantity Milli(int64_t millis, Format format = Format::kDecimalSI);
  static Quantity Nanos(Int128 nanos, Format format = Format::kDecimalSI);

  // Refuses anything outside the grammar with a message that names the text. Never takes longer
  // than linear time, whatever the exponent. Magnitudes beyond 10^29 units saturate there. A suffix
  // without a digit ("k", "+"), which Go reads as 0, is refused.
  static Result<Quantity> Parse(std::string_view text);

  // Rounded away from zero, saturating at the ends of int64 (where Go's Value() silently wraps).
  int64_t Value() const;
  int64_t MilliValue() const;
  Int128 nanos() const { return nanos_; }
  Format format() const { return format_; }

  bool IsZero() const { return nanos_ == 0; }
  bool IsNegative() const { return nanos_ < 0; }

  // Kubernetes' canonical form: no fraction, largest suffix. Parse(ToString(q)) == q.
  std::string ToString() const;

  Quantity operator+(
      const Quantity& other) const;  // saturates; a zero left side takes the other's format
  Quantity operator-(const Quantity& other) const;
  Quantity operator-() const;
  // By value; the format does not matter.
  std::strong_ordering operator<=>(const Quantity& other) const {
    return nanos_ < other.nanos_   ? std::strong_ordering::less
           : nanos_ > other.nanos_ ? std::strong_ordering::greater
                                   : std::strong_ordering::equal;
  }
  bool operator==(const Quantity& other) const { return nanos_ == other.nanos_; }

 private:
  Int128 nanos_ = 0;
  Format format_ = Format::kDecimalSI;
};

}  // namespace sky::api
