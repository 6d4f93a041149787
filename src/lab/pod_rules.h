// SPDX-License-Identifier: Apache-2.0
// The parts of pods on the API server: defaults, priority, what may change after creation, how long
// a pod may take to end. Pure, but for looking up priority classes.
#pragma once

#include <vector>

#include "lab/core_rules.h"

namespace sky::lab {

// What a decoder fills in, at each write.
void FillPodDefaults(Json& pod);
Done PreparePod(const Surroundings& around, Json& pod);
std::vector<Cause> CheckPod(const Json& pod, const Json* old);

// The grace that a delete of this pod has, in seconds; `asked` is what the request said. A pod that
// is on no node, or is done, needs none.
int64_t GraceOf(const Json& pod, std::optional<int64_t> asked);

// Sets the condition, and lastTransitionTime when its status changes.
void SetCondition(Json& object, std::string_view type, std::string_view status,
                  std::string_view reason, std::string_view message, WallTime now);

}  // namespace sky::lab
