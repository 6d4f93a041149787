// SPDX-License-Identifier: Apache-2.0
#include "cache/round.h"

#include "model/cluster.h"

namespace sky::cache {

Eviction::Victim VictimOf(const model::Cluster& cluster, model::TaskId id) {
  const model::Task& task = cluster.tasks()[id];
  const api::ObjectMeta& pod = task.facts->meta();
  const auto grace = task.facts->pod->spec.termination_grace_period_seconds;
  return {pod.namespace_, pod.name, pod.uid, cluster.nodes()[task.node].name,
          std::chrono::seconds(grace.value_or(30))};
}

}  // namespace sky::cache
