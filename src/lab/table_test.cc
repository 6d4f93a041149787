// SPDX-License-Identifier: Apache-2.0
// What kubectl prints: tables of lists and watches, JSONPath, ages, discovery, OpenAPI.
#include "lab/table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/json_path.h"
#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kTable =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
    "json;as=Table;v=v1beta1;g=meta.k8s.io,"
    "application/json";

TEST(JsonPath, FindsWhatPrinterColumnsAskFor) {
  const Json document =
      J(R"({"a":{"b":"x","nvidia.com/gpu":"8"},"l":[{"t":"p","v":1},{"t":"q","v":2}]})");
  const auto at = [&](std::string_view path) {
    const auto parsed = JsonPath::Parse(path);
    EXPECT_TRUE(parsed.has_value()) << path;
    std::string out;
    for (const Json* value : parsed->Evaluate(document)) out += Dump(*value) + " ";
    return out;
  };
  EXPECT_EQ(at(".a.b"), "\"x\" ");
  EXPECT_EQ(at("{.a.b}"), "\"x\" ");
  EXPECT_EQ(at(".a['nvidia.com/gpu']"), "\"8\" ");
  EXPECT_EQ(at(R"(.a.nvidia\.com/gpu)"), "\"8\" ");
  EXPECT_EQ(at(".l[0].v"), "1 ");
  EXPECT_EQ(at(".l[-1].v"), "2 ");
  EXPECT_EQ(at(".l[*].v"), "1 2 ");
  EXPECT_EQ(at(R"(.l[?(@.t=="q")].v)"), "2 ");
  EXPECT_EQ(at(".missing.b"), "");
  EXPECT_EQ(at(".l[9]"), "");
  for (const char* bad : {"a", ".a[", ".a[x]", ".", ".a..b", ".l[?(@.t)]"})
    EXPECT_FALSE(JsonPath::Parse(bad).has_value()) << bad;
}

TEST(HumanAge, ReadsAsKubectlWritesIt) {
  EXPECT_EQ(HumanAge(seconds(0)), "0s");
  EXPECT_EQ(HumanAge(seconds(119)), "119s");
  EXPECT_EQ(HumanAge(seconds(120)), "2m");
  EXPECT_EQ(HumanAge(seconds(301)), "5m1s");
  EXPECT_EQ(HumanAge(minutes(179)), "179m");
  EXPECT_EQ(HumanAge(hours(3) + minutes(5)), "3h5m");
  EXPECT_EQ(HumanAge(hours(47)), "47h");
  EXPECT_EQ(HumanAge(hours(50)), "2d2h");
  EXPECT_EQ(HumanAge(hours(24 * 30)), "30d");
  EXPECT_EQ(HumanAge(hours(24 * 800)), "2y70d");
  EXPECT_EQ(HumanAge(hours(24 * 365 * 9)), "9y");
  EXPECT_EQ(HumanAge(seconds(-1)), "0s");
  EXPECT_EQ(HumanAge(seconds(-5)), "<invalid>");
}

TEST(Table, ShowsOurKindsByTheColumnsOfTheirDefinition) {
  TestCluster c;
  c.Make(kQuotas, TestCluster::Quota("q"));
  c.clock.Advance(seconds(7));
  const Json table = c.client->Get(kQuotas, kTable).json();
  EXPECT_EQ(TextAt(table, {"kind"}), "Table");
  Texts columns;
  for (const Json& column : table["columnDefinitions"]) columns.push_back(TextAt(column, {"name"}));
  EXPECT_EQ(columns, (Texts{"Name", "Queue", "Phase", "Node", "Allocated", "Age"}));
  EXPECT_EQ(table["rows"][0]["cells"], J(R"(["q","default","QuotaEmpty",null,null,"7s"])"));
  EXPECT_EQ(TextAt(table["rows"][0], {"object", "kind"}), "PartialObjectMetadata");
  EXPECT_EQ(TextAt(table, {"metadata", "resourceVersion"}), std::to_string(c.api->revision()));
  EXPECT_FALSE(
      c.client->Get(kQuotas + "?includeObject=None", kTable).json()["rows"][0].contains("object"));
  EXPECT_EQ(TextAt(c.client->Get(kQuotas + "?includeObject=Object", kTable).json()["rows"][0],
                   {"object", "kind"}),
            "Quota");
}

TEST(Table, ShowsEachEventOfAWatchAsATableOfOneRow) {
  TestCluster c;
  Watcher watcher(c, kQuotas + "?watch=true", kTable);
  c.Make(kQuotas, TestCluster::Quota("q"));
  const Json table = J(watcher.events().at(0).object);
  EXPECT_EQ(TextAt(table, {"kind"}), "Table");
  EXPECT_EQ(table["rows"].size(), 1u);
}

