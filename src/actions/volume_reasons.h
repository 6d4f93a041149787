// SPDX-License-Identifier: Apache-2.0
// When volumes are why a job waits: before a search that can't succeed, and after one that didn't.
// The predicate says no to one pair; people need to know which claim. Pure.
#pragma once

#include "framework/session.h"

namespace sky::actions {

// A member of the next round has a claim with which it can run nowhere: no node is looked at.
bool VolumesMissing(const framework::Session& session, model::JobId job, framework::Refusals& why);
// No place was found, for the reasons in `why`: where volumes are in the way of a member, that
// comes first.
void NameVolumes(const framework::Session& session, model::JobId job, framework::Refusals& why);

}  // namespace sky::actions
