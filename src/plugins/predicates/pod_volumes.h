// SPDX-License-Identifier: Apache-2.0
// Whether a pod's claims let it stand on a node, and who else is about to take the volumes that it
// would. Belongs to predicates and lives as long; keeps which tasks with claims are planned or
// claimed, by the cluster's moves, so that a cluster without claims pays nothing. Used on the
// scheduling thread only.
#pragma once

#include <set>

#include "model/cluster.h"
#include "model/verdict.h"

namespace sky::plugins {

class PodVolumes {
 public:
  // At the opening of a session, which it outlives.
  void Open(const model::Cluster& cluster) { cluster_ = &cluster; }
  model::Verdict Verdict(model::TaskId task, model::NodeId node);

 private:
  void Follow();
  void Note(model::TaskId task);

  const model::Cluster* cluster_ = nullptr;
  uint64_t source_ = 0, read_ = 0;  // the moves, and how far they are read
  std::set<model::TaskId> placed_;
};

}  // namespace sky::plugins
