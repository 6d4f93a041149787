// SPDX-License-Identifier: Apache-2.0
// Server-side apply: who owns what, what conflicts, what goes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/field_set.h"
#include "lab/managed_fields.h"
#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using ApplyType = InProcess::PatchType;

constexpr std::string_view kQuota =
    R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"Quota"})";

Reply ApplyAs(TestCluster& c, const std::string& manager, const std::string& path,
              std::string_view members, const std::string& more = "") {
  return c.client->Patch(ApplyType::kApply, path + "?fieldManager=" + manager + more, J(members));
}

Texts OwnersOf(const Json& object, std::string_view path) {
  Texts owners;
  for (const FieldOwner& manager : ReadOwners(object))
    for (const std::string& owned : manager.fields.Paths())
      if (owned == path) owners.push_back(manager.name + "/" + manager.operation);
  return owners;
}

TEST(Apply, CreatesAndIsRepeatable) {
  TestCluster c;
  const char* config = R"({"spec":{"queueName":"a","request":{"cpu":"1"}}})";
  const Reply created = ApplyAs(c, "me", kQuotas + "/q", config);
  EXPECT_EQ(created.status, 201) << created.body;
  EXPECT_EQ(OwnersOf(created.json(), ".spec.queueName"), Texts{"me/Apply"});
  c.clock.Advance(std::chrono::seconds(5));
  const Reply again = ApplyAs(c, "me", kQuotas + "/q", config);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json(), created.json());
}

TEST(Apply, NeedsAManagerAndNoManagedFields) {
  TestCluster c;
  EXPECT_EQ(c.client->Patch(ApplyType::kApply, kQuotas + "/q", J(kQuota)).status, 422);
  EXPECT_EQ(ApplyAs(c, "me", kQuotas + "/q", R"({"metadata":{"managedFields":[]}})").status, 400);
  EXPECT_EQ(ApplyAs(c, "me", kQuotas + "/q", R"({"metadata":{"uid":"x"},"spec":{}})").status, 409);
  EXPECT_EQ(ApplyAs(c, "me", kQuotas + "/q/status", R"({"status":{}})").status, 404);
}

TEST(Apply, ReadsYaml) {
  TestCluster c;
  const Reply reply =
      c.client->Do("PATCH", kQuotas + "/q?fieldManager=me",
                   "spec:\n  queueName: a\n  request: {cpu: 2}\n", "application/apply-patch+yaml");
  EXPECT_EQ(reply.status, 201) << reply.body;
}

TEST(Apply, ConflictsOverFieldsOfOthersUnlessForced) {
  TestCluster c;
  ApplyAs(c, "one", kQuotas + "/q", R"({"spec":{"queueName":"a","request":{"cpu":"1"}}})");
  const char* other = R"({"spec":{"queueName":"b","nodeSelector":{"x":"y"}}})";
  const Reply conflict = ApplyAs(c, "two", kQuotas + "/q", other);
  EXPECT_EQ(conflict.status, 409);
  const Json causes = conflict.json()["details"]["causes"];
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(TextAt(causes[0], {"reason"}), "FieldManagerConflict");
  EXPECT_EQ(TextAt(causes[0], {"field"}), ".spec.queueName");
  EXPECT_NE(TextAt(causes[0], {"message"}).find("\"one\""), std::string::npos);
  const Json forced = ApplyAs(c, "two", kQuotas + "/q", other, "&force=true").json();
  EXPECT_EQ(TextAt(forced, {"spec", "queueName"}), "b");
  EXPECT_EQ(OwnersOf(forced, ".spec.queueName"), Texts{"two/Apply"});
  EXPECT_EQ(OwnersOf(forced, ".spec.request.cpu"), Texts{"one/Apply"});
}

