// SPDX-License-Identifier: Apache-2.0
// The parts of nodeorder: kube-scheduler's own scores of candidates, 0…100 each, normalised over
// the candidates as that one does. A part that has nothing to say about the pod is absent. Used on
// the scheduling thread only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "model/cluster.h"
#include "model/neighbours.h"

namespace sky::plugins {

using Scores = std::optional<std::vector<int64_t>>;
using Candidates = std::span<const model::NodeId>;

// The weights of preferred terms that a node matches; the best has 100.
Scores ScoreNodeAffinity(const model::Cluster& cluster, const api::NodeAffinity* affinity,
                         Candidates nodes);
// The fewer PreferNoSchedule taints that aren't tolerated, the better.
Scores ScoreTaints(const model::Cluster& cluster, const std::vector<api::Toleration>& tolerations,
                   Candidates nodes);
// What the pod prefers of others, and others of it.
Scores ScorePodAffinity(const model::Cluster& cluster, model::Neighbours& neighbours,
                        model::TaskId task, Candidates nodes);
// Constraints that are wished for (ScheduleAnyway).
Scores ScoreSpread(const model::Cluster& cluster, model::Neighbours& neighbours, model::TaskId task,
                   Candidates nodes);

// By cpu and memory alone, with the task there: what is left, what is used, how alike both are. A
// container that asks nothing counts as 100m and 200Mi in the first two.
enum class Amounts : uint8_t { kLeast, kMost, kBalanced };
Scores ScoreAmounts(const model::Cluster& cluster, Amounts by, model::TaskId task,
                    Candidates nodes);

}  // namespace sky::plugins
