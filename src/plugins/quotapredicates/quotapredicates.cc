// SPDX-License-Identifier: Apache-2.0
#include "plugins/quotapredicates/quotapredicates.h"

#include <algorithm>

#include "api/selectors.h"
#include "framework/session.h"
#include "model/quota_room.h"

namespace sky::plugins {
namespace {

using framework::Reads;
using model::Cluster;
using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::Resources;
using model::TaskId;
using model::Verdict;

// Its queue's own, or shared with it; a demanded quota that isn't either says so.
Verdict InQueue(const Cluster& cluster, TaskId task_id, QuotaId quota_id) {
  const model::Task& task = cluster.tasks()[task_id];
  const model::Quota& quota = cluster.quotas()[quota_id];
  if (!task.job.valid() || !cluster.MayUse(cluster.jobs()[task.job].queue, quota))
    return Verdict::Never(Reason::kQuotaQueueMismatch);
  const std::string_view demanded = model::DemandOf(cluster, task_id);
  if (!demanded.empty() && demanded != quota.name) return Verdict::Never(Reason::kQuotaNotFound);
  return Verdict::Fit();
}

// NodeToBeScheduled: the node to which a quota is bound statically, or to be bound, can take tasks.
bool StaticNodeReady(const Cluster& cluster, const model::Quota& quota) {
  if (!quota.static_node.valid()) return true;
  const model::Node& node = cluster.nodes()[quota.static_node];
  if (quota.node.valid() ? quota.node != quota.static_node : node.forsaken) return true;
  return node.exists() && node.ready;
}

// A quota limits only the names that it lists.
Verdict TakesTask(const Cluster& cluster, TaskId task, QuotaId quota) {
  if (cluster.quotas()[quota].usable() && !StaticNodeReady(cluster, cluster.quotas()[quota]))
    return Verdict::NotNow(Reason::kStaticNodeNotReady);
  return model::HasRoom(cluster, task, quota);
}

// On their static node, or to go there, then bound to any other, then free; inside a tier the one
// that the task fills best.
int64_t TierScore(const Cluster& cluster, TaskId task_id, QuotaId quota_id) {
  const model::Quota& quota = cluster.quotas()[quota_id];
  int64_t fill = 100;
  for (const model::ResourceId name : quota.listed) {
    const int64_t limit = quota.request[name];
    if (limit <= 0) continue;
    const int64_t used =
        std::min(quota.task_sum[name] + cluster.tasks()[task_id].facts->request[name], limit);
    // Amounts may be near the end of int64: divide first where a product could overflow.
    fill = std::min(fill, limit > INT64_MAX / 100 ? used / (limit / 100) : used * 100 / limit);
  }
  const bool is_static = quota.static_node.valid() &&
                         (quota.node.valid() ? quota.node == quota.static_node
                                             : !cluster.nodes()[quota.static_node].forsaken);
  const int64_t tier = is_static ? 70 : quota.node.valid() ? 40 : 0;
  return tier + std::clamp<int64_t>(fill, 0, 100) * 30 / 100;
}

Verdict SelectsNode(const Cluster& cluster, QuotaId quota_id, NodeId node_id) {
  const model::Node& node = cluster.nodes()[node_id];
  const auto& object = cluster.quotas()[quota_id].object;
  if (!node.exists() || !object) return Verdict::NotNow(Reason::kNodeNotReady);
  // One that is to be bound statically has one candidate, as long as it may be waited for.
  if (const NodeId fixed = cluster.quotas()[quota_id].static_node;
      fixed.valid() && fixed != node_id && !cluster.nodes()[fixed].forsaken)
    return Verdict::NotNow(cluster.nodes()[fixed].usable() ? Reason::kNodeSelectorMismatch
                                                           : Reason::kStaticNodeNotReady);
  return api::MatchesNode(object->spec.node_selector, nullptr, node.name,
                          node.object->metadata.labels)
             ? Verdict::Fit()
             : Verdict::NotNow(Reason::kNodeSelectorMismatch);
}

Verdict FitsQuotaIdle(const Cluster& cluster, QuotaId quota_id, NodeId node_id) {
  const model::Quota& quota = cluster.quotas()[quota_id];
  const model::Node& node = cluster.nodes()[node_id];
  if (quota.node == node_id) return Verdict::Fit();  // it is there already, and counted
  const Resources idle = node.QuotaIdle();
  const model::ResourceId missing =
      model::FirstMissing(quota.request, idle, cluster.names().resources);
  if (!missing.valid()) return Verdict::Fit();
  // More than there ever was: nobody's leaving helps.
  const model::ResourceId never =
      model::FirstMissing(quota.request, node.allocatable, cluster.names().resources);
  if (never.valid())
    return Verdict::Never(Reason::kInsufficientQuotaIdle, quota.request[never], idle[never], never);
  // Shares whose tasks are all on their way out come back by themselves.
  int64_t returning = 0;
  for (const QuotaId other : node.quotas) {
    const std::vector<TaskId>& tasks = cluster.quotas()[other].tasks;
    const bool leaves = std::all_of(tasks.begin(), tasks.end(), [&](TaskId task) {
      return cluster.tasks()[task].facts->deleting;
    });
    if (leaves && !tasks.empty()) returning += cluster.quotas()[other].request[missing];
  }
  const bool wait = returning > 0 && quota.request[missing] <= idle[missing] + returning;
  return Verdict::NotNow(wait ? Reason::kWaitingForReleasing : Reason::kInsufficientQuotaIdle,
                         quota.request[missing], idle[missing], missing);
}

// Every quota of the round can still carry its tasks.
bool QuotasHold(const Cluster& cluster, const framework::JobRound& round,
                framework::Refusals& why) {
  for (const framework::PlannedTask& entry : round.plan.tasks) {
    if (!entry.quota.valid()) continue;
    const model::Quota& quota = cluster.quotas()[entry.quota];
    // The task is counted by it already.
    const Resources asked = quota.Limited(cluster.tasks()[entry.task].facts->request);
    const Resources kept = model::KeptFromOthers(quota, entry.task);
    const Resources room = quota.limit() - quota.task_sum - kept + asked;
    if (quota.usable() && model::Fits(asked, room, cluster.names().resources)) continue;
    why.Add(Verdict::NotNow(Reason::kInsufficientQuota));
    return false;
  }
  return true;
}

// Does the queue, or one above it, have less left of its capability than is asked?
bool BeyondCapability(const Cluster& cluster, model::QueueId queue, const Resources& more,
                      framework::Refusals& why) {
  const model::ResourceNames& names = cluster.names().resources;
  for (const model::QueueId id : QueueChain(cluster, queue)) {
    const model::Queue& row = cluster.queues()[id];
    Resources asked, left;
    for (const model::ResourceId name : row.capped) {
      asked.Set(name, more[name]);
      left.Set(name, row.capability[name] - cluster.uses().Of(id).below[name]);
    }
    const model::ResourceId missing = model::FirstMissing(asked, left, names);
    if (!missing.valid()) continue;
    const model::ResourceId never = model::FirstMissing(asked, row.capability, names);
    why.Add(never.valid() ? Verdict::Never(Reason::kQueueCapabilityExceeded, asked[never],
                                           row.capability[never], never)
                          : Verdict::NotNow(Reason::kQueueCapabilityExceeded, asked[missing],
                                            left[missing], missing));
    why.who = fmt::format("queue {}{}", row.name, never.valid() ? ", when empty" : "");
    return true;
  }
  return false;
}

// Those of its own queue, and of queues that don't keep theirs.
std::vector<TaskId> ThatQueuesGive(const Cluster& cluster, TaskId comes,
                                   std::span<const TaskId> candidates) {
  const auto queue_of = [&](TaskId task) {
    const model::JobId job = cluster.tasks()[task].job;
    return job.valid() ? cluster.jobs()[job].queue : model::QueueId{};
  };
  std::vector<TaskId> given;
  for (const TaskId task : candidates)
    if (const model::QueueId queue = queue_of(task);
        !queue.valid() || queue == queue_of(comes) || cluster.queues()[queue].reclaimable())
      given.push_back(task);
  std::ranges::sort(given);
  return given;
}

}  // namespace

void QuotaPredicates::OnSessionOpen(framework::Session& session) {
  const Cluster& cluster = session.cluster();
  session.task_to_quota.select.Add(
      "quotapredicates", [&](TaskId task, QuotaId quota) { return InQueue(cluster, task, quota); });
  session.task_to_quota.AddPredicate(
      "quotapredicates", Reads::kNodeDynamic,
      [&](TaskId task, QuotaId quota) { return TakesTask(cluster, task, quota); });
  session.task_to_quota.n_order.Add("quotapredicates", [&](TaskId task, QuotaId quota) {
    return TierScore(cluster, task, quota);
  });
  session.quota_to_node.select.Add("quotapredicates", [&](QuotaId quota, NodeId node) {
    return SelectsNode(cluster, quota, node);
  });
  session.quota_to_node.AddPredicate(
      "quotapredicates", Reads::kNodeDynamic,
      [&](QuotaId quota, NodeId node) { return FitsQuotaIdle(cluster, quota, node); });
  session.quota_ready.Add("quotapredicates",
                          [&](const framework::JobRound& round, framework::Refusals& why) {
                            return QuotasHold(cluster, round, why);
                          });
  session.reclaimable.Add("quotapredicates", [&](TaskId task, std::span<const TaskId> candidates) {
    return ThatQueuesGive(cluster, task, candidates);
  });
  session.overused.Add("quotapredicates",
                       [&](model::QueueId queue, const Resources& more, framework::Refusals& why) {
                         return BeyondCapability(cluster, queue, more, why);
                       });
}

framework::PluginKind QuotaPredicates::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<QuotaPredicates>();
          },
          {},
          {"taskToQuota.select", "taskToQuota.predicate", "taskToQuota.nOrder",
           "quotaToNode.select", "quotaToNode.predicate", "quotaReady", "reclaimable", "overused"}};
}

}  // namespace sky::plugins