TEST(Apply, OfKubectlTakesOverWhatItsClientSideApplied) {
  TestCluster c;
  Json quota = c.Quota("q");
  quota["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
      Dump({{"apiVersion", "scheduling.infini-ai.com/v1alpha1"},
            {"kind", "Quota"},
            {"spec", {{"queueName", "a"}}}});
  quota["spec"]["queueName"] = "b";
  c.Make(kQuotas, quota);
  const auto patch = [&](const char* queue) {
    c.client->Patch(ApplyType::kMerge, kQuotas + "/q", {{"spec", {{"queueName", queue}}}});
  };
  const char* config = R"({"spec":{"queueName":"c","request":{"cpu":"1"}}})";
  EXPECT_EQ(ApplyAs(c, "kubectl", kQuotas + "/q", config).status, 409)
      << "somebody has changed it since";
  patch("a");  // as the annotation says
  EXPECT_EQ(ApplyAs(c, "other", kQuotas + "/q", config).status, 409);
  EXPECT_EQ(ApplyAs(c, "kubectl", kQuotas + "/q", config).status, 200);
}

TEST(Apply, SharesFieldsThatAgree) {
  TestCluster c;
  const char* config = R"({"spec":{"queueName":"a","request":{"cpu":"1"}}})";
  ApplyAs(c, "one", kQuotas + "/q", config);
  const Json shared = ApplyAs(c, "two", kQuotas + "/q", config).json();
  EXPECT_EQ(OwnersOf(shared, ".spec.queueName"), (Texts{"one/Apply", "two/Apply"}));
  // One of them lets go: the field stays. Both: it goes.
  const char* less = R"({"spec":{"queueName":"a"}})";
  EXPECT_TRUE(ApplyAs(c, "one", kQuotas + "/q", less).json()["spec"].contains("request"));
  EXPECT_EQ(ApplyAs(c, "two", kQuotas + "/q", less).status, 422);  // request is required
}

TEST(Apply, TakesAwayWhatItNoLongerSays) {
  TestCluster c;
  ApplyAs(c, "me", kQuotas + "/q",
          R"({"metadata":{"labels":{"a":"1","b":"2"}},
              "spec":{"queueName":"a","request":{"cpu":"1","memory":"1Gi"},"nodeSelector":{"x":"y"}}})");
  c.client->Patch(ApplyType::kMerge, kQuotas + "/q", J(R"({"metadata":{"labels":{"c":"3"}}})"));
  const Json less = ApplyAs(c, "me", kQuotas + "/q",
                            R"({"metadata":{"labels":{"a":"1"}},
                                "spec":{"queueName":"a","request":{"cpu":"1"}}})")
                        .json();
  EXPECT_EQ(less["metadata"]["labels"], J(R"({"a":"1","c":"3"})"));
  EXPECT_EQ(less["spec"]["request"], J(R"({"cpu":"1"})"));
  EXPECT_FALSE(less["spec"].contains("nodeSelector"));
}

TEST(Apply, MergesConditionsByTypeForEachManager) {
  TestCluster c;
  c.Make(kGroups, c.Group("g"));
  const std::string status = kGroups + "/g/status";
  const auto condition = [](const char* type, const char* value) {
    return fmt::format(
        R"({{"status":{{"conditions":[{{"type":"{}","status":"{}","reason":"R","message":"m",
        "lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}})",
        type, value);
  };
  EXPECT_EQ(ApplyAs(c, "scheduler", status, condition("Scheduled", "False")).status, 200);
  EXPECT_EQ(ApplyAs(c, "controller", status, condition("Admitted", "True")).status, 200);
  const Json both = ApplyAs(c, "scheduler", status, condition("Scheduled", "True")).json();
  ASSERT_EQ(both["status"]["conditions"].size(), 2u);
  EXPECT_EQ(ApplyAs(c, "controller", status, condition("Scheduled", "False")).status, 409);
  const Json one = ApplyAs(c, "controller", status, R"({"status":{"phase":"Pending"}})").json();
  ASSERT_EQ(one["status"]["conditions"].size(), 1u);
  EXPECT_EQ(TextAt(one["status"]["conditions"][0], {"type"}), "Scheduled");
  EXPECT_EQ(IntAt(one, {"metadata", "generation"}), 1);
}

