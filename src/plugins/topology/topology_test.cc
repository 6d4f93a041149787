// SPDX-License-Identifier: Apache-2.0
#include "plugins/topology/topology.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <regex>

#include "api/keys.h"
#include "base/rng.h"
#include "model/zone_text.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using framework::TopologyPolicy;
using model::Reason;
using testing::BindsTasks;
using testing::Cluster;
using testing::OpenSession;

struct TopologyTest : ::testing::Test {
  Cluster c;

  TopologyPolicy Policy(const std::string& job) {
    OpenSession open(c, std::make_unique<Topology>());
    return open->PredicateZone(open.Job("default/" + job));
  }
  // "zone/spec: nodes of the policy's network" of each candidate, sorted.
  std::vector<std::string> Cells(const std::string& job) {
    const TopologyPolicy policy = Policy(job);
    const model::Cluster& rows = c.snapshot();
    std::vector<std::string> cells;
    for (const model::CellId cell : policy.cells) {
      const model::CellKey& key = rows.cells()[cell].key;
      std::vector<std::string> nodes;
      for (const model::NodeId node : rows.cells()[cell].nodes)
        nodes.push_back(rows.nodes()[node].name);
      const std::string zone =
          key.zone.valid() ? model::ZoneText(rows.names().zones.Name(key.zone)) : "-";
      cells.push_back(fmt::format("{}/{}: {}", zone,
                                  key.spec.valid() ? rows.names().specs.Name(key.spec) : "",
                                  fmt::join(nodes, " ")));
    }
    std::sort(cells.begin(), cells.end());
    return cells;
  }
  // The wiring of a node, by network; "" has none.
  void Wire(const std::string& node, const std::string& roce, const std::string& ib = "") {
    c.Nodes(node, "gpu=8 hca=8 roce=8");
    api::NodeTopology topology = testing::MakeTopology(node, "roce", *testing::ExpandNames(roce));
    topology.spec.net.ib = testing::MakeTopology(node, "ib", *testing::ExpandNames(ib)).spec.net.ib;
    c.Put(std::move(topology));
  }
};
using Texts = std::vector<std::string>;

// --- who wants it ---

TEST_F(TopologyTest, IsOnForWhoAsksRdmaUnlessTheGroupSaysOtherwise) {
  struct Row {
    std::string pod, group;
    bool enabled, strict;
  };
  const std::vector<Row> rows = {
      {"gpu=1", "", false, false},           {"gpu=1 hca=1", "", true, false},
      {"gpu=1 roce=1", "", true, false},     {"gpu=1", "strict", true, true},
      {"gpu=1 hca=1", "strict", true, true}, {"gpu=1 hca=1", "off", false, false},
      {"gpu=1 hca=0", "", false, false},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string name = fmt::format("g{}", i);
    c.Job(name, 1, rows[i].pod, {0, rows[i].group});
    const TopologyPolicy policy = Policy(name);
    EXPECT_EQ(policy.enabled, rows[i].enabled) << rows[i].pod << " " << rows[i].group;
    EXPECT_EQ(policy.strict, rows[i].strict) << rows[i].pod << " " << rows[i].group;
  }
}

TEST_F(TopologyTest, OneRdmaMemberIsEnough) {
  c.Job("g", 1, "gpu=1", {1, ""}).Workers("g", 1, 1, "gpu=1 hca=1");
  EXPECT_TRUE(Policy("g").enabled);
  c.Finish("default/g-1");
  EXPECT_FALSE(Policy("g").enabled) << "and it is gone";
}

TEST_F(TopologyTest, TheGroupSaysHowItStands) {
  c.Job("plain", 1, "gpu=1 hca=1").Job("packed", 1, "gpu=1 hca=1", {0, "pack zones=3"});
  EXPECT_FALSE(Policy("plain").pack);
  EXPECT_EQ(Policy("plain").max_zones, std::nullopt);
  EXPECT_TRUE(Policy("packed").pack);
  EXPECT_EQ(Policy("packed").max_zones, 3);
}

// --- zones ---

