// SPDX-License-Identifier: Apache-2.0
#include "model/begin.h"

namespace sky::model {

Verdict MayBegin(const Cluster& cluster, const Job& job) {
  if (!job.exists()) return Verdict::NotNow(Reason::kNoPodGroup);
  if (!job.invalid.empty()) return Verdict::NotNow(Reason::kInvalidObject);
  if (job.object && job.object->metadata.deleting()) return Verdict::NotNow(Reason::kNoPodGroup);
  if (job.priority_class_missing) return Verdict::NotNow(Reason::kPriorityClassNotFound);
  const QueueBar bar = FindQueueBar(cluster, job.queue);
  return bar.reason == Reason::kNone ? Verdict::Fit() : Verdict::NotNow(bar.reason);
}

QueueBar FindQueueBar(const Cluster& cluster, QueueId queue) {
  if (!cluster.queues()[queue].exists()) return {Reason::kQueueNotFound, queue};
  if (!QueueTrouble(cluster, queue).empty()) return {Reason::kInvalidObject, queue};
  for (const QueueId id : QueueChain(cluster, queue)) {
    const Queue& row = cluster.queues()[id];
    if (!row.exists()) return {Reason::kQueueNotFound, id};
    const std::string& state = row.object->status.state;
    if (state == "Closed" || state == "Closing" || row.object->metadata.deleting())
      return {Reason::kQueueClosed, id};
  }
  return {};
}

}  // namespace sky::model
