// SPDX-License-Identifier: Apache-2.0
// The refusal of a static binding, as both programs read it: the scheduler, which finds a node
// bound beyond what it has and takes the newest static quota off it, writes it on the Quota as the
// condition StaticRefused; the controller that binds statically asks whether it still stands.
// Pure functions of the objects, so that neither needs a memory of its own.
#pragma once

#include "api/core.h"
#include "api/crds.h"

namespace sky::api {

inline constexpr std::string_view kStaticRefused = "StaticRefused";

// It names the node, what that offers of what the quota asks, and the quota's generation.
Condition StaticRefusal(const Quota& quota, const Node& node, WallTime at);
// The quota says that it was refused there, and neither its generation nor what the node offers has
// changed since.
bool StaticRefused(const Quota& quota, const Node& node);
const Condition* FindStaticRefusal(const Quota& quota);  // whether it still stands or not

}  // namespace sky::api