TEST_F(TopologyTest, TheResourceAskedChoosesTheNetworkAndIbFallsBackToRoce) {
  Wire("n0", "R1", "I1");
  Wire("n1", "R1", "I2");
  Wire("n2", "R2");
  c.Job("roce", 1, "gpu=1 roce=1")
      .Job("ib", 1, "gpu=1 hca=1")
      .Job("order", 1, "gpu=1", {0, "strict"});
  EXPECT_EQ(Cells("roce"), (Texts{"roce#R1/: n0 n1", "roce#R2/: n2"}));
  EXPECT_EQ(Cells("ib"), (Texts{"ib#I1/: n0", "ib#I2/: n1", "roce#R2/: n2"}));
  EXPECT_EQ(Cells("order"), Cells("ib")) << "no RDMA: the IB view";
}

// A zone that some of its nodes are in by one network and others by the other.
TEST_F(TopologyTest, ANodeWithoutIbStaysACandidateBesideNeighboursThatHaveIt) {
  Wire("n0", "R1", "I1");
  Wire("n1", "R1");
  Wire("n2", "R1", "I1");
  c.Quotas("q[0-1]", "gpu=8 hca=8").Job("ib", 1, "gpu=1 hca=1");
  EXPECT_EQ(Cells("ib"), (Texts{"ib#I1/: n0 n2", "roce#R1/: n1"}));
  c.Remove<api::Node>("n0");
  c.Remove<api::Node>("n2");
  EXPECT_THAT(c.Cycle(), BindsTasks("ib-0", "n1"));
}

TEST_F(TopologyTest, AZoneIsTheSetOfItsSwitches) {
  Wire("n0", "A,B");
  Wire("n1", "B,A");
  Wire("n2", "A,B,A");
  Wire("n3", "A,C");
  Wire("n4", "D");
  c.Job("g", 1, "gpu=1 roce=1");
  EXPECT_EQ(Cells("g"), (Texts{"roce#A,B/: n0 n1 n2", "roce#A,C/: n3", "roce#D/: n4"}));
}

TEST_F(TopologyTest, ASwitchWithACommaInItsNameIsNoSetOfTwo) {
  Wire("n0", "A,B");
  c.Nodes("n1", "gpu=8 roce=8");
  c.Put(testing::MakeTopology("n1", "roce", {"A,B"}));
  c.Job("g", 1, "gpu=1 roce=1");
  EXPECT_EQ(Cells("g"), (Texts{"roce#\"A,B\"/: n1", "roce#A,B/: n0"}));
}

TEST_F(TopologyTest, ANotedKeyComesBeforeALabelAndThatBeforeTheSwitches) {
  for (const char* node : {"n0", "n1", "n2", "n3", "n4"}) Wire(node, "S");
  const auto label = [&](const char* node, bool by_discovery) {
    c.Edit<api::NodeTopology>(node, [&](api::NodeTopology& topology) {
      topology.metadata.labels.insert_or_assign(std::string(api::key::kZone), "label");
      if (by_discovery)
        topology.metadata.annotations.insert_or_assign(std::string(api::key::kZoneSource), "lldp");
    });
  };
  const auto note = [](api::ObjectMeta& meta, const char* key) {
    meta.annotations.insert_or_assign(std::string(api::key::kRdmaTopologyKey), key);
  };
  c.Edit<api::Node>("n0", [&](api::Node& node) { note(node.metadata, "node"); });
  c.Edit<api::NodeTopology>("n0", [&](auto& topology) { note(topology.metadata, "topology"); });
  c.Edit<api::NodeTopology>("n1", [&](auto& topology) { note(topology.metadata, "topology"); });
  for (const char* node : {"n0", "n1", "n2"}) label(node, false);
  label("n3", true);
  c.Job("roce", 1, "gpu=1 roce=1").Job("ib", 1, "gpu=1 hca=1");
  EXPECT_EQ(Cells("roce"), (Texts{"label/: n2", "node/: n0", "roce#S/: n3 n4", "topology/: n1"}));
  EXPECT_EQ(Cells("ib"), Cells("roce")) << "an override holds for both networks";
}

TEST_F(TopologyTest, SpecCodesNeverShareACell) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8 spec=a100").Leaf("S1", "n[2-3]", "gpu=8 hca=8 spec=h100");
  c.Job("g", 1, "gpu=1 hca=1").Job("plain", 1, "gpu=1");
  EXPECT_EQ(Cells("g"), (Texts{"roce#S1/a100: n0 n1", "roce#S1/h100: n2 n3"}));
  EXPECT_EQ(Cells("plain"), (Texts{"-/a100: n0 n1", "-/h100: n2 n3"}));
}

