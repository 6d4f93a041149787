// SPDX-License-Identifier: Apache-2.0
#include "lab/call.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sky::lab {
namespace {

constexpr Duration kLongestRequest = std::chrono::seconds(60);

bool Flag(const server::Target& target, std::string_view name) {
  const auto value = target.Query(name);
  return value && (*value == "true" || *value == "1" || *value == "True" || *value == "TRUE");
}

bool HasSubresource(const Resource& resource, std::string_view name) {
  if (name == "status") return resource.has_status;
  return std::ranges::find(resource.subresources, name) != resource.subresources.end();
}

Answered<Verb> VerbOf(const server::Request& request, const ResourcePath& path) {
  const std::string& method = request.method;
  const bool named = !path.name.empty();
  const bool creates_only = !path.subresource.empty() && path.subresource != "status";
  if (method == "GET" && !creates_only) {
    if (named) return Verb::kGet;  // one object isn't watched by its path
    return Flag(request.target, "watch") ? Verb::kWatch : Verb::kList;
  }
  if (method == "POST" && (creates_only || !named)) return Verb::kCreate;
  if (method == "PUT" && named && !creates_only) return Verb::kUpdate;
  if (method == "PATCH" && named && !creates_only) return Verb::kPatch;
  if (method == "DELETE" && path.subresource.empty())
    return named ? Verb::kDelete : Verb::kDeleteCollection;
  return std::unexpected(
      MethodNotAllowed("the server does not allow this method on the requested resource"));
}

// "GET, application/json;as=Table;v=v1;g=meta.k8s.io,application/json": the first that we can
// write.
Answered<Form> FormOf(std::string_view accept) {
  if (accept.empty()) return Form::kWhole;
  while (!accept.empty()) {
    const size_t end = std::min(accept.find(','), accept.size());
    std::string_view type = accept.substr(0, end);
    accept.remove_prefix(std::min(end + 1, accept.size()));
    while (type.starts_with(' ')) type.remove_prefix(1);
    const bool json = type.starts_with("application/json");
    if (json && type.find("as=Table") != type.npos) {
      if (type.find("v=v1;") != type.npos || type.ends_with("v=v1")) return Form::kTable;
      continue;
    }
    if (json && type.find("as=PartialObjectMetadata") != type.npos) return Form::kMetadata;
    if (json && type.find("as=") != type.npos) continue;
    if (json || type.starts_with("*/*") || type.starts_with("application/*")) return Form::kWhole;
  }
  return std::unexpected(
      NotAcceptable("only the following media types are accepted: application/json"));
}

// What the options of this verb are called.
std::string_view OptionsKind(Verb verb) {
  switch (verb) {
    case Verb::kCreate:
      return "CreateOptions";
    case Verb::kUpdate:
      return "UpdateOptions";
    case Verb::kPatch:
      return "PatchOptions";
    default:
      return "DeleteOptions";
  }
}

Done ReadOptions(Call& call) {
  const server::Target& target = call.request->target;
  const auto wrong = [&](Cause cause) {
    return std::unexpected(
        Invalid({"meta.k8s.io", "", OptionsKind(call.verb), ""}, {std::move(cause)}));
  };
  if (const auto dry_run = target.Query("dryRun"); dry_run && !dry_run->empty()) {
    if (*dry_run != "All") return wrong(Unsupported("dryRun", Json::array({*dry_run}), {"All"}));
    call.dry_run = true;
  }
  call.force = Flag(target, "force");
  const std::string_view validation = target.QueryOr("fieldValidation");
  if (validation == "Strict")
    call.validation = FieldValidation::kStrict;
  else if (validation == "Ignore")
    call.validation = FieldValidation::kIgnore;
  else if (!validation.empty() && validation != "Warn")
    return wrong(Unsupported("fieldValidation", validation, {"", "Ignore", "Strict", "Warn"}));
  call.manager = target.QueryOr("fieldManager");
  if (call.manager.size() > 128)
    return std::unexpected(BadRequest("fieldManager: Too long: may not be more than 128 bytes"));
  if (call.manager.empty()) {
    const std::string_view agent = call.request->HeaderOr("user-agent");
    call.manager =
        agent.empty() ? "unknown" : agent.substr(0, std::min(agent.find('/'), size_t{128}));
  }
  return {};
}

Answered<MonoTime> DeadlineOf(const server::Target& target, MonoTime received) {
  const std::string_view text = target.QueryOr("timeout");
  if (text.empty()) return received + kLongestRequest;
  const auto timeout = ParseDuration(text);
  if (!timeout || *timeout < Duration::zero())
    return std::unexpected(BadRequest(
        fmt::format("invalid timeout specified in the request URL - time: \"{}\"", text)));
  if (*timeout == Duration::zero()) return received + kLongestRequest;
  return received + std::min(*timeout, kLongestRequest);
}

}  // namespace

std::string_view VerbName(Verb verb) {
  switch (verb) {
    case Verb::kGet:
      return "get";
    case Verb::kList:
      return "list";
    case Verb::kWatch:
      return "watch";
    case Verb::kCreate:
      return "create";
    case Verb::kUpdate:
      return "update";
    case Verb::kPatch:
      return "patch";
    case Verb::kDelete:
      return "delete";
    case Verb::kDeleteCollection:
      return "deletecollection";
  }
  return "";
}

std::optional<ResourcePath> ParseResourcePath(const Resources& resources,
                                              const server::Target& target) {
  const auto& all = target.segments;
  std::string group, version;
  size_t at = 0;
  if (all.size() >= 3 && all[0] == "api") {
    version = all[1];
    at = 2;
  } else if (all.size() >= 4 && all[0] == "apis") {
    group = all[1], version = all[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  ResourcePath path;
  // /namespaces/<ns>/<plural>/…, but /namespaces/<name>/status is the namespace itself.
  if (all[at] == "namespaces" && all.size() > at + 2 && all[at + 2] != "status") {
    path.ns = all[at + 1];
    at += 2;
  }
  path.resource = resources.Get(group, version, all[at]);
  if (path.resource == nullptr || all.size() > at + 3) return std::nullopt;
  if (!path.ns.empty() && !path.resource->namespaced) return std::nullopt;
  if (all.size() > at + 1) path.name = all[at + 1];
  if (all.size() > at + 2) path.subresource = all[at + 2];
  if (!path.subresource.empty() && !HasSubresource(*path.resource, path.subresource))
    return std::nullopt;
  // A namespaced object is reached through its namespace only.
  if (path.resource->namespaced && path.ns.empty() && !path.name.empty()) return std::nullopt;
  return path;
}

Answered<Call> Understand(const Resources& resources, const server::Request& request,
                          MonoTime received) {
  const auto path = ParseResourcePath(resources, request.target);
  if (!path) return std::unexpected(PathNotFound());
  Call call;
  call.request = &request;
  call.resource = path->resource;
  call.ns = path->ns, call.name = path->name, call.subresource = path->subresource;
  call.verb = TRY(VerbOf(request, *path));
  if (call.verb == Verb::kCreate && call.resource->namespaced && call.ns.empty())
    return std::unexpected(
        MethodNotAllowed("the server does not allow this method on the requested resource"));
  call.form = TRY(FormOf(request.HeaderOr("accept")));
  TRY(ReadOptions(call));
  call.deadline = TRY(DeadlineOf(request.target, received));
  return call;
}

}  // namespace sky::lab
