// SPDX-License-Identifier: Apache-2.0
// Which tasks a round holds, and what one task adds to a node. Pure.
#pragma once

#include <vector>

#include "framework/session.h"

namespace sky::actions {

// The tasks that the next round of a job places: up to its minimum while it is short of it, else
// its extras, each of which may be placed alone. By task order, then rank.
std::vector<model::TaskId> RoundTasks(const framework::Session& session, const model::Job& job);

// What the task would add to the charges of the quota's node.
model::Resources ChargeGrowth(const model::Cluster& cluster, model::TaskId task,
                              model::QuotaId quota);
// Does it fit what may really be placed there, and if not, why: pod slots, something leaving, or no
// room? An invalid quota: the task goes there itself. `evicts`: room that spot pods would have to
// give back counts.
model::Verdict FitsRoom(const model::Cluster& cluster, model::TaskId task, model::QuotaId quota,
                        model::NodeId node, bool evicts = false);
// Why the task has no room there now. Nothing but spot pods in the way of whom not enough may leave
// for it is a reason of its own.
model::Verdict WhyNoRoom(const framework::Session& session, model::TaskId task,
                         model::QuotaId quota, model::NodeId node);

// What is idle for spot pods of `mode` (kNone: for others): of the spot resource as much as its
// pool and free cards give.
model::Resources SpotIdle(const model::Cluster& cluster, model::NodeId node, model::SpotMode mode);
// The same if nobody ran there.
model::Resources SpotIdleWhenEmpty(const model::Cluster& cluster, model::NodeId node,
                                   const model::PodFacts& facts);

// Physical order.
void SortByIndex(const model::Cluster& cluster, std::vector<model::NodeId>& nodes);

// Does it ask a device, or anything else that is counted in pieces?
bool AsksAccelerator(const model::Cluster& cluster, model::TaskId task);

}  // namespace sky::actions
