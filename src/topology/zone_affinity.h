// SPDX-License-Identifier: Apache-2.0
// Where the tasks stand of other jobs that attract a job: those with its key (annotation
// topology-affinity-key). Counted anew for each job that has a key, over the members of those jobs
// alone; what this cycle has planned counts. Lives for one look.
#pragma once

#include <cstdint>
#include <map>

#include "model/cluster.h"

namespace sky::topology {

class ZoneAffinityTracker {
 public:
  ZoneAffinityTracker(const model::Cluster& cluster, model::JobId job, model::Network network);

  // Tasks with the job's key, by node.
  const std::map<model::NodeId, int64_t>& by_node() const { return by_node_; }
  // And in the cell of this node: its zone, and its spec code in there.
  int64_t Tasks(const model::Node& node) const;
  // 100 where most of them are, and less in proportion elsewhere.
  int64_t ZoneScore(const model::Node& node) const;

 private:
  model::Network network_;
  std::map<model::NodeId, int64_t> by_node_;
  std::map<model::CellKey, int64_t> by_cell_;
  int64_t most_ = 0;
};

}  // namespace sky::topology
