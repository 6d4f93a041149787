// SPDX-License-Identifier: Apache-2.0
// Spot pods and places: what a node has idle for those that go there without a quota, and what
// those that have one may use beside spot pods, or get from them.
#include <algorithm>

#include "actions/planner.h"
#include "actions/round_tasks.h"

namespace sky::actions {

using model::NodeId;
using model::Resources;
using model::SpotMode;
using model::TaskId;

// What tasks may use on the node; absent: what charges leave says it all. `mode`: of spot pods
// among them, whose pool counts too.
std::optional<Resources> Planner::IdleOf(NodeId id, SpotMode mode) const {
  const model::Node& node = cluster_.nodes()[id];
  if (mode == SpotMode::kNone && !node.has_spot()) return std::nullopt;
  return SpotIdle(cluster_, id, mode) + (evicts_ ? node.evictable : Resources{});
}

// With what is planned there already: is there room now, or who would have to leave for it?
bool Planner::MakesRoom(TaskId task, NodeId id) const {
  const model::Node& node = cluster_.nodes()[id];
  if (!node.has_spot() || cluster_.tasks()[task].facts->direct()) return true;
  const Resources missing = model::Shortfall(cluster_.tasks()[task].facts->request, node.Free());
  if (missing.IsZero()) return true;
  return evicts_ && session_.PredictEvicted(task, id, missing).has_value();
}

}  // namespace sky::actions
