// SPDX-License-Identifier: Apache-2.0
#include "lab/writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/events_view.h"
#include "lab/managed_fields.h"
#include "lab/meta_rules.h"
#include "lab/patch.h"
#include "lab/proto_body.h"
#include "lab/reader.h"

namespace sky::lab {
namespace {

std::string ContentType(const server::Request& request) {
  const std::string_view type = request.HeaderOr("content-type");
  return std::string(type.substr(0, type.find(';')));
}

// What counts for metadata.generation and for "nothing changed".
Json WithoutMetadata(const Json& document, bool with_status) {
  Json rest = document;
  rest.erase("metadata");
  if (!with_status) rest.erase("status");
  return rest;
}

// What a write that changes nothing leaves alone; when a manager last wrote is no change.
bool SameContent(const Json& a, const Json& b) {
  const auto comparable = [](const Json& document) {
    Json copy = document;
    Erase(copy, {"metadata", "resourceVersion"});
    if (Json* managers = Find(copy, {"metadata", "managedFields"});
        managers && managers->is_array())
      for (Json& manager : *managers) Erase(manager, {"time"});
    return copy;
  };
  return comparable(a) == comparable(b);
}

bool IsApply(const Call& call) {
  return call.verb == Verb::kPatch && ContentType(*call.request) == "application/apply-patch+yaml";
}

std::vector<std::string> Unknown(const Resource& resource, Json& document) {
  std::vector<std::string> unknown = PruneMetadata(document);
  if (resource.schema == nullptr) return unknown;
  for (std::string& path : resource.schema->Prune(document)) unknown.push_back(std::move(path));
  return unknown;
}

}  // namespace

Answered<Json> Writer::Body(const Call& call, std::vector<std::string>& duplicates) {
  const std::string& text = call.request->body;
  const std::string type = ContentType(*call.request);
  if (text.empty()) return std::unexpected(BadRequest("the request has no body"));
  if (type == "application/yaml" || type == "application/apply-patch+yaml") {
    auto documents = ParseYaml(text);
    if (!documents) return std::unexpected(BadRequest(documents.error().message()));
    if (documents->size() != 1)
      return std::unexpected(BadRequest("the body must be exactly one YAML document"));
    return std::move(documents->front());
  }
  if (type == kProtobuf) {
    auto document = ParseProtobuf(text);
    if (!document) return std::unexpected(UnsupportedMediaType(document.error().message()));
    return *std::move(document);
  }
  if (!type.empty() && !type.ends_with("json"))
    return std::unexpected(
        UnsupportedMediaType(fmt::format("the body is \"{}\"; this server reads JSON", type)));
  auto document = ParseJson(text, &duplicates);
  if (!document) return std::unexpected(BadRequest(document.error().message()));
  return *std::move(document);
}

Done Writer::Strict(const Call& call, std::vector<std::string> unknown,
                    std::vector<std::string>& warnings, const Json* patched) {
  if (call.validation == FieldValidation::kIgnore) return {};
  for (std::string& path : unknown) path = fmt::format("unknown field \"{}\"", path);
  if (call.validation == FieldValidation::kStrict && !(unknown.empty() && warnings.empty())) {
    unknown.insert(unknown.begin(), warnings.begin(), warnings.end());
    if (patched != nullptr)
      return std::unexpected(Invalid(
          {}, {InvalidValue("patch", Dump(*patched),
                            fmt::format("strict decoding error: {}", fmt::join(unknown, ", ")))}));
    return std::unexpected(BadRequest(
        fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                    call.resource->kind, call.resource->version, call.resource->kind,
                    fmt::join(unknown, ", "))));
  }
  warnings.insert(warnings.end(), unknown.begin(), unknown.end());
  return {};
}

// The body of a create or update: in the stored view, with the identity that the path gives.
Answered<Json> Writer::Decode(const Call& call, std::vector<std::string>& warnings) {
  std::vector<std::string> duplicates;
  Json document = TRY(Body(call, duplicates));
  for (const std::string& path : duplicates)
    warnings.push_back(fmt::format("duplicate field \"{}\"", path));
  TRY(TakeIdentity(call, document));
  TRY(Strict(call, Unknown(*call.resource, document), warnings, nullptr));
  if (call.resource->IsEventsV1()) document = FromEventsV1(std::move(document));
  return document;
}

