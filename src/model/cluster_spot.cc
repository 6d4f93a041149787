// SPDX-License-Identifier: Apache-2.0
// What pods occupy on a node, and what those that are to come will.
#include "model/cluster.h"
#include "model/occupied.h"

namespace sky::model {
namespace {

SpotUse Without(const SpotUse& all, const SpotUse& some) {
  return {all.exclusive - some.exclusive, all.shared - some.shared};
}

}  // namespace

void Cluster::RecountUse(NodeId id) {
  Node& node = Mutable(id);
  Occupied used(node.pools), leaving(node.pools), evictable(node.pools), pledged(node.pools);
  for (const TaskId task_id : node.tasks) {
    const Task& task = tasks_[task_id];
    used.Add(*task.facts);
    if (task.facts->deleting)
      leaving.Add(*task.facts);
    else if (task.evictable)
      evictable.Add(*task.facts);
  }
  const auto to_come = [&](TaskId task) {
    if (tasks_[task].claim.open()) pledged.Add(*tasks_[task].facts);
  };
  for (const TaskId task : node.direct) to_come(task);
  for (const QuotaId quota : node.quotas)
    for (const TaskId task : quotas_[quota].tasks) to_come(task);
  for (const QuotaId quota : node.planned_quotas)
    if (quotas_[quota].node != id)
      for (const TaskId task : quotas_[quota].tasks) to_come(task);
  node.used = used.Sum();
  node.releasing = leaving.Sum(Without(used.spot(), leaving.spot()));
  node.evictable = evictable.Sum(Without(used.spot(), evictable.spot()));
  node.pledged = pledged.Sum(used.spot());
  node.spot = used.spot();
  node.spot.exclusive += pledged.spot().exclusive;
  node.spot.shared += pledged.spot().shared;
}

// Null: it is gone. Copies share what they read, and it rarely changes.
void Cluster::SetBudget(const std::string& key,
                        std::shared_ptr<const api::PodDisruptionBudget> budget) {
  auto budgets = std::make_shared<Budgets>(*budgets_);
  budgets->erase(key);
  if (budget) budgets->emplace(key, std::move(budget));
  budgets_ = std::move(budgets);
}

void Cluster::SetEvictable(TaskId id, bool evictable) {
  if (!tasks_.Live(id) || tasks_[id].evictable == evictable) return;
  Mutable(id).evictable = evictable;
  if (tasks_[id].node.valid()) Dirty(tasks_[id].node);
}

}  // namespace sky::model
