// SPDX-License-Identifier: Apache-2.0
#include "lab/table_cells.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "lab/table.h"

namespace sky::lab {
namespace {

std::string Age(const Json& object, WallTime now) {
  return AgeOf(TextAt(object, {"metadata", "creationTimestamp"}), now);
}

std::string OrNone(std::string text) { return text.empty() ? "<none>" : text; }

std::string Shown(const Json* value, std::string_view absent) {
  if (value == nullptr || value->is_null()) return std::string(absent);
  return value->is_string() ? value->get<std::string>() : Dump(*value);
}

const Json* FindCondition(const Json& object, std::string_view type) {
  const Json* conditions = Find(object, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return nullptr;
  for (const Json& condition : *conditions)
    if (TextAt(condition, {"type"}) == type) return &condition;
  return nullptr;
}

// "1/2" of the gates that a pod names are open; "<none>" without any.
std::string GatesText(const Json& pod) {
  const Json* gates = Find(pod, {"spec", "readinessGates"});
  if (gates == nullptr || !gates->is_array() || gates->empty()) return "<none>";
  size_t open = 0;
  for (const Json& gate : *gates) {
    const Json* condition = FindCondition(pod, TextAt(gate, {"conditionType"}));
    open += condition != nullptr && TextAt(*condition, {"status"}) == "True" ? 1 : 0;
  }
  return fmt::format("{}/{}", open, gates->size());
}

std::string PodStatusText(const Json& pod) {
  std::string text = TextAt(pod, {"status", "phase"});
  if (const std::string reason = TextAt(pod, {"status", "reason"}); !reason.empty()) text = reason;
  if (const Json* gates = Find(pod, {"spec", "schedulingGates"});
      gates != nullptr && !gates->empty() && TextAt(pod, {"spec", "nodeName"}).empty())
    text = "SchedulingGated";
  if (text == "Succeeded") text = "Completed";
  if (Find(pod, {"metadata", "deletionTimestamp"}) != nullptr) text = "Terminating";
  return text;
}

Json PodCells(const Json& pod, WallTime now) {
  size_t ready = 0;
  int64_t restarts = 0;
  if (const Json* statuses = Find(pod, {"status", "containerStatuses"}))
    for (const Json& status : *statuses) {
      ready += BoolAt(status, {"ready"}) ? 1 : 0;
      restarts += IntAt(status, {"restartCount"}).value_or(0);
    }
  const Json* containers = Find(pod, {"spec", "containers"});
  return {TextAt(pod, {"metadata", "name"}),
          fmt::format("{}/{}", ready, containers == nullptr ? 0 : containers->size()),
          PodStatusText(pod),
          std::to_string(restarts),
          Age(pod, now),
          OrNone(TextAt(pod, {"status", "podIP"})),
          OrNone(TextAt(pod, {"spec", "nodeName"})),
          OrNone(TextAt(pod, {"status", "nominatedNodeName"})),
          GatesText(pod)};
}

Json NodeCells(const Json& node, WallTime now) {
  const Json* ready = FindCondition(node, "Ready");
  std::string status = ready == nullptr                       ? "Unknown"
                       : TextAt(*ready, {"status"}) == "True" ? "Ready"
                                                              : "NotReady";
  if (BoolAt(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  static constexpr std::string_view kRole = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [key, value] : StringsAt(node, {"metadata", "labels"}))
    if (key.starts_with(kRole)) roles.push_back(key.substr(kRole.size()));
  const auto address_of = [&](std::string_view type) {
    std::string found;
    if (const Json* addresses = Find(node, {"status", "addresses"}))
      for (const Json& address : *addresses)
        if (TextAt(address, {"type"}) == type) found = TextAt(address, {"address"});
    return OrNone(std::move(found));
  };
  const auto info = [&](std::string_view name) {
    const std::string text = TextAt(node, {"status", "nodeInfo", name});
    return text.empty() ? "<unknown>" : text;
  };
  return {TextAt(node, {"metadata", "name"}),
          status,
          roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ",")),
          Age(node, now),
          TextAt(node, {"status", "nodeInfo", "kubeletVersion"}),
          address_of("InternalIP"),
          address_of("ExternalIP"),
          info("osImage"),
          info("kernelVersion"),
          info("containerRuntimeVersion")};
}

Json EventCells(const Json& stored, WallTime now) {
  std::string first = TextAt(stored, {"firstTimestamp"}), last = TextAt(stored, {"lastTimestamp"});
  const std::string event_time = TextAt(stored, {"eventTime"});
  if (first.empty()) first = event_time;
  if (const std::string series = TextAt(stored, {"series", "lastObservedTime"}); !series.empty())
    last = series;
  if (last.empty()) last = event_time;
  const Json* count = Find(stored, {"series", "count"});
  if (count == nullptr) count = Find(stored, {"count"});
  std::string kind = TextAt(stored, {"involvedObject", "kind"});
  for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::string source = TextAt(stored, {"source", "component"});
  if (source.empty()) source = TextAt(stored, {"reportingComponent"});
  return {AgeOf(last, now),
          TextAt(stored, {"type"}),
          TextAt(stored, {"reason"}),
          fmt::format("{}/{}", kind, TextAt(stored, {"involvedObject", "name"})),
          TextAt(stored, {"involvedObject", "fieldPath"}),
          source,
          TextAt(stored, {"message"}),
          AgeOf(first, now),
          Shown(count, "1"),
          TextAt(stored, {"metadata", "name"})};
}

}  // namespace

std::string AgeOf(std::string_view time, WallTime now) {
  const auto at = ParseTime(time);
  return at ? HumanAge(now - *at) : "<unknown>";
}

Json BuiltInCells(const Resource& resource, const Json& object, WallTime now) {
  const std::string name = TextAt(object, {"metadata", "name"});
  const std::string age = Age(object, now);
  if (resource.IsPod()) return PodCells(object, now);
  if (resource.IsNode()) return NodeCells(object, now);
  if (resource.plural == "events") return EventCells(object, now);
  if (resource.plural == "namespaces") return {name, TextAt(object, {"status", "phase"}), age};
  if (resource.plural == "leases") return {name, TextAt(object, {"spec", "holderIdentity"}), age};
  if (resource.plural == "poddisruptionbudgets")
    return {name, Shown(Find(object, {"spec", "minAvailable"}), "N/A"),
            Shown(Find(object, {"spec", "maxUnavailable"}), "N/A"),
            IntAt(object, {"status", "disruptionsAllowed"}).value_or(0), age};
  if (resource.plural == "priorityclasses")
    return {name, IntAt(object, {"value"}).value_or(0), BoolAt(object, {"globalDefault"}), age,
            TextAt(object, {"preemptionPolicy"})};
  if (resource.plural == "persistentvolumeclaims")
    return {name, TextAt(object, {"status", "phase"}), TextAt(object, {"spec", "volumeName"}),
            TextAt(object, {"spec", "storageClassName"}), age};
  if (resource.plural == "persistentvolumes")
    return {name, TextAt(object, {"status", "phase"}),
            fmt::format("{}/{}", TextAt(object, {"spec", "claimRef", "namespace"}),
                        TextAt(object, {"spec", "claimRef", "name"})),
            TextAt(object, {"spec", "storageClassName"}), age};
  if (resource.plural == "storageclasses")
    return {name, TextAt(object, {"provisioner"}), TextAt(object, {"volumeBindingMode"}), age};
  if (resource.plural == "configmaps") {
    const Json* data = Find(object, {"data"});
    return {name, std::to_string(data == nullptr ? 0 : data->size()), age};
  }
  if (resource.plural == "customresourcedefinitions")
    return {name, TextAt(object, {"metadata", "creationTimestamp"})};
  return {name, age};
}

}  // namespace sky::lab
