// SPDX-License-Identifier: Apache-2.0
// Reservations as facts of the cluster, and who may use what they keep.
#include <algorithm>

#include "model/cluster.h"

namespace sky::model {

std::string_view DemandOf(const Cluster& cluster, TaskId id) {
  const Task& task = cluster.tasks()[id];
  if (!task.facts->required_quota.empty()) return task.facts->required_quota;
  return task.heir_of.valid() ? std::string_view(cluster.quotas()[task.heir_of].name)
                              : std::string_view();
}

LeftKept WithoutPlacesOf(const Quota& quota, std::string_view job, bool place_only) {
  LeftKept left{quota.reserved, {}};
  if (!place_only)
    std::erase_if(left.reserved, [&](const Reservation& one) { return one.job == job; });
  if (!place_only && !left.reserved.empty()) left.kept = quota.kept;
  return left;
}

Resources KeptFor(const Quota& quota, TaskId task) {
  Resources kept;
  for (const Reservation& one : quota.reserved)
    if (one.heir == task) kept += one.request;
  return kept;
}

Resources KeptFromOthers(const Quota& quota, TaskId task) {
  // The heir's own share isn't part of the sum once it is counted as a task.
  const bool counted = std::binary_search(quota.tasks.begin(), quota.tasks.end(), task);
  return counted || quota.reserved.empty() ? quota.reserved_sum
                                           : quota.reserved_sum - KeptFor(quota, task);
}

void Cluster::SetReserved(QuotaId id, std::vector<Reservation> reserved, NodeId kept) {
  Quota& quota = Mutable(id);
  const auto tell = [&](const std::vector<Reservation>& all, QuotaId heir_of) {
    for (const Reservation& one : all) {
      if (!tasks_.Live(one.heir)) continue;
      Mutable(one.heir).heir_of = heir_of;
      // It may be asleep.
      if (const JobId job = tasks_[one.heir].job; job.valid()) Dirty(job);
      moves_.Note(one.heir, tasks_.size());
    }
  };
  tell(quota.reserved, QuotaId{});
  quota.reserved = std::move(reserved);
  tell(quota.reserved, id);
  const NodeId before = std::exchange(quota.kept, kept);
  if (kept.valid()) ++Mutable(kept).refs;
  UnrefNode(before);
  Dirty(id);
}

void Cluster::SetAvoided(NodeId id, ClassId tasks, bool avoided) {
  if (!nodes_.Live(id)) return;
  const auto& list = nodes_[id].avoided;
  if (std::binary_search(list.begin(), list.end(), tasks) == avoided) return;
  Node& node = Mutable(id);
  if (avoided)
    InsertSorted(node.avoided, tasks);
  else
    EraseSorted(node.avoided, tasks);
  node.static_generation = ++static_generation_;
  NoteCells(id, true);
  Dirty(id);
}

}  // namespace sky::model
