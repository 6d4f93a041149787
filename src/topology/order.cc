// SPDX-License-Identifier: Apache-2.0
#include "topology/order.h"

#include <algorithm>

namespace sky::topology {

Interval IntervalOf(const Positions& placed, size_t rank) {
  Interval interval;
  for (size_t lower = rank; lower-- > 0;)
    if (placed[lower]) {
      interval.lowest = *placed[lower];
      break;
    }
  for (size_t higher = rank + 1; higher < placed.size(); ++higher)
    if (placed[higher]) {
      interval.highest = *placed[higher];
      break;
    }
  return interval;
}

std::vector<model::TaskId> Unranked(const model::Cluster& cluster, const model::Job& job) {
  std::vector<model::TaskId> unranked;
  const model::PodFacts* last = nullptr;
  for (const model::TaskId task : job.ranked) {
    const model::PodFacts& facts = *cluster.tasks()[task].facts;
    if (!facts.index || (last != nullptr && last->role == facts.role && last->index == facts.index))
      unranked.push_back(task);
    last = &facts;
  }
  return unranked;
}

bool Monotone(const Positions& placed) {
  int64_t last = INT64_MIN;
  for (const auto& position : placed) {
    if (!position) continue;
    if (*position < last) return false;
    last = *position;
  }
  return true;
}

}  // namespace sky::topology
