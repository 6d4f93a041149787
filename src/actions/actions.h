// SPDX-License-Identifier: Apache-2.0
// The steps of a cycle, in their default order:
//   allocateJob   task → quota: plans each waiting job and charges the plan (hop 1)
//   allocateZone  quota → node for jobs with topology, inside their zones (hop 2), gate, commit
//   allocateQuota the same for the others, over all nodes
//   bind          asks once more whether each task may run on its quota's node, gated by JobReady
//   reclaim       asks spot pods to leave where a durable decision needs their room
//   backfill      spot pods: task → node, into what is left
//   releaseQuota  gives back what this cycle could not bring to a node, and says why jobs wait
#pragma once

#include <memory>

#include "framework/plugin.h"

namespace sky::actions {

std::unique_ptr<framework::Action> MakeAllocateJob();
std::unique_ptr<framework::Action> MakeAllocateZone();
std::unique_ptr<framework::Action> MakeAllocateQuota();
std::unique_ptr<framework::Action> MakeBind();
std::unique_ptr<framework::Action> MakeReclaim();
std::unique_ptr<framework::Action> MakeBackfill();
std::unique_ptr<framework::Action> MakeReleaseQuota();

// The only list of actions.
void AddAllActions(framework::Registry& registry);

}  // namespace sky::actions
