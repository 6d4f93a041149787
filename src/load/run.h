// SPDX-License-Identifier: Apache-2.0
// One run of `skyctl load` from the first look at the cluster to the removal of what it made. One
// thread drives it; HTTP and watches have the client's own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "load/options.h"
#include "load/report.h"

namespace sky::load {

struct Hooks {
  std::function<bool()> stop;                 // has a signal come since it was last asked?
  std::function<void(std::string_view)> say;  // a line of progress
};

struct Outcome {
  int exit_code = 0;             // 0 measured, 1 failed or not all bound, 2 wrong usage
  std::optional<Report> report;  // also of a run that ended at its timeout
  std::string message;           // why it isn't 0
};

Outcome RunLoad(const Options& options, const Clock& clock, const Hooks& hooks);

}  // namespace sky::load
