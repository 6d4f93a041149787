// SPDX-License-Identifier: Apache-2.0
// The numbers of a running scheduler as Prometheus text, copied out on the loop: a scrape never
// waits for a cycle.
#pragma once

#include <memory>
#include <string>

#include "scheduler/scheduler.h"

namespace sky::scheduler {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  // On the loop: after each cycle, whose time it counts, and before each scrape.
  void Update(const Scheduler& scheduler, bool leading);
  std::string Text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace sky::scheduler
