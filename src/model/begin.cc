// SPDX-License-Identifier: Apache-2.0
#include "model/begin.h"

namespace sky::model {

Verdict MayBegin(const Cluster& cluster, const Job& job) {
  if (!job.exists()) return Verdict::NotNow(Reason::kNoPodGroup);
  if (!job.invalid.empty()) return Verdict::NotNow(Reason::kInvalidObject);
  if (job.object && job.object->metadata.deleting()) return Verdict::NotNow(Reason::kNoPodGroup);
  if (job.priority_class_missing) return Verdict::NotNow(Reason::kPriorityClassNotFound);
  const Queue& queue = cluster.queues()[job.queue];
  if (!queue.exists()) return Verdict::NotNow(Reason::kQueueNotFound);
  if (!cluster.QueueTrouble(job.queue).empty()) return Verdict::NotNow(Reason::kInvalidObject);
  if (queue.object->status.state == "Closed" || queue.object->status.state == "Closing" ||
      queue.object->metadata.deleting())
    return Verdict::NotNow(Reason::kQueueClosed);
  return Verdict::Fit();
}

}  // namespace sky::model
