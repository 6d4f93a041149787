// SPDX-License-Identifier: Apache-2.0
// Which algorithm answers where a gang may go, and what they say of a node.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "plugins/topology/topology.h"
#include "testing/matchers.h"
#include "testing/open_session.h"
#include "topology/zone_affinity.h"

namespace sky::plugins {
namespace {

using framework::TopologyPolicy;
using testing::Cluster;
using testing::OpenSession;
using Weights = std::map<std::string, int64_t>;
using Points = std::vector<int64_t>;

struct AlgorithmsTest : ::testing::Test {
  Cluster c;

  TopologyPolicy Policy(const std::string& job, const Weights& weights) {
    OpenSession open(c, std::make_unique<Topology>(weights));
    return open->PredicateZone(open.Job("default/" + job));
  }
  // Of a member of the job on each node.
  Points Scores(const std::string& task, const std::string& nodes, const Weights& weights) {
    OpenSession open(c, std::make_unique<Topology>(weights));
    std::vector<model::NodeId> ids;
    const std::vector<std::string> expanded = *testing::ExpandNames(nodes);
    for (const std::string& node : expanded) ids.push_back(open.Node(node));
    Points scores = open->task_to_node.Scores(open.Task(task), ids);
    for (int64_t& score : scores) score /= 1000;
    return scores;
  }
};

TEST_F(AlgorithmsTest, TheHighestWeightThatAnswersGivesTheCandidates) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Job("g", 1, "gpu=1 hca=1");
  EXPECT_FALSE(Policy("g", {{"rdma", 100}, {"continuity", 0}}).in_blocks);
  EXPECT_FALSE(Policy("g", {{"rdma", 1}, {"continuity", 1}}).in_blocks);
  EXPECT_TRUE(Policy("g", {{"rdma", 1}, {"continuity", 2}}).in_blocks);
  EXPECT_TRUE(Policy("g", {{"rdma", 0}, {"continuity", 1}}).in_blocks);
  EXPECT_FALSE(Policy("g", {{"rdma", 0}}).in_blocks) << "asked last, and answers";
}

TEST_F(AlgorithmsTest, WhereNobodyHasAZoneContinuityAnswers) {
  c.Nodes("n[0-1]", "gpu=8 hca=8").Job("g", 1, "gpu=1 hca=1");
  const TopologyPolicy policy = Policy("g", {{"rdma", 100}, {"continuity", 0}});
  EXPECT_TRUE(policy.in_blocks);
  EXPECT_EQ(policy.cells.size(), 1u);
  EXPECT_EQ(policy.without_topology, 0);
  const TopologyPolicy nobody = Policy("g", {{"rdma", 100}});
  EXPECT_TRUE(nobody.cells.empty()) << "an algorithm that isn't named is never asked";
  EXPECT_EQ(nobody.without_topology, 2);
}

TEST_F(AlgorithmsTest, NodesOutsideAllZonesAreCandidatesOfContinuity) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Nodes("n[2-3]", "gpu=8 hca=8").Job("g", 1, "gpu=1 hca=1");
  EXPECT_EQ(Policy("g", {{"rdma", 100}}).without_topology, 2);
  EXPECT_EQ(Policy("g", {{"rdma", 0}, {"continuity", 1}}).without_topology, 0);
}

TEST_F(AlgorithmsTest, ASmallZoneScoresMoreThanALargeOne) {
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Leaf("S2", "n[4-5]", "gpu=8 hca=8");
  c.Leaf("S1", "h0", "gpu=8 hca=8 spec=h100").Nodes("n9", "gpu=8 hca=8").Job("g", 1, "gpu=1 hca=1");
  EXPECT_EQ(Scores("g-0", "n0,n4,h0,n9", {{"rdma", 100}}), (Points{25, 50, 100, 0}));
}

TEST_F(AlgorithmsTest, ANodeWithFewFreeNeighboursScoresMore) {
  c.Nodes("n[0-4],n6,a,b", "gpu=8 hca=8").Quotas("q", "gpu=1 node=n3").Job("g", 1, "gpu=1 hca=1");
  c.Nodes("n7", "gpu=8 hca=8 spec=h100");
  EXPECT_EQ(Scores("g-0", "n[0-4],n6", {{"continuity", 1}}), (Points{50, 0, 50, 0, 100, 100}));
  EXPECT_EQ(Scores("g-0", "a,b", {{"continuity", 1}}), (Points{100, 100})) << "they stand nowhere";
  c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.unschedulable = true; });
  EXPECT_EQ(Scores("g-0", "n1", {{"continuity", 1}}), Points{50});
}

