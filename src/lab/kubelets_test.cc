// SPDX-License-Identifier: Apache-2.0
// Hollow kubelets on an API server in process, under a virtual clock.
#include "lab/kubelets.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/local_kubelets.h"
#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class HollowNode : public ::testing::Test {
 protected:
  HollowNode() { c.Make(kNodes, TestCluster::Node("n1")); }
  // Lets time pass, a step at each due moment.
  void Pass(Duration time) {
    const MonoTime end = c.clock.Mono() + time;
    Settle();
    while (kubelets.next_due() <= end) {
      c.clock.Advance(std::max(Duration::zero(), kubelets.next_due() - c.clock.Mono()));
      Settle();
    }
    c.clock.Advance(end - c.clock.Mono());
    Settle();
  }
  void Settle() {
    for (int i = 0; i < 100 && kubelets.Step(); ++i) {
    }
  }
  void Run(const std::string& name, std::string_view annotations = "{}",
           std::string_view spec = "{}") {
    Json pod = TestCluster::Pod(name, spec);
    pod["metadata"]["annotations"] = J(annotations);
    c.Make(kPods, pod);
    ASSERT_EQ(c.Bind(name, "n1").status, 201);
  }
  std::string Phase(const std::string& pod) {
    return TextAt(c.Get(kPods + "/" + pod), {"status", "phase"});
  }
  bool There(const std::string& pod) { return c.client->Get(kPods + "/" + pod).status == 200; }
  std::string Ready() {
    const Json node = c.Get(kNodes + "/n1");
    for (const Json& condition : node["status"]["conditions"])
      if (TextAt(condition, {"type"}) == "Ready") return TextAt(condition, {"status"});
    return "";
  }
  void Annotate(const std::string& path, const char* key, const char* value) {
    const Json patch = {{"metadata", {{"annotations", {{key, value}}}}}};
    ASSERT_EQ(c.client->Patch(InProcess::PatchType::kMerge, path, patch).status, 200);
  }

  TestCluster c;
  LocalKubelets kubelets{*c.api, c.clock, {}};
};

TEST_F(HollowNode, StartsWhatIsBoundAndNothingElse) {
  c.Make(kPods, TestCluster::Pod("unbound"));
  Run("p");
  Settle();
  const Json pod = c.Get(kPods + "/p");
  EXPECT_EQ(TextAt(pod, {"status", "phase"}), "Running");
  EXPECT_EQ(TextAt(pod, {"status", "startTime"}), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(BoolAt(pod["status"]["containerStatuses"][0], {"ready"}));
  bool scheduled = false;
  for (const Json& condition : pod["status"]["conditions"])
    scheduled = scheduled || TextAt(condition, {"type"}) == "PodScheduled";
  EXPECT_TRUE(scheduled);
  EXPECT_EQ(Phase("unbound"), "Pending");
}

TEST_F(HollowNode, EndsPodsAfterTheirTimeWithTheirOutcome) {
  Run("good", R"({"lab.infini-ai.com/run-for":"30s"})");
  Run("bad", R"({"lab.infini-ai.com/run-for":"10s","lab.infini-ai.com/outcome":"Failed",
                 "lab.infini-ai.com/start-takes":"5s"})");
  Run("lasting");
  Settle();
  EXPECT_EQ(Phase("bad"), "Pending");
  Pass(seconds(14));
  EXPECT_EQ(Phase("bad"), "Running");
  Pass(seconds(1));
  EXPECT_EQ(Phase("bad"), "Failed");
  EXPECT_EQ(Phase("good"), "Running");
  Pass(seconds(15));
  EXPECT_EQ(Phase("good"), "Succeeded");
  Pass(minutes(60));
  EXPECT_EQ(Phase("lasting"), "Running");
}

TEST_F(HollowNode, EndsDeletedPodsAfterTheTimeThatTheyTake) {
  Run("quick");
  Run("slow", R"({"lab.infini-ai.com/stop-takes":"20s"})");
  Run("capped", R"({"lab.infini-ai.com/stop-takes":"60s"})",
      R"({"terminationGracePeriodSeconds":5})");
  Settle();
  for (const char* name : {"quick", "slow", "capped"}) c.client->Delete(kPods + "/" + name);
  Settle();
  EXPECT_TRUE(There("quick"));
  Pass(seconds(1));
  EXPECT_FALSE(There("quick"));
  Pass(seconds(4));
  EXPECT_FALSE(There("capped"));
  EXPECT_TRUE(There("slow"));
  Pass(seconds(15));
  EXPECT_FALSE(There("slow"));
}