TEST(Table, ShowsPodsNodesAndEventsAsEverybodyKnowsThem) {
  TestCluster c;
  c.Make(kNodes, TestCluster::Node("n1"));
  c.Make(kPods, TestCluster::Pod("p"));
  c.Bind("p", "n1");
  c.client->Patch(InProcess::PatchType::kMerge, kNodes + "/n1",
                  J(R"({"spec":{"unschedulable":true}})"));
  EXPECT_EQ(c.client->Get(kPods, kTable).json()["rows"][0]["cells"],
            J(R"(["p","0/1","Pending","0","0s","<none>","n1","<none>","<none>"])"));
  EXPECT_EQ(c.client->Get(kNodes, kTable).json()["rows"][0]["cells"],
            J(R"(["n1","Ready,SchedulingDisabled","<none>","0s","","<none>",
                  "<none>","<unknown>","<unknown>","<unknown>"])"));
  c.client->Delete(kPods + "/p");
  EXPECT_EQ(c.client->Get(kPods + "/p", kTable).json()["rows"][0]["cells"][2], "Terminating");
}

TEST(PartialMetadata, IsListedOnRequest) {
  TestCluster c;
  c.Make(kQuotas, TestCluster::Quota("q"));
  const Json list =
      c.client->Get(kQuotas, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
          .json();
  EXPECT_EQ(TextAt(list, {"kind"}), "PartialObjectMetadataList");
  EXPECT_FALSE(list["items"][0].contains("spec"));
  EXPECT_EQ(c.client->Get(kQuotas, "application/vnd.kubernetes.protobuf").status, 406);
  EXPECT_EQ(c.client->Get(kQuotas, "application/vnd.kubernetes.protobuf, application/json").status,
            200);
}

TEST(Events, AreOneThingInTwoViews) {
  TestCluster c;
  const std::string v1 = "/apis/events.k8s.io/v1/namespaces/default/events";
  const std::string core = "/api/v1/namespaces/default/events";
  const Json event = J(
      R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e","namespace":"default"},
      "eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"sky.io/scheduler","reportingInstance":"a",
      "action":"Binding","reason":"Scheduled","type":"Normal","note":"here",
      "regarding":{"kind":"Pod","name":"p","namespace":"default","uid":"u"}})");
  EXPECT_EQ(TextAt(c.Make(v1, event), {"note"}), "here");
  const std::string query =
      "?fieldSelector=involvedObject.name%3Dp,involvedObject.namespace%3Ddefault,involvedObject."
      "uid%3Du";
  const Json seen = c.Get(core + query)["items"][0];
  EXPECT_EQ(TextAt(seen, {"message"}), "here");
  EXPECT_EQ(TextAt(seen, {"apiVersion"}), "v1");
  EXPECT_EQ(TextAt(seen, {"involvedObject", "name"}), "p");
  EXPECT_EQ(c.Get(core + "?fieldSelector=involvedObject.namespace%3D")["items"].size(), 0u);
  const Json patched =
      c.client
          ->Patch(InProcess::PatchType::kMerge, v1 + "/e",
                  J(R"({"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:05.000000Z"}})"))
          .json();
  EXPECT_EQ(TextAt(patched, {"regarding", "name"}), "p");
  const auto change = [&](const std::string& path, const char* body) {
    return c.client->Patch(InProcess::PatchType::kMerge, path, J(body)).status;
  };
  EXPECT_EQ(change(v1 + "/e", R"({"note":"there"})"), 422) << "only its series goes on";
  EXPECT_EQ(change(core + "/e", R"({"count":2})"), 200) << "the old form counts in place";
  EXPECT_EQ(change(core + "/e", R"({"count":null})"), 200);
  Json timeless = event;
  timeless.erase("eventTime");
  timeless["metadata"]["name"] = "timeless";
  EXPECT_EQ(c.client->Post(v1, timeless).status, 422);
  EXPECT_EQ(IntAt(c.Get(core + "/e"), {"series", "count"}), 2);
  Watcher watcher(c, v1 + "?watch=1");
  EXPECT_EQ(TextAt(J(watcher.events().at(0).object), {"note"}), "here");
  const Json cells = c.client->Get(core, kTable).json()["rows"][0]["cells"];
  EXPECT_EQ(cells[3], "pod/p");
  for (const char* missing : {"reportingController", "reportingInstance", "action", "reason"}) {
    Json bad = event;
    bad["metadata"]["name"] = "bad";
    bad.erase(missing);
    EXPECT_EQ(c.client->Post(v1, bad).status, 422) << missing;
  }
  Json elsewhere = event;
  elsewhere["metadata"]["name"] = "elsewhere";
  elsewhere["regarding"]["namespace"] = "kube-system";
  EXPECT_EQ(c.client->Post(v1, elsewhere).status, 201) << "the new form is laxer";
  const Json old = J(
      R"({"metadata":{"name":"old"},"involvedObject":{"kind":"Pod","name":"p","namespace":"kube-system"}})");
  EXPECT_EQ(c.client->Post(core, old).status, 422);
}