Done Writer::InTime(const Call& call) const {
  if (clock_.Mono() <= call.deadline) return {};
  return std::unexpected(
      TimedOut("the request did not complete within its timeout: nothing was stored"));
}

server::Response Writer::Reply(const Call& call, int status, const Json& document,
                               const std::vector<std::string>& warnings) const {
  server::Response response;
  response.status = status;
  response.body = RenderDocument(call, document, clock_.Wall()) + "\n";
  for (const std::string& warning : warnings)
    response.headers.push_back({"warning", fmt::format("299 - {}", Dump(warning))});
  return response;
}

Answered<Json> Writer::Insert(const Call& call, Json document) {
  const Resource& resource = *call.resource;
  Json& metadata = MapAt(document, {"metadata"});
  if (!TextAt(metadata, {"resourceVersion"}).empty())
    return std::unexpected(Unnamed("resourceVersion should not be set on objects to be created"));
  for (const char* name : {"resourceVersion", "selfLink", "deletionTimestamp",
                           "deletionGracePeriodSeconds", "generation"})
    metadata.erase(name);
  const std::string prefix = TextAt(metadata, {"generateName"});
  if (TextAt(metadata, {"name"}).empty() && !prefix.empty()) {
    do metadata["name"] = MakeName(prefix, rng_);
    while (store_.Get(resource.stored_as, call.ns, TextAt(metadata, {"name"})) != nullptr);
  }
  metadata["uid"] = MakeUid(rng_);
  metadata["creationTimestamp"] = FormatTime(clock_.Wall());
  if (resource.has_generation) metadata["generation"] = 1;
  Call named = call;
  named.name = TextAt(metadata, {"name"});
  TRY(PrepareCreate(named, Around(), document));
  if (resource.schema != nullptr) resource.schema->FillDefaults(document);
  if (const std::vector<Cause> causes = Check(resource, document, nullptr); !causes.empty())
    return std::unexpected(Invalid(named.about(), causes));
  if (store_.Get(resource.stored_as, call.ns, named.name) != nullptr)
    return std::unexpected(AlreadyExists(named.about()));
  if (call.verb != Verb::kPatch) TrackUpdate(call, nullptr, clock_.Wall(), document);
  TRY(InTime(call));
  if (!call.dry_run) store_.Put(resource.stored_as, document);
  return document;
}

Answered<server::Response> Writer::Create(const Call& call) {
  std::vector<std::string> warnings;
  Json document = TRY(Decode(call, warnings));
  document = TRY(Insert(call, std::move(document)));
  return Reply(call, 201, document, warnings);
}

Answered<Json> Writer::FinishUpdate(const Call& call, const Json& old, Json document) {
  const Resource& resource = *call.resource;
  TRY(TakeServerFields(call, old, document));
  PrepareUpdate(call, old, document);
  if (resource.schema != nullptr) resource.schema->FillDefaults(document);
  // A binding changes what a plain update may not.
  const Json* before = call.IsMain() || call.IsStatus() ? &old : nullptr;
  if (const std::vector<Cause> causes = Check(resource, document, before); !causes.empty())
    return std::unexpected(Invalid(call.about(), causes));
  if (resource.has_generation &&
      WithoutMetadata(document, !resource.has_status) != WithoutMetadata(old, !resource.has_status))
    MapAt(document, {"metadata"})["generation"] =
        IntAt(old, {"metadata", "generation"}).value_or(0) + 1;
  if (!IsApply(call)) TrackUpdate(call, &old, clock_.Wall(), document);
  if (SameContent(document, old)) return old;
  TRY(InTime(call));
  if (call.dry_run) return document;
  const bool leaving = Find(document, {"metadata", "deletionTimestamp"}) != nullptr &&
                       TextsAt(document, {"metadata", "finalizers"}).empty() &&
                       IntAt(document, {"metadata", "deletionGracePeriodSeconds"}).value_or(0) == 0;
  if (!leaving || resource.is("", "namespaces")) {
    store_.Put(resource.stored_as, document);
    return document;
  }
  // The last finalizer is gone: so is the object, without a state in between.
  const ObjectPtr last = store_.Delete(resource.stored_as, call.ns, call.name);
  SweepNamespace(call.ns);
  CopyAt(Parsed(*last), document, {"metadata", "resourceVersion"});
  return document;
}

