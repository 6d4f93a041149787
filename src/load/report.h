// SPDX-License-Identifier: Apache-2.0
// What a run says in the end: as lines for people and as one JSON object, whose fields docs/load.md
// lists. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "load/command.h"
#include "load/meter.h"
#include "load/options.h"

namespace sky::load {

struct Report {
  Mode mode = Mode::kDrain;
  std::string scheduler;
  size_t nodes = 0;
  int gang_size = 1;
  Reading reading;
  std::optional<ProcessUse> use;          // of the scheduler, while it was measured
  std::map<std::string, size_t> unbound;  // what unbound pods say → how many
};

std::string ToText(const Report& report);
std::string ToJson(const Report& report);  // one line

}  // namespace sky::load
