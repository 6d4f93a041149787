// SPDX-License-Identifier: Apache-2.0
// What volumes have to do with rows: who uses which claim, and which jobs are looked at again when
// something about a claim changes.
#include <algorithm>

#include "model/cluster.h"
#include "model/volume_rules.h"

namespace sky::model {

// A job that sleeps is awake when its row is newer.
bool Cluster::ChangeVolumes(const VolumeChange& change) {
  const uint64_t offered = volumes_.offered();
  bool matters = false;
  for (const TaskId user : volumes_.Apply(change)) {
    const Task& task = tasks_[user];
    if (!task.job.valid() || task.bound()) continue;
    Mutable(task.job);
    matters = true;
  }
  return matters || (volumes_.used() && offered != volumes_.offered());
}

// `before` and `after` of one pod; null: there is none.
void Cluster::NoteClaims(TaskId id, const PodFacts* before, const PodFacts* after) {
  if ((before == nullptr || before->claims.empty()) && (after == nullptr || after->claims.empty()))
    return;
  const bool same = before != nullptr && after != nullptr && before->claims == after->claims;
  if (before != nullptr && !same)
    for (const PodClaim& claim : before->claims) volumes_.RemoveUser(claim.key, id);
  if (after != nullptr && !same)
    for (const PodClaim& claim : after->claims) volumes_.AddUser(claim.key, id);
  // A claim for one pod at a time is free for another one when this one ends.
  const bool ends = before != nullptr && !before->terminal && (after == nullptr || after->terminal);
  if (!ends) return;
  for (const PodClaim& claim : before->claims) {
    const VolumeClaim* row = volumes_.FindClaim(claim.key);
    if (row == nullptr || row->object == nullptr || !ForOnePod(*row->object)) continue;
    for (const TaskId other : row->users)
      if (other != id && tasks_[other].job.valid()) Mutable(tasks_[other].job);
  }
}

}  // namespace sky::model
