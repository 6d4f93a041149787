// SPDX-License-Identifier: Apache-2.0
#include "topology/zone_affinity.h"

#include <algorithm>

namespace sky::topology {

using model::JobId;
using model::NodeId;

ZoneAffinityTracker::ZoneAffinityTracker(const model::Cluster& cluster, JobId job,
                                         model::Network network)
    : network_(network) {
  const std::string& key = cluster.jobs()[job].affinity_key;
  if (key.empty()) return;
  for (const JobId other : cluster.attraction().Of(key)) {
    if (other == job) continue;
    for (const model::TaskId task : cluster.jobs()[other].ranked) {
      const NodeId node = cluster.PlaceOf(task);
      if (!node.valid()) continue;
      ++by_node_[node];
      const model::Node& row = cluster.nodes()[node];
      if (!row.zone(network).valid()) continue;
      most_ = std::max(most_, ++by_cell_[{network, row.zone(network), row.spec}]);
    }
  }
}

int64_t ZoneAffinityTracker::Tasks(const model::Node& node) const {
  const auto known = by_cell_.find({network_, node.zone(network_), node.spec});
  return known == by_cell_.end() ? 0 : known->second;
}

int64_t ZoneAffinityTracker::ZoneScore(const model::Node& node) const {
  return most_ == 0 ? 0 : 100 * Tasks(node) / most_;
}

}  // namespace sky::topology
