// SPDX-License-Identifier: Apache-2.0
#include "api/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/text.h"

namespace sky::api {
namespace {

constexpr Int128 kNanosPerUnit = 1'000'000'000;
constexpr Int128 kNanosPerMilli = 1'000'000;

constexpr Int128 PowerOfTen(int exponent) {
  return exponent == 0 ? 1 : 10 * PowerOfTen(exponent - 1);
}

// The range is symmetric, so that no negation overflows: 10^29 units either way.
constexpr int kMaxPower = 38;
constexpr Int128 kMax = PowerOfTen(kMaxPower);
// Kubernetes caps amounts with a binary suffix here.
constexpr Int128 kMaxBinaryNanos = Int128{std::numeric_limits<int64_t>::max()} * kNanosPerUnit;

struct Suffix {
  std::string_view text;
  int exponent;  // of 10 or of 2
};
constexpr std::array<Suffix, 10> kDecimal = {{{"n", -9},
                                              {"u", -6},
                                              {"m", -3},
                                              {"", 0},
                                              {"k", 3},
                                              {"M", 6},
                                              {"G", 9},
                                              {"T", 12},
                                              {"P", 15},
                                              {"E", 18}}};
constexpr std::array<Suffix, 7> kBinary = {
    {{"", 0}, {"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

constexpr Int128 Clamp(Int128 nanos) { return std::clamp(nanos, -kMax, kMax); }

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t CountDigits(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if_not(text, IsDigit) - text.begin());
}

// What stands behind the digits: a scale of 10^exponent or 2^exponent.
struct Scale {
  Quantity::Format format;
  int64_t exponent;
};

std::optional<Scale> ParseScale(std::string_view text) {
  for (const Suffix& suffix : kDecimal)
    if (text == suffix.text) return Scale{Quantity::Format::kDecimalSI, suffix.exponent};
  for (const Suffix& suffix : kBinary)
    if (text == suffix.text) return Scale{Quantity::Format::kBinarySI, suffix.exponent};
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || CountDigits(text) != text.size()) return std::nullopt;
  // Far more digits than any text holds: from here on the result no longer depends on the exponent.
  constexpr int64_t kEndless = 1'000'000'000'000'000;
  int64_t exponent = 0;
  for (const char c : text) exponent = std::min(exponent * 10 + (c - '0'), kEndless);
  return Scale{Quantity::Format::kDecimalExponent, negative ? -exponent : exponent};
}

// whole.fraction × 10^exponent in nanos, rounded up.
Int128 DecimalNanos(std::string_view whole, std::string_view fraction, int64_t exponent) {
  const auto digit = [&](size_t i) {
    return i < whole.size() ? whole[i] : fraction[i - whole.size()];
  };
  const size_t size = whole.size() + fraction.size();
  size_t first = 0;
  while (first < size && digit(first) == '0') ++first;
  if (first == size) return 0;
  // How many digits, counted from the first one that isn't zero, stand before the point of the
  // result.
  const int64_t places =
      static_cast<int64_t>(whole.size()) - static_cast<int64_t>(first) + exponent + 9;
  if (places > kMaxPower) return kMax;
  if (places <= 0) return 1;
  Int128 nanos = 0;
  const size_t end = first + static_cast<size_t>(places);
  for (size_t i = first; i < end; ++i) nanos = nanos * 10 + (i < size ? digit(i) - '0' : 0);
  for (size_t i = end; i < size; ++i)
    if (digit(i) != '0') return nanos + 1;
  return nanos;
}

// whole.fraction × 2^exponent in nanos, rounded up, at most kMaxBinaryNanos.
Int128 BinaryNanos(std::string_view whole, std::string_view fraction, int64_t exponent) {
  const Int128 factor = Int128{1} << exponent;
  // Multiplied digit by digit from the right, so that no digit is lost however many there are.
  Int128 carry = 0;
  std::string product(fraction);
  for (size_t i = product.size(); i-- > 0;) {
    carry += (product[i] - '0') * factor;
    product[i] = static_cast<char>('0' + static_cast<int>(carry % 10));
    carry /= 10;
  }
  Int128 units = 0;
  for (const char c : whole) {
    units = units * 10 + (c - '0');
    if (units > std::numeric_limits<int64_t>::max()) return kMaxBinaryNanos;
  }
  units = units * factor + carry;
  if (units > std::numeric_limits<int64_t>::max()) return kMaxBinaryNanos;
  return std::min(units * kNanosPerUnit + DecimalNanos("", product, 0), kMaxBinaryNanos);
}

// nanos / unit, away from zero, within int64.
int64_t RoundAway(Int128 nanos, Int128 unit) {
  Int128 quotient = nanos / unit;
  const Int128 rest = nanos % unit;
  if (rest != 0) quotient += rest > 0 ? 1 : -1;
  return static_cast<int64_t>(std::clamp<Int128>(quotient, std::numeric_limits<int64_t>::min(),
                                                 std::numeric_limits<int64_t>::max()));
}

std::string Digits(Int128 value) {
  std::string text;
  const bool negative = value < 0;
  if (negative) value = -value;
  do {
    text += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  if (negative) text += '-';
  return {text.rbegin(), text.rend()};
}

std::unexpected<Error> Refuse(std::string_view text) {
  constexpr size_t kShown = 40;
  const bool cut = text.size() > kShown;
  return Fail(Code::kInvalid,
              "\"{}{}\" is not a quantity: a number with at most one suffix is wanted, like 500m, "
              "8, 1.5Gi or 1e3",
              CutText(text, kShown), cut ? "…" : "");
}

}  // namespace

Quantity Quantity::Units(int64_t units, Format format) {
  return Nanos(units * kNanosPerUnit, format);
}

Quantity Quantity::Milli(int64_t millis, Format format) {
  return Nanos(millis * kNanosPerMilli, format);
}

Quantity Quantity::Nanos(Int128 nanos, Format format) {
  Quantity quantity;
  quantity.nanos_ = Clamp(nanos);
  quantity.format_ = format;
  return quantity;
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string_view whole = rest.substr(0, CountDigits(rest));
  rest.remove_prefix(whole.size());
  std::string_view fraction;
  if (rest.starts_with('.')) {
    fraction = rest.substr(1, CountDigits(rest.substr(1)));
    rest.remove_prefix(1 + fraction.size());
  }
  if (whole.empty() && fraction.empty()) return Refuse(text);
  const std::optional<Scale> scale = ParseScale(rest);
  if (!scale) return Refuse(text);

  Format format = scale->format;
  Int128 nanos = 0;
  if (format == Format::kBinarySI) {
    nanos = BinaryNanos(whole, fraction, scale->exponent);
    // As Kubernetes does: below one unit there is no binary way to write it.
    if (nanos > 0 && nanos < kNanosPerUnit) format = Format::kDecimalSI;
  } else {
    nanos = DecimalNanos(whole, fraction, scale->exponent);
  }
  return Nanos(negative ? -nanos : nanos, format);
}

int64_t Quantity::Value() const { return RoundAway(nanos_, kNanosPerUnit); }

int64_t Quantity::MilliValue() const { return RoundAway(nanos_, kNanosPerMilli); }

std::string Quantity::ToString() const {
  if (nanos_ == 0) return "0";
  const bool binary = format_ == Format::kBinarySI && nanos_ % kNanosPerUnit == 0 &&
                      (nanos_ >= 1024 * kNanosPerUnit || nanos_ <= -1024 * kNanosPerUnit) &&
                      nanos_ <= kMaxBinaryNanos && nanos_ >= -kMaxBinaryNanos;
  size_t step = 0;
  if (binary) {
    Int128 units = nanos_ / kNanosPerUnit;
    while (step + 1 < kBinary.size() && units % 1024 == 0) units /= 1024, ++step;
    return Digits(units).append(kBinary[step].text);
  }
  Int128 number = nanos_;
  if (format_ == Format::kDecimalExponent) {
    int exponent = -9;
    while (number % 1000 == 0) number /= 1000, exponent += 3;
    return exponent == 0 ? Digits(number) : fmt::format("{}e{}", Digits(number), exponent);
  }
  while (step + 1 < kDecimal.size() && number % 1000 == 0) number /= 1000, ++step;
  return Digits(number).append(kDecimal[step].text);
}

Quantity Quantity::operator+(const Quantity& other) const {
  // Both are within ±10^38 and 128 bits reach 1.7 × 10^38, so the sum itself may overflow.
  Int128 sum = 0;
  if (__builtin_add_overflow(nanos_, other.nanos_, &sum)) sum = nanos_ > 0 ? kMax : -kMax;
  return Nanos(sum, IsZero() ? other.format_ : format_);
}

Quantity Quantity::operator-(const Quantity& other) const { return *this + -other; }

Quantity Quantity::operator-() const { return Nanos(-nanos_, format_); }

}  // namespace sky::api
