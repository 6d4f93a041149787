// SPDX-License-Identifier: Apache-2.0
// Create, update, delete: the rules between a request and the store.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using std::chrono::seconds;

TEST(Create, GivesUidRevisionTimeAndGeneration) {
  TestCluster c;
  const Json quota = c.Make(kQuotas, c.Quota("q"));
  EXPECT_EQ(TextAt(quota, {"metadata", "uid"}).size(), 36u);
  EXPECT_EQ(TextAt(quota, {"metadata", "creationTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(IntAt(quota, {"metadata", "generation"}), 1);
  EXPECT_EQ(TextAt(quota, {"metadata", "resourceVersion"}), std::to_string(c.api->revision()));
  EXPECT_EQ(c.Get(kQuotas + "/q"), quota);
}

TEST(Create, IsDeterministicUnderOneSeed) {
  TestCluster a, b, other({.seed = 2});
  EXPECT_EQ(a.Make(kPods, a.Pod("p")), b.Make(kPods, b.Pod("p")));
  EXPECT_NE(TextAt(a.Get(kPods + "/p"), {"metadata", "uid"}),
            TextAt(other.Make(kPods, other.Pod("p")), {"metadata", "uid"}));
}

TEST(Create, DropsStatusWhereThereIsASubresourceAndFillsInItsDefault) {
  TestCluster c;
  Json quota = c.Quota("q");
  quota["status"] = {{"phase", "QuotaBound"}, {"nodeName", "n1"}};
  EXPECT_EQ(c.Make(kQuotas, quota)["status"], J(R"({"phase":"QuotaEmpty"})"));
  Json pod = c.Pod("p");
  pod["status"] = {{"phase", "Running"}};
  EXPECT_EQ(TextAt(c.Make(kPods, pod), {"status", "phase"}), "Pending");
  // A kubelet registers its node with its status in one go.
  EXPECT_EQ(c.Make(kNodes, c.Node("n"))["status"], c.Node("n")["status"]);
}

TEST(Create, RefusesASecondObjectOfThatName) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("q"));
  const Reply again = c.client->Post(kQuotas, c.Quota("q"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(TextAt(again.json(), {"reason"}), "AlreadyExists");
  EXPECT_EQ(TextAt(again.json(), {"details", "group"}), "scheduling.infini-ai.com");
}

TEST(Create, MakesNamesFromAPrefix) {
  TestCluster c;
  Json pod = c.Pod("");
  pod["metadata"] = {{"generateName", "work-"}};
  const std::string first = TextAt(c.Make(kPods, pod), {"metadata", "name"});
  const std::string second = TextAt(c.Make(kPods, pod), {"metadata", "name"});
  EXPECT_TRUE(first.starts_with("work-") && first.size() == 10) << first;
  EXPECT_NE(first, second);
}

TEST(Create, NeedsANamespaceThatIsThere) {
  TestCluster c;
  const Reply reply = c.client->Post("/api/v1/namespaces/nowhere/pods", c.Pod("p"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.message(), "namespaces \"nowhere\" not found");
  Json elsewhere = c.Pod("p");
  elsewhere["metadata"]["namespace"] = "other";
  EXPECT_EQ(c.client->Post(kPods, elsewhere).status, 400);
}

TEST(Create, StoresNothingOnADryRun) {
  TestCluster c;
  const Revision before = c.api->revision();
  EXPECT_EQ(c.client->Post(kQuotas + "?dryRun=All", c.Quota("q")).status, 201);
  EXPECT_EQ(c.client->Get(kQuotas + "/q").status, 404);
  EXPECT_EQ(c.api->revision(), before);
  EXPECT_EQ(c.client->Post(kQuotas + "?dryRun=Some", c.Quota("q")).status, 422);
}

TEST(Create, RefusesAnObjectThatHasBeenStoredBefore) {
  TestCluster c;
  Json quota = c.Quota("q");
  quota["metadata"]["resourceVersion"] = "5";
  EXPECT_EQ(c.client->Post(kQuotas, quota).status, 500);  // no better code in a real server either
}

TEST(Create, RefusesWhatIsNotAnObjectOfThisKind) {
  TestCluster c;
  EXPECT_EQ(c.client->Do("POST", kQuotas, "", "application/json").status, 400);
  EXPECT_EQ(c.client->Do("POST", kQuotas, "{", "application/json").status, 400);
  EXPECT_EQ(c.client->Do("POST", kQuotas, "[]", "application/json").status, 400);
  EXPECT_EQ(c.client->Do("POST", kQuotas, std::string(4000, '['), "application/json").status, 400);
  EXPECT_EQ(c.client->Post(kQuotas, c.Pod("p")).status, 400);
  EXPECT_EQ(c.client->Do("POST", kQuotas, "x", "text/csv").status, 415);
}

TEST(Create, ReadsYamlToo) {
  TestCluster c;
  const Reply reply = c.client->Do(
      "POST", kQuotas, "metadata: {name: q}\nspec:\n  queueName: default\n  request:\n    cpu: 1\n",
      "application/yaml");
  EXPECT_EQ(reply.status, 201) << reply.body;
  EXPECT_EQ(reply.json()["spec"]["request"]["cpu"], 1);
}

TEST(Create, ChecksNamesLabelsAndOwners) {
  TestCluster c;
  const auto refused = [&](std::string_view metadata) {
    Json pod = c.Pod("ok");
    pod["metadata"].update(J(metadata));
    const Reply reply = c.client->Post(kPods, pod);
    return reply.status == 422 ? TextAt(reply.json()["details"]["causes"][0], {"field"})
                               : reply.body;
  };
  EXPECT_EQ(refused(R"({"name":"Upper"})"), "metadata.name");
  EXPECT_EQ(refused(R"({"name":"a..b"})"), "metadata.name");
  EXPECT_EQ(refused(R"({"labels":{"-x":"y"}})"), "metadata.labels");
  EXPECT_EQ(refused(R"({"labels":{"x":"a b"}})"), "metadata.labels");
  EXPECT_EQ(refused(R"({"ownerReferences":[{"kind":"Job"}]})"),
            "metadata.ownerReferences[0].apiVersion");
  for (const char* undecodable : {R"({"labels":{"x":1}})", R"({"annotations":{"x":{}}})"}) {
    Json pod = c.Pod("ok");
    pod["metadata"].update(J(undecodable));
    EXPECT_EQ(c.client->Post(kPods, pod).status, 400) << undecodable;
  }
  // The prefix of an annotation may be in any case, that of a label not.
  EXPECT_EQ(refused(R"({"labels":{"Example.com/x":"y"}})"), "metadata.labels");
  Json annotated = c.Pod("annotated");
  annotated["metadata"]["annotations"] = {{"Example.com/x", "y"}};
  c.Make(kPods, annotated);
}

TEST(Update, NeedsTheCurrentResourceVersion) {
  TestCluster c;
  Json quota = c.Make(kQuotas, c.Quota("q"));
  Json changed = quota;
  changed["metadata"]["labels"] = {{"a", "b"}};
  EXPECT_EQ(c.client->Put(kQuotas + "/q", changed).status, 200);
  const Reply stale = c.client->Put(kQuotas + "/q", changed);
  EXPECT_EQ(stale.status, 409);
  EXPECT_EQ(TextAt(stale.json(), {"reason"}), "Conflict");
}

TEST(Update, WithoutResourceVersionIsForSomeKindsOnly) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("q"));
  c.Make(kPods, c.Pod("p"));
  c.Make(kLeases, J(R"({"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":15}})"));
  EXPECT_EQ(c.client->Put(kQuotas + "/q", c.Quota("q")).status, 422);
  EXPECT_EQ(c.client->Put(kLeases + "/l", J(R"({"metadata":{"name":"l"}})")).status, 422);
  Json pod = c.Get(kPods + "/p");
  pod["metadata"].erase("resourceVersion");
  pod["metadata"]["labels"] = {{"a", "b"}};
  EXPECT_EQ(c.client->Put(kPods + "/p", pod).status, 200);
}

TEST(Update, OfAMissingLeaseCreatesIt) {
  TestCluster c;
  const Json lease = J(R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}})");
  EXPECT_EQ(c.client->Put(kLeases + "/l", lease).status, 201);
  EXPECT_EQ(c.client->Put(kQuotas + "/q", c.Quota("q")).status, 404);
}

