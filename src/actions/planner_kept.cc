// SPDX-License-Identifier: Apache-2.0
// Places that quotas keep for members that the gang lost. Their successors demand them as if by
// name; here is what happens when that can't be.
#include <algorithm>

#include "actions/planner.h"

namespace sky::actions {

using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::TaskId;

namespace {

// A node that is there and well, and doesn't take such a pod: waiting for it is no use.
bool Barred(const framework::Session& session, TaskId task, NodeId id) {
  const model::Node& node = session.cluster().nodes()[id];
  if (!node.exists() || !node.ready) return false;
  switch (session.task_to_node.Feasible(task, id).reason) {
    case Reason::kNodeUnschedulable:
    case Reason::kTaintNotTolerated:
    case Reason::kNodeSelectorMismatch:
    case Reason::kNodeAffinityMismatch:
    case Reason::kBindRefused:
      return true;
    default:
      return false;
  }
}

// Of a node that bars its heir a quota keeps no place.
void LiftBarred(const framework::Session& session, framework::JobRound& round, TaskId task) {
  const model::Cluster& cluster = session.cluster();
  const QuotaId id = cluster.tasks()[task].heir_of;
  if (!id.valid()) return;
  const model::Quota& quota = cluster.quotas()[id];
  if (quota.kept.valid() && quota.tasks.empty() && Barred(session, task, quota.kept))
    round.statement.LiftReservation(id, cluster.jobs()[round.job].name, true);
}

size_t ZonesOf(const framework::Plan& plan) {
  std::set<model::ZoneId> zones;
  for (const framework::PlannedTask& entry : plan.tasks)
    if (entry.zone.valid()) zones.insert(entry.zone);
  return zones.size();
}

}  // namespace

// While somebody of the gang runs, what is kept is where the others go back to; only of a node that
// bars them they take the quota alone (F31). When nobody does, the gang goes back as a whole or
// anywhere in fewer zones, and then nothing is kept for it any more (F36).
bool Planner::MakeKept(std::span<const TaskId> tasks) {
  const size_t start = round_.statement.Savepoint();
  const model::Job& job = cluster_.jobs()[round_.job];
  const auto undo = [&] {
    round_.statement.RollBackTo(start);
    round_.plan.tasks.clear();
  };
  std::set<QuotaId> kept;
  bool runs = false;
  for (const TaskId member : job.ranked) {
    const model::Task& task = cluster_.tasks()[member];
    runs = runs || task.bound();
    if (task.heir_of.valid()) kept.insert(task.heir_of);
  }
  const auto go_back = [&] {
    for (const TaskId task : tasks) LiftBarred(session_, round_, task);
    return MakeWhole(tasks);
  };
  const bool back = go_back();
  if (kept.empty() || (back && (runs || ZonesOf(round_.plan) <= 1))) return back;
  const size_t zones = back ? ZonesOf(round_.plan) : SIZE_MAX;
  undo();
  want_ = {};  // time alone may change what is kept
  if (runs) return false;
  const framework::Refusals why = std::exchange(round_.plan.why, {});
  for (const QuotaId quota : kept) round_.statement.LiftReservation(quota, job.name, false);
  more_.reset();
  if (MakeWhole(tasks) && ZonesOf(round_.plan) < zones) return true;
  undo();
  want_ = {};
  if (!back) return false;
  round_.plan.why = why;
  more_.reset();
  return go_back();
}

}  // namespace sky::actions