TEST(Apply, MergesContainersAndPortsOfPods) {
  TestCluster c;
  c.Make(kPods, J(R"({"metadata":{"name":"p"},"spec":{"containers":[
      {"name":"a","image":"1","ports":[{"containerPort":80}]},{"name":"b","image":"2"}]}})"));
  const Reply reply = ApplyAs(
      c, "me", kPods + "/p",
      R"({"spec":{"containers":[{"name":"a","image":"3","ports":[{"containerPort":80}]}]}})",
      "&force=true");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json containers = reply.json()["spec"]["containers"];
  ASSERT_EQ(containers.size(), 2u);
  EXPECT_EQ(TextAt(containers[0], {"image"}), "3");
  EXPECT_EQ(containers[0]["ports"].size(), 1u);
}

TEST(ManagedFields, TellWhoUpdatedWhat) {
  TestCluster c;
  InProcess editor(*c.api, "editor/2.0 (linux)");
  c.Make(kQuotas + "?fieldManager=maker", c.Quota("q"));
  Json quota =
      editor.Patch(ApplyType::kMerge, kQuotas + "/q", J(R"({"spec":{"queueName":"b"}})")).json();
  EXPECT_EQ(OwnersOf(quota, ".spec.queueName"), Texts{"editor/Update"});
  EXPECT_EQ(OwnersOf(quota, ".spec.request.nvidia.com/gpu"), Texts{"maker/Update"});
  quota =
      editor.Patch(ApplyType::kMerge, kQuotas + "/q/status", J(R"({"status":{"nodeName":"n"}})"))
          .json();
  const std::vector<FieldOwner> managers = ReadOwners(quota);
  ASSERT_EQ(managers.size(), 3u);
  EXPECT_EQ(managers[2].subresource, "status");
  // Applying against an update conflicts like against an apply.
  EXPECT_EQ(ApplyAs(c, "me", kQuotas + "/q", R"({"spec":{"queueName":"c"}})").status, 409);
}

TEST(ManagedFields, MayBeRewrittenByAClient) {
  TestCluster c;
  c.Make(kQuotas + "?fieldManager=kubectl-client-side-apply", c.Quota("q"));
  const Json patch =
      J(R"([{"op":"replace","path":"/metadata/managedFields/0/manager","value":"kubectl"},
      {"op":"replace","path":"/metadata/managedFields/0/operation","value":"Apply"}])");
  const Json moved = c.client->Patch(ApplyType::kJson, kQuotas + "/q", patch).json();
  EXPECT_EQ(OwnersOf(moved, ".spec.queueName"), Texts{"kubectl/Apply"});
}

TEST(FieldSet, ReadsWhatItWrites) {
  TestCluster c;
  const MergeType type = MergeType::ForApply(*c.api->resources().ByKind("v1", "Pod"));
  const Json pod = J(R"({"metadata":{"labels":{"a":"b"},"finalizers":["x.io/y"]},
      "spec":{"containers":[{"name":"a","ports":[{"containerPort":1}],"args":["x"]}],"nodeSelector":{}}})");
  const FieldSet set = FieldSet::Of(pod, type);
  EXPECT_EQ(FieldSet::FromJson(set.ToJson()).ToJson(), set.ToJson());
  EXPECT_EQ(set.ToJson()["f:metadata"]["f:finalizers"], J(R"({"v:\"x.io/y\"":{}})"));
  EXPECT_EQ(
      set.Paths(),
      (Texts{".metadata.finalizers[=\"x.io/y\"]", ".metadata.labels.a",
             ".spec.containers[name=\"a\"]", ".spec.containers[name=\"a\"].args",
             ".spec.containers[name=\"a\"].name",
             ".spec.containers[name=\"a\"].ports[containerPort=1,protocol=\"TCP\"]",
             ".spec.containers[name=\"a\"].ports[containerPort=1,protocol=\"TCP\"].containerPort",
             ".spec.nodeSelector"}));
  EXPECT_TRUE(set.Minus(set).empty());
  EXPECT_EQ(set.Intersection(set).ToJson(), set.ToJson());
  EXPECT_EQ(set.Union(FieldSet()).ToJson(), set.ToJson());
}

}  // namespace
}  // namespace sky::lab