TEST(Update, OfTheMainResourceKeepsStatusAndCountsGenerations) {
  TestCluster c;
  Json quota = c.Make(kQuotas, c.Quota("q"));
  quota["status"]["phase"] = "QuotaBound";
  quota["spec"]["nodeSelector"] = {{"a", "b"}};
  const Json updated = c.client->Put(kQuotas + "/q", quota).json();
  EXPECT_EQ(TextAt(updated, {"status", "phase"}), "QuotaEmpty");
  EXPECT_EQ(IntAt(updated, {"metadata", "generation"}), 2);
}

TEST(Update, OfTheStatusChangesNothingElse) {
  TestCluster c;
  Json quota = c.Make(kQuotas, c.Quota("q"));
  quota["status"] = {{"phase", "QuotaBound"}, {"nodeName", "n1"}};
  quota["spec"]["queueName"] = "other";
  quota["metadata"]["labels"] = {{"a", "b"}};
  const Json updated = c.client->Put(kQuotas + "/q/status", quota).json();
  EXPECT_EQ(TextAt(updated, {"status", "nodeName"}), "n1");
  EXPECT_EQ(TextAt(updated, {"spec", "queueName"}), "default");
  EXPECT_EQ(Find(updated, {"metadata", "labels"}), nullptr);
  EXPECT_EQ(IntAt(updated, {"metadata", "generation"}), 1);
  // The status of a pod takes labels and annotations with it.
  Json pod = c.Make(kPods, c.Pod("p"));
  pod["status"]["phase"] = "Running";
  pod["metadata"]["annotations"] = {{"a", "b"}};
  const Json running = c.client->Put(kPods + "/p/status", pod).json();
  EXPECT_EQ(TextAt(running, {"status", "phase"}), "Running");
  EXPECT_EQ(TextAt(running, {"metadata", "annotations", "a"}), "b");
}

