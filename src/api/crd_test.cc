// SPDX-License-Identifier: Apache-2.0
// Holds deploy/crds equal to the C++ types: each flattened to "path: type", and the lists compared.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

#include "api/crds.h"
#include "api/fields.h"
#include "api/kinds.h"
#include "api/test_files.h"

namespace sky::api {
namespace {

using Shape = std::set<std::string>;

// --- of a C++ type

void Describe(const std::string& path, const std::string&, Shape& out) {
  out.insert(path + ": string");
}
void Describe(const std::string& path, bool, Shape& out) { out.insert(path + ": boolean"); }
void Describe(const std::string& path, int32_t, Shape& out) { out.insert(path + ": int32"); }
void Describe(const std::string& path, int64_t, Shape& out) { out.insert(path + ": int64"); }
void Describe(const std::string& path, const Quantity&, Shape& out) {
  out.insert(path + ": quantity");
}
void Describe(const std::string& path, const Time&, Shape& out) { out.insert(path + ": time"); }
template <class T>
void Describe(const std::string& path, const std::optional<T>&, Shape& out);
template <class T>
void Describe(const std::string& path, const std::vector<T>&, Shape& out);
template <class T>
void Describe(const std::string& path, const FlatMap<T>&, Shape& out);
template <HasFields T>
void Describe(const std::string& path, const T& value, Shape& out);

struct ShapeVisitor {
  const std::string& path;
  Shape& out;
  template <class M>
  void operator()(std::string_view name, const M& member) {
    if (path.empty() && name == "metadata") return;  // ObjectMeta is the API server's own
    Describe(path.empty() ? std::string(name) : fmt::format("{}.{}", path, name), member, out);
  }
  template <class M>
  void Always(std::string_view name, const M& member) {
    (*this)(name, member);
  }
};

template <class T>
void Describe(const std::string& path, const std::optional<T>&, Shape& out) {
  Describe(path, T{}, out);
}
template <class T>
void Describe(const std::string& path, const std::vector<T>&, Shape& out) {
  out.insert(path + ": array");
  Describe(path + "[]", T{}, out);
}
template <class T>
void Describe(const std::string& path, const FlatMap<T>&, Shape& out) {
  out.insert(path + ": map");
  Describe(path + "{}", T{}, out);
}
template <HasFields T>
void Describe(const std::string& path, const T& value, Shape& out) {
  if (!path.empty()) out.insert(path + ": object");
  ShapeVisitor visitor{path, out};
  T::Fields(value, visitor);
}

template <class T>
Shape ShapeOfType() {
  Shape out;
  Describe("", T{}, out);
  return out;
}

// --- of a schema

std::string TypeOf(const YAML::Node& schema) {
  if (schema["x-kubernetes-int-or-string"]) return "quantity";
  const auto type = schema["type"].as<std::string>("none");
  const auto format = schema["format"].as<std::string>("");
  if (type == "integer") return format;
  if (type == "string" && format == "date-time") return "time";
  if (type == "object" && schema["additionalProperties"]) return "map";
  return format.empty() ? type : type + " with format " + format;
}

void Flatten(const std::string& path, const YAML::Node& schema, Shape& out) {
  if (!path.empty()) out.insert(path + ": " + TypeOf(schema));
  for (const auto& property : schema["properties"]) {
    const auto name = property.first.as<std::string>();
    if (path.empty() && (name == "apiVersion" || name == "kind" || name == "metadata")) continue;
    Flatten(path.empty() ? name : path + "." + name, property.second, out);
  }
  if (schema["items"]) Flatten(path + "[]", schema["items"], out);
  if (schema["additionalProperties"]) Flatten(path + "{}", schema["additionalProperties"], out);
}

Shape ShapeOfSchema(const YAML::Node& schema) {
  Shape out;
  Flatten("", schema, out);
  return out;
}

// Calls `visit` with the path of every node of a schema.
template <class Visit>
void EachNode(const std::string& path, const YAML::Node& schema, const Visit& visit) {
  visit(path, schema);
  for (const auto& property : schema["properties"])
    EachNode(path + "." + property.first.as<std::string>(), property.second, visit);
  if (schema["items"]) EachNode(path + "[]", schema["items"], visit);
  if (schema["additionalProperties"]) EachNode(path + "{}", schema["additionalProperties"], visit);
}

std::string Text(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter << node;
  return emitter.c_str();
}

template <class T>
class Crd : public ::testing::Test {
 protected:
  const Kind& kind_ = KindOf<T>();
  YAML::Node crd_ = LoadCrd(kind_.plural);
};

using OwnKinds =
    ::testing::Types<PodGroup, Queue, Quota, JobQueue, NodeTopology, Placement, QuotaSet>;
TYPED_TEST_SUITE(Crd, OwnKinds);

TYPED_TEST(Crd, SchemaAndTypeHoldTheSameFieldsOfTheSameTypes) {
  EXPECT_EQ(ShapeOfSchema(SchemaOf(this->crd_)), ShapeOfType<TypeParam>());
}

TYPED_TEST(Crd, NamesAreThoseOfTheTableOfKinds) {
  const YAML::Node spec = this->crd_["spec"];
  const Kind& kind = this->kind_;
  EXPECT_EQ(this->crd_["metadata"]["name"].template as<std::string>(),
            fmt::format("{}.{}", kind.plural, kind.group));
  EXPECT_EQ(spec["group"].template as<std::string>(), kind.group);
  EXPECT_EQ(spec["scope"].template as<std::string>(), kind.namespaced ? "Namespaced" : "Cluster");
  EXPECT_EQ(spec["names"]["kind"].template as<std::string>(), kind.kind);
  EXPECT_EQ(spec["names"]["plural"].template as<std::string>(), kind.plural);
  EXPECT_EQ(spec["names"]["singular"].template as<std::string>(), kind.singular);
  const YAML::Node short_names = spec["names"]["shortNames"];
  EXPECT_EQ(short_names ? short_names[0].template as<std::string>() : "", kind.short_name);
  EXPECT_EQ(spec["versions"].size(), 1u);
  EXPECT_EQ(spec["versions"][0]["name"].template as<std::string>(), kind.version);
  const YAML::Node subresources = spec["versions"][0]["subresources"];
  EXPECT_EQ(subresources && subresources["status"], kind.has_status);
}

TYPED_TEST(Crd, EverythingIsDescribedAndBounded) {
  EachNode("", SchemaOf(this->crd_), [](const std::string& path, const YAML::Node& schema) {
    if (path == ".metadata") return;
    const bool element = path.ends_with("[]") || path.ends_with("{}");
    EXPECT_TRUE(element || schema["description"]) << path;
    const std::string type = TypeOf(schema);
    const bool named = path == ".apiVersion" || path == ".kind";
    const bool bounded = type == "string"     ? named || schema["maxLength"] || schema["enum"]
                         : type == "quantity" ? schema["maxLength"].IsDefined()
                         : type == "array" ? schema["maxItems"] && schema["x-kubernetes-list-type"]
                         : type == "map"   ? schema["maxProperties"].IsDefined()
                                           : true;
    EXPECT_TRUE(bounded) << path;
    if (path.ends_with(".conditions")) {
      EXPECT_EQ(schema["x-kubernetes-list-type"].as<std::string>(), "map");
      EXPECT_EQ(schema["x-kubernetes-list-map-keys"][0].as<std::string>(), "type");
    }
  });
}

TYPED_TEST(Crd, PrinterColumnsReadFieldsThatExist) {
  const Shape shape = ShapeOfType<TypeParam>();
  const YAML::Node columns = this->crd_["spec"]["versions"][0]["additionalPrinterColumns"];
  ASSERT_GT(columns.size(), 1u);
  EXPECT_EQ(columns[columns.size() - 1]["name"].template as<std::string>(), "Age");
  for (const auto& column : columns) {
    std::string path = column["jsonPath"].template as<std::string>().substr(1);
    if (path.starts_with("metadata.")) continue;
    if (const size_t filter = path.find("[?("); filter != std::string::npos)
      path.replace(filter, path.find(")]") + 2 - filter, "[]");
    if (const size_t index = path.find("[0]"); index != std::string::npos)
      path.replace(index, 3, "[]");
    const auto found = shape.lower_bound(path + ": ");
    EXPECT_TRUE(found != shape.end() && found->starts_with(path + ": ")) << path;
  }
}

TEST(CrdCheck, NoticesAChangedTypeNotOnlyAChangedName) {
  const auto changed = [](auto&& change) {
    YAML::Node schema = YAML::Clone(SchemaOf(LoadCrd("podgroups")));
    YAML::Node spec = schema["properties"]["spec"]["properties"];
    change(spec);
    return ShapeOfSchema(schema) != ShapeOfType<PodGroup>();
  };
  EXPECT_FALSE(changed([](YAML::Node&) {}));
  EXPECT_TRUE(changed([](YAML::Node& spec) { spec["minMember"]["type"] = "string"; }));
  EXPECT_TRUE(changed([](YAML::Node& spec) { spec["minMember"]["format"] = "int64"; }));
  EXPECT_TRUE(changed(
      [](YAML::Node& spec) { spec["minTaskMember"]["additionalProperties"]["type"] = "string"; }));
  EXPECT_TRUE(changed(
      [](YAML::Node& spec) { spec["minResources"]["additionalProperties"] = spec["queue"]; }));
  EXPECT_TRUE(changed([](YAML::Node& spec) { spec["queue"]["type"] = "boolean"; }));
  EXPECT_TRUE(changed([](YAML::Node& spec) { spec.remove("queue"); }));
  EXPECT_TRUE(changed([](YAML::Node& spec) { spec["queues"] = spec["queue"]; }));
}

TEST(CrdCheck, EveryQuantityHasOneForm) {
  const std::string form = Text(YAML::Load("[{type: integer}, {type: string}]"));
  std::set<std::string> patterns;
  for (const Kind& kind : AllKinds()) {
    if (kind.group != kGroup) continue;
    EachNode("", SchemaOf(LoadCrd(kind.plural)),
             [&](const std::string& path, const YAML::Node& schema) {
               if (TypeOf(schema) != "quantity") return;
               EXPECT_EQ(Text(schema["anyOf"]), form) << path;
               patterns.insert(schema["pattern"].as<std::string>());
             });
  }
  EXPECT_EQ(patterns.size(), 1u);
}

TEST(CrdCheck, TemplatesOfQuotasAreTheSpecOfAQuota) {
  const auto spec = [](std::string_view plural) {
    return SchemaOf(LoadCrd(plural))["properties"]["spec"];
  };
  const YAML::Node quota = spec("quotas");
  const YAML::Node set = spec("quotasets")["properties"]["template"];
  const YAML::Node queue = spec("queues")["properties"]["quotaTemplate"];
  for (const char* key : {"properties", "x-kubernetes-validations"}) {
    EXPECT_EQ(Text(set[key]), Text(quota[key]));
    EXPECT_EQ(Text(queue[key]), Text(quota[key]));
  }
  EXPECT_EQ(Text(set["required"]), Text(quota["required"]));
  EXPECT_FALSE(queue["required"]);
}

TEST(CrdCheck, ANewQuotaReadsQuotaEmpty) {
  const YAML::Node status = SchemaOf(LoadCrd("quotas"))["properties"]["status"];
  EXPECT_TRUE(status["default"].IsMap());
  EXPECT_EQ(status["properties"]["phase"]["default"].as<std::string>(), "QuotaEmpty");
}

TEST(CrdCheck, TheTableOfQuotasShowsWhatPeopleWatch) {
  std::string names;
  for (const auto& column : LoadCrd("quotas")["spec"]["versions"][0]["additionalPrinterColumns"])
    names += column["name"].as<std::string>() + " ";
  EXPECT_EQ(names, "Queue Phase Node Allocated Age ");
}

TEST(CrdCheck, ListsAreAsLongAsTheRulesOfTheSystemSay) {
  const auto placement = SchemaOf(LoadCrd("placements"))["properties"]["spec"]["properties"];
  EXPECT_EQ(placement["entries"]["maxItems"].as<int>(), 4096);
  EXPECT_EQ(placement["entries"]["x-kubernetes-list-type"].as<std::string>(), "atomic");
  const auto quota = SchemaOf(LoadCrd("quotas"))["properties"];
  EXPECT_EQ(quota["spec"]["properties"]["sharedQueues"]["maxItems"].as<int>(), 1000);
  EXPECT_EQ(quota["status"]["properties"]["tasks"]["x-kubernetes-list-type"].as<std::string>(),
            "atomic");
}

}  // namespace
}  // namespace sky::api
