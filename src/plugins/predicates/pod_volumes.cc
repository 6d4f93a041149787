// SPDX-License-Identifier: Apache-2.0
#include "plugins/predicates/pod_volumes.h"

#include "model/volume_rules.h"

namespace sky::plugins {

void PodVolumes::Note(model::TaskId id) {
  const bool live = cluster_->tasks().Live(id) && !cluster_->tasks()[id].facts->claims.empty();
  if (live && !cluster_->tasks()[id].bound() && cluster_->PlaceOf(id).valid())
    placed_.insert(id);
  else
    placed_.erase(id);
}

void PodVolumes::Follow() {
  const model::Moves& moves = cluster_->moves();
  if (source_ != moves.id() || read_ < moves.begin()) {
    source_ = moves.id();
    placed_.clear();
    for (size_t i = 0; i < cluster_->tasks().size(); ++i) Note(model::TaskId(i));
  } else {
    for (; read_ < moves.end(); ++read_) Note(moves[read_]);
  }
  read_ = moves.end();
}

model::Verdict PodVolumes::Verdict(model::TaskId task, model::NodeId node) {
  if (cluster_->tasks()[task].facts->claims.empty()) return model::Verdict::Fit();
  Follow();
  return model::VolumesOn(*cluster_, task, node, placed_);
}

}  // namespace sky::plugins