TEST(Update, HasNoStatusEndpointForPlacements) {
  TestCluster c;
  const std::string path = "/apis/scheduling.infini-ai.com/v1alpha1/namespaces/default/placements";
  const Json placement =
      c.Make(path, J(R"({"metadata":{"name":"g"},"spec":{"podGroupUID":"u","round":1,
      "leaderEpoch":1,"nodes":["n0"],"quotas":["q0"],
      "entries":[{"task":"t","podUID":"p","quota":0,"node":0,"zone":-1}]}})"));
  EXPECT_EQ(placement["spec"]["entries"].size(), 1u);
  EXPECT_EQ(c.client->Get(path + "/g/status").status, 404);
}

TEST(Update, ThatChangesNothingLeavesTheRevisionAlone) {
  TestCluster c;
  const Json quota = c.Make(kQuotas, c.Quota("q"));
  const Revision before = c.api->revision();
  EXPECT_EQ(c.client->Put(kQuotas + "/q", quota).json(), quota);
  EXPECT_EQ(c.client
                ->Patch(InProcess::PatchType::kMerge, kQuotas + "/q",
                        J(R"({"spec":{"queueName":"default"}})"))
                .json(),
            quota);
  EXPECT_EQ(c.api->revision(), before);
}

TEST(Update, KeepsWhatTheServerOwns) {
  TestCluster c;
  const Json quota = c.Make(kQuotas, c.Quota("q"));
  Json changed = quota;
  changed["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z";
  changed["metadata"]["generation"] = 77;
  EXPECT_EQ(c.client->Put(kQuotas + "/q", changed).json(), quota);
  changed["metadata"]["uid"] = "another";
  EXPECT_EQ(c.client->Put(kQuotas + "/q", changed).status, 409);
}

TEST(Timeout, StoresNothingThatWouldBeLate) {
  TestCluster c;
  const auto late = [&](const std::string& method, const std::string& target, const Json& body) {
    const server::Request request =
        c.client->MakeRequest(method, target, Dump(body), "application/json");
    const MonoTime received = c.clock.Mono();
    c.clock.Advance(seconds(5));
    return c.api->Handle(request, received);
  };
  const Revision before = c.api->revision();
  EXPECT_EQ(late("POST", kQuotas + "?timeout=4s", c.Quota("q")).status, 504);
  EXPECT_EQ(c.api->revision(), before);
  EXPECT_EQ(late("POST", kQuotas + "?timeout=6s", c.Quota("q")).status, 201);
  EXPECT_EQ(late("DELETE", kQuotas + "/q?timeout=4s", Json::object()).status, 504);
  c.Make(kPods, c.Pod("p"));
  const Json binding = {{"metadata", {{"name", "p"}}}, {"target", {{"name", "n"}}}};
  EXPECT_EQ(late("POST", kPods + "/p/binding?timeout=4s", binding).status, 504);
  EXPECT_EQ(TextAt(c.Get(kPods + "/p"), {"spec", "nodeName"}), "");
  EXPECT_EQ(c.client->Get(kQuotas + "?timeout=abc").status, 400);
}

TEST(Delete, ChecksItsPreconditions) {
  TestCluster c;
  const Json quota = c.Make(kQuotas, c.Quota("q"));
  const auto with = [&](const char* name, const std::string& value) {
    const Json options = {{"preconditions", {{name, value}}}};
    return c.client->Delete(kQuotas + "/q", &options).status;
  };
  EXPECT_EQ(with("uid", "other"), 409);
  EXPECT_EQ(with("resourceVersion", "1"), 409);
  EXPECT_EQ(with("uid", TextAt(quota, {"metadata", "uid"})), 200);
  EXPECT_EQ(with("uid", "other"), 404);
}

TEST(Delete, WaitsForFinalizers) {
  TestCluster c;
  Json quota = c.Quota("q");
  quota["metadata"]["finalizers"] = {"x.io/in-use"};
  c.Make(kQuotas, quota);
  const Json leaving = c.client->Delete(kQuotas + "/q").json();
  EXPECT_EQ(TextAt(leaving, {"metadata", "deletionTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(IntAt(leaving, {"metadata", "generation"}), 2);
  const auto set_finalizers = [&](const char* list) {
    return c.client->Patch(InProcess::PatchType::kMerge, kQuotas + "/q",
                           {{"metadata", {{"finalizers", J(list)}}}});
  };
  EXPECT_EQ(set_finalizers(R"(["x.io/in-use","y.io/new"])").status, 422);
  Watcher watcher(c, kQuotas + "?watch=true&resourceVersion=" + std::to_string(c.api->revision()));
  EXPECT_EQ(set_finalizers("[]").status, 200);
  EXPECT_EQ(c.client->Get(kQuotas + "/q").status, 404);
  EXPECT_EQ(watcher.Take(), Texts{"DELETED q"});
}

TEST(Delete, OfACollectionTakesWhatIsSelected) {
  TestCluster c;
  for (const char* name : {"a", "b", "c"}) {
    Json quota = c.Quota(name);
    if (std::string(name) != "b") quota["metadata"]["labels"] = {{"go", "yes"}};
    c.Make(kQuotas, quota);
  }
  EXPECT_EQ(c.client->Delete(kQuotas + "?labelSelector=go%3Dyes").json()["items"].size(), 2u);
  const Json left = c.Get(kQuotas);
  ASSERT_EQ(left["items"].size(), 1u);
  EXPECT_EQ(TextAt(left["items"][0], {"metadata", "name"}), "b");
}

TEST(Delete, OnADryRunDeletesNothing) {
  TestCluster c;
  c.Make(kQuotas, c.Quota("q"));
  EXPECT_EQ(c.client->Delete(kQuotas + "/q?dryRun=All").status, 200);
  const Json options = {{"dryRun", {"All"}}};
  EXPECT_EQ(c.client->Delete(kQuotas + "/q", &options).status, 200);
  EXPECT_EQ(c.client->Get(kQuotas + "/q").status, 200);
}

TEST(Namespaces, GoWhenTheyAreEmpty) {
  TestCluster c;
  c.Make("/api/v1/namespaces", J(R"({"metadata":{"name":"work"}})"));
  const std::string pods = "/api/v1/namespaces/work/pods";
  c.Make(pods, c.Pod("p"));
  const Json leaving = c.client->Delete("/api/v1/namespaces/work").json();
  EXPECT_EQ(TextAt(leaving, {"status", "phase"}), "Terminating");
  EXPECT_EQ(c.client->Post(pods, c.Pod("late")).status, 403);
  EXPECT_EQ(c.client->Delete(pods + "/p").status, 200);
  EXPECT_EQ(c.client->Get("/api/v1/namespaces/work").status, 404);
}

TEST(CustomResourceDefinitions, AreListedAndFixed) {
  TestCluster c;
  const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  EXPECT_EQ(c.Get(path)["items"].size(), EmbeddedCrds().size());
  Json crd = c.Get(path + "/quotas.scheduling.infini-ai.com");
  crd["metadata"]["labels"] = {{"a", "b"}};
  EXPECT_EQ(c.client->Put(path + "/quotas.scheduling.infini-ai.com", crd).status, 200);
  crd = c.Get(path + "/quotas.scheduling.infini-ai.com");
  crd["spec"]["scope"] = "Namespaced";
  EXPECT_EQ(c.client->Put(path + "/quotas.scheduling.infini-ai.com", crd).status, 422);
}

}  // namespace
}  // namespace sky::lab
