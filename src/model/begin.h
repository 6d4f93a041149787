// SPDX-License-Identifier: Apache-2.0
// Whether a job of which nobody runs may begin at all, by its group, its class, its queue and the
// queues above it. Asked before it is planned, when an older decision is judged, and before its
// first binding. Pure.
#pragma once

#include <vector>

#include "model/cluster.h"

namespace sky::model {

// All that bars it, what decides first.
std::vector<Verdict> BarsOf(const Cluster& cluster, const Job& job);
Verdict MayBegin(const Cluster& cluster, const Job& job);

// What about its queue keeps a job from beginning, and which queue that is: its own, or one above.
struct QueueBar {
  Reason reason = Reason::kNone;  // kNone: nothing
  QueueId queue;
};
QueueBar FindQueueBar(const Cluster& cluster, QueueId queue);

}  // namespace sky::model