TEST_F(TopologyTest, NodesWithoutAZoneAreNoCandidatesAndAreCounted) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Nodes("n[2-4]", "gpu=8 hca=8");
  c.Job("g", 1, "gpu=1 hca=1").Job("plain", 1, "gpu=1");
  EXPECT_EQ(Cells("g"), Texts{"roce#S1/: n0 n1"});
  EXPECT_EQ(Policy("g").without_topology, 3);
  EXPECT_EQ(Cells("plain"), Texts{"-/: n0 n1 n2 n3 n4"});
  EXPECT_EQ(Policy("plain").without_topology, 0);
}

TEST_F(TopologyTest, WhereNobodyHasATopologyNodesStandInPhysicalOrder) {
  c.Nodes("n10,n9", "gpu=1 hca=1").Nodes("first", "gpu=1 hca=1 index=0").Nodes("z", "gpu=1 hca=1");
  c.Nodes("a", "gpu=1 hca=1").Quotas("q[0-4]", "gpu=1 hca=1").Job("g", 5, "gpu=1 hca=1");
  EXPECT_EQ(Cells("g"), Texts{"-/: first n9 n10 a z"});
  EXPECT_EQ(Policy("g").without_topology, 0);
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-4]", "first,n9,n10,a,z"));
}

TEST_F(TopologyTest, AZoneOfTheOtherNetworkAloneIsNoZone) {
  Wire("n0", "", "I1");
  c.Job("roce", 1, "gpu=1 roce=1");
  EXPECT_EQ(Cells("roce"), Texts{"-/: n0"}) << "as where nobody has a topology";
  Wire("n1", "R1", "I1");
  EXPECT_EQ(Cells("roce"), Texts{"roce#R1/: n1"});
  EXPECT_EQ(Policy("roce").without_topology, 1);
}

TEST_F(TopologyTest, NodesInASiblingsZoneScoreMore) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n2,n[4-6]", "gpu=8 hca=8");
  c.Nodes("n3", "gpu=8 hca=8").Quotas("q[0-1]", "gpu=1 hca=1").Job("g", 1, "gpu=1 hca=1");
  ASSERT_THAT(c.Cycle(), BindsTasks("g-0", "n0"));
  c.Workers("g", 1, 1, "gpu=1 hca=1").Job("off", 1, "gpu=1", {0, "off"});
  OpenSession open(c, std::make_unique<Topology>());
  std::vector<model::NodeId> nodes;
  for (const char* name : {"n0", "n1", "n2", "n3"}) nodes.push_back(open.Node(name));
  const std::vector<int64_t> sibling = {100'000, 100'000, 0, 0}, nobody = {0, 0, 0, 0};
  EXPECT_EQ(open->task_to_node.Scores(open.Task("g-1"), nodes), sibling);
  EXPECT_EQ(open->task_to_node.Scores(open.Task("off-0"), nodes), nobody);
  // A quota's job is that of the tasks on it.
  EXPECT_EQ(open->quota_to_node.Scores(open.Quota("q1"), nodes), nobody);
  framework::Statement statement(*open);
  statement.AllocateTaskToQuota(open.Task("g-1"), open.Quota("q1"), nodes[1]);
  EXPECT_GT(open->quota_to_node.Scores(open.Quota("q1"), nodes)[0], 0);
  EXPECT_EQ(open->quota_to_node.Scores(open.Quota("q1"), nodes)[2], 0);
}

TEST_F(TopologyTest, TheFirstCandidateInPhysicalOrderIsTheBest) {
  c.Leaf("S1", "n[0-2]", "gpu=8 hca=8").Quotas("q", "gpu=1 hca=1").Job("g", 1, "gpu=1 hca=1");
  c.Quotas("full", "gpu=6 node=n2");
  OpenSession open(c, std::make_unique<Topology>());
  framework::Statement statement(*open);
  statement.AllocateTaskToQuota(open.Task("g-0"), open.Quota("q"), open.Node("n0"));
  const model::NodeId nodes[] = {open.Node("n1"), open.Node("n2")};
  EXPECT_EQ(open->quota_to_node.Best(open.Quota("q"), nodes), open.Node("n1"));
}

// --- strict order ---

