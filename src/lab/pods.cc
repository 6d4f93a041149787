// SPDX-License-Identifier: Apache-2.0
#include "lab/pods.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "api/selectors.h"
#include "lab/pod_rules.h"

namespace sky::lab {
namespace {

server::Response Created() {
  server::Response response;
  response.status = 201;
  response.body = Dump({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", Json::object()},
                        {"status", "Success"},
                        {"code", 201}}) +
                  "\n";
  return response;
}

bool IsTerminal(const Json& pod) {
  const std::string phase = TextAt(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool IsReady(const Json& pod) {
  const Json* conditions = Find(pod, {"status", "conditions"});
  return conditions != nullptr && conditions->is_array() &&
         std::ranges::any_of(*conditions, [](const Json& condition) {
           return TextAt(condition, {"type"}) == "Ready" && TextAt(condition, {"status"}) == "True";
         });
}

// A budget is not asked for a pod that runs nothing.
bool NeedsNoBudget(const Json& pod) {
  return IsTerminal(pod) || TextAt(pod, {"status", "phase"}) == "Pending" ||
         Find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool Selects(const Object& budget, const Object& pod) {
  if (budget.ns != pod.ns) return false;
  const auto decoded = api::Decode<api::PodDisruptionBudget>(budget.text);
  return decoded && decoded->spec.selector && api::Matches(*decoded->spec.selector, pod.labels);
}

Failure OverBudget(const Object& budget, const Json& document) {
  Failure failure =
      TooManyRequests("this eviction would go below the disruption budget of the pod", 0);
  failure.causes = {{"DisruptionBudget",
                     fmt::format("budget {} needs {} healthy pods and has {}", budget.name,
                                 IntAt(document, {"status", "desiredHealthy"}).value_or(0),
                                 IntAt(document, {"status", "currentHealthy"}).value_or(0)),
                     ""}};
  return failure;
}

// "3" or "50%" of `total`, percentages rounded up.
int64_t Scaled(const Json& value, int64_t total) {
  if (value.is_number_integer()) return value.get<int64_t>();
  int64_t percent = 0;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::from_chars(text.data(), text.data() + text.size(), percent);
  }
  return (percent * total + 99) / 100;
}

}  // namespace

void Pods::CopyTopology(const std::string& node, Json& pod) const {
  const Resource& nodes = *resources_.Get("", "v1", "nodes");
  const ObjectPtr stored = store_.Get(nodes.stored_as, "", node);
  if (stored == nullptr) return;
  for (const char* key : {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
    if (const auto found = stored->labels.find(key); found != stored->labels.end())
      MapAt(pod, {"metadata", "labels"})[key] = found->second;
}

Answered<server::Response> Pods::Bind(const Call& call) {
  std::vector<std::string> duplicates;
  const Json binding = TRY(Writer::Body(call, duplicates));
  if (TextAt(binding, {"metadata", "name"}) != call.name)
    return std::unexpected(BadRequest("name in URL does not match name in Binding object"));
  const std::string node = TextAt(binding, {"target", "name"});
  const std::string target_kind = TextAt(binding, {"target", "kind"});
  const About about{"", "pods/binding", "Binding", call.name};
  if (!target_kind.empty() && target_kind != "Node")
    return std::unexpected(
        Invalid(about, {Unsupported("target.kind", target_kind, {"Node", "<empty>"})}));
  if (node.empty()) return std::unexpected(Invalid(about, {Required("target.name")}));
  TRY(writer_.Modify(call, [&](const Json& old) -> Answered<Json> {
    const auto conflict = [&](std::string_view why) {
      return std::unexpected(Conflict({"", "pods/binding", "Binding", call.name}, why));
    };
    for (const auto& [name, what] :
         {std::pair("uid", "uid"), std::pair("resourceVersion", "resourceVersion")}) {
      const std::string wanted = TextAt(binding, {"metadata", name});
      const std::string is = TextAt(old, {"metadata", name});
      if (!wanted.empty() && wanted != is)
        return conflict(
            fmt::format("the {} in the precondition is {}, the pod's {}", what, wanted, is));
    }
    if (Find(old, {"metadata", "deletionTimestamp"}) != nullptr)
      return conflict(
          fmt::format("pod {} is being deleted, cannot be assigned to a host", call.name));
    const std::string bound = TextAt(old, {"spec", "nodeName"});
    if (!bound.empty())
      return conflict(fmt::format("pod {} is already assigned to node \"{}\"", call.name, bound));
    if (const Json* gates = Find(old, {"spec", "schedulingGates"});
        gates != nullptr && !gates->empty())
      return conflict(fmt::format("pod {} has non-empty .spec.schedulingGates", call.name));
    Json pod = old;
    pod["spec"]["nodeName"] = node;
    CopyTopology(node, pod);
    for (const char* map : {"annotations", "labels"})
      for (const auto& [key, value] : StringsAt(binding, {"metadata", map}))
        MapAt(pod, {"metadata", map})[key] = value;
    SetCondition(pod, "PodScheduled", "True", "", "", clock_.Wall());
    Erase(pod, {"status", "nominatedNodeName"});
    return pod;
  }));
  return Created();
}

Answered<ObjectPtr> Pods::BudgetOf(const Call& call, const Object& pod) const {
  const Resource& budgets = *resources_.Get("policy", "v1", "poddisruptionbudgets");
  const auto listed = store_.ListNow(budgets.stored_as, call.ns);
  ObjectPtr found;
  for (const ObjectPtr& budget : listed) {
    if (!Selects(*budget, pod)) continue;
    if (found != nullptr)
      return std::unexpected(InternalError("more than one disruption budget selects this pod"));
    found = budget;
  }
  return found;
}

Done Pods::SpendBudget(const Call& call, const Json& pod, const Object& budget) {
  Json document = Parsed(budget);
  const auto status = [&](const char* name) {
    return IntAt(document, {"status", name}).value_or(0);
  };
  // A pod that isn't ready is no loss while enough others are.
  if (!IsReady(pod)) {
    const bool always = TextAt(document, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow";
    if (always ||
        (status("currentHealthy") >= status("desiredHealthy") && status("desiredHealthy") > 0))
      return {};
  }
  if (status("observedGeneration") < IntAt(document, {"metadata", "generation"}).value_or(0))
    return std::unexpected(TooManyRequests("the disruption budget has not been counted yet", 10));
  if (status("disruptionsAllowed") <= 0) return std::unexpected(OverBudget(budget, document));
  if (call.dry_run) return {};
  document["status"]["disruptionsAllowed"] = status("disruptionsAllowed") - 1;
  MapAt(document, {"status", "disruptedPods"})[call.name] = FormatTime(clock_.Wall());
  writer_.Overwrite(*resources_.Get("policy", "v1", "poddisruptionbudgets"), std::move(document));
  return {};
}

Answered<server::Response> Pods::Evict(const Call& call) {
  std::vector<std::string> duplicates;
  const Json eviction = TRY(Writer::Body(call, duplicates));
  if (const std::string name = TextAt(eviction, {"metadata", "name"});
      !name.empty() && name != call.name)
    return std::unexpected(
        BadRequest(fmt::format("the body names \"{}\", the path \"{}\"", name, call.name)));
  DeleteOptions options;
  options.grace_seconds = IntAt(eviction, {"deleteOptions", "gracePeriodSeconds"});
  options.uid = TextAt(eviction, {"deleteOptions", "preconditions", "uid"});
  options.resource_version =
      TextAt(eviction, {"deleteOptions", "preconditions", "resourceVersion"});
  Call deletion = call;
  const std::vector<std::string> dry_run = TextsAt(eviction, {"deleteOptions", "dryRun"});
  deletion.dry_run = call.dry_run || std::ranges::find(dry_run, "All") != dry_run.end();

  const ObjectPtr stored = store_.Get(call.resource->stored_as, call.ns, call.name);
  if (stored == nullptr) return std::unexpected(NotFound(call.about()));
  // The precondition comes before the budget, so that a wrong uid spends nothing.
  if ((!options.uid.empty() && options.uid != stored->uid) ||
      (!options.resource_version.empty() &&
       options.resource_version != std::to_string(stored->revision)))
    return std::unexpected(Conflict(call.about(), "the pod is not the one of the precondition"));
  const Json pod = Parsed(*stored);
  if (clock_.Mono() > call.deadline)
    return std::unexpected(TimedOut("the request did not complete within its timeout"));
  if (!NeedsNoBudget(pod)) {
    const ObjectPtr budget = TRY(BudgetOf(call, *stored));
    if (budget != nullptr) TRY(SpendBudget(deletion, pod, *budget));
  }
  // What stands in the pod tells it from a plain delete.
  if (!deletion.dry_run && GraceOf(pod, options.grace_seconds) > 0) {
    Json marked = pod;
    SetCondition(marked, "DisruptionTarget", "True", "EvictionByEvictionAPI",
                 "evicted through the API", clock_.Wall());
    writer_.Overwrite(*call.resource, std::move(marked));
    options.resource_version.clear();
  }
  bool gone = false;
  TRY(writer_.Remove(deletion, options, gone));
  return Created();
}

void Pods::CountBudgets() {
  const Resource& budgets = *resources_.Get("policy", "v1", "poddisruptionbudgets");
  const auto listed = store_.ListNow(budgets.stored_as, "");
  for (const ObjectPtr& budget : listed) CountBudget(budgets, *budget);
}

void Pods::CountBudget(const Resource& budgets, const Object& budget) {
  const Resource& pods = *resources_.Get("", "v1", "pods");
  Json document = Parsed(budget);
  int64_t expected = 0, healthy = 0;
  Json leaving = Json::object();
  const auto listed = store_.ListNow(pods.stored_as, budget.ns);
  for (const ObjectPtr& stored : listed) {
    if (!Selects(budget, *stored)) continue;
    const Json pod = Parsed(*stored);
    if (IsTerminal(pod)) continue;
    ++expected;
    const bool deleting = Find(pod, {"metadata", "deletionTimestamp"}) != nullptr;
    if (IsReady(pod) && !deleting) ++healthy;
    // Evicted and not yet marked: still counted as gone.
    if (const Json* since = Find(document, {"status", "disruptedPods", stored->name});
        since && !deleting)
      leaving[stored->name] = *since;
  }
  healthy -= static_cast<int64_t>(leaving.size());
  const Json* least = Find(document, {"spec", "minAvailable"});
  const Json* most = Find(document, {"spec", "maxUnavailable"});
  int64_t desired = 0;
  if (least != nullptr) desired = Scaled(*least, expected);
  if (most != nullptr) desired = std::max<int64_t>(0, expected - Scaled(*most, expected));
  Json status = {{"observedGeneration", IntAt(document, {"metadata", "generation"}).value_or(0)},
                 {"expectedPods", expected},
                 {"currentHealthy", healthy},
                 {"desiredHealthy", desired},
                 {"disruptionsAllowed", std::max<int64_t>(0, healthy - desired)}};
  if (!leaving.empty()) status["disruptedPods"] = leaving;
  CopyAt(document, status, {"conditions"});
  if (document.value("status", Json::object()) == status) return;
  document["status"] = std::move(status);
  writer_.Overwrite(budgets, std::move(document));
}

}  // namespace sky::lab
