// SPDX-License-Identifier: Apache-2.0
// Pods on the API server: defaults, binding, eviction, graceful ends.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using std::chrono::seconds;

std::string ReasonOf(const Reply& reply) { return TextAt(reply.json(), {"reason"}); }

TEST(PodDefaults, AreWhatSchedulersAndKubectlExpect) {
  TestCluster c;
  Json pod = c.Pod("p");
  pod["spec"]["containers"][0]["resources"] = {{"limits", {{"nvidia.com/gpu", "1"}}}};
  const Json made = c.Make(kPods, pod);
  EXPECT_EQ(TextAt(made, {"spec", "schedulerName"}), "default-scheduler");
  EXPECT_EQ(TextAt(made, {"spec", "restartPolicy"}), "Always");
  EXPECT_EQ(IntAt(made, {"spec", "terminationGracePeriodSeconds"}), 30);
  EXPECT_EQ(IntAt(made, {"spec", "priority"}), 0);
  EXPECT_EQ(TextAt(made["spec"]["containers"][0], {"resources", "requests", "nvidia.com/gpu"}),
            "1");
  EXPECT_EQ(TextAt(made, {"status", "phase"}), "Pending");
}

TEST(PodDefaults, ResolvePriorityClasses) {
  TestCluster c;
  const std::string classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  c.Make(classes, J(R"({"metadata":{"name":"high"},"value":1000,"preemptionPolicy":"Never"})"));
  EXPECT_EQ(c.client->Post(kPods, c.Pod("x", R"({"priorityClassName":"none"})")).status, 403);
  const Json high = c.Make(kPods, c.Pod("a", R"({"priorityClassName":"high"})"));
  EXPECT_EQ(IntAt(high, {"spec", "priority"}), 1000);
  EXPECT_EQ(TextAt(high, {"spec", "preemptionPolicy"}), "Never");
  c.Make(classes, J(R"({"metadata":{"name":"usual"},"value":5,"globalDefault":true})"));
  EXPECT_EQ(IntAt(c.Make(kPods, c.Pod("b")), {"spec", "priority"}), 5);
  EXPECT_EQ(IntAt(c.Make(kPods, c.Pod("c", R"({"priorityClassName":"system-node-critical"})")),
                  {"spec", "priority"}),
            2000001000);
  Json changed = c.Get(classes + "/high");
  changed["value"] = 7;
  EXPECT_EQ(c.client->Put(classes + "/high", changed).status, 422);
}

TEST(PodChecks, NameTheWrongField) {
  TestCluster c;
  const auto field = [&](std::string_view spec) {
    Json pod = c.Pod("p");
    pod["spec"] = J(spec);
    const Reply reply = c.client->Post(kPods, pod);
    return reply.status == 422 ? TextAt(reply.json()["details"]["causes"][0], {"field"})
                               : reply.body;
  };
  EXPECT_EQ(field("{}"), "spec.containers");
  EXPECT_EQ(field(R"({"containers":[{"image":"i"}]})"), "spec.containers[0].name");
  EXPECT_EQ(field(R"({"containers":[{"name":"a"}]})"), "spec.containers[0].image");
  EXPECT_EQ(field(R"({"containers":[{"name":"a","image":"i"},{"name":"a","image":"i"}]})"),
            "spec.containers[1].name");
  EXPECT_EQ(
      field(R"({"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"x"}}}]})"),
      "spec.containers[0].resources.requests[cpu]");
  EXPECT_EQ(
      field(R"({"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"-1"}}}]})"),
      "spec.containers[0].resources.requests[cpu]");
  EXPECT_EQ(
      field(
          R"({"containers":[{"name":"a","image":"i","resources":{"requests":{"a.b/c":"1.5"}}}]})"),
      "spec.containers[0].resources.requests[a.b/c]");
  EXPECT_EQ(field(R"({"containers":[{"name":"a","image":"i"}],"restartPolicy":"Sometimes"})"),
            "spec.restartPolicy");
  EXPECT_EQ(
      field(
          R"({"containers":[{"name":"a","image":"i"}],"nodeName":"n","schedulingGates":[{"name":"g"}]})"),
      "spec.nodeName");
}

