// SPDX-License-Identifier: Apache-2.0
// What the plugin rescheduling does once in a while; each adds to the plan, and nothing where that
// would gain nothing. Pure: nothing but the plan is changed.
#pragma once

#include "plugins/rescheduling/moves.h"

namespace sky::plugins {

// lowNodeUtilization: from nodes that use more than their target to those that have room to give,
// until they don't, or no further.
void Balance(const framework::Session& session, const Levels& levels, Moves& moves);

// clearEarmarks: off nodes that are kept for a gang that waits, where that lets one more of its
// members start.
void ClearEarmarks(const framework::Session& session, Moves& moves);

}  // namespace sky::plugins
