// SPDX-License-Identifier: Apache-2.0
// What every write must know of our leadership: may it go, how long may it take, under which epoch.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace sky::scheduler {

class Leadership {
 public:
  virtual ~Leadership() = default;
  virtual bool leading() const = 0;
  // min(4 s, the lease's deadline − 1 s − now); absent: too late to write anything (F9).
  virtual std::optional<Duration> WriteTimeout() const = 0;
  // The lease's transitions; rises with each leader.
  virtual int64_t epoch() const = 0;
};

// For one scheduler alone (--no-leader-elect, scenarios): always leads.
class AlwaysLeads final : public Leadership {
 public:
  bool leading() const override { return true; }
  std::optional<Duration> WriteTimeout() const override { return std::chrono::seconds(4); }
  int64_t epoch() const override { return 0; }
};

}  // namespace sky::scheduler
