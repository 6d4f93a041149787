// SPDX-License-Identifier: Apache-2.0
#include "lab/discovery.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/failure.h"
#include "lab/open_api.h"

namespace sky::lab {
namespace {

constexpr std::string_view kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

server::Response Answer(const Json& document, std::string_view type = "application/json") {
  server::Response response;
  response.content_type = type;
  response.body = Dump(document) + "\n";
  return response;
}

Json VerbsOf() {
  return Json::array(
      {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"});
}

// The kind that a subresource takes.
Json KindOf(const Resource& resource, std::string_view subresource) {
  if (subresource == "eviction")
    return {{"group", "policy"}, {"version", "v1"}, {"kind", "Eviction"}};
  return {{"group", resource.group},
          {"version", resource.version},
          {"kind", subresource == "binding" ? "Binding" : resource.kind}};
}

Json SubVerbs(std::string_view subresource) {
  return subresource == "status" ? Json::array({"get", "patch", "update"})
                                 : Json::array({"create"});
}

std::vector<std::string> Subresources(const Resource& resource) {
  std::vector<std::string> all = resource.subresources;
  if (resource.has_status) all.emplace_back("status");
  return all;
}

Json AggregatedResource(const Resource& resource) {
  Json entry = {{"resource", resource.plural},
                {"responseKind", KindOf(resource, "")},
                {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                {"singularResource", resource.singular},
                {"verbs", VerbsOf()}};
  if (!resource.short_names.empty()) entry["shortNames"] = resource.short_names;
  if (!resource.categories.empty()) entry["categories"] = resource.categories;
  for (const std::string& name : Subresources(resource))
    entry["subresources"].push_back({{"subresource", name},
                                     {"responseKind", KindOf(resource, name)},
                                     {"verbs", SubVerbs(name)}});
  return entry;
}

struct GroupVersion {
  std::string group, version;
  bool operator==(const GroupVersion&) const = default;
};

std::vector<GroupVersion> GroupVersions(const Resources& resources) {
  std::vector<GroupVersion> all;
  for (const Resource& resource : resources.all()) {
    const GroupVersion gv{resource.group, resource.version};
    if (std::ranges::find(all, gv) == all.end()) all.push_back(gv);
  }
  return all;
}

Json Aggregated(const Resources& resources, bool core) {
  Json items = Json::array();
  for (const auto& [group, version] : GroupVersions(resources)) {
    if (group.empty() != core) continue;
    Json listed = Json::array();
    for (const Resource& resource : resources.all())
      if (resource.group == group && resource.version == version)
        listed.push_back(AggregatedResource(resource));
    items.push_back({{"metadata", {{"name", group}}},
                     {"versions", Json::array({{{"version", version},
                                                {"freshness", "Current"},
                                                {"resources", std::move(listed)}}})}});
  }
  return {{"kind", "APIGroupDiscoveryList"},
          {"apiVersion", "apidiscovery.k8s.io/v2"},
          {"metadata", Json::object()},
          {"items", std::move(items)}};
}

Json ClassicGroup(const GroupVersion& gv) {
  const Json version = {{"groupVersion", gv.group + "/" + gv.version}, {"version", gv.version}};
  return {{"kind", "APIGroup"},
          {"apiVersion", "v1"},
          {"name", gv.group},
          {"versions", Json::array({version})},
          {"preferredVersion", version}};
}

Json ClassicGroups(const Resources& resources) {
  Json groups = Json::array();
  for (const GroupVersion& gv : GroupVersions(resources))
    if (!gv.group.empty()) groups.push_back(ClassicGroup(gv));
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}};
}

std::optional<Json> ClassicResources(const Resources& resources, const GroupVersion& gv) {
  Json list = Json::array();
  for (const Resource& resource : resources.all()) {
    if (GroupVersion{resource.group, resource.version} != gv) continue;
    Json entry = {{"name", resource.plural},
                  {"singularName", resource.singular},
                  {"namespaced", resource.namespaced},
                  {"kind", resource.kind},
                  {"verbs", VerbsOf()}};
    if (!resource.short_names.empty()) entry["shortNames"] = resource.short_names;
    if (!resource.categories.empty()) entry["categories"] = resource.categories;
    list.push_back(std::move(entry));
    for (const std::string& name : Subresources(resource)) {
      Json sub = KindOf(resource, name);
      if (name == "status") sub = {{"kind", resource.kind}};
      sub["name"] = resource.plural + "/" + name;
      sub["singularName"] = "";
      sub["namespaced"] = resource.namespaced;
      sub["verbs"] = SubVerbs(name);
      list.push_back(std::move(sub));
    }
  }
  if (list.empty()) return std::nullopt;
  return Json{{"kind", "APIResourceList"},
              {"apiVersion", "v1"},
              {"groupVersion", gv.group.empty() ? gv.version : gv.group + "/" + gv.version},
              {"resources", std::move(list)}};
}

Json Version() {
  return {
      {"major", "1"},           {"minor", "36"},           {"gitVersion", "v1.36.3"},
      {"gitCommit", "sky-lab"}, {"gitTreeState", "clean"}, {"buildDate", "1970-01-01T00:00:00Z"},
      {"goVersion", "none"},    {"compiler", "none"},      {"platform", "linux/amd64"}};
}

std::optional<server::Response> DiscoverApis(const Resources& resources,
                                             const std::vector<std::string>& path,
                                             bool aggregated) {
  if (path.size() == 1)
    return aggregated ? Answer(Aggregated(resources, false), kAggregated)
                      : Answer(ClassicGroups(resources));
  for (const GroupVersion& gv : GroupVersions(resources)) {
    if (gv.group.empty() || gv.group != path[1]) continue;
    if (path.size() == 2) return Answer(ClassicGroup(gv));
    if (path.size() == 3 && path[2] == gv.version) return Answer(*ClassicResources(resources, gv));
  }
  return std::nullopt;
}

}  // namespace

std::optional<server::Response> Discover(const Resources& resources,
                                         const server::Request& request) {
  const std::vector<std::string>& path = request.target.segments;
  if (path.empty()) return std::nullopt;
  const std::string_view accept = request.HeaderOr("accept");
  const bool aggregated =
      accept.find("as=APIGroupDiscoveryList") != accept.npos && accept.find("v=v2;") != accept.npos;
  if (path[0] == "version" && path.size() == 1) return Answer(Version());
  if (path[0] == "healthz" || path[0] == "readyz" || path[0] == "livez")
    return server::Response{200, "text/plain", {}, "ok"};
  if (path[0] == "api") {
    if (path.size() == 1)
      return aggregated ? Answer(Aggregated(resources, true), kAggregated)
                        : Answer({{"kind", "APIVersions"}, {"versions", Json::array({"v1"})}});
    if (path.size() == 2 && path[1] == "v1")
      return Answer(*ClassicResources(resources, {"", "v1"}));
  }
  if (path[0] == "apis") return DiscoverApis(resources, path, aggregated);
  if (path[0] == "openapi" && path.size() >= 2 && path[1] == "v3") {
    if (path.size() == 2) return Answer(OpenApiIndex(resources));
    if (const auto document = OpenApiDocument(resources, {path.begin() + 2, path.end()}))
      return Answer(*document);
  }
  return std::nullopt;
}

}  // namespace sky::lab
