// SPDX-License-Identifier: Apache-2.0
#include "model/roles.h"

#include <map>

namespace sky::model {

std::optional<ShortRole> FindShortRole(const Cluster& cluster, const Job& job) {
  if (!job.object || job.object->spec.min_task_member.empty()) return std::nullopt;
  std::map<std::string_view, int64_t> could;
  for (const TaskId id : job.members) {
    const Task& task = cluster.tasks()[id];
    if (task.state == TaskState::kSucceeded || task.placeable() ||
        ((task.bound() || task.claim.open()) && !task.facts->deleting))
      ++could[task.facts->role];
  }
  for (const auto& [role, least] : job.object->spec.min_task_member)
    if (could[role] < least) return ShortRole{role, least, could[role]};
  return std::nullopt;
}

}  // namespace sky::model
