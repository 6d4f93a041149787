// SPDX-License-Identifier: Apache-2.0
#include "lab/pod_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/names.h"
#include "api/quantity.h"
#include "base/check.h"

namespace sky::lab {
namespace {

void SetDefault(Json& map, const char* name, Json value) {
  if (!map.contains(name) || map[name].is_null()) map[name] = std::move(value);
}

void PrepareContainer(Json& container) {
  if (!container.is_object()) return;
  // An image that may change under its name is asked for each time.
  const std::string image = TextAt(container, {"image"});
  const size_t colon = image.rfind(':');
  const bool tagged = colon != image.npos && image.find('/', colon) == image.npos;
  SetDefault(container, "imagePullPolicy",
             !tagged || image.ends_with(":latest") ? "Always" : "IfNotPresent");
  SetDefault(container, "terminationMessagePath", "/dev/termination-log");
  SetDefault(container, "terminationMessagePolicy", "File");
  Json& resources = MapAt(container, {"resources"});
  // A limit without a request is the request too.
  if (const Json* limits = Find(resources, {"limits"}); limits != nullptr && limits->is_object()) {
    const Json copy = *limits;
    for (const auto& [name, amount] : copy.items())
      SetDefault(MapAt(resources, {"requests"}), name.c_str(), amount);
  }
  if (Json* ports = Find(container, {"ports"}); ports != nullptr && ports->is_array())
    for (Json& port : *ports)
      if (port.is_object()) SetDefault(port, "protocol", "TCP");
}

std::string QosClass(const Json& pod) {
  bool any = false, guaranteed = true;
  for (const char* list : {"containers", "initContainers"}) {
    const Json* containers = Find(pod, {"spec", list});
    if (containers == nullptr) continue;
    for (const Json& container : *containers) {
      const api::StringMap requests = StringsAt(container, {"resources", "requests"});
      const api::StringMap limits = StringsAt(container, {"resources", "limits"});
      for (const char* name : {"cpu", "memory"}) {
        any = any || requests.contains(name) || limits.contains(name);
        guaranteed = guaranteed && limits.contains(name) && requests.contains(name) &&
                     requests.at(name) == limits.at(name);
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

// What the Priority admission plugin does.
Done ResolvePriority(const Surroundings& around, Json& pod) {
  const Resource& classes = *around.resources.Get("scheduling.k8s.io", "v1", "priorityclasses");
  const std::string wanted = TextAt(pod, {"spec", "priorityClassName"});
  std::string name = wanted, policy = "PreemptLowerPriority";
  int64_t priority = 0;
  const auto take = [&](const Json& found) {
    priority = IntAt(found, {"value"}).value_or(0);
    if (const std::string own = TextAt(found, {"preemptionPolicy"}); !own.empty()) policy = own;
  };
  if (!wanted.empty()) {
    const ObjectPtr stored = around.store.Get(classes.stored_as, "", wanted);
    if (stored == nullptr)
      return std::unexpected(Forbidden({"", "pods", "Pod", TextAt(pod, {"metadata", "name"})},
                                       "no PriorityClass with name " + wanted + " was found"));
    take(*ParseJson(stored->text));
  } else {
    const auto all = around.store.ListNow(classes.stored_as, "");
    for (const ObjectPtr& stored : all) {
      const Json document = *ParseJson(stored->text);
      if (!BoolAt(document, {"globalDefault"})) continue;
      name = stored->name;
      take(document);
    }
  }
  Json& spec = MapAt(pod, {"spec"});
  if (!name.empty()) spec["priorityClassName"] = name;
  spec["priority"] = priority;
  SetDefault(spec, "preemptionPolicy", policy);
  return {};
}

void CheckAmounts(const Json& container, const std::string& path, std::vector<Cause>& out) {
  for (const char* kind : {"requests", "limits"}) {
    const Json* amounts = Find(container, {"resources", kind});
    if (amounts == nullptr || !amounts->is_object()) continue;
    for (const auto& [name, amount] : amounts->items()) {
      const std::string field = fmt::format("{}.resources.{}[{}]", path, kind, name);
      const std::string text = amount.is_string() ? amount.get<std::string>() : Dump(amount);
      const auto quantity = api::Quantity::Parse(text);
      if (!quantity)
        out.push_back(InvalidValue(field, amount, quantity.error().message()));
      else if (quantity->IsNegative())
        out.push_back(InvalidValue(field, amount, "must be greater than or equal to 0"));
      else if (name != "cpu" && name != "memory" && name != "ephemeral-storage" &&
               quantity->nanos() % 1'000'000'000 != 0)
        out.push_back(InvalidValue(field, amount, "must be an integer"));
    }
  }
}

void CheckContainers(const Json& pod, const char* list, std::vector<Cause>& out) {
  const std::string path = fmt::format("spec.{}", list);
  const Json* containers = Find(pod, {"spec", list});
  if (containers == nullptr || !containers->is_array()) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < containers->size(); ++i) {
    const Json& container = (*containers)[i];
    const std::string at = fmt::format("{}[{}]", path, i), name = TextAt(container, {"name"});
    if (name.empty())
      out.push_back(Required(at + ".name"));
    else if (!api::IsDnsLabel(name))
      out.push_back(InvalidValue(at + ".name", name, "must be a DNS label"));
    else if (std::ranges::find(names, name) != names.end())
      out.push_back({"FieldValueDuplicate", "Duplicate value: " + Dump(name), at + ".name"});
    if (TextAt(container, {"image"}).empty()) out.push_back(Required(at + ".image"));
    names.push_back(name);
    CheckAmounts(container, at, out);
  }
}

// What may change in the spec of a pod is taken from `old`; what differs after that may not change.
Json WithoutMutable(Json spec, const Json& old) {
  for (const char* list : {"containers", "initContainers"}) {
    Json *now = Find(spec, {list}), before = old.value(list, Json::array());
    if (now == nullptr || now->size() != before.size()) continue;
    for (size_t i = 0; i < now->size(); ++i) CopyAt(before[i], (*now)[i], {"image"});
  }
  for (const std::string_view name :
       {"activeDeadlineSeconds", "tolerations", "schedulingGates", "terminationGracePeriodSeconds"})
    CopyAt(old, spec, {name});
  // Selectors of a gated pod may be narrowed.
  if (const Json* gates = Find(old, {"schedulingGates"}); gates != nullptr && !gates->empty())
    for (const std::string_view name : {"nodeSelector", "affinity"}) CopyAt(old, spec, {name});
  return spec;
}

void CheckPodChange(const Json& pod, const Json& old, std::vector<Cause>& out) {
  const Json spec = pod.value("spec", Json::object()), before = old.value("spec", Json::object());
  if (WithoutMutable(spec, before) != before)
    out.push_back(ForbiddenField(
        "spec",
        "of a pod, only images, activeDeadlineSeconds, terminationGracePeriodSeconds, added "
        "tolerations and removed scheduling gates may change"));
  const Json now_tolerated = spec.value("tolerations", Json::array());
  for (const Json& toleration : before.value("tolerations", Json::array()))
    if (std::ranges::find(now_tolerated, toleration) == now_tolerated.end()) {
      out.push_back(ForbiddenField("spec.tolerations", "existing tolerations may not be removed"));
      break;
    }
  const Json old_gates = before.value("schedulingGates", Json::array());
  for (const Json& gate : spec.value("schedulingGates", Json::array()))
    if (std::ranges::find(old_gates, gate) == old_gates.end())
      out.push_back(ForbiddenField(
          "spec.schedulingGates",
          fmt::format("gates can only be removed, \"{}\" is new", TextAt(gate, {"name"}))));
}

}  // namespace

void FillPodDefaults(Json& pod) {
  Json& spec = MapAt(pod, {"spec"});
  SetDefault(spec, "restartPolicy", "Always");
  SetDefault(spec, "terminationGracePeriodSeconds", 30);
  SetDefault(spec, "dnsPolicy", "ClusterFirst");
  SetDefault(spec, "schedulerName", "default-scheduler");
  SetDefault(spec, "securityContext", Json::object());
  SetDefault(spec, "enableServiceLinks", true);
  for (const char* list : {"containers", "initContainers"})
    if (Json* containers = Find(spec, {list}); containers != nullptr && containers->is_array())
      for (Json& container : *containers) PrepareContainer(container);
}

Done PreparePod(const Surroundings& around, Json& pod) {
  FillPodDefaults(pod);
  TRY(ResolvePriority(around, pod));
  pod["status"] = {{"phase", "Pending"}, {"qosClass", QosClass(pod)}};
  return {};
}

std::vector<Cause> CheckPod(const Json& pod, const Json* old) {
  std::vector<Cause> out;
  const Json* containers = Find(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->empty())
    out.push_back(Required("spec.containers"));
  CheckContainers(pod, "containers", out);
  CheckContainers(pod, "initContainers", out);
  const std::string restart = TextAt(pod, {"spec", "restartPolicy"});
  if (restart != "Always" && restart != "OnFailure" && restart != "Never")
    out.push_back(Unsupported("spec.restartPolicy", restart, {"Always", "OnFailure", "Never"}));
  const Json* gates = Find(pod, {"spec", "schedulingGates"});
  if (gates != nullptr && !gates->empty() && !TextAt(pod, {"spec", "nodeName"}).empty())
    out.push_back(ForbiddenField("spec.nodeName",
                                 "cannot be set until all schedulingGates have been cleared"));
  if (old != nullptr) CheckPodChange(pod, *old, out);
  return out;
}

int64_t GraceOf(const Json& pod, std::optional<int64_t> asked) {
  int64_t grace =
      asked.value_or(IntAt(pod, {"spec", "terminationGracePeriodSeconds"}).value_or(30));
  const std::string phase = TextAt(pod, {"status", "phase"});
  if (TextAt(pod, {"spec", "nodeName"}).empty() || phase == "Succeeded" || phase == "Failed")
    return 0;
  return grace < 0 ? 1 : grace;
}

void SetCondition(Json& object, std::string_view type, std::string_view status,
                  std::string_view reason, std::string_view message, WallTime now) {
  Json& list = MapAt(object, {"status"})["conditions"];
  if (!list.is_array()) list = Json::array();
  auto found = std::ranges::find_if(
      list, [&](const Json& condition) { return TextAt(condition, {"type"}) == type; });
  Json condition = {{"type", type}, {"status", status}, {"lastTransitionTime", FormatTime(now)}};
  if (!reason.empty()) condition["reason"] = reason;
  if (!message.empty()) condition["message"] = message;
  if (found == list.end()) {
    list.push_back(std::move(condition));
    return;
  }
  if (TextAt(*found, {"status"}) == status) CopyAt(*found, condition, {"lastTransitionTime"});
  *found = std::move(condition);
}

}  // namespace sky::lab
