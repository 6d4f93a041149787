// SPDX-License-Identifier: Apache-2.0
// What the embedded API server serves: the built-in kinds, and those of CustomResourceDefinitions.
// A table built once and then only read. Two resources may be views of one stored kind (events).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/document.h"
#include "lab/schema.h"
#include "lab/store.h"

namespace sky::lab {

struct Column {
  std::string name, type, format, description,
      path;          // path: a JSONPath (".spec.queue"); built-in kinds
  int priority = 0;  // compute their cells instead
};

struct Resource {
  std::string group, version, plural, singular, kind;
  std::vector<std::string> short_names, categories;
  bool namespaced = false;
  bool has_status = false;                // the status subresource
  bool has_generation = false;            // metadata.generation counts changes of the spec
  bool custom = false;                    // from a CRD: checked by `schema`
  std::vector<std::string> subresources;  // besides status: "binding", "eviction"
  std::shared_ptr<const Schema> schema;   // null for built-in kinds
  std::vector<Column> columns;
  std::vector<std::string> selectable_fields;  // besides metadata.name and metadata.namespace
  KindId stored_as;

  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
  bool is(std::string_view in_group, std::string_view name) const {
    return group == in_group && plural == name;
  }
  bool IsPod() const { return is("", "pods"); }
  bool IsNode() const { return is("", "nodes"); }
  bool IsEventsV1() const { return is("events.k8s.io", "events"); }
};

// The kinds of CustomResourceDefinitions, read and compiled once; any number of servers share them.
class CustomKinds {
 public:
  // YAML or JSON texts; a bad definition is refused by name.
  static Result<std::shared_ptr<const CustomKinds>> Parse(std::span<const std::string_view> texts);
  ~CustomKinds();

  const std::vector<Resource>& resources() const { return resources_; }
  const std::vector<Json>& documents() const { return documents_; }

 private:
  CustomKinds();
  Status Add(Json crd);
  std::vector<Resource> resources_;
  std::vector<Json> documents_;
};

class Resources {
 public:
  // Registers every kind with the store.
  Resources(const CustomKinds& custom, Store& store);

  // nullptr when not served.
  const Resource* Get(std::string_view group, std::string_view version,
                      std::string_view plural) const;
  const Resource* ByKind(std::string_view api_version, std::string_view kind) const;
  const std::deque<Resource>& all() const { return all_; }

 private:
  void AddBuiltIn(Store& store);
  std::deque<Resource> all_;  // a deque: pointers stay good
};

}  // namespace sky::lab