TEST(Discovery, ServesBothForms) {
  TestCluster c;
  constexpr std::string_view kNew =
      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
  const server::Response aggregated =
      c.api->Handle(c.client->MakeRequest("GET", "/apis", "", "", kNew));
  EXPECT_EQ(aggregated.content_type,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  bool found = false;
  const Json groups = J(aggregated.body);  // named: g++ 12 ends a temporary before the loop
  for (const Json& group : groups["items"])
    if (TextAt(group, {"metadata", "name"}) == "scheduling.infini-ai.com")
      for (const Json& resource : group["versions"][0]["resources"])
        if (TextAt(resource, {"resource"}) == "quotas") {
          found = true;
          EXPECT_EQ(TextAt(resource, {"singularResource"}), "quota");
          EXPECT_EQ(resource["shortNames"], J(R"(["qo"])"));
          EXPECT_EQ(TextAt(resource, {"scope"}), "Cluster");
        }
  EXPECT_TRUE(found);
  EXPECT_EQ(TextAt(c.Get("/apis"), {"kind"}), "APIGroupList");
  EXPECT_EQ(TextAt(c.Get("/api"), {"kind"}), "APIVersions");
  Texts core;
  const Json listed = c.Get("/api/v1");
  for (const Json& resource : listed["resources"]) core.push_back(TextAt(resource, {"name"}));
  for (const char* name : {"pods", "pods/eviction", "pods/binding", "pods/status", "nodes",
                           "events", "resourcequotas"})
    EXPECT_NE(std::ranges::find(core, name), core.end()) << name;
  EXPECT_EQ(TextAt(c.Get("/apis/scheduling.infini-ai.com"), {"kind"}), "APIGroup");
  EXPECT_EQ(TextAt(c.Get("/apis/scheduling.infini-ai.com/v1alpha1"), {"kind"}), "APIResourceList");
  EXPECT_EQ(TextAt(c.Get("/version"), {"gitVersion"}), "v1.36.3");
  EXPECT_EQ(c.client->Get("/openapi/v2").status, 404);
  EXPECT_EQ(c.client->Get("/apis/nobody.io").status, 404);
  EXPECT_EQ(c.client->Get("/readyz").body, "ok");
}

TEST(OpenApi, TellsKubectlAboutEveryKind) {
  TestCluster c;
  const Json index = c.Get("/openapi/v3");
  const std::string url =
      TextAt(index, {"paths", "apis/scheduling.infini-ai.com/v1alpha1", "serverRelativeURL"});
  const Json document = c.Get(url);
  const Json& patch =
      document["paths"]["/apis/scheduling.infini-ai.com/v1alpha1/quotas/{name}"]["patch"];
  EXPECT_EQ(TextAt(patch, {"x-kubernetes-group-version-kind", "kind"}), "Quota");
  bool explained = false;
  for (const Json& schema : document["components"]["schemas"])
    if (const Json* gvk = Find(schema, {"x-kubernetes-group-version-kind"});
        gvk && TextAt((*gvk)[0], {"kind"}) == "Quota")
      explained =
          Find(schema, {"properties", "spec", "properties", "queueName", "description"}) != nullptr;
  EXPECT_TRUE(explained);
}

TEST(Paths, ThatNothingAnswersAreNotFoundAndOthersNotAllowed) {
  TestCluster c;
  for (const char* path : {"/", "/nowhere", "/api/v2/pods", "/api/v1/things", "/api/v1/pods/p",
                           "/api/v1/namespaces/default/nodes",
                           "/api/v1/namespaces/default/pods/p/what", "/api/v1/nodes/n/status/more"})
    EXPECT_EQ(c.client->Get(path).status, 404) << path;
  c.Make(kPods, TestCluster::Pod("p"));
  EXPECT_EQ(c.client->Do("PUT", kPods, "{}", "application/json").status, 405);
  EXPECT_EQ(c.client->Do("POST", kPods + "/p", "{}", "application/json").status, 405);
  EXPECT_EQ(c.client->Do("GET", kPods + "/p/binding", "", "").status, 405);
  EXPECT_EQ(c.client->Do("DELETE", kPods + "/p/status", "", "").status, 405);
  EXPECT_EQ(c.client->Do("POST", "/api/v1/pods", "{}", "application/json").status, 405);
}

}  // namespace
}  // namespace sky::lab
