// SPDX-License-Identifier: Apache-2.0
// Everything that a run creates, as documents in the order in which they are sent, and the layout
// that the meter checks against: which pod is of which gang, which node hangs under which leaf.
// Each object carries one label, by which it is found and removed again. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "load/options.h"

namespace sky::load {

// On everything that a run makes.
inline constexpr std::string_view kMadeLabel = "load.infini-ai.com/made-by";
inline constexpr std::string_view kMadeBy = "skyctl-load";
inline constexpr std::string_view kMadeSelector = "load.infini-ai.com/made-by=skyctl-load";
inline constexpr std::string_view kProbe = "load-probe";

struct Made {
  const api::Kind* kind = nullptr;
  std::string ns, name, json;
};

struct NodeRoom {
  std::string name;
  int room = 0;   // pods of ours that its allocatable holds
  int leaf = -1;  // -1: unknown
};

struct Layout {
  std::vector<NodeRoom> nodes;
  std::vector<std::string> pods;  // gang by gang, in the order of their ranks
  int gang = 1;                   // pods of each gang but perhaps the last
  int per_quota = 0;              // 0: nobody uses quotas
  size_t gangs() const;
  size_t GangOf(size_t pod) const { return pod / static_cast<size_t>(gang); }
};

struct Plan {
  std::vector<Made> ground;  // nodes with their topology, queue, quotas, groups: before the pods
  std::vector<Made> pods;    // as in the layout
  Made probe;                // a pod of its own, whose binding shows that the scheduler works
  Layout layout;
};

// The nodes that a run makes.
std::vector<NodeRoom> RoomsToMake(const Shape& shape);
// Nodes that are there already; without those that hold none of our pods.
std::vector<NodeRoom> RoomsOf(const std::vector<api::Node>& nodes);

// kInvalid when the rooms are too few for the pods.
Result<Plan> MakePlan(const Options& options, std::vector<NodeRoom> rooms);

// Where load itself binds the pods: node by node, each filled before the next.
std::vector<std::string> DirectPlaces(const Layout& layout);

}  // namespace sky::load
