// SPDX-License-Identifier: Apache-2.0
#include "model/begin.h"

namespace sky::model {

std::vector<Verdict> BarsOf(const Cluster& cluster, const Job& job) {
  if (!job.exists()) return {Verdict::NotNow(Reason::kNoPodGroup)};  // nothing else is known of it
  std::vector<Verdict> bars;
  const auto add = [&](bool is, Reason reason) {
    if (is) bars.push_back(Verdict::NotNow(reason));
  };
  add(!job.invalid.empty(), Reason::kInvalidObject);
  add(job.object && job.object->metadata.deleting(), Reason::kNoPodGroup);
  add(job.priority_class_missing, Reason::kPriorityClassNotFound);
  const QueueBar bar = FindQueueBar(cluster, job.queue);
  add(bar.reason != Reason::kNone, bar.reason);
  return bars;
}

Verdict MayBegin(const Cluster& cluster, const Job& job) {
  const std::vector<Verdict> bars = BarsOf(cluster, job);
  return bars.empty() ? Verdict::Fit() : bars.front();
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