Answered<Json> Writer::Modify(const Call& call, const Change& change) {
  const ObjectPtr stored = store_.Get(call.resource->stored_as, call.ns, call.name);
  if (stored == nullptr) return std::unexpected(NotFound(call.about()));
  const Json old = Parsed(*stored);
  Json document = TRY(change(old));
  return FinishUpdate(call, old, std::move(document));
}

void Writer::Overwrite(const Resource& resource, Json document) {
  store_.Put(resource.stored_as, document);
}

Answered<server::Response> Writer::Update(const Call& call) {
  std::vector<std::string> warnings;
  Json document = TRY(Decode(call, warnings));
  const bool there = store_.Get(call.resource->stored_as, call.ns, call.name) != nullptr;
  const std::string revision = TextAt(document, {"metadata", "resourceVersion"});
  // A Lease is made by the update that doesn't find it.
  if (!there && call.resource->plural == "leases" && revision.empty() && call.IsMain())
    return Reply(call, 201, TRY(Insert(call, std::move(document))), warnings);
  if (there && revision.empty() && !MayUpdateUnconditionally(*call.resource))
    return std::unexpected(
        Invalid(call.about(),
                {InvalidValue("metadata.resourceVersion", "", "must be specified for an update")}));
  Json updated = TRY(Modify(call, [&](const Json&) { return document; }));
  return Reply(call, 200, updated, warnings);
}

Answered<server::Response> Writer::ApplyPatch(const Call& call) {
  const About options{"meta.k8s.io", "", "PatchOptions", ""};
  if (call.Query("fieldManager").empty())
    return std::unexpected(
        Invalid(options, {Required("fieldManager", "is required for apply patch")}));
  std::vector<std::string> warnings;
  const Json config = TRY(Decode(call, warnings));
  if (Find(config, {"metadata", "managedFields"}) != nullptr)
    return std::unexpected(BadRequest("metadata.managedFields must be nil"));
  if (store_.Get(call.resource->stored_as, call.ns, call.name) == nullptr) {
    if (!call.IsMain()) return std::unexpected(NotFound(call.about()));
    if (!TextAt(config, {"metadata", "uid"}).empty())
      return std::unexpected(Conflict(call.about(), "a uid is given, and there is no such object"));
    Json created = TRY(Apply(call, nullptr, config, clock_.Wall()));
    created = TRY(Insert(call, std::move(created)));
    return Reply(call, 201, created, warnings);
  }
  Json updated =
      TRY(Modify(call, [&](const Json& old) { return Apply(call, &old, config, clock_.Wall()); }));
  return Reply(call, 200, updated, warnings);
}

Answered<server::Response> Writer::Patch(const Call& call) {
  if (IsApply(call)) return ApplyPatch(call);
  if (call.request->target.HasQuery("force"))
    return std::unexpected(
        Invalid({"meta.k8s.io", "", "PatchOptions", ""},
                {ForbiddenField("force", "may not be specified for non-apply patch")}));
  const std::string type = ContentType(*call.request);
  std::vector<std::string> warnings, duplicates;
  const Json patch = TRY(Body(call, duplicates));
  for (const std::string& path : duplicates)
    warnings.push_back(fmt::format("duplicate field \"{}\"", path));
  const auto patched = [&](const Json& view) -> Answered<Json> {
    if (type == "application/json-patch+json") return ApplyJsonPatch(view, patch);
    if (type == "application/merge-patch+json") return ApplyMergePatch(view, patch);
    if (type == "application/strategic-merge-patch+json" && !call.resource->custom)
      return ApplyStrategicPatch(*call.resource, view, patch);
    return std::unexpected(UnsupportedMediaType(
        fmt::format("a patch of type \"{}\" is not taken here: use application/json-patch+json, "
                    "application/merge-patch+json or application/apply-patch+yaml",
                    type)));
  };
  Json updated = TRY(Modify(call, [&](const Json& old) -> Answered<Json> {
    Json view = call.resource->IsEventsV1() ? ToEventsV1(old) : old;
    // A patch that doesn't speak of the revision has none as its precondition.
    Json document = TRY(patched(view));
    TRY(TakeIdentity(call, document));
    TRY(Strict(call, Unknown(*call.resource, document), warnings, &document));
    return call.resource->IsEventsV1() ? FromEventsV1(std::move(document)) : document;
  }));
  return Reply(call, 200, updated, warnings);
}

}  // namespace sky::lab
