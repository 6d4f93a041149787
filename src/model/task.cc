// SPDX-License-Identifier: Apache-2.0
#include "model/task.h"

#include <array>

namespace sky::model {
namespace {

constexpr size_t kStates = 12;
constexpr std::array<std::string_view, kStates> kStateNames = {
    "Pending", "Gated",   "AllocatedToQuota", "Allocated", "Pipelined", "Binding",
    "Bound",   "Running", "Releasing",        "Succeeded", "Failed",    "Unknown"};

constexpr uint32_t Bit(TaskState state) { return 1u << static_cast<unsigned>(state); }

// A pod can end or be deleted from anywhere, and be seen bound by another hand; those arrows are
// common.
constexpr uint32_t kFromOutside = Bit(TaskState::kReleasing) | Bit(TaskState::kSucceeded) |
                                  Bit(TaskState::kFailed) | Bit(TaskState::kUnknown) |
                                  Bit(TaskState::kBound) | Bit(TaskState::kRunning);

constexpr uint32_t Next(TaskState from) {
  switch (from) {
    case TaskState::kPending:
      return Bit(TaskState::kAllocatedToQuota) | Bit(TaskState::kAllocated) |
             Bit(TaskState::kGated) | Bit(TaskState::kPipelined) | kFromOutside;
    case TaskState::kGated:
      return Bit(TaskState::kPending) | kFromOutside;
    case TaskState::kAllocatedToQuota:
      return Bit(TaskState::kAllocated) | Bit(TaskState::kPipelined) | Bit(TaskState::kPending) |
             kFromOutside;
    case TaskState::kAllocated:
      return Bit(TaskState::kBinding) | Bit(TaskState::kAllocatedToQuota) |
             Bit(TaskState::kPending) | kFromOutside;
    case TaskState::kPipelined:
      return Bit(TaskState::kAllocated) | Bit(TaskState::kAllocatedToQuota) |
             Bit(TaskState::kPending) | kFromOutside;
    case TaskState::kBinding:
      return Bit(TaskState::kAllocated) | Bit(TaskState::kPending) | kFromOutside;
    case TaskState::kBound:
      return kFromOutside;
    case TaskState::kRunning:
      return kFromOutside & ~Bit(TaskState::kBound);
    case TaskState::kReleasing:
      return Bit(TaskState::kSucceeded) | Bit(TaskState::kFailed);
    case TaskState::kSucceeded:
    case TaskState::kFailed:
      return Bit(TaskState::kReleasing);
    case TaskState::kUnknown:
      return kFromOutside;
  }
  return 0;
}

}  // namespace

std::string_view TaskStateName(TaskState state) { return kStateNames[static_cast<size_t>(state)]; }

bool LegalTransition(TaskState from, TaskState to) {
  return from == to || (Next(from) & Bit(to)) != 0;
}

}  // namespace sky::model
