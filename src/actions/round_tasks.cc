// SPDX-License-Identifier: Apache-2.0
// Which tasks a round holds, and what one task adds to a node.
#include <algorithm>
#include <map>

#include "actions/round_tasks.h"
#include "model/budgets.h"

namespace sky::actions {

using model::Cluster;
using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::Resources;
using model::TaskId;
using model::Verdict;

namespace {

// Who is chosen first; among equals the rank decides.
void SortByKey(const framework::Session& session, std::vector<TaskId>& tasks) {
  if (session.task_order.entries.empty()) return;
  struct Keyed {
    expr::OrderKey key;
    size_t place;
    TaskId task;
  };
  std::vector<Keyed> keyed;
  for (const TaskId task : tasks) keyed.push_back({session.KeyOf(task), keyed.size(), task});
  std::sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
    const auto order = expr::CompareKeys(a.key, b.key);
    return order != 0 ? std::is_lt(order) : a.place < b.place;
  });
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i] = keyed[i].task;
}

}  // namespace

std::vector<TaskId> RoundTasks(const framework::Session& session, const model::Job& job) {
  const Cluster& cluster = session.cluster();
  std::vector<TaskId> placeable;
  std::map<std::string_view, int64_t> placed_by_role;
  for (const TaskId id : job.ranked) {
    const model::Task& task = cluster.tasks()[id];
    if (task.placeable()) placeable.push_back(id);
    if (task.bound() || task.claim.open()) ++placed_by_role[task.facts->role];
  }
  for (const TaskId id : job.members)
    if (cluster.tasks()[id].state == model::TaskState::kSucceeded)
      ++placed_by_role[cluster.tasks()[id].facts->role];
  if (placeable.empty()) return {};
  SortByKey(session, placeable);
  if (job.ready >= job.needed) return placeable;
  int64_t missing = int64_t{job.needed} - job.ready;
  std::vector<bool> chosen(placeable.size(), false);
  const auto choose = [&](size_t i) {
    chosen[i] = true;
    --missing;
  };
  // Those for whom a place is kept before others: it is one of theirs that the gang lacks.
  std::vector<size_t> order;
  for (const bool heirs : {true, false})
    for (size_t i = 0; i < placeable.size(); ++i)
      if (cluster.tasks()[placeable[i]].heir_of.valid() == heirs) order.push_back(i);
  // Role minima first, then up to the minimum.
  if (job.object)
    for (const auto& [role, least] : job.object->spec.min_task_member) {
      int64_t lacking = least - placed_by_role[role];
      for (const size_t i : order)
        if (lacking > 0 && cluster.tasks()[placeable[i]].facts->role == role) choose(i), --lacking;
    }
  for (const size_t i : order)
    if (missing > 0 && !chosen[i]) choose(i);
  std::vector<TaskId> tasks;
  for (size_t i = 0; i < placeable.size(); ++i)
    if (chosen[i]) tasks.push_back(placeable[i]);
  return tasks;
}

Resources ChargeGrowth(const Cluster& cluster, TaskId task, QuotaId quota_id) {
  const model::Quota& quota = cluster.quotas()[quota_id];
  Resources after = Resources::Max(quota.request, quota.task_sum + KeptFromOthers(quota, task) +
                                                      cluster.tasks()[task].facts->request);
  if (quota.node.valid() || quota.planned.valid()) after -= quota.charge;
  return after;
}

namespace {

// Of the spot resource no more than its pool and `idle` cards give.
void LimitToPool(const model::Node& node, const model::SpotUse& use, model::SpotMode mode,
                 model::ResourceId resource, model::ResourceId device, Resources& idle) {
  if (mode == model::SpotMode::kNone || !resource.valid()) return;
  const int64_t room = model::SpotRoom(node.pools, use, mode, idle[device]);
  idle.Set(resource, std::min(idle[resource], room));
}

struct SpotNames {
  model::ResourceId resource, device;
};
SpotNames NamesOf(const Cluster& cluster, NodeId id) {
  const model::Node& node = cluster.nodes()[id];
  for (const auto* tasks : {&node.tasks, &node.direct})
    for (const TaskId task : *tasks)
      if (const model::PodFacts& facts = *cluster.tasks()[task].facts; facts.spot_device.valid())
        return {facts.spot_resource, facts.spot_device};
  return {};
}

Verdict FitsDirect(const Cluster& cluster, TaskId task, NodeId id) {
  const model::Node& node = cluster.nodes()[id];
  const model::PodFacts& facts = *cluster.tasks()[task].facts;
  const model::ResourceNames& names = cluster.names().resources;
  Resources idle = node.Free();
  LimitToPool(node, node.spot, facts.spot, facts.spot_resource, facts.spot_device, idle);
  const Resources uses = facts.uses();
  const model::ResourceId missing = model::FirstMissing(uses, idle, names);
  if (!missing.valid()) return Verdict::Fit();
  if (missing == model::ResourceNames::kPods)
    return Verdict::NotNow(Reason::kPodSlotsFull, uses[missing], idle[missing], missing);
  if (model::FirstMissing(uses, SpotIdleWhenEmpty(cluster, id, facts), names).valid())
    return Verdict::Never(missing == facts.spot_resource && node.pools.declared
                              ? Reason::kSpotPoolFull
                              : Reason::kInsufficientIdle,
                          uses[missing], node.allocatable[missing], missing);
  if (missing == facts.spot_resource) {
    const int64_t pool = model::SpotRoom(node.pools, node.spot, facts.spot, INT64_MAX / 2);
    const bool full = node.pools.declared && pool < facts.spot_asked();
    return Verdict::NotNow(full ? Reason::kSpotPoolFull : Reason::kInsufficientIdle, uses[missing],
                           idle[missing], missing);
  }
  const bool leaving = uses[missing] <= idle[missing] + node.releasing[missing];
  return Verdict::NotNow(leaving ? Reason::kWaitingForReleasing : Reason::kInsufficientIdle,
                         uses[missing], idle[missing], missing);
}

// Beside spot pods, which are charged to nobody: what the task uses itself.
Verdict FitsBesideSpot(const Cluster& cluster, TaskId task, const model::Node& node, bool evicts) {
  if (!node.has_spot()) return Verdict::Fit();
  const Resources& asked = cluster.tasks()[task].facts->request;
  const Resources idle = node.Free() + (evicts ? node.evictable : Resources{});
  const model::ResourceId missing = model::FirstMissing(asked, idle, cluster.names().resources);
  if (!missing.valid()) return Verdict::Fit();
  const auto refuse = [&](Reason reason) {
    return Verdict::NotNow(reason, asked[missing], idle[missing], missing);
  };
  if (asked[missing] <= idle[missing] + node.releasing[missing])
    return refuse(Reason::kWaitingForReleasing);
  // Nobody but spot pods is in the way: charges were asked before.
  const bool may_leave = asked[missing] <= node.Free()[missing] + node.evictable[missing];
  return refuse(may_leave ? Reason::kInsufficientIdle : Reason::kReclaimNoVictim);
}

}  // namespace

