// SPDX-License-Identifier: Apache-2.0
// Labels and annotations that the system reads and writes; docs/keys.md says what each means.
#pragma once

#include <string_view>

namespace sky::api::key {

inline constexpr std::string_view kQuotaName = "scheduling.infini-ai.com/quota-name";
inline constexpr std::string_view kRequiredQuota = "scheduling.infini-ai.com/required-quota";
inline constexpr std::string_view kInheritResourceFrom =
    "scheduling.infini-ai.com/inherit-resource-from";
inline constexpr std::string_view kGroupName = "scheduling.infini-ai.com/group-name";
inline constexpr std::string_view kEnableTopologyScheduling =
    "scheduling.infini-ai.com/enable-topology-scheduling";
inline constexpr std::string_view kTopologyAffinityKey =
    "scheduling.infini-ai.com/topology-affinity-key";
inline constexpr std::string_view kTopologyPlacement =
    "scheduling.infini-ai.com/topology-placement";
inline constexpr std::string_view kMaxZones = "scheduling.infini-ai.com/max-zones";
inline constexpr std::string_view kTaskRole = "scheduling.infini-ai.com/task-role";
inline constexpr std::string_view kTaskIndex = "scheduling.infini-ai.com/task-index";
inline constexpr std::string_view kTaskOrder = "scheduling.infini-ai.com/task-order";
inline constexpr std::string_view kRdmaTopologyKey = "scheduling.infini-ai.com/rdma-topology-key";
inline constexpr std::string_view kNodeIndex = "scheduling.infini-ai.com/node-index";
inline constexpr std::string_view kZone = "zone";  // a label of NodeTopology
inline constexpr std::string_view kZoneSource = "scheduling.infini-ai.com/zone-source";
inline constexpr std::string_view kReservationTTL = "scheduling.infini-ai.com/reservation-ttl";
inline constexpr std::string_view kSpotPools = "scheduling.infini-ai.com/spot-pools";
inline constexpr std::string_view kSpotMode = "scheduling.infini-ai.com/spot-mode";
inline constexpr std::string_view kOnPartialStart = "scheduling.infini-ai.com/on-partial-start";
inline constexpr std::string_view kRequiredMountPoints =
    "scheduling.infini-ai.com/required-mount-points";
inline constexpr std::string_view kPodQuotaAffinity = "scheduling.infini-ai.com/pod-quota-affinity";
// On a claim whose node we chose: the UID of the pod for which.
inline constexpr std::string_view kNodeSelectedFor = "scheduling.infini-ai.com/node-selected-for";
// Kubernetes' own, on claims and volumes.
inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";
inline constexpr std::string_view kStorageClass = "volume.beta.kubernetes.io/storage-class";
inline constexpr std::string_view kInUseFinalizer = "scheduling.infini-ai.com/in-use";

}  // namespace sky::api::key
