// SPDX-License-Identifier: Apache-2.0
#include "diagnose/step.h"

namespace sky::diagnose {

std::string_view StepName(Step step) {
  switch (step) {
    case Step::kEnqueue:
      return "enqueue";
    case Step::kAllocateJob:
      return "allocateJob";
    case Step::kAllocateZone:
      return "allocateZone";
    case Step::kAllocateQuota:
      return "allocateQuota";
    case Step::kBind:
      return "bind";
    case Step::kReclaim:
      return "reclaim";
  }
  return "";
}

Step StepOf(model::Reason reason) {
  using model::Reason;
  // Without a default: the compiler asks about a reason that is new.
  switch (reason) {
    case Reason::kNone:
    case Reason::kCount:
    case Reason::kBlockedByJobQueue:
    case Reason::kJobBlockedByJobQueue:
    case Reason::kStorageNotReady:
    case Reason::kNoPodGroup:
    case Reason::kPriorityClassNotFound:
    case Reason::kInvalidObject:
    case Reason::kNotEnoughPods:
    case Reason::kQueueNotFound:
    case Reason::kQueueClosed:
    case Reason::kQueueCapabilityExceeded:
    case Reason::kGated:
      return Step::kEnqueue;
    case Reason::kInsufficientQuota:
    case Reason::kPodQuotaAffinityNotMatch:
    case Reason::kQuotaNotFound:
    case Reason::kQuotaQueueMismatch:
      return Step::kAllocateJob;
    case Reason::kLargerThanPossible:
    case Reason::kNoTopology:
    case Reason::kNoZoneFits:
    case Reason::kZoneFull:
    case Reason::kNodeOrderNotMonotone:
    case Reason::kSpecMismatch:
      return Step::kAllocateZone;
    case Reason::kQuotaAffinityNotMatch:
    case Reason::kStaticNodeNotReady:
    case Reason::kInsufficientQuotaIdle:
    case Reason::kInsufficientIdle:
    case Reason::kWaitingForReleasing:
    case Reason::kPodSlotsFull:
    case Reason::kNodeNotReady:
    case Reason::kNodeUnschedulable:
    case Reason::kTaintNotTolerated:
    case Reason::kNodeSelectorMismatch:
    case Reason::kNodeAffinityMismatch:
    case Reason::kPodAffinityMismatch:
    case Reason::kTopologySpreadMismatch:
    case Reason::kPortConflict:
    case Reason::kVolumeNotBound:
    case Reason::kEarmarkedForOther:
    case Reason::kReservedForOther:
      return Step::kAllocateQuota;
    case Reason::kPlacementConflict:
    case Reason::kBindRefused:
    case Reason::kBackoff:
      return Step::kBind;
    case Reason::kSpotPoolFull:
    case Reason::kReclaimNoVictim:
      return Step::kReclaim;
  }
  return Step::kEnqueue;
}

}  // namespace sky::diagnose
