// SPDX-License-Identifier: Apache-2.0
#include "model/quota_room.h"

#include <algorithm>

namespace sky::model {

Verdict HasRoom(const Cluster& cluster, TaskId task_id, QuotaId quota_id) {
  const Quota& quota = cluster.quotas()[quota_id];
  if (!quota.usable()) return Verdict::NotNow(Reason::kInsufficientQuota);
  const Resources asked = quota.Limited(cluster.tasks()[task_id].facts->request);
  const ResourceNames& names = cluster.names().resources;
  const Resources limit = quota.limit(), room = limit - quota.task_sum;
  if (const auto name = FirstMissing(asked, limit, names); name.valid())
    return Verdict::Never(Reason::kInsufficientQuota, asked[name], limit[name], name);
  const auto name = FirstMissing(asked, room, names);
  if (!name.valid()) {
    const Resources left = room - quota.Limited(KeptFromOthers(quota, task_id));
    const auto kept = FirstMissing(asked, left, names);
    return kept.valid() ? Verdict::NotNow(Reason::kReservedForOther, asked[kept], left[kept], kept)
                        : Verdict::Fit();
  }
  // Room that a leaving pod still holds comes back by itself.
  const bool leaving = std::any_of(quota.tasks.begin(), quota.tasks.end(),
                                   [&](TaskId id) { return cluster.tasks()[id].facts->deleting; });
  return Verdict::NotNow(leaving ? Reason::kWaitingForReleasing : Reason::kInsufficientQuota,
                         asked[name], room[name], name);
}

Verdict MayTake(const Cluster& cluster, TaskId task_id, QuotaId quota_id) {
  const Task& task = cluster.tasks()[task_id];
  if (!task.job.valid() ||
      !cluster.MayUse(cluster.jobs()[task.job].queue, cluster.quotas()[quota_id]))
    return Verdict::Never(Reason::kQuotaQueueMismatch);
  return HasRoom(cluster, task_id, quota_id);
}

}  // namespace sky::model
