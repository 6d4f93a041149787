// SPDX-License-Identifier: Apache-2.0
// What a quota itself says to a task: whose it is, and how much of it is left. This holds whatever
// is configured, because the commit, recovery and healing go by it; plugins say more. Pure.
#pragma once

#include "model/cluster.h"

namespace sky::model {

// Usable, with room in what it lists (request + shadow) beside its tasks and what it keeps for
// others.
Verdict HasRoom(const Cluster& cluster, TaskId task, QuotaId quota);

// Of the job's queue, or shared with it, and with room.
Verdict MayTake(const Cluster& cluster, TaskId task, QuotaId quota);

}  // namespace sky::model