TEST_F(HollowNode, BeatsAndLeavesEverythingElseAlone) {
  Pass(minutes(10));
  const Json node = c.Get(kNodes + "/n1");
  EXPECT_EQ(TextAt(node["status"]["conditions"][0], {"lastHeartbeatTime"}), "2026-01-01T00:10:00Z");
  EXPECT_EQ(node["status"]["allocatable"], TestCluster::Node("n1")["status"]["allocatable"]);
  EXPECT_EQ(Ready(), "True");
}

TEST_F(HollowNode, ThatFailsStopsItsPodsFromChanging) {
  Run("p", R"({"lab.infini-ai.com/run-for":"10s"})");
  Settle();
  kubelets.kubelets().Fail("n1");
  Settle();
  EXPECT_EQ(Ready(), "Unknown");
  Pass(seconds(60));
  EXPECT_EQ(Phase("p"), "Running");
  Run("late");
  c.client->Delete(kPods + "/p");
  Pass(minutes(5));
  EXPECT_TRUE(There("p"));
  EXPECT_EQ(Phase("late"), "Pending");
  kubelets.kubelets().Return("n1");
  Pass(seconds(1));
  EXPECT_EQ(Ready(), "True");
  EXPECT_FALSE(There("p"));
  EXPECT_EQ(Phase("late"), "Running");
}

TEST_F(HollowNode, FailsAndReturnsByAnnotationToo) {
  Annotate(kNodes + "/n1", "lab.infini-ai.com/fail", "true");
  Settle();
  EXPECT_EQ(Ready(), "Unknown");
  Annotate(kNodes + "/n1", "lab.infini-ai.com/fail", "false");
  Settle();
  EXPECT_EQ(Ready(), "True");
}

TEST_F(HollowNode, RefusesWhatDoesNotFit) {
  const char* five =
      R"({"containers":[{"name":"m","image":"i","resources":{"requests":{"nvidia.com/gpu":"5"}}}]})";
  Run("first", "{}", five);
  Run("second", "{}", five);
  Settle();
  EXPECT_EQ(Phase("first"), "Running");
  EXPECT_EQ(Phase("second"), "Failed");
  EXPECT_EQ(TextAt(c.Get(kPods + "/second"), {"status", "reason"}), "OutOfnvidia.com/gpu");
  Annotate(kNodes + "/n1", "lab.infini-ai.com/refuse-pods", "UnexpectedAdmissionError");
  Run("third");
  Settle();
  EXPECT_EQ(TextAt(c.Get(kPods + "/third"), {"status", "reason"}), "UnexpectedAdmissionError");
}

TEST_F(HollowNode, IsCalmWhenNothingChanges) {
  Run("p");
  Settle();
  const Revision before = c.api->revision();
  Pass(seconds(59));
  EXPECT_EQ(c.api->revision(), before);
}

TEST_F(HollowNode, KnowsANewLifeOfAPodByItsUid) {
  Run("p", R"({"lab.infini-ai.com/run-for":"10s"})");
  Pass(seconds(10));
  EXPECT_EQ(Phase("p"), "Succeeded");
  c.client->Delete(kPods + "/p");
  Run("p", R"({"lab.infini-ai.com/run-for":"10s"})");
  Settle();
  EXPECT_EQ(Phase("p"), "Running");
  Pass(seconds(10));
  EXPECT_EQ(Phase("p"), "Succeeded");
}

TEST_F(HollowNode, GoesOnAfterItsWatchesEnded) {
  Run("p");
  Settle();
  c.client->Delete(kPods + "/p");
  c.api->CloseWatches();
  Run("q");
  Pass(seconds(2));
  EXPECT_EQ(Phase("q"), "Running");
  EXPECT_FALSE(There("p"));
}

TEST(Kubelets, AskAgainWhenTheEffectIsNotSeen) {
  Kubelets kubelets({});
  const auto node = std::make_shared<api::Node>();
  node->metadata.name = "n";
  node->status.conditions.emplace_back().type = "Ready";
  node->status.conditions.back().status = "True";
  kubelets.OnNode({api::Delta<api::Node>::Type::kAdd, node, nullptr});
  const auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = "p", pod->metadata.namespace_ = "d", pod->metadata.uid = "u";
  pod->spec.node_name = "n";
  kubelets.OnPod({api::Delta<api::Pod>::Type::kAdd, pod, nullptr});
  const MonoTime start{std::chrono::hours(1)};
  const auto starts = [&](Duration after) {
    int count = 0;
    for (const KubeletWrite& write : kubelets.Step(start + after, WallTime()))
      count += write.kind == KubeletWrite::Kind::kPodStatus ? 1 : 0;
    return count;
  };
  EXPECT_EQ(starts(seconds(0)), 1);
  EXPECT_EQ(starts(seconds(4)), 0);
  EXPECT_EQ(starts(seconds(5)), 1);
}

}  // namespace
}  // namespace sky::lab
