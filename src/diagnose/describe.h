// SPDX-License-Identifier: Apache-2.0
// Reasons as sentences for people: the only place where a verdict becomes prose. Bounded in length,
// with numbers and names but no times, so that an unchanged situation gives an unchanged text
// (F52).
#pragma once

#include <string>
#include <string_view>

#include "framework/plan.h"
#include "model/cluster.h"

namespace sky::diagnose {

// What stands beside the main reason wherever that has a field of its own:
// "roce#S1 has room for 3 of 4 (InsufficientIdle nvidia.com/gpu on 5, NodeNotReady on 1)"
// "its host port is taken (on 1, NodeUnschedulable on 3)". May be empty.
std::string Describe(const framework::Refusals& why, const model::Names& names);

// Where it has none: "ZoneFull: roce#S1 has room for 3 of 4".
std::string WithReason(std::string_view reason, std::string_view words);

// "8", or "16Gi" where it is bytes.
std::string AmountText(int64_t amount, model::ResourceId id, const model::Names& names);

// "asks 8 nvidia.com/gpu, 3 left"; "" when the verdict holds no numbers.
std::string Numbers(const model::Verdict& verdict, const model::Names& names);

}  // namespace sky::diagnose
