// SPDX-License-Identifier: Apache-2.0
// Queue.status.specAllocated (SpecResourcePool): what a queue's own quotas add up to, by the code
// of the machines that they are on or may go to. Level-triggered, as the status of a quota is.
#include "cache/cache.h"

namespace sky::cache {

using model::QueueId;
using model::QuotaId;

namespace {

// Where a quota is bound its node says, else its selector; "none": it may go to any.
std::string CodeOf(const model::Cluster& cluster, const model::Quota& quota) {
  model::SpecId spec = quota.spec;
  if (quota.node.valid() && cluster.nodes()[quota.node].exists())
    spec = cluster.nodes()[quota.node].spec;
  return spec.valid() ? std::string(cluster.names().specs.Name(spec)) : "none";
}

api::FlatMap<api::SpecAllocated> PoolsOf(const model::Cluster& cluster, QueueId id) {
  struct Sums {
    model::Resources allocatable, allocated, shadow;
  };
  std::map<std::string, Sums> sums;
  for (const QuotaId quota_id : cluster.queues()[id].quotas) {
    const model::Quota& quota = cluster.quotas()[quota_id];
    // One that is shared with the queue is its owner's.
    if (!quota.exists() || !quota.invalid.empty() ||
        quota.object->spec.queue_name != cluster.queues()[id].name)
      continue;
    Sums& sum = sums[CodeOf(cluster, quota)];
    sum.allocatable += quota.request;
    sum.allocated += quota.Limited(quota.task_sum);
    sum.shadow += quota.shadow;
  }
  api::FlatMap<api::SpecAllocated> pools;
  const model::ResourceNames& names = cluster.names().resources;
  for (const auto& [code, sum] : sums)
    pools.emplace(code, api::SpecAllocated{model::ToList(sum.allocatable, names),
                                           model::ToList(sum.allocated, names),
                                           model::ToList(sum.shadow, names)});
  return pools;
}

}  // namespace

void Cache::NoteQueues(const model::Touched& touched) {
  queue_candidates_.insert(touched.queues.begin(), touched.queues.end());
  const auto note = [&](QuotaId id) {
    if (!cluster_.quotas().Live(id) || !cluster_.quotas()[id].exists()) return;
    const std::string& owner = cluster_.quotas()[id].object->spec.queue_name;
    if (const QueueId queue = cluster_.queues().Find(owner); queue.valid())
      queue_candidates_.insert(queue);
  };
  for (const QuotaId id : touched.quotas) note(id);
  for (const model::NodeId id : touched.nodes)
    if (cluster_.nodes().Live(id))
      for (const QuotaId quota : cluster_.nodes()[id].quotas) note(quota);
}

std::vector<QueuePicture> Cache::TakeStaleQueues() {
  const std::lock_guard lock(mutex_);
  Settle();
  std::vector<QueuePicture> stale;
  for (const QueueId id : std::exchange(queue_candidates_, {})) {
    if (!cluster_.queues().Live(id) || !cluster_.queues()[id].exists()) continue;
    const api::Queue& object = *cluster_.queues()[id].object;
    QueuePicture picture{object.metadata.name, object.metadata.uid, PoolsOf(cluster_, id),
                         object.status.spec_allocated};
    if (picture.want != picture.have) stale.push_back(std::move(picture));
  }
  return stale;
}

void Cache::QueueAgain(const std::string& queue_name) {
  const std::lock_guard lock(mutex_);
  if (const QueueId id = cluster_.queues().Find(queue_name); id.valid())
    queue_candidates_.insert(id);
}

}  // namespace sky::cache