TEST_F(AlgorithmsTest, ScoresAreAddedByWeight) {
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Job("g", 1, "gpu=1 hca=1").Job("off", 1, "gpu=1");
  EXPECT_EQ(Scores("g-0", "n0,n1", {{"rdma", 3}, {"continuity", 1}}),
            (Points{(3 * 25 + 50) / 4, 3 * 25 / 4}));
  EXPECT_EQ(Scores("g-0", "n0", {{"rdma", 100}, {"continuity", 0}}), Points{25});
  EXPECT_EQ(Scores("g-0", "n0", {{"rdma", 0}}), Points{0});
  EXPECT_EQ(Scores("off-0", "n0", {{"rdma", 3}, {"continuity", 1}}), Points{0});
}

TEST_F(AlgorithmsTest, TasksOfOneKeyAttractEachOtherByZone) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n[2-3]", "gpu=8 hca=8");
  c.Quotas("q[0-9]", "gpu=1 hca=1");
  c.Workers("a", 0, 0, "gpu=1 hca=1 node=n0 quota=q0");
  c.Workers("a", 1, 2, "gpu=1 hca=1 node=n2 quota=q1");
  c.Put(testing::MakeGroup("a", 3, *testing::ReadWords("attract=data")));
  c.Job("near", 1, "gpu=1 hca=1", {0, "attract=data"});
  c.Job("own", 1, "gpu=1 hca=1 attract=data").Job("none", 1, "gpu=1 hca=1");
  c.Job("alone", 1, "gpu=1 hca=1", {0, "attract=other"}).Pod("single", "gpu=1 hca=1 attract=data");
  const Weights weights = {{"rdma", 100}};
  EXPECT_EQ(Scores("near-0", "n1,n3", weights), (Points{50, 100}));
  EXPECT_EQ(Scores("own-0", "n1,n3", weights), (Points{50, 100})) << "the member's own note";
  EXPECT_EQ(Scores("single", "n1,n3", weights), (Points{50, 100}));
  EXPECT_EQ(Scores("none-0", "n1,n3", weights), (Points{50, 50}));
  EXPECT_EQ(Scores("alone-0", "n1,n3", weights), (Points{50, 50})) << "nobody else has its key";
  c.Edit<api::PodGroup>("default/a",
                        [](api::PodGroup& group) { group.metadata.annotations.clear(); });
  EXPECT_EQ(Scores("near-0", "n1,n3", weights), (Points{50, 50}));
}

// Counted from the objects alone.
RC_GTEST_PROP(ZoneAffinityLaw, CountsTheTasksOfOtherJobsWithTheKey, (uint64_t seed)) {
  Rng rng(seed);
  Cluster c;
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n[2-3]", "gpu=8 hca=8");
  std::map<std::string, int64_t> counted;  // by node
  int quotas = 0;
  for (int job = 0; job < 4; ++job) {
    const std::string name = fmt::format("g{}", job);
    const std::string key = rng.Below(2) == 0 ? "data" : "other";
    for (int i = 0; i < 3; ++i) {
      const std::string node = fmt::format("n{}", rng.Below(4)),
                        quota = fmt::format("q{}", quotas++);
      c.Quotas(quota, "gpu=1 hca=1");
      const bool placed = rng.Below(3) != 0;
      c.Workers(name, i, i,
                "gpu=1 hca=1" + (placed ? fmt::format(" node={} quota={}", node, quota) : ""));
      if (placed && key == "data") ++counted[node];
    }
    c.Put(testing::MakeGroup(name, 1, *testing::ReadWords("attract=" + key)));
  }
  c.Job("asks", 1, "gpu=1 hca=1", {0, "attract=data"});
  if (rng.Below(2) == 0) {
    const std::string pod = fmt::format("default/g{}-0", rng.Below(4));
    const std::string node = c.Get<api::Pod>(pod).spec.node_name;
    const bool ours =
        c.Get<api::PodGroup>(pod.substr(0, pod.size() - 2))
            .metadata.Annotation("scheduling.infini-ai.com/topology-affinity-key") == "data";
    if (!node.empty() && ours) --counted[node];
    c.Remove<api::Pod>(pod);
  }
  OpenSession open(c, std::make_unique<Topology>());
  const topology::ZoneAffinityTracker tracker(open.rows(), open.Job("default/asks"),
                                              model::Network::kRoce);
  for (int i = 0; i < 4; ++i) {
    const model::NodeId node = open.Node(fmt::format("n{}", i));
    const auto at = tracker.by_node().find(node);
    RC_ASSERT((at == tracker.by_node().end() ? 0 : at->second) == counted[fmt::format("n{}", i)]);
  }
  RC_ASSERT(tracker.Tasks(open.rows().nodes()[open.Node("n0")]) == counted["n0"] + counted["n1"]);
}

}  // namespace
}  // namespace sky::plugins
