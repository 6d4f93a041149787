// SPDX-License-Identifier: Apache-2.0
#include "lab/open_api.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sky::lab {
namespace {

constexpr std::string_view kMetaRef =
    "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

Json GvkOf(const Resource& resource) {
  return {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}};
}

std::string BasePath(const Resource& resource) {
  return resource.group.empty() ? "/api/" + resource.version
                                : "/apis/" + resource.group + "/" + resource.version;
}

// "com.infini-ai.scheduling.v1alpha1.Quota"
std::string SchemaName(const Resource& resource) {
  std::string reversed;
  std::string group = resource.group.empty() ? "core.api.k8s.io" : resource.group;
  while (!group.empty()) {
    const size_t dot = group.rfind('.');
    reversed += group.substr(dot == group.npos ? 0 : dot + 1) + ".";
    group = dot == group.npos ? "" : group.substr(0, dot);
  }
  return reversed + resource.version + "." + resource.kind;
}

Json Operation(const Resource& resource, const char* action, const char* id) {
  const Json content = {{"application/json",
                         {{"schema", {{"$ref", "#/components/schemas/" + SchemaName(resource)}}}}}};
  Json parameters = Json::array();
  for (const char* name : {"dryRun", "fieldManager", "fieldValidation"})
    parameters.push_back(
        {{"name", name}, {"in", "query"}, {"schema", {{"type", "string"}, {"uniqueItems", true}}}});
  return {{"operationId", std::string(id) + resource.kind},
          {"parameters", std::move(parameters)},
          {"responses", {{"200", {{"description", "OK"}, {"content", content}}}}},
          {"x-kubernetes-action", action},
          {"x-kubernetes-group-version-kind", GvkOf(resource)}};
}

void AddPaths(const Resource& resource, Json& paths) {
  const std::string collection = BasePath(resource) +
                                 (resource.namespaced ? "/namespaces/{namespace}/" : "/") +
                                 resource.plural;
  paths[collection]["get"] = Operation(resource, "list", "list");
  paths[collection]["post"] = Operation(resource, "post", "create");
  Json& one = paths[collection + "/{name}"];
  one["get"] = Operation(resource, "get", "read");
  one["put"] = Operation(resource, "put", "replace");
  one["patch"] = Operation(resource, "patch", "patch");
  one["delete"] = Operation(resource, "delete", "delete");
}

Json SchemaOf(const Resource& resource) {
  Json schema = resource.schema != nullptr
                    ? resource.schema->json()
                    : Json{{"type", "object"}, {"description", resource.kind}};
  Json& properties = schema["properties"];
  const auto text = [](const char* what) {
    return Json{{"type", "string"}, {"description", what}};
  };
  properties["apiVersion"] = text("The group and version of this object's schema.");
  properties["kind"] = text("The kind of this object.");
  properties["metadata"] = {
      {"description", "Name, namespace, labels and what else all objects have."},
      {"allOf", Json::array({{{"$ref", kMetaRef}}})}};
  schema["x-kubernetes-group-version-kind"] = Json::array({GvkOf(resource)});
  return schema;
}

Json ObjectMetaSchema() {
  const Json text = {{"type", "string"}};
  const Json map = {{"type", "object"}, {"additionalProperties", text}};
  return {{"type", "object"},
          {"description", "Metadata that every object has."},
          {"properties",
           {{"name", text},
            {"namespace", text},
            {"generateName", text},
            {"uid", text},
            {"resourceVersion", text},
            {"generation", {{"type", "integer"}, {"format", "int64"}}},
            {"creationTimestamp", {{"type", "string"}, {"format", "date-time"}}},
            {"deletionTimestamp", {{"type", "string"}, {"format", "date-time"}}},
            {"labels", map},
            {"annotations", map},
            {"finalizers", {{"type", "array"}, {"items", text}}},
            {"ownerReferences", {{"type", "array"}, {"items", {{"type", "object"}}}}}}}};
}

}  // namespace

Json OpenApiIndex(const Resources& resources) {
  Json paths = Json::object();
  for (const Resource& resource : resources.all()) {
    const std::string base = BasePath(resource);
    paths[base.substr(1)] = {{"serverRelativeURL", "/openapi/v3" + base + "?hash=" SKY_VERSION}};
  }
  return {{"paths", std::move(paths)}};
}

std::optional<Json> OpenApiDocument(const Resources& resources,
                                    const std::vector<std::string>& path) {
  std::string wanted;
  for (const std::string& segment : path) wanted += "/" + segment;
  Json paths = Json::object(), schemas = Json::object();
  for (const Resource& resource : resources.all()) {
    if (BasePath(resource) != wanted) continue;
    AddPaths(resource, paths);
    schemas[SchemaName(resource)] = SchemaOf(resource);
  }
  if (schemas.empty()) return std::nullopt;
  schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"] = ObjectMetaSchema();
  return Json{{"openapi", "3.0.0"},
              {"info", {{"title", "Sky-Scheduler lab"}, {"version", SKY_VERSION}}},
              {"paths", std::move(paths)},
              {"components", {{"schemas", std::move(schemas)}}}};
}

}  // namespace sky::lab