// The gate of hop 2 over ranks that stand on these nodes ("-": nowhere).
bool Gate(Cluster& c, const std::string& group, const std::vector<std::string>& nodes,
          Reason* reason = nullptr) {
  OpenSession open(c, std::make_unique<Topology>());
  framework::JobRound round(*open, open.Job("default/" + group));
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    if (nodes[rank] == "-") continue;
    const auto quota = open.Quota(fmt::format("q{}", rank));
    round.statement.AllocateTaskToQuota(open.Task(fmt::format("{}-{}", group, rank)), quota,
                                        open.Node(nodes[rank]));
    round.statement.AllocateQuotaToNode(quota, open.Node(nodes[rank]));
  }
  framework::Refusals why;
  const bool passes = open->QuotaAllocate(round, why);
  if (reason != nullptr) *reason = why.main;
  return passes;
}

TEST_F(TopologyTest, TheNodesOfAStrictGangNeverFallAsRanksRise) {
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Nodes("x,y", "gpu=8").Quotas("q[0-3]", "gpu=1 hca=1");
  c.Job("strict", 4, "gpu=1 hca=1", {0, "strict"}).Job("free", 4, "gpu=1 hca=1");
  struct Row {
    std::vector<std::string> nodes;
    bool monotone;
  };
  const std::vector<Row> rows = {
      {{"n0", "n1", "n2", "n3"}, true},  {{"n0", "n0", "n3", "n3"}, true},
      {{"n1", "n0", "n2", "n3"}, false}, {{"n0", "n1", "n2", "n1"}, false},
      {{"n1", "-", "n0", "n3"}, false},  {{"n1", "-", "-", "n1"}, true},
      {{"-", "-", "-", "-"}, true},      {{"n3", "x", "y", "x"}, true},
      {{"x", "n0", "n1", "n2"}, false},
  };
  for (const Row& row : rows) {
    Reason reason = Reason::kNone;
    const std::string where = fmt::format("{}", fmt::join(row.nodes, " "));
    EXPECT_EQ(Gate(c, "strict", row.nodes, &reason), row.monotone) << where;
    EXPECT_EQ(reason, row.monotone ? Reason::kNone : Reason::kNodeOrderNotMonotone) << where;
    EXPECT_TRUE(Gate(c, "free", row.nodes)) << where;
  }
}

TEST_F(TopologyTest, MembersWithoutRdmaStandOutsideTheChain) {
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=1 hca=1");
  c.Put(testing::MakeGroup("g", 3, *testing::ReadWords("strict")));
  c.Workers("g", 0, 0, "gpu=1").Workers("g", 1, 2, "gpu=1 hca=1");
  EXPECT_TRUE(Gate(c, "g", {"n3", "n0", "n1"})) << "g-0 has no RDMA";
  EXPECT_FALSE(Gate(c, "g", {"n0", "n1", "n0"}));
  // Without any RDMA the whole gang is the chain.
  c.Put(testing::MakeGroup("h", 3, *testing::ReadWords("strict")));
  c.Workers("h", 0, 2, "gpu=1");
  EXPECT_FALSE(Gate(c, "h", {"n3", "n0", "n1"}));
}

RC_GTEST_PROP(TopologyLaw, ZonesIgnoreTheOrderOfNicsAndOfObjects, (uint64_t seed)) {
  std::string first;
  for (uint64_t run = 0; run < 2; ++run) {
    Rng rng(seed), shuffle(seed + run);
    Cluster c;
    std::vector<std::function<void()>> tell;
    for (int i = 0; i < 5; ++i) {
      const std::string name = fmt::format("n{}", i);
      std::vector<std::string> switches;
      for (const char* one : {"A", "B", "A,B", "A#", ""})
        if (rng.Below(2) == 0) switches.emplace_back(one);
      for (size_t k = switches.size(); k > 1; --k)
        std::swap(switches[k - 1], switches[shuffle.Below(k)]);
      if (!switches.empty() && shuffle.Below(2) == 0) switches.push_back(switches.front());
      tell.push_back([&c, name] { c.Nodes(name, "gpu=1 hca=1"); });
      tell.push_back(
          [&c, name, switches] { c.Put(testing::MakeTopology(name, "roce", switches)); });
    }
    for (size_t k = tell.size(); k > 1; --k) std::swap(tell[k - 1], tell[shuffle.Below(k)]);
    for (const auto& one : tell) one();
    // How many ports a degraded node has left is another matter: two may hang on one switch.
    const std::string dump =
        std::regex_replace(c.cache().Copy().Dump(), std::regex(" rails=[^ \n]*"), "");
    if (run == 0) first = dump;
    RC_ASSERT(dump == first);
  }
}

}  // namespace
}  // namespace sky::plugins
