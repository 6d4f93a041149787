// SPDX-License-Identifier: Apache-2.0
#include "model/budgets.h"

#include <algorithm>
#include <iterator>

#include "api/selectors.h"
#include "model/cluster.h"

namespace sky::model {

std::vector<std::string_view> BudgetsOf(const Budgets& budgets, const PodFacts& facts) {
  std::vector<std::string_view> keys;
  const std::string prefix = facts.meta().namespace_ + "/";
  for (auto at = budgets.lower_bound(prefix); at != budgets.end() && at->first.starts_with(prefix);
       ++at) {
    const auto& selector = at->second->spec.selector;
    if (selector && api::Matches(*selector, facts.meta().labels)) keys.push_back(at->first);
  }
  return keys;
}

std::optional<int32_t> DisruptionsLeft(const Cluster& cluster, const PodFacts& facts) {
  const std::vector<std::string_view> keys = BudgetsOf(cluster.budgets(), facts);
  if (keys.empty()) return std::nullopt;
  if (keys.size() > 1) return 0;
  const api::PodDisruptionBudget& budget = *cluster.budgets().find(keys.front())->second;
  // Its controller hasn't looked at the newest spec yet: the API server waits for it.
  if (budget.status.observed_generation < budget.metadata.generation) return 0;
  return std::max(budget.status.disruptions_allowed, 0);
}

std::vector<TaskId> EvictableOn(const Cluster& cluster, NodeId node) {
  std::vector<TaskId> tasks;
  std::ranges::copy_if(cluster.nodes()[node].tasks, std::back_inserter(tasks),
                       [&](TaskId task) { return cluster.tasks()[task].evictable; });
  return tasks;
}

}  // namespace sky::model