TEST(PodUpdates, ChangeOnlyWhatMayChange) {
  TestCluster c;
  c.Make(kPods, c.Pod("p", R"({"schedulingGates":[{"name":"g"}]})"));
  const auto patch = [&](std::string_view body) {
    return c.client->Patch(InProcess::PatchType::kMerge, kPods + "/p", J(body)).status;
  };
  EXPECT_EQ(patch(R"({"spec":{"nodeName":"n"}})"), 422);
  EXPECT_EQ(patch(R"({"spec":{"schedulerName":"other"}})"), 422);
  EXPECT_EQ(patch(R"({"spec":{"schedulingGates":[{"name":"g"},{"name":"h"}]}})"), 422);
  EXPECT_EQ(patch(R"({"spec":{"nodeSelector":{"a":"b"}}})"), 200);  // gated
  EXPECT_EQ(patch(R"({"spec":{"schedulingGates":[]}})"), 200);
  EXPECT_EQ(patch(R"({"spec":{"nodeSelector":{"a":"c"}}})"), 422);  // no longer gated
  EXPECT_EQ(patch(R"({"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}})"), 200);
  EXPECT_EQ(patch(R"({"spec":{"tolerations":[]}})"), 422);
  EXPECT_EQ(
      patch(
          R"({"spec":{"containers":[{"name":"main","image":"new","imagePullPolicy":"Always"}]}})"),
      200);
  // A whole pod without its defaults is the same pod.
  Json whole =
      c.Pod("p", R"({"tolerations":[{"key":"k","operator":"Exists"}],"nodeSelector":{"a":"b"}})");
  whole["spec"]["containers"][0]["image"] = "newer";
  EXPECT_EQ(c.client->Put(kPods + "/p", whole).status, 200);
}

TEST(Binding, SetsTheNodeWithItsAnnotationsInOneWrite) {
  TestCluster c;
  Json node = c.Node("n1");
  node["metadata"]["labels"] = {{"topology.kubernetes.io/zone", "z1"}, {"other", "x"}};
  c.Make(kNodes, node);
  Json pod = c.Pod("p");
  pod["metadata"]["annotations"] = {{"kept", "1"}, {"changed", "1"}};
  c.Make(kPods, pod);
  c.client->Patch(InProcess::PatchType::kMerge, kPods + "/p/status",
                  J(R"({"status":{"nominatedNodeName":"n9"}})"));
  Watcher watcher(c, kPods + "?watch=1&resourceVersion=" + std::to_string(c.api->revision()));
  const Reply reply =
      c.Bind("p", "n1", R"({"annotations":{"changed":"2","quota":"q"},"labels":{"l":"m"}})");
  EXPECT_EQ(reply.status, 201) << reply.body;
  EXPECT_EQ(TextAt(reply.json(), {"status"}), "Success");
  EXPECT_EQ(watcher.Take(), Texts{"MODIFIED p"});
  const Json bound = c.Get(kPods + "/p");
  EXPECT_EQ(TextAt(bound, {"spec", "nodeName"}), "n1");
  EXPECT_EQ(bound["metadata"]["annotations"], J(R"({"kept":"1","changed":"2","quota":"q"})"));
  EXPECT_EQ(bound["metadata"]["labels"], J(R"({"l":"m","topology.kubernetes.io/zone":"z1"})"));
  EXPECT_EQ(TextAt(bound["status"]["conditions"][0], {"type"}), "PodScheduled");
  EXPECT_EQ(TextAt(bound, {"status", "nominatedNodeName"}), "");
}

TEST(Binding, TakesNodesThatNobodyKnows) {
  TestCluster c;
  c.Make(kPods, c.Pod("p"));
  EXPECT_EQ(c.Bind("p", "nowhere").status, 201);
}