Resources SpotIdle(const Cluster& cluster, NodeId id, model::SpotMode mode) {
  const model::Node& node = cluster.nodes()[id];
  Resources idle = node.Free();
  const SpotNames names = NamesOf(cluster, id);
  LimitToPool(node, node.spot, mode, names.resource, names.device, idle);
  return idle;
}

Resources SpotIdleWhenEmpty(const Cluster& cluster, NodeId id, const model::PodFacts& facts) {
  const model::Node& node = cluster.nodes()[id];
  Resources idle = node.allocatable;
  LimitToPool(node, {}, facts.spot, facts.spot_resource, facts.spot_device, idle);
  return idle;
}

Verdict FitsRoom(const Cluster& cluster, TaskId task, QuotaId quota, NodeId node_id, bool evicts) {
  if (!quota.valid()) return FitsDirect(cluster, task, node_id);
  const model::Node& node = cluster.nodes()[node_id];
  const Resources growth = ChargeGrowth(cluster, task, quota), room = node.Room();
  const model::ResourceNames& names = cluster.names().resources;
  model::ResourceId missing = model::FirstMissing(growth, room, names);
  // Charged long ago is not enough: where allocatable has fallen below that, nothing more that asks
  // for it may start.
  const Resources& asked = cluster.tasks()[task].facts->request;
  if (!missing.valid()) {
    Resources charged;
    for (const auto& [name, value] : asked)
      if (value > 0) charged.Set(name, node.committed[name] + growth[name]);
    missing = model::FirstMissing(charged, node.allocatable, names);
  }
  if (!missing.valid()) return FitsBesideSpot(cluster, task, node, evicts);
  if (model::FirstMissing(growth, node.allocatable, names).valid())
    return Verdict::Never(Reason::kInsufficientIdle, growth[missing], node.allocatable[missing],
                          missing);
  if (missing == model::ResourceNames::kPods)
    return Verdict::NotNow(Reason::kPodSlotsFull, growth[missing], room[missing], missing);
  const Resources future = room + node.releasing;
  const bool leaving = growth[missing] <= future[missing];
  return Verdict::NotNow(leaving ? Reason::kWaitingForReleasing : Reason::kInsufficientIdle,
                         std::max(growth[missing], asked[missing]), room[missing], missing);
}

Verdict WhyNoRoom(const framework::Session& session, TaskId task, QuotaId quota, NodeId id) {
  const Cluster& cluster = session.cluster();
  Verdict verdict = FitsRoom(cluster, task, quota, id);
  // By the numbers those who may leave would do: may they for this task?
  if (verdict.fit() || verdict.reason != Reason::kInsufficientIdle ||
      !FitsRoom(cluster, task, quota, id, true).fit())
    return verdict;
  const model::Node& node = cluster.nodes()[id];
  Resources given;
  for (const TaskId other : session.Reclaimable(task, model::EvictableOn(cluster, id)))
    given += cluster.tasks()[other].facts->uses();
  for (const auto& [name, value] :
       model::Shortfall(cluster.tasks()[task].facts->request, node.Free()))
    if (given[name] < value) verdict.reason = Reason::kReclaimNoVictim;
  return verdict;
}

void SortByIndex(const Cluster& cluster, std::vector<NodeId>& nodes) {
  std::ranges::sort(nodes, [&](NodeId a, NodeId b) {
    return model::StandsBefore(cluster.nodes()[a], cluster.nodes()[b]);
  });
}

bool AsksAccelerator(const Cluster& cluster, TaskId task) {
  const model::Resources& request = cluster.tasks()[task].facts->request;
  return std::any_of(request.begin(), request.end(), [&](const model::Amount& asked) {
    return asked.value > 0 && cluster.names().resources.IsScalar(asked.name);
  });
}

}  // namespace sky::actions
