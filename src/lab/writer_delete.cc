// SPDX-License-Identifier: Apache-2.0
// Deletes: preconditions, finalizers, the grace of pods, namespaces.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/pod_rules.h"
#include "lab/reader.h"
#include "lab/selection.h"
#include "lab/writer.h"

namespace sky::lab {
namespace {

// From the body, else from the query.
Answered<DeleteOptions> ReadOptions(const Call& call) {
  DeleteOptions options;
  Json body = Json::object();
  if (!call.request->body.empty()) {
    std::vector<std::string> duplicates;
    body = TRY(Writer::Body(call, duplicates));
  }
  options.grace_seconds = IntAt(body, {"gracePeriodSeconds"});
  options.uid = TextAt(body, {"preconditions", "uid"});
  options.resource_version = TextAt(body, {"preconditions", "resourceVersion"});
  options.propagation = TextAt(body, {"propagationPolicy"});
  const std::vector<std::string> dry_run = TextsAt(body, {"dryRun"});
  options.dry_run = call.dry_run || std::ranges::find(dry_run, "All") != dry_run.end();
  if (options.propagation.empty()) options.propagation = call.Query("propagationPolicy");
  static constexpr std::string_view kPolicies[] = {"", "Foreground", "Background", "Orphan"};
  if (std::ranges::find(kPolicies, options.propagation) == std::end(kPolicies))
    return std::unexpected(Invalid({"meta.k8s.io", "", "DeleteOptions", ""},
                                   {Unsupported("propagationPolicy", options.propagation,
                                                {"Foreground", "Background", "Orphan", "nil"})}));
  if (const std::string_view grace = call.Query("gracePeriodSeconds");
      !options.grace_seconds && !grace.empty()) {
    const auto number = ParseJson(grace);
    if (!number || !number->is_number_integer())
      return std::unexpected(BadRequest("gracePeriodSeconds must be a whole number"));
    options.grace_seconds = number->get<int64_t>();
  }
  return options;
}

void AddFinalizer(Json& document, const char* finalizer) {
  Json& list = MapAt(document, {"metadata"})["finalizers"];
  if (!list.is_array()) list = Json::array();
  if (std::ranges::find(list, Json(finalizer)) == list.end()) list.push_back(finalizer);
}

}  // namespace

Answered<Json> Writer::Remove(const Call& call, const DeleteOptions& options, bool& gone) {
  const Resource& resource = *call.resource;
  const ObjectPtr stored = store_.Get(resource.stored_as, call.ns, call.name);
  if (stored == nullptr) return std::unexpected(NotFound(call.about()));
  Json document = Parsed(*stored);
  const auto mismatch = [&](std::string_view what, std::string_view asked, std::string_view is) {
    return std::unexpected(Conflict(
        call.about(),
        fmt::format("the {} in the precondition is {}, the object's {}", what, asked, is)));
  };
  if (!options.uid.empty() && options.uid != stored->uid)
    return mismatch("uid", options.uid, stored->uid);
  if (const std::string is = std::to_string(stored->revision);
      !options.resource_version.empty() && options.resource_version != is)
    return mismatch("resourceVersion", options.resource_version, is);

  const bool was_leaving = Find(document, {"metadata", "deletionTimestamp"}) != nullptr;
  const int64_t before = IntAt(document, {"metadata", "deletionGracePeriodSeconds"}).value_or(0);
  int64_t grace = resource.IsPod() ? GraceOf(document, options.grace_seconds) : 0;
  if (was_leaving) grace = std::min(grace, before);
  if (options.propagation == "Foreground") AddFinalizer(document, "foregroundDeletion");
  if (options.propagation == "Orphan") AddFinalizer(document, "orphan");
  const bool is_namespace = resource.is("", "namespaces");
  const bool waits =
      grace > 0 || !TextsAt(document, {"metadata", "finalizers"}).empty() || is_namespace;
  TRY(InTime(call));
  gone = !waits;
  if (call.dry_run || options.dry_run) return document;
  if (!waits) {
    const ObjectPtr last = store_.Delete(resource.stored_as, call.ns, call.name);
    SweepNamespace(call.ns);
    return Parsed(*last);
  }
  if (!was_leaving || grace < before) {
    Json& metadata = MapAt(document, {"metadata"});
    metadata["deletionTimestamp"] = FormatTime(clock_.Wall() + std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
    if (resource.has_generation)
      metadata["generation"] = IntAt(document, {"metadata", "generation"}).value_or(0) + 1;
    if (is_namespace) MapAt(document, {"status"})["phase"] = "Terminating";
    store_.Put(resource.stored_as, document);
    if (is_namespace) SweepNamespace(call.name);
  }
  gone = store_.Get(resource.stored_as, call.ns, call.name) == nullptr;
  return document;
}

Answered<server::Response> Writer::Delete(const Call& call) {
  const DeleteOptions options = TRY(ReadOptions(call));
  bool gone = false;
  const Json last = TRY(Remove(call, options, gone));
  if (!gone || call.resource->IsPod()) return Reply(call, 200, last, {});
  Json details = {{"name", call.name},
                  {"kind", call.resource->plural},
                  {"uid", TextAt(last, {"metadata", "uid"})}};
  if (!call.resource->group.empty()) details["group"] = call.resource->group;
  server::Response response;
  response.body = Dump({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", Json::object()},
                        {"status", "Success"},
                        {"details", std::move(details)}}) +
                  "\n";
  return response;
}

Answered<server::Response> Writer::DeleteCollection(const Call& call) {
  const DeleteOptions options = TRY(ReadOptions(call));
  const Selection selection = TRY(Selection::Of(call));
  const auto listed = store_.ListNow(call.resource->stored_as, selection.ns());
  Json items = Json::array();
  for (const ObjectPtr& object : listed) {
    if (!selection.Matches(*object)) continue;
    Call one = call;
    one.ns = object->ns, one.name = object->name;
    bool gone = false;
    items.push_back(TRY(Remove(one, options, gone)));
  }
  server::Response response;
  response.body = Dump({{"kind", call.resource->kind + "List"},
                        {"apiVersion", call.resource->ApiVersion()},
                        {"metadata", {{"resourceVersion", std::to_string(store_.revision())}}},
                        {"items", std::move(items)}}) +
                  "\n";
  return response;
}

void Writer::SweepNamespace(const std::string& ns) {
  if (ns.empty()) return;
  const Resource& namespaces = *resources_.Get("", "v1", "namespaces");
  const ObjectPtr stored = store_.Get(namespaces.stored_as, "", ns);
  if (stored == nullptr || !stored->deleting ||
      !TextsAt(Parsed(*stored), {"metadata", "finalizers"}).empty())
    return;
  for (const Resource& resource : resources_.all())
    if (resource.namespaced && !store_.ListNow(resource.stored_as, ns).empty()) return;
  store_.Delete(namespaces.stored_as, "", ns);
}

}  // namespace sky::lab
