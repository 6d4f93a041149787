// SPDX-License-Identifier: Apache-2.0
// Ranks on nodes in physical order: intervals between placed neighbours, and the check that indexes
// rise with ranks. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model/cluster.h"

namespace sky::topology {

// Position of a node in the chain's order of nodes; absent: the rank has no place yet.
using Positions = std::vector<std::optional<int64_t>>;  // by rank, ascending

struct Interval {
  int64_t lowest = INT64_MIN, highest = INT64_MAX;  // inclusive
  bool Holds(int64_t position) const { return lowest <= position && position <= highest; }
};

// Where rank `rank` may go: from the nearest placed lower rank's node to the nearest placed higher
// one's.
Interval IntervalOf(const Positions& placed, size_t rank);

// Members without a usable rank, or with another's: they have no order.
std::vector<model::TaskId> Unranked(const model::Cluster& cluster, const model::Job& job);

// Whether positions never fall as ranks rise; unplaced ranks don't count.
bool Monotone(const Positions& placed);

}  // namespace sky::topology
