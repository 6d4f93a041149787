// SPDX-License-Identifier: Apache-2.0
// What a pod asks of a node (KEP-753 sidecars, KEP-2837 pod-level resources, overhead, in-place
// resize), by the rules that kube-scheduler 1.36 uses. cpu is rounded up to milli, everything else
// to whole units.
#pragma once

#include <string_view>

#include "api/pod.h"

namespace sky::api {

// One amount a name; names that kube-scheduler ignores (bare unknown ones) are left out. No pod
// slot.
ResourceList PodRequests(const Pod& pod);

// hugepages-*, attachable-volumes-*, names with "kubernetes.io/", extended resources.
bool IsScalarResource(std::string_view name);
// Contains "/", is not in kubernetes.io and has no "requests." prefix.
bool IsExtendedResource(std::string_view name);

}  // namespace sky::api
