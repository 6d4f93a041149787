// SPDX-License-Identifier: Apache-2.0
// The last steps of one round of this cycle. What fails is undone, and the job says why.
#pragma once

#include <cstdint>
#include <span>

#include "framework/session.h"

namespace sky::actions {

// Hop 2: its quotas go to the nodes of the plan, one gate decides over all of it, then the
// commit. True: it was committed.
bool PlaceRound(framework::Session& session, framework::JobRound& round);

// After its commit: its claims are asked once more whether each may run where it is, and the
// bindings go if the gang is ready. `tasks`: all of the round.
void ReleaseRound(framework::Session& session, uint64_t round,
                  std::span<const model::TaskId> tasks);

}  // namespace sky::actions
