// SPDX-License-Identifier: Apache-2.0
#include "model/verdict.h"

#include <array>

namespace sky::model {
namespace {

constexpr std::array<std::string_view, static_cast<size_t>(Reason::kCount)> kNames = {
    "",
    "BlockedByJobQueue",
    "JobBlockedByJobQueue",
    "InsufficientQuota",
    "StorageNotReady",
    "PodQuotaAffinityNotMatch",
    "NoPodGroup",
    "PriorityClassNotFound",
    "InvalidObject",
    "NotEnoughPods",
    "QueueNotFound",
    "QueueClosed",
    "QueueCapabilityExceeded",
    "QuotaNotFound",
    "QuotaQueueMismatch",
    "QuotaAffinityNotMatch",
    "StaticNodeNotReady",
    "InsufficientQuotaIdle",
    "InsufficientIdle",
    "WaitingForReleasing",
    "LargerThanPossible",
    "PodSlotsFull",
    "NodeNotReady",
    "NodeUnschedulable",
    "TaintNotTolerated",
    "NodeSelectorMismatch",
    "NodeAffinityMismatch",
    "PodAffinityMismatch",
    "TopologySpreadMismatch",
    "PortConflict",
    "VolumeNotBound",
    "NoTopology",
    "NoZoneFits",
    "ZoneFull",
    "NodeOrderNotMonotone",
    "SpecMismatch",
    "SpotPoolFull",
    "ReclaimNoVictim",
    "EarmarkedForOther",
    "ReservedForOther",
    "PlacementConflict",
    "BindRefused",
    "Backoff",
    "Gated",
};

}  // namespace

std::string_view ReasonName(Reason reason) { return kNames[static_cast<size_t>(reason)]; }

}  // namespace sky::model
