// SPDX-License-Identifier: Apache-2.0
#include "lab/core_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/names.h"
#include "lab/meta_rules.h"
#include "lab/own_rules.h"
#include "lab/pod_rules.h"

namespace sky::lab {
namespace {

void PrepareNamespace(Json& document) {
  const std::string name = TextAt(document, {"metadata", "name"});
  MapAt(document, {"metadata", "labels"})["kubernetes.io/metadata.name"] = name;
  MapAt(document, {"spec"})["finalizers"] = Json::array({"kubernetes"});
  document["status"] = {{"phase", "Active"}};
}

// A namespace must be there, and not on its way out, before something is made in it.
Done AdmitToNamespace(const Call& call, const Surroundings& around) {
  if (!call.resource->namespaced) return {};
  const Resource& namespaces = *around.resources.Get("", "v1", "namespaces");
  const ObjectPtr found = around.store.Get(namespaces.stored_as, "", call.ns);
  if (found == nullptr) return std::unexpected(NotFound({"", "namespaces", "Namespace", call.ns}));
  if (!found->deleting) return {};
  Failure failure =
      Forbidden(call.about(),
                fmt::format("namespace \"{}\" is being deleted and takes nothing new", call.ns));
  failure.causes = {{"NamespaceTerminating", "namespace " + call.ns + " is being terminated",
                     "metadata.namespace"}};
  return std::unexpected(std::move(failure));
}

void CheckLease(const Json& lease, std::vector<Cause>& out) {
  if (const auto seconds = IntAt(lease, {"spec", "leaseDurationSeconds"}); seconds && *seconds <= 0)
    out.push_back(InvalidValue("spec.leaseDurationSeconds", *seconds, "must be greater than 0"));
  if (const auto count = IntAt(lease, {"spec", "leaseTransitions"}); count && *count < 0)
    out.push_back(
        InvalidValue("spec.leaseTransitions", *count, "must be greater than or equal to 0"));
  for (const std::string_view name : {"acquireTime", "renewTime"})
    if (const std::string text = TextAt(lease, {"spec", name}); !text.empty() && !ParseTime(text))
      out.push_back(InvalidValue(fmt::format("spec.{}", name), text, "must be an RFC 3339 time"));
}

// Of an event only its series goes on.
void CheckEventChange(const Json& event, const Json& old, std::vector<Cause>& out) {
  for (const std::string_view name :
       {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
        "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance"})
    if (!SameAt(event, old, {name})) {
      const Json* now = Find(event, {name});
      out.push_back(
          InvalidValue(std::string(name), now == nullptr ? Json() : *now, "field is immutable"));
    }
}

// Events are checked in their stored form; the names are those of events.k8s.io. What only the new
// form asks for is asked for when eventTime is set.
void CheckEvent(const Resource& resource, const Json& event, const Json* old,
                std::vector<Cause>& out) {
  if (resource.IsEventsV1() && old != nullptr) CheckEventChange(event, *old, out);
  const std::string ns = TextAt(event, {"metadata", "namespace"});
  const std::string about = TextAt(event, {"involvedObject", "namespace"});
  const bool timed = !TextAt(event, {"eventTime"}).empty();
  if (about.empty() ? (ns != "default" && ns != "kube-system") : !timed && about != ns)
    out.push_back(
        InvalidValue("involvedObject.namespace", about, "does not match event.namespace"));
  if (!timed) {
    if (resource.IsEventsV1()) out.push_back(Required("eventTime"));
    return;
  }
  if (!ParseTime(TextAt(event, {"eventTime"})))
    out.push_back(
        InvalidValue("eventTime", TextAt(event, {"eventTime"}), "must be an RFC 3339 time"));
  if (!api::IsQualifiedName(TextAt(event, {"reportingComponent"})))
    out.push_back(Required("reportingController", "a qualified name"));
  struct Bound {
    const char *field, *shown;
    size_t limit;
  };
  for (const auto& [field, shown, limit] :
       {Bound{"reportingInstance", "reportingInstance", 128}, Bound{"action", "action", 128},
        Bound{"reason", "reason", 128}}) {
    const std::string text = TextAt(event, {field});
    if (text.empty()) out.push_back(Required(shown));
    if (text.size() > limit) out.push_back(TooLong(shown, limit));
  }
  if (const std::string note = TextAt(event, {"message"}); note.size() > 1024)
    out.push_back(TooLong("note", 1024));
  const std::string type = TextAt(event, {"type"});
  if (type != "Normal" && type != "Warning")
    out.push_back(Unsupported("type", type, {"Normal", "Warning"}));
}

void CheckBudget(const Json& budget, std::vector<Cause>& out) {
  const Json* least = Find(budget, {"spec", "minAvailable"});
  const Json* most = Find(budget, {"spec", "maxUnavailable"});
  if (least != nullptr && most != nullptr)
    out.push_back(InvalidValue("spec", *Find(budget, {"spec"}),
                               "minAvailable and maxUnavailable cannot be both set"));
  for (const auto& [name, value] :
       {std::pair("minAvailable", least), std::pair("maxUnavailable", most)}) {
    if (value == nullptr) continue;
    const bool percent = value->is_string() && value->get_ref<const std::string&>().ends_with('%');
    if (!percent && !(value->is_number_integer() && *value >= 0))
      out.push_back(InvalidValue(fmt::format("spec.{}", name), *value,
                                 "must be a whole number from 0 on, or a percentage"));
  }
}

void CheckPriorityClass(const Json& document, const Json* old, std::vector<Cause>& out) {
  const auto value = IntAt(document, {"value"});
  if (!value) out.push_back(Required("value"));
  if (value && *value > 1'000'000'000 &&
      !TextAt(document, {"metadata", "name"}).starts_with("system-"))
    out.push_back(ForbiddenField("value", "values above 1000000000 are for the system"));
  if (old != nullptr && !SameAt(document, *old, {"value"}))
    out.push_back(ForbiddenField("value", "may not be changed in an update."));
}

void CheckNode(const Json& node, std::vector<Cause>& out) {
  const Json* taints = Find(node, {"spec", "taints"});
  if (taints == nullptr || !taints->is_array()) return;
  for (size_t i = 0; i < taints->size(); ++i) {
    const Json& taint = (*taints)[i];
    const std::string at = fmt::format("spec.taints[{}]", i), effect = TextAt(taint, {"effect"});
    if (!api::IsQualifiedName(TextAt(taint, {"key"})))
      out.push_back(InvalidValue(at + ".key", TextAt(taint, {"key"}), "must be a qualified name"));
    if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")
      out.push_back(
          Unsupported(at + ".effect", effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
  }
}

}  // namespace

Done PrepareCreate(const Call& call, const Surroundings& around, Json& document) {
  TRY(AdmitToNamespace(call, around));
  const Resource& resource = *call.resource;
  if (resource.custom && resource.has_status) document.erase("status");
  if (resource.IsPod()) return PreparePod(around, document);
  if (resource.is("", "namespaces")) PrepareNamespace(document);
  if (resource.plural == "poddisruptionbudgets" && !resource.custom)
    document["status"] = {{"currentHealthy", 0},
                          {"desiredHealthy", 0},
                          {"disruptionsAllowed", 0},
                          {"expectedPods", 0}};
  if (resource.is("", "persistentvolumeclaims") || resource.is("", "persistentvolumes")) {
    document["status"] = {{"phase", "Pending"}};
    if (Find(document, {"spec", "volumeMode"}) == nullptr)
      MapAt(document, {"spec"})["volumeMode"] = "Filesystem";
  }
  if (resource.is("storage.k8s.io", "storageclasses") && !document.contains("volumeBindingMode"))
    document["volumeBindingMode"] = "Immediate";
  if (resource.plural == "priorityclasses" && !document.contains("preemptionPolicy"))
    document["preemptionPolicy"] = "PreemptLowerPriority";
  return {};
}

void PrepareUpdate(const Call& call, const Json& old, Json& document) {
  const Resource& resource = *call.resource;
  if (resource.IsPod()) {
    FillPodDefaults(document);
    for (const std::string_view name :
         {"priority", "preemptionPolicy"})  // resolved when it was made
      if (Find(document, {"spec", name}) == nullptr) CopyAt(old, document, {"spec", name});
  }
  if (!resource.has_status || !(call.IsMain() || call.IsStatus())) return;
  if (call.IsMain()) return CopyAt(old, document, {"status"});
  Json kept = old;
  CopyAt(document, kept, {"status"});
  // The status endpoint of built-in kinds takes labels and annotations too.
  if (!resource.custom)
    for (const std::string_view name : {"labels", "annotations"})
      CopyAt(document, kept, {"metadata", name});
  CopyAt(document, kept, {"metadata", "managedFields"});
  document = std::move(kept);
}

std::vector<Cause> Check(const Resource& resource, const Json& document, const Json* old) {
  std::vector<Cause> out = CheckMetadata(resource, document, old);
  if (resource.schema != nullptr) {
    const std::vector<Cause> wrong = resource.schema->Check(document);
    out.insert(out.end(), wrong.begin(), wrong.end());
    // CEL runs only on what the schema lets through.
    if (out.empty()) CheckOwnKind(resource, document, out);
    return out;
  }
  if (resource.IsPod()) {
    const std::vector<Cause> wrong = CheckPod(document, old);
    out.insert(out.end(), wrong.begin(), wrong.end());
  }
  if (resource.IsNode()) CheckNode(document, out);
  if (resource.plural == "customresourcedefinitions" &&
      (old == nullptr || !SameAt(document, *old, {"spec"})))
    out.push_back(ForbiddenField(
        "spec", "the embedded server knows the kinds that it was started with, and no others"));
  if (resource.plural == "leases") CheckLease(document, out);
  if (resource.plural == "events") CheckEvent(resource, document, old, out);
  if (resource.plural == "poddisruptionbudgets") CheckBudget(document, out);
  if (resource.plural == "priorityclasses") CheckPriorityClass(document, old, out);
  return out;
}

bool MayUpdateUnconditionally(const Resource& resource) {
  return !resource.custom && resource.plural != "leases" &&
         resource.plural != "poddisruptionbudgets";
}

}  // namespace sky::lab
