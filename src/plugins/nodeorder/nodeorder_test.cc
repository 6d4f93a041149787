// SPDX-License-Identifier: Apache-2.0
// How the parts become one score, for tasks and for quotas. What each part says of random clusters
// is held beside kube-scheduler's own by ./run oracle.
#include "plugins/nodeorder/nodeorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using testing::OpenSession;

constexpr NodeOrder::Weights kDefaults = {1, 1, 1, 1, 0, 0, 0};

api::Affinity Prefers(const std::string& zone, int weight) {
  api::Affinity affinity;
  api::NodeSelectorTerm term;
  term.match_expressions = {{"zone", "In", {zone}}};
  affinity.node.emplace().preferred = {{weight, term}};
  return affinity;
}

struct NodeOrderTest : ::testing::Test {
  NodeOrderTest() {
    c.Nodes("n0", "gpu=8 label=zone:a").Nodes("n1", "gpu=8 label=zone:b").Nodes("n2", "gpu=8");
    c.Quotas("q0", "gpu=1");
    // The configuration's own plugins aren't asked here.
  }
  void Soften(const std::string& node) {
    c.Edit<api::Node>(
        node, [](api::Node& it) { it.spec.taints = {{"old", "", "PreferNoSchedule", {}}}; });
  }
  template <class Hop, class Id>
  static std::vector<int64_t> Points(const OpenSession& open, const Hop& hop, Id subject) {
    const std::vector<model::NodeId> nodes = {open.Node("n0"), open.Node("n1"), open.Node("n2")};
    std::vector<int64_t> points = hop.Scores(subject, nodes);
    for (int64_t& score : points) score /= 1000;
    return points;
  }
  std::vector<int64_t> OfTask(const NodeOrder::Weights& weights = kDefaults) {
    OpenSession open(c, std::make_unique<NodeOrder>(weights));
    return Points(open, open->task_to_node, open.Task("p"));
  }
  std::vector<int64_t> OfQuota() {
    OpenSession open(c, std::make_unique<NodeOrder>(kDefaults));
    return Points(open, open->quota_to_node, open.Quota("q0"));
  }
  Cluster c;
};

TEST_F(NodeOrderTest, ItIsTheMeanOfThePartsThatHaveAWord) {
  c.Pod("p", "gpu=1");
  Soften("n0");
  EXPECT_THAT(OfTask(), ElementsAre(0, 100, 100)) << "only taints have one";
  c.Edit<api::Pod>("default/p", [](api::Pod& pod) { pod.spec.affinity = Prefers("a", 5); });
  EXPECT_THAT(OfTask(), ElementsAre(50, 50, 50));
  EXPECT_THAT(OfTask({3, 1, 1, 1, 0, 0, 0}), ElementsAre(75, 25, 25));
  EXPECT_THAT(OfTask({1, 1, 0, 1, 0, 0, 0}), ElementsAre(100, 0, 0));
}

TEST_F(NodeOrderTest, WithoutAnyPartItAbstains) {
  c.Pod("p", "gpu=1");
  Soften("n0");
  EXPECT_THAT(OfTask({1, 1, 0, 1, 0, 0, 0}), ElementsAre(0, 0, 0));
}

TEST_F(NodeOrderTest, WhatIsOffByDefaultCanBeWeighed) {
  c.Pod("p", "gpu=1 cpu=1 mem=1Gi");
  c.Pod("there", "gpu=1 cpu=32 mem=256Gi node=n1 scheduler=another");
  const auto least = OfTask({0, 0, 0, 0, 1, 0, 0}), most = OfTask({0, 0, 0, 0, 0, 1, 0});
  EXPECT_GT(least[0], least[1]);
  EXPECT_LT(most[0], most[1]);
  EXPECT_EQ(least[0], least[2]);
}

TEST_F(NodeOrderTest, AQuotaWithoutATaskIsScoredByItsOwnAffinityAndTolerations) {
  Soften("n1");
  EXPECT_THAT(OfQuota(), ElementsAre(100, 0, 100));
  c.Edit<api::Quota>("q0", [](api::Quota& quota) {
    quota.spec.tolerations = {{"old", "Exists", "", "", {}}};
    quota.spec.affinity.emplace().node = Prefers("b", 1).node;
  });
  EXPECT_THAT(OfQuota(), ElementsAre(50, 100, 50));
}

TEST_F(NodeOrderTest, AQuotaIsScoredAsItsTask) {
  c.Pod("p", "gpu=1");
  c.Edit<api::Pod>("default/p", [](api::Pod& pod) { pod.spec.affinity = Prefers("b", 5); });
  ASSERT_EQ(c.Decide().size(), 1u);
  EXPECT_THAT(OfQuota(), ElementsAre(50, 100, 50));
}

TEST_F(NodeOrderTest, ItsArgumentsAreWeights) {
  EXPECT_THAT(Cluster("plugins: [{name: nodeorder, args: {nodeAffinity: 2, leastAllocated: 1}}]")
                  .engine()
                  .config()
                  .plugins,
              ::testing::SizeIs(1));
}

}  // namespace
}  // namespace sky::plugins
