// SPDX-License-Identifier: Apache-2.0
// How long to wait before the next try: first × 2, × 4, … up to a most, each stretched by a random
// factor in [1, 2), and from the beginning again once nothing was asked for a while. Pure; time and
// chance come in.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/rng.h"

namespace sky::kube {

struct BackoffLimits {
  Duration first = std::chrono::milliseconds(800);
  Duration most = std::chrono::seconds(30);  // before stretching
  Duration quiet = std::chrono::minutes(2);
};

class Backoff {
 public:
  explicit Backoff(uint64_t seed, BackoffLimits limits = {}) : limits_(limits), rng_(seed) {}

  Duration Next(MonoTime now) {
    if (!used_ || now - last_ > limits_.quiet) step_ = limits_.first;
    used_ = true;
    const auto wait =
        Duration(static_cast<int64_t>(static_cast<double>(step_.count()) * (1.0 + rng_.Unit())));
    last_ = now + wait;
    step_ = std::min(step_ * 2, limits_.most);
    return wait;
  }

 private:
  BackoffLimits limits_;
  Rng rng_;
  Duration step_{0};
  MonoTime last_{};  // when the last wait ended
  bool used_ = false;
};

}  // namespace sky::kube
