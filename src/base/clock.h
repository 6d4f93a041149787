// SPDX-License-Identifier: Apache-2.0
// Time comes in by constructor. WallTime stamps API objects; MonoTime measures leases, deadlines
// and back-off and never jumps. Tests drive a ManualClock; nobody else may ask the machine what
// time it is.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sky {

using Duration = std::chrono::nanoseconds;
using WallTime = std::chrono::sys_time<Duration>;
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// As a number to show or to measure with.
constexpr double Seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

// One moment by both clocks: deadlines and waits by `mono`, what objects are stamped with by
// `wall`.
struct Instant {
  WallTime wall{};
  MonoTime mono{};
};

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallTime Wall() const = 0;
  virtual MonoTime Mono() const = 0;
  Instant Now() const { return {Wall(), Mono()}; }
};

// The machine's clocks. Thread-safe.
class SystemClock final : public Clock {
 public:
  WallTime Wall() const override;
  MonoTime Mono() const override;
};

// Moves only when told to. Wall and monotonic time can be moved apart, as an NTP step does.
class ManualClock final : public Clock {
 public:
  // Starts at 2026-01-01T00:00:00Z and one hour of monotonic time.
  ManualClock();
  WallTime Wall() const override { return wall_; }
  MonoTime Mono() const override { return mono_; }
  void Advance(Duration by);
  void StepWall(Duration by) { wall_ += by; }

 private:
  WallTime wall_;
  MonoTime mono_;
};

// "300ms", "1s", "1m30s", "2h": Go's duration grammar with ns, us, ms, s, m, h; a bare "0" is zero.
Result<Duration> ParseDuration(std::string_view text);
// The shortest such text: "1m30s", "20ms", "0s".
std::string FormatDuration(Duration duration);

// RFC 3339 in UTC: seconds ("2026-01-01T00:00:00Z") and microseconds ("….000000Z", Kubernetes'
// MicroTime).
std::string FormatTime(WallTime time);
std::string FormatMicroTime(WallTime time);
// Accepts any offset and fraction.
Result<WallTime> ParseTime(std::string_view text);

}  // namespace sky
