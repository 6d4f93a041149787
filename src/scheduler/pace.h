// SPDX-License-Identifier: Apache-2.0
// How many bindings may be open at once, and how soon the next may go. The window halves when the
// server pushes back (429, 5xx, no answer) and grows by one with each binding that it takes; a
// server that takes nothing at all is asked ever more seldom, at last once a second. Pure; time
// comes in.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/clock.h"

namespace sky::scheduler {

class Pace {
 public:
  static constexpr size_t kMost = 32;

  size_t window() const { return window_; }
  MonoTime next() const { return next_; }  // nothing is sent before
  void Sent(MonoTime now) {
    if (gap_ > Duration::zero()) next_ = now + gap_;
  }
  void Taken() {
    window_ = std::min(window_ + 1, kMost);
    in_a_row_ = 0;
    gap_ = Duration::zero();
    next_ = MonoTime{};
  }
  void PushedBack(MonoTime now) {
    window_ = std::max<size_t>(window_ / 2, 1);
    // One gang's trouble is not the server's: that shows when nothing goes through.
    if (++in_a_row_ <= kMost) return;
    gap_ = std::clamp<Duration>(gap_ * 2, kFirstGap, kLongestGap);
    next_ = now + gap_;
  }

 private:
  static constexpr Duration kFirstGap = std::chrono::milliseconds(10),
                            kLongestGap = std::chrono::seconds(1);
  size_t window_ = kMost, in_a_row_ = 0;
  Duration gap_{};
  MonoTime next_{};
};

}  // namespace sky::scheduler
