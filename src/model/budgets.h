// SPDX-License-Identifier: Apache-2.0
// Disruption budgets, as the Eviction API will ask them, and who may be asked to leave.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "model/types.h"

namespace sky::model {

class Cluster;
struct PodFacts;

// By "ns/name".
using Budgets = std::map<std::string, std::shared_ptr<const api::PodDisruptionBudget>, std::less<>>;

// The keys of those that select the pod.
std::vector<std::string_view> BudgetsOf(const Budgets& budgets, const PodFacts& facts);

// How many of its like may leave now; absent: no budget says anything about it. 0 too where several
// select it, because the API server then evicts it at no time.
std::optional<int32_t> DisruptionsLeft(const Cluster& cluster, const PodFacts& facts);

// Spot pods on the node that may be asked to leave now.
std::vector<TaskId> EvictableOn(const Cluster& cluster, NodeId node);

}  // namespace sky::model
