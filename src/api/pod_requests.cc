// SPDX-License-Identifier: Apache-2.0
#include "api/pod_requests.h"

#include <algorithm>
#include <string>

#include "api/names.h"

namespace sky::api {
namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kSidecar = "Always";

void Add(const ResourceList& more, ResourceList& sum) {
  for (const auto& [name, amount] : more) {
    Quantity& total = sum[name];
    total = total + amount;
  }
}

void RaiseTo(const ResourceList& least, ResourceList& list) {
  for (const auto& [name, amount] : least) {
    const auto [place, added] = list.try_emplace(name, amount);
    if (!added) place->second = std::max(place->second, amount);
  }
}

bool ResizeInfeasible(const Pod& pod) {
  const auto resize =
      std::ranges::find(pod.status.conditions, "PodResizePending", &Condition::type);
  return resize != pod.status.conditions.end() && resize->reason == "Infeasible";
}

// While a pod is resized in place the kubelet may hold more than the spec asks, and a resize that
// can never happen counts for nothing.
ResourceList Effective(const Pod& pod, const ResourceList& asked,
                       const std::optional<ResourceRequirements>& actual,
                       const ResourceList& allocated) {
  if (!actual) return asked;
  ResourceList requests = ResizeInfeasible(pod) ? ResourceList() : asked;
  RaiseTo(actual->requests, requests);
  RaiseTo(allocated, requests);
  return requests;
}

ResourceList ContainerRequests(const Pod& pod, const Container& container,
                               const std::vector<ContainerStatus>& statuses) {
  const auto status = std::ranges::find(statuses, container.name, &ContainerStatus::name);
  if (status == statuses.end()) return container.resources.requests;
  return Effective(pod, container.resources.requests, status->resources,
                   status->allocated_resources);
}

// Ordinary containers and sidecars run together; an init container runs beside the sidecars that
// were started before it.
ResourceList AllContainers(const Pod& pod) {
  ResourceList running, sidecars, most;
  for (const Container& container : pod.spec.containers)
    Add(ContainerRequests(pod, container, pod.status.container_statuses), running);
  for (const Container& container : pod.spec.init_containers) {
    if (container.restart_policy == kSidecar) {
      const ResourceList own =
          ContainerRequests(pod, container, pod.status.init_container_statuses);
      Add(own, running);
      Add(own, sidecars);
    } else {
      ResourceList together = container.resources.requests;
      Add(sidecars, together);
      RaiseTo(together, most);
    }
  }
  RaiseTo(most, running);
  return running;
}

bool IsPodLevelResource(std::string_view name) {
  return name == kCpu || name == "memory" || name.starts_with("hugepages-");
}

bool Counts(std::string_view name) {
  return name == kCpu || name == "memory" || name == "ephemeral-storage" || IsScalarResource(name);
}

}  // namespace

ResourceList PodRequests(const Pod& pod) {
  ResourceList requests = AllContainers(pod);
  if (const auto& own = pod.spec.resources) {
    const ResourceList effective =
        Effective(pod, own->requests, pod.status.resources, pod.status.allocated_resources);
    for (const auto& [name, amount] : own->requests) {
      if (!IsPodLevelResource(name)) continue;
      const auto it = effective.find(name);
      requests[name] = it == effective.end() ? Quantity() : it->second;
    }
  }
  Add(pod.spec.overhead, requests);

  ResourceList counted;
  for (const auto& [name, amount] : requests) {
    if (amount.IsZero() || !Counts(name)) continue;
    counted.emplace_hint(counted.end(), name,
                         name == kCpu ? Quantity::Milli(amount.MilliValue(), amount.format())
                                      : Quantity::Units(amount.Value(), amount.format()));
  }
  return counted;
}

bool IsScalarResource(std::string_view name) {
  return name.starts_with("hugepages-") || name.starts_with("attachable-volumes-") ||
         name.find("kubernetes.io/") != std::string_view::npos || IsExtendedResource(name);
}

bool IsExtendedResource(std::string_view name) {
  constexpr std::string_view kQuotaPrefix = "requests.";
  if (name.find('/') == std::string_view::npos ||
      name.find("kubernetes.io/") != std::string_view::npos || name.starts_with(kQuotaPrefix))
    return false;
  // Kubernetes asks that the name, with that prefix for its resource quotas, is a qualified name.
  return IsQualifiedName(std::string(kQuotaPrefix).append(name));
}

}  // namespace sky::api
