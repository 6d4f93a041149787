// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <array>
#include <cctype>
#include <charconv>

namespace sky {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hh_mm_ss;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;

struct Unit {
  std::string_view name;
  int64_t nanos;
};
// Longest names first, so that "ms" is not read as "m".
constexpr std::array<Unit, 6> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

std::string Stamp(WallTime time, int fraction_digits) {
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<microseconds>(time - day));
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (fraction_digits > 0) text += fmt::format(".{:06}", clock.subseconds().count());
  return text + "Z";
}

// Reads exactly `digits` digits at the front of `text` and drops them.
bool TakeNumber(std::string_view& text, size_t digits, int& value) {
  if (text.size() < digits) return false;
  for (size_t i = 0; i < digits; ++i)
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  std::from_chars(text.data(), text.data() + digits, value);
  text.remove_prefix(digits);
  return true;
}

bool TakeChar(std::string_view& text, char wanted) {
  if (text.empty() ||
      (text[0] != wanted && std::toupper(static_cast<unsigned char>(text[0])) != wanted))
    return false;
  text.remove_prefix(1);
  return true;
}

bool TakeFraction(std::string_view& text, int64_t& nanos) {
  if (!TakeChar(text, '.')) return true;
  int64_t scale = 100'000'000;
  size_t read = 0;
  while (read < text.size() && std::isdigit(static_cast<unsigned char>(text[read])) != 0) {
    nanos += (text[read] - '0') * scale;
    scale /= 10;
    ++read;
  }
  text.remove_prefix(read);
  return read > 0;
}

bool TakeOffset(std::string_view& text, minutes& offset) {
  if (TakeChar(text, 'Z')) return true;
  const bool negative = !text.empty() && text[0] == '-';
  int h = 0, m = 0;
  if (!TakeChar(text, negative ? '-' : '+') || !TakeNumber(text, 2, h) || !TakeChar(text, ':') ||
      !TakeNumber(text, 2, m))
    return false;
  offset = hours(h) + minutes(m);
  if (negative) offset = -offset;
  return true;
}

}  // namespace

WallTime SystemClock::Wall() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}
MonoTime SystemClock::Mono() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

ManualClock::ManualClock()
    : wall_(sys_days(
          year_month_day(std::chrono::year(2026), std::chrono::month(1), std::chrono::day(1)))),
      mono_(hours(1)) {}

void ManualClock::Advance(Duration by) {
  wall_ += by;
  mono_ += by;
}

Result<Duration> ParseDuration(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kInvalid, "\"{}\" is not a duration: write it like 20ms, 1s, 5m or 1h30m",
                text);
  };
  if (text == "0") return Duration::zero();
  std::string_view rest = text;
  if (rest.empty()) return bad();
  // A limit far above anything configured keeps the sum below int64.
  constexpr int64_t kMax = int64_t{100} * 365 * 24 * 3600 * 1'000'000'000;
  double total = 0;
  while (!rest.empty()) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || rest[0] == '-' || !(value >= 0)) return bad();
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const Unit* found = nullptr;
    for (const Unit& unit : kUnits)
      if (rest.starts_with(unit.name) &&
          (found == nullptr || unit.name.size() > found->name.size()))
        found = &unit;
    if (found == nullptr) return bad();
    rest.remove_prefix(found->name.size());
    total += value * static_cast<double>(found->nanos);
    if (total > static_cast<double>(kMax)) return bad();
  }
  return Duration(static_cast<int64_t>(total));
}

std::string FormatDuration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  if (duration < Duration::zero()) return "-" + FormatDuration(-duration);
  std::string text;
  int64_t rest = duration.count();
  constexpr std::array<Unit, 6> kDescending = {
      {kUnits[5], kUnits[4], kUnits[3], kUnits[2], kUnits[1], kUnits[0]}};
  for (const Unit& unit : kDescending) {
    if (const int64_t count = rest / unit.nanos; count > 0)
      text += fmt::format("{}{}", count, unit.name);
    rest %= unit.nanos;
  }
  return text;
}

std::string FormatTime(WallTime time) { return Stamp(time, 0); }
std::string FormatMicroTime(WallTime time) { return Stamp(time, 6); }

Result<WallTime> ParseTime(std::string_view text) {
  std::string_view rest = text;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  int64_t nanos = 0;
  minutes offset(0);
  const bool ok = TakeNumber(rest, 4, year) && TakeChar(rest, '-') && TakeNumber(rest, 2, month) &&
                  TakeChar(rest, '-') && TakeNumber(rest, 2, day) && TakeChar(rest, 'T') &&
                  TakeNumber(rest, 2, hour) && TakeChar(rest, ':') && TakeNumber(rest, 2, minute) &&
                  TakeChar(rest, ':') && TakeNumber(rest, 2, second) && TakeFraction(rest, nanos) &&
                  TakeOffset(rest, offset) && rest.empty();
  const year_month_day date{std::chrono::year(year),
                            std::chrono::month(static_cast<unsigned>(month)),
                            std::chrono::day(static_cast<unsigned>(day))};
  // int64 nanoseconds reach from 1678 to 2261.
  if (!ok || !date.ok() || hour > 23 || minute > 59 || second > 60 || year < 1680 || year > 2260)
    return Fail(Code::kInvalid,
                "\"{}\" is not a time: RFC 3339 is wanted, like 2026-01-01T00:00:00Z", text);
  return WallTime(sys_days(date)) + hours(hour) + minutes(minute) + seconds(second) +
         nanoseconds(nanos) - offset;
}

}  // namespace sky
