// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/types.h"

namespace sky::framework {

// How a job wants its nodes chosen; the topology plugin says.
struct TopologyPolicy {
  bool enabled = false;              // within zones, in the order of ranks
  bool strict = false;               // indexes of nodes must rise with ranks
  bool pack = false;                 // fill a node first, rather than spread evenly
  std::optional<int64_t> max_zones;  // absent: one if some zone could hold the gang when empty,
  WallTime patient_until{};          // and until then one in that case all the same
  // The zones of the network by spec code; without topology what holds all nodes of a spec code,
  std::vector<model::CellId> cells;
  bool in_blocks = false;    // of which those that stand beside each other are taken together.
  bool small_zones = false;  // before large ones, where nothing else decides
  std::map<model::NodeId, int64_t> kin;  // tasks of jobs that attract it, by node
  model::Network network = model::Network::kIb;
  int64_t without_topology = 0;  // nodes in no zone
};

}  // namespace sky::framework