TEST(Binding, HappensOnce) {
  TestCluster c;
  c.Make(kPods, c.Pod("p"));
  EXPECT_EQ(c.Bind("p", "n1").status, 201);
  for (const char* node : {"n1", "n2"}) {
    const Reply again = c.Bind("p", node);
    EXPECT_EQ(again.status, 409);
    EXPECT_EQ(ReasonOf(again), "Conflict");
  }
}

TEST(Binding, RefusesOtherUidsLeavingAndGatedPods) {
  TestCluster c;
  const Json pod = c.Make(kPods, c.Pod("p"));
  EXPECT_EQ(c.Bind("p", "n1", R"({"uid":"other"})").status, 409);
  EXPECT_EQ(c.Bind("p", "n1", R"({"resourceVersion":"1"})").status, 409);
  EXPECT_EQ(c.Bind("missing", "n1").status, 404);
  c.Make(kPods, c.Pod("gated", R"({"schedulingGates":[{"name":"g"}]})"));
  EXPECT_EQ(c.Bind("gated", "n1").status, 409);
  Json held = c.Pod("held");
  held["metadata"]["finalizers"] = {"x.io/y"};
  c.Make(kPods, held);
  c.client->Delete(kPods + "/held");
  EXPECT_EQ(c.Bind("held", "n1").status, 409);
  EXPECT_EQ(c.Bind("p", "").status, 422);
  const Json uid = {{"uid", TextAt(pod, {"metadata", "uid"})}};
  EXPECT_EQ(c.Bind("p", "n1", Dump(uid)).status, 201);
}

TEST(Binding, OnADryRunChangesNothing) {
  TestCluster c;
  c.Make(kPods, c.Pod("p"));
  const Json binding = {{"metadata", {{"name", "p"}}}, {"target", {{"name", "n"}}}};
  EXPECT_EQ(c.client->Post(kPods + "/p/binding?dryRun=All", binding).status, 201);
  EXPECT_EQ(TextAt(c.Get(kPods + "/p"), {"spec", "nodeName"}), "");
}

TEST(PodDelete, IsImmediateForAPodOnNoNode) {
  TestCluster c;
  c.Make(kPods, c.Pod("p"));
  EXPECT_EQ(TextAt(c.client->Delete(kPods + "/p").json(), {"kind"}), "Pod");
  EXPECT_EQ(c.client->Get(kPods + "/p").status, 404);
}

TEST(PodDelete, WaitsForTheKubeletOfABoundPod) {
  TestCluster c;
  c.Make(kPods, c.Pod("p"));
  c.Bind("p", "n1");
  const Json leaving = c.client->Delete(kPods + "/p").json();
  EXPECT_EQ(TextAt(leaving, {"metadata", "deletionTimestamp"}), "2026-01-01T00:00:30Z");
  EXPECT_EQ(IntAt(leaving, {"metadata", "deletionGracePeriodSeconds"}), 30);
  // A later, longer grace changes nothing; a shorter one does; none ends it.
  const auto remove = [&](int grace) {
    const Json options = {{"gracePeriodSeconds", grace}};
    return c.client->Delete(kPods + "/p", &options).json();
  };
  EXPECT_EQ(remove(60), leaving);
  EXPECT_EQ(IntAt(remove(5), {"metadata", "deletionGracePeriodSeconds"}), 5);
  remove(0);
  EXPECT_EQ(c.client->Get(kPods + "/p").status, 404);
}

TEST(PodDelete, IsImmediateForAPodThatIsDone) {
  TestCluster c;
  c.Make(kPods, c.Pod("p"));
  c.Bind("p", "n1");
  c.client->Patch(InProcess::PatchType::kMerge, kPods + "/p/status",
                  J(R"({"status":{"phase":"Succeeded"}})"));
  c.client->Delete(kPods + "/p");
  EXPECT_EQ(c.client->Get(kPods + "/p").status, 404);
}

