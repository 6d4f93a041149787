// SPDX-License-Identifier: Apache-2.0
#include "api/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace sky::api {
namespace {

using Types = std::tuple<Pod, Node, Lease, Event, PodDisruptionBudget, PriorityClass, PodGroup,
                         Queue, Quota, JobQueue, NodeTopology, Placement, QuotaSet,
                         PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode>;

// In the order of Types.
constexpr std::array<Kind, std::tuple_size_v<Types>> kKinds = {{
    {"", "v1", "Pod", "pods", "pod", "po", true, true},
    {"", "v1", "Node", "nodes", "node", "no", false, true},
    {"coordination.k8s.io", "v1", "Lease", "leases", "lease", "", true, false},
    {"events.k8s.io", "v1", "Event", "events", "event", "ev", true, false},
    {"policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget", "pdb",
     true, true},
    {"scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass", "pc", false,
     false},
    {kGroup, kVersion, "PodGroup", "podgroups", "podgroup", "pg", true, true},
    {kGroup, kVersion, "Queue", "queues", "queue", "", false, true},
    {kGroup, kVersion, "Quota", "quotas", "quota", "qo", false, true},
    {kGroup, kVersion, "JobQueue", "jobqueues", "jobqueue", "", true, true},
    {kGroup, kVersion, "NodeTopology", "nodetopologies", "nodetopology", "", false, true},
    {kGroup, kVersion, "Placement", "placements", "placement", "", true, false},
    {kGroup, kVersion, "QuotaSet", "quotasets", "quotaset", "qs", false, true},
    {"", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim", "pvc",
     true, true},
    {"", "v1", "PersistentVolume", "persistentvolumes", "persistentvolume", "pv", false, true},
    {"storage.k8s.io", "v1", "StorageClass", "storageclasses", "storageclass", "sc", false, false},
    {"storage.k8s.io", "v1", "CSINode", "csinodes", "csinode", "", false, false},
}};

template <class T, size_t I = 0>
constexpr size_t IndexOf() {
  if constexpr (std::is_same_v<T, std::tuple_element_t<I, Types>>) {
    return I;
  } else {
    return IndexOf<T, I + 1>();
  }
}

void AppendSegment(std::string_view segment, std::string& path) {
  path += '/';
  for (const char c : segment) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      path += c;
    } else {
      path += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
}

}  // namespace

std::string Kind::ApiVersion() const {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

std::string Kind::Path(std::string_view ns, std::string_view name) const {
  std::string path =
      group.empty() ? fmt::format("/api/{}", version) : fmt::format("/apis/{}/{}", group, version);
  if (namespaced && !ns.empty()) {
    path += "/namespaces";
    AppendSegment(ns, path);
  }
  AppendSegment(plural, path);
  if (!name.empty()) AppendSegment(name, path);
  return path;
}

template <class T>
const Kind& KindOf() {
  return kKinds[IndexOf<T>()];
}

template const Kind& KindOf<Pod>();
template const Kind& KindOf<Node>();
template const Kind& KindOf<Lease>();
template const Kind& KindOf<Event>();
template const Kind& KindOf<PodDisruptionBudget>();
template const Kind& KindOf<PriorityClass>();
template const Kind& KindOf<PodGroup>();
template const Kind& KindOf<Queue>();
template const Kind& KindOf<Quota>();
template const Kind& KindOf<JobQueue>();
template const Kind& KindOf<NodeTopology>();
template const Kind& KindOf<Placement>();
template const Kind& KindOf<QuotaSet>();
template const Kind& KindOf<PersistentVolumeClaim>();
template const Kind& KindOf<PersistentVolume>();
template const Kind& KindOf<StorageClass>();
template const Kind& KindOf<CSINode>();

std::span<const Kind> AllKinds() { return kKinds; }

const Kind* FindKind(std::string_view group, std::string_view plural) {
  const auto it = std::ranges::find_if(
      kKinds, [&](const Kind& kind) { return kind.group == group && kind.plural == plural; });
  return it == kKinds.end() ? nullptr : &*it;
}

}  // namespace sky::api
