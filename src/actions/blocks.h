// SPDX-License-Identifier: Apache-2.0
// Blocks (the algorithm continuity): runs of nodes that stand beside each other by index, each with
// a place for somebody of a gang or with a member of it. The planner chooses among them as it does
// among zones. Scheduling thread only.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "actions/capacity.h"

namespace sky::actions {

// Tasks of a round by kind, and the nodes where members of the gang stand.
struct BlockWish {
  std::map<const Pool*, int64_t> kinds;
  std::set<model::NodeId> members;
  std::map<model::NodeId, int64_t> kin;
};

// The blocks of `cell` from the left; ranks are numbered from `rank` on.
std::vector<CellRoom> BlocksOf(const framework::Session& session, Capacities& capacities,
                               const BlockWish& wish, const CellRoom& cell, uint32_t& rank);

}  // namespace sky::actions