class Eviction : public ::testing::Test {
 protected:
  void Run(const std::string& name, bool ready = true) {
    Json pod = c.Pod(name);
    pod["metadata"]["labels"] = {{"app", "x"}};
    c.Make(kPods, pod);
    c.Bind(name, "n1");
    Json status = {{"phase", "Running"},
                   {"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}};
    c.client->Patch(InProcess::PatchType::kMerge, kPods + "/" + name + "/status",
                    {{"status", status}});
  }
  void Budget(std::string_view spec) {
    Json budget = J(R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"x"}}}})");
    budget["spec"].update(J(spec));
    c.Make("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget);
    c.api->Tick();
  }
  Reply Evict(const std::string& name, Json options = Json::object(),
              const std::string& query = "") {
    return c.client->Post(kPods + "/" + name + "/eviction" + query,
                          {{"metadata", {{"name", name}}}, {"deleteOptions", std::move(options)}});
  }
  TestCluster c{{.disruption_controller = true}};
};

TEST_F(Eviction, DeletesGracefullyAndLeavesAMark) {
  Run("a");
  EXPECT_EQ(Evict("a").status, 201);
  const Json pod = c.Get(kPods + "/a");
  EXPECT_NE(Find(pod, {"metadata", "deletionTimestamp"}), nullptr);
  bool marked = false;
  for (const Json& condition : pod["status"]["conditions"])
    marked = marked || TextAt(condition, {"type"}) == "DisruptionTarget";
  EXPECT_TRUE(marked);
  EXPECT_EQ(Evict("missing").status, 404);
}

TEST_F(Eviction, ChecksTheUid) {
  Run("a");
  EXPECT_EQ(Evict("a", J(R"({"preconditions":{"uid":"other"}})")).status, 409);
  EXPECT_EQ(Evict("a", {}, "?dryRun=All").status, 201);
  EXPECT_EQ(Find(c.Get(kPods + "/a"), {"metadata", "deletionTimestamp"}), nullptr);
  const Json uid = {{"preconditions", {{"uid", TextAt(c.Get(kPods + "/a"), {"metadata", "uid"})}}}};
  EXPECT_EQ(Evict("a", uid).status, 201);
}

TEST_F(Eviction, StopsAtTheDisruptionBudget) {
  for (const char* name : {"a", "b", "c"}) Run(name);
  Budget(R"({"minAvailable":2})");
  EXPECT_EQ(Evict("a").status, 201);
  const Reply refused = Evict("b");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(TextAt(refused.json()["details"]["causes"][0], {"reason"}), "DisruptionBudget");
  // Counting again doesn't give the place back, for the pod is on its way out.
  c.api->Tick();
  EXPECT_EQ(Evict("b").status, 429);
}

TEST_F(Eviction, AsksNoBudgetForPodsThatRunNothing) {
  Run("a");
  Budget(R"({"maxUnavailable":0})");
  EXPECT_EQ(Evict("a").status, 429);
  Json pod = c.Pod("pending");
  pod["metadata"]["labels"] = {{"app", "x"}};
  c.Make(kPods, pod);
  EXPECT_EQ(Evict("pending").status, 201);
}

TEST_F(Eviction, CountsPercentagesOfWhatThereIs) {
  for (const char* name : {"a", "b", "c", "d"}) Run(name);
  Budget(R"({"maxUnavailable":"50%"})");
  const Json budget = c.Get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b");
  EXPECT_EQ(IntAt(budget, {"status", "disruptionsAllowed"}), 2);
  EXPECT_EQ(IntAt(budget, {"status", "desiredHealthy"}), 2);
  EXPECT_EQ(IntAt(budget, {"status", "expectedPods"}), 4);
}

TEST_F(Eviction, WithoutAControllerNothingIsAllowed) {
  TestCluster plain;
  std::swap(c.api, plain.api);
  std::swap(c.client, plain.client);
  Run("a");
  Budget(R"({"maxUnavailable":1})");
  EXPECT_EQ(Evict("a").status, 429);
}

}  // namespace
}  // namespace sky::lab
