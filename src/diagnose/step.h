// SPDX-License-Identifier: Apache-2.0
// The FitAction ladder: the steps that a job climbs from waiting to running, and the step at which
// each reason holds it. Pure.
#pragma once

#include <array>
#include <string_view>

#include "model/verdict.h"

namespace sky::diagnose {

enum class Step : uint8_t {
  kEnqueue,        // may it be planned at all
  kAllocateJob,    // hop 1: its tasks get quotas
  kAllocateZone,   // the cells that may hold it together
  kAllocateQuota,  // hop 2: the quotas get nodes
  kBind,           // the decision is written and carried out
  kReclaim,        // others make room for it
};

inline constexpr std::array<Step, 6> kLadder = {Step::kEnqueue,      Step::kAllocateJob,
                                                Step::kAllocateZone, Step::kAllocateQuota,
                                                Step::kBind,         Step::kReclaim};

std::string_view StepName(Step step);  // "allocateZone"

// Where a job stands that is refused for this reason; kEnqueue for kNone.
Step StepOf(model::Reason reason);

}  // namespace sky::diagnose
