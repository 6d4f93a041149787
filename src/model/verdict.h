// SPDX-License-Identifier: Apache-2.0
// A scheduling answer: how bad, why, who says so, and two numbers for the reader ("asked 8, has
// 3"). No prose here; diagnose/ writes the sentence. The lattice is Fit < NotNow < Never < Error:
// the worst of several answers is their maximum.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/resources.h"

namespace sky::model {

// The closed vocabulary; docs/reasons.md explains each.
enum class Reason : uint8_t {
  kNone,
  kBlockedByJobQueue,
  kJobBlockedByJobQueue,
  kInsufficientQuota,
  kStorageNotReady,
  kPodQuotaAffinityNotMatch,
  kNoPodGroup,
  kPriorityClassNotFound,
  kInvalidObject,
  kNotEnoughPods,
  kQueueNotFound,
  kQueueClosed,
  kQueueCapabilityExceeded,
  kQuotaNotFound,
  kQuotaQueueMismatch,
  kQuotaAffinityNotMatch,
  kStaticNodeNotReady,
  kInsufficientQuotaIdle,
  kInsufficientIdle,
  kWaitingForReleasing,
  kLargerThanPossible,
  kPodSlotsFull,
  kNodeNotReady,
  kNodeUnschedulable,
  kTaintNotTolerated,
  kNodeSelectorMismatch,
  kNodeAffinityMismatch,
  kPodAffinityMismatch,
  kTopologySpreadMismatch,
  kPortConflict,
  kVolumeNotBound,
  kNoTopology,
  kNoZoneFits,
  kZoneFull,
  kNodeOrderNotMonotone,
  kSpecMismatch,
  kSpotPoolFull,
  kReclaimNoVictim,
  kEarmarkedForOther,
  kReservedForOther,
  kPlacementConflict,
  kBindRefused,
  kBackoff,
  kGated,
  kCount,
};

// "InsufficientQuota"; "" for kNone.
std::string_view ReasonName(Reason reason);

enum class Severity : uint8_t { kFit, kNotNow, kNever, kError };

struct Verdict {
  Severity severity = Severity::kFit;
  Reason reason = Reason::kNone;
  ResourceId resource;  // for the reasons about room
  int64_t wanted = 0, have = 0;

  bool fit() const { return severity == Severity::kFit; }
  bool operator==(const Verdict&) const = default;

  static Verdict Fit() { return {}; }
  static Verdict NotNow(Reason reason, int64_t wanted = 0, int64_t have = 0,
                        ResourceId resource = {}) {
    return {Severity::kNotNow, reason, resource, wanted, have};
  }
  static Verdict Never(Reason reason, int64_t wanted = 0, int64_t have = 0,
                       ResourceId resource = {}) {
    return {Severity::kNever, reason, resource, wanted, have};
  }
};

}  // namespace sky::model
