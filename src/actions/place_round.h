// SPDX-License-Identifier: Apache-2.0
// Hop 2 of one round: its quotas go to the nodes of the plan, one gate decides over all of it, then
// the commit. What fails is undone, and the job says why.
#pragma once

#include "framework/session.h"

namespace sky::actions {

void PlaceRound(framework::Session& session, framework::JobRound& round);

}  // namespace sky::actions
