// SPDX-License-Identifier: Apache-2.0
// Which of a gang's roles lacks members (minTaskMember). Pure; read by the plugin that refuses such
// a gang and by whoever tells its owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/cluster.h"

namespace sky::model {

struct ShortRole {
  std::string role;
  int64_t least = 0, could = 0;  // members: needed, and how many run, have ended well or may start
  bool operator==(const ShortRole&) const = default;
};

// The first by name; nullopt: each has enough, or none is asked for.
std::optional<ShortRole> FindShortRole(const Cluster& cluster, const Job& job);

}  // namespace sky::model
