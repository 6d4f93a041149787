// SPDX-License-Identifier: Apache-2.0
// JSON patch, merge patch and strategic merge, on their own and through the server.
#include "lab/patch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using PatchType = InProcess::PatchType;

class Strategic : public ::testing::Test {
 protected:
  Json Merge(std::string_view kind, std::string_view document, std::string_view patch) {
    const Resource* resource = cluster_.api->resources().ByKind("v1", kind);
    auto merged = ApplyStrategicPatch(*resource, J(document), J(patch));
    EXPECT_TRUE(merged.has_value()) << merged.error().message;
    return merged.value_or(Json());
  }
  TestCluster cluster_;
};

TEST_F(Strategic, MergesContainersByName) {
  EXPECT_EQ(
      Merge("Pod", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"}]}})",
            R"({"spec":{"containers":[{"name":"b","image":"3"},{"name":"c","image":"4"}]}})"),
      J(R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"3"},
                                        {"name":"c","image":"4"}]}})"));
}

TEST_F(Strategic, DeletesItemsAndMembersOnRequest) {
  EXPECT_EQ(Merge("Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}],"x":1}})",
                  R"({"spec":{"containers":[{"name":"a","$patch":"delete"}],"x":null}})"),
            J(R"({"spec":{"containers":[{"name":"b"}]}})"));
  EXPECT_EQ(Merge("Pod", R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
                  R"({"metadata":{"labels":{"$patch":"replace","c":"3"}}})"),
            J(R"({"metadata":{"labels":{"c":"3"}}})"));
  EXPECT_EQ(Merge("Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                  R"({"spec":{"containers":[{"$patch":"replace"},{"name":"c"}]}})"),
            J(R"({"spec":{"containers":[{"name":"c"}]}})"));
}

TEST_F(Strategic, OrdersAsTheClientSays) {
  EXPECT_EQ(Merge("Pod", R"({"spec":{"containers":[{"name":"a"},{"name":"x"},{"name":"b"}]}})",
                  R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],
                              "containers":[{"name":"b","image":"2"}]}})"),
            J(R"({"spec":{"containers":[{"name":"b","image":"2"},{"name":"a"},{"name":"x"}]}})"));
}

TEST_F(Strategic, MergesConditionsByTypeAndReplacesTaintsWhole) {
  EXPECT_EQ(
      Merge("Node", R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"X"}]}})",
            R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})"),
      J(R"({"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"X"}]}})"));
  EXPECT_EQ(Merge("Node", R"({"spec":{"taints":[{"key":"a"},{"key":"b"}]}})",
                  R"({"spec":{"taints":[{"key":"c"}]}})"),
            J(R"({"spec":{"taints":[{"key":"c"}]}})"));
}

TEST_F(Strategic, TreatsFinalizersAsASet) {
  EXPECT_EQ(Merge("Pod", R"({"metadata":{"finalizers":["a.io/x","b.io/x"]}})",
                  R"({"metadata":{"finalizers":["b.io/x","c.io/x"],
                                  "$deleteFromPrimitiveList/finalizers":["a.io/x"]}})")
                ["metadata"]["finalizers"],
            J(R"(["b.io/x","c.io/x"])"));
}

TEST_F(Strategic, KeepsOnlyTheNamedKeysOfAUnion) {
  EXPECT_EQ(
      Merge(
          "Pod", R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})",
          R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name","hostPath"],"hostPath":{"path":"/"}}]}})"),
      J(R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/"}}]}})"));
}

TEST_F(Strategic, RefusesWhatItCannotPlace) {
  const Resource* pods = cluster_.api->resources().ByKind("v1", "Pod");
  for (const char* patch :
       {R"({"spec":{"containers":[{"image":"x"}]}})", R"({"spec":{"$patch":"merg"}})", "[]",
        R"({"spec":{"$retainKeys":"x"}})"})
    EXPECT_FALSE(
        ApplyStrategicPatch(*pods, J(R"({"spec":{"containers":[{"name":"a"}]}})"), J(patch)))
        << patch;
}

TEST(Patches, OfEachTypeGoThroughTheServer) {
  TestCluster c;
  Json pod = c.Pod("p");
  pod["metadata"]["labels"] = {{"a", "1"}};
  c.Make(kPods, pod);
  const std::string path = kPods + "/p";
  Json patched =
      c.client->Patch(PatchType::kMerge, path, J(R"({"metadata":{"labels":{"a":null,"b":"2"}}})"))
          .json();
  EXPECT_EQ(patched["metadata"]["labels"], J(R"({"b":"2"})"));
  patched = c.client
                ->Patch(PatchType::kJson, path,
                        J(R"([{"op":"test","path":"/metadata/labels/b","value":"2"},
            {"op":"add","path":"/metadata/labels/x~1y","value":"3"}])"))
                .json();
  EXPECT_EQ(patched["metadata"]["labels"], J(R"({"b":"2","x/y":"3"})"));
  patched = c.client
                ->Patch(PatchType::kStrategic, path + "/status",
                        J(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"))
                .json();
  EXPECT_EQ(TextAt(patched["status"]["conditions"][0], {"type"}), "Ready");
}

TEST(Patches, ThatDoNotApplySayWhy) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("q"));
  const std::string path = kQuotas + "/q";
  EXPECT_EQ(c.client
                ->Patch(PatchType::kJson, path,
                        J(R"([{"op":"test","path":"/spec/queueName","value":"x"}])"))
                .status,
            422);
  EXPECT_EQ(c.client->Patch(PatchType::kJson, path, J(R"({"op":"add"})")).status, 400);
  EXPECT_EQ(c.client->Patch(PatchType::kStrategic, path, J("{}")).status, 415);
  EXPECT_EQ(c.client->Do("PATCH", path, "{}", "application/json").status, 415);
  EXPECT_EQ(c.client->Patch(PatchType::kMerge, kQuotas + "/none", J("{}")).status, 404);
  EXPECT_EQ(c.client->Patch(PatchType::kMerge, path, J(R"({"metadata":{"name":"other"}})")).status,
            400);
  EXPECT_EQ(c.client->Patch(PatchType::kMerge, path + "?force=true", J("{}")).status, 422);
}

TEST(Patches, CarryAResourceVersionAsAPrecondition) {
  TestCluster c;
  const Json quota = c.Make(kQuotas, c.Quota("q"));
  const std::string revision = TextAt(quota, {"metadata", "resourceVersion"});
  const Json patch = {{"metadata", {{"resourceVersion", revision}}},
                      {"status", {{"nodeName", "n1"}}}};
  EXPECT_EQ(c.client->Patch(PatchType::kMerge, kQuotas + "/q/status", patch).status, 200);
  Json second = patch;
  second["status"]["nodeName"] = "n2";
  EXPECT_EQ(c.client->Patch(PatchType::kMerge, kQuotas + "/q/status", second).status, 409);
  second["metadata"].erase("resourceVersion");
  EXPECT_EQ(c.client->Patch(PatchType::kMerge, kQuotas + "/q/status", second).status, 200);
}

}  // namespace
}  // namespace sky::lab
