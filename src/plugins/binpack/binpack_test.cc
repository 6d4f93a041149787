// SPDX-License-Identifier: Apache-2.0
#include "plugins/binpack/binpack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using testing::BindsTasks;
using testing::Cluster;
using testing::OpenSession;

using Weights = std::map<std::string, int64_t>;

// Of the quota on each node, in points.
std::vector<int64_t> ScoresOf(OpenSession& open, const std::string& quota,
                              const std::vector<std::string>& nodes) {
  std::vector<model::NodeId> ids;
  for (const std::string& node : nodes) ids.push_back(open.Node(node));
  std::vector<int64_t> scores = open->quota_to_node.Scores(open.Quota(quota), ids);
  for (int64_t& score : scores) score /= 1000;
  return scores;
}
std::vector<int64_t> ScoresOf(Cluster& c, const std::string& quota,
                              const std::vector<std::string>& nodes, Weights weights = {}) {
  OpenSession open(c, std::make_unique<Binpack>(std::move(weights)));
  return ScoresOf(open, quota, nodes);
}
using Points = std::vector<int64_t>;

TEST(Binpack, ScoresTheShareThatBoundQuotasAndTheNewOneTake) {
  Cluster c;
  c.Nodes("n0", "gpu=8").Nodes("n1", "gpu=8").Nodes("n2", "gpu=4");
  c.Quotas("b", "gpu=4 node=n1").Quotas("q", "gpu=2");
  EXPECT_EQ(ScoresOf(c, "q", {"n0", "n1", "n2"}), (Points{25, 75, 50}));
  c.Pod("mine", "gpu=4 node=n1 quota=b");
  EXPECT_EQ(ScoresOf(c, "q", {"n1"}), Points{75}) << "a quota's pod takes no more than its share";
  c.Pod("stranger", "gpu=4 node=n0 scheduler=another");
  EXPECT_EQ(ScoresOf(c, "q", {"n0"}), Points{75}) << "a node that strangers fill is full too";
}

TEST(Binpack, EveryRequestedNameCountsAndNoOther) {
  Cluster c;
  c.Nodes("n0", "gpu=8 hca=8 cpu=10").Quotas("b", "gpu=4 cpu=10 node=n0");
  c.Quotas("q", "gpu=4 hca=2").Quotas("zero", "gpu=4 hca=0").Quotas("nothing", "gpu=0");
  EXPECT_EQ(ScoresOf(c, "q", {"n0"}), Points{62}) << "(100 + 25) / 2, whatever cpu is";
  EXPECT_EQ(ScoresOf(c, "zero", {"n0"}), Points{100});
  EXPECT_EQ(ScoresOf(c, "nothing", {"n0"}), Points{0});
}

TEST(Binpack, WeightsByNameOthersWeighOne) {
  Cluster c;
  c.Nodes("n0", "gpu=8 hca=8").Quotas("q", "gpu=8 hca=2");
  EXPECT_EQ(ScoresOf(c, "q", {"n0"}, {{"nvidia.com/gpu", 3}}), Points{81}) << "(300 + 25) / 4";
  EXPECT_EQ(ScoresOf(c, "q", {"n0"}, {{"nvidia.com/gpu", 0}}), Points{25});
  EXPECT_EQ(ScoresOf(c, "q", {"n0"}, {{"nvidia.com/gpu", 0}, {"rdma/hca", 0}}), Points{0});
}

TEST(Binpack, WhatDoesntFitScoresNothing) {
  Cluster c;
  c.Nodes("n0", "gpu=8 hca=8").Quotas("b", "gpu=7 node=n0");
  c.Quotas("big", "gpu=2 hca=1").Quotas("odd", "gpu=1 rdma/other=1").Quotas("last", "gpu=1");
  EXPECT_EQ(ScoresOf(c, "big", {"n0"}), Points{0});
  EXPECT_EQ(ScoresOf(c, "odd", {"n0"}), Points{0}) << "a name that the node doesn't have";
  EXPECT_EQ(ScoresOf(c, "last", {"n0"}), Points{100});
}

// A plan is charged at once (F4), so the next quota of the same gang sees it.
TEST(Binpack, WhatIsPlannedOnANodeFillsItAsWellAndOnce) {
  Cluster c;
  c.Nodes("n[0-1]", "gpu=8").Quotas("b", "gpu=4 node=n1").Quotas("first", "gpu=5");
  c.Quotas("second", "gpu=1").Pod("p", "gpu=5");
  OpenSession open(c, std::make_unique<Binpack>(Weights{}));
  EXPECT_EQ(ScoresOf(open, "second", {"n0", "n1"}), (Points{12, 62}));
  framework::Statement statement(*open);
  statement.AllocateTaskToQuota(open.Task("p"), open.Quota("first"), open.Node("n0"));
  EXPECT_EQ(ScoresOf(open, "second", {"n0", "n1"}), (Points{75, 62})) << "planned";
  statement.AllocateQuotaToNode(open.Quota("first"), open.Node("n0"));
  EXPECT_EQ(ScoresOf(open, "second", {"n0", "n1"}), (Points{75, 62})) << "bound";
  statement.Discard();
  EXPECT_EQ(ScoresOf(open, "second", {"n0", "n1"}), (Points{12, 62}));
}

TEST(Binpack, AGangThatFillsANodeGoesOnFillingIt) {
  Cluster c;
  c.Nodes("n[0-1]", "gpu=8").Quotas("old", "gpu=4 node=n1").Quotas("five", "gpu=5");
  c.Quotas("one", "gpu=1").Put(testing::MakeGroup("pair", 2, {}));
  c.Put(testing::MakeWorker("pair", "pair-0", *testing::ReadWords("gpu=5 required=five")));
  c.Put(testing::MakeWorker("pair", "pair-1", *testing::ReadWords("gpu=1 required=one")));
  EXPECT_THAT(c.Cycle(), BindsTasks("pair-[0-1]", "n0,n0"))
      << "five fit n0 alone, where 5 of 8 beat 4";
}

// --- laws ---

struct Law {
  Rng rng;
  Cluster c;
  explicit Law(uint64_t seed) : rng(seed) {}
  int64_t Amount() {
    // Now and then near the end of what int64 holds.
    if (rng.Below(5) == 0) return INT64_MAX / 1000 - static_cast<int64_t>(rng.Below(5));
    return static_cast<int64_t>(rng.Below(20));
  }
  std::string Amounts() {
    return fmt::format("gpu={} hca={} cpu={}", Amount(), Amount(), Amount());
  }
  Weights AnyWeights() {
    Weights weights;
    for (const char* name : {"nvidia.com/gpu", "rdma/hca", "cpu"})
      if (rng.Below(2) == 0) weights.emplace(name, rng.Below(3) == 0 ? 1'000'000 : rng.Below(4));
    return weights;
  }
};

RC_GTEST_PROP(BinpackLaw, EveryScoreIsFromNothingToAHundred, (uint64_t seed)) {
  Law law(seed);
  law.c.Nodes("n0", law.Amounts()).Quotas("b", law.Amounts() + " node=n0");
  law.c.Quotas("q", law.Amounts());
  for (const int64_t score : ScoresOf(law.c, "q", {"n0"}, law.AnyWeights()))
    RC_ASSERT(score >= 0 && score <= 100);
}

RC_GTEST_PROP(BinpackLaw, TheFullerOfTwoEqualNodesNeverScoresLessWhileBothHaveRoom,
              (uint64_t seed)) {
  Law law(seed);
  std::string node, less, more, asked;
  for (const char* name : {"gpu", "hca", "cpu"}) {
    const int64_t amounts[] = {law.Amount(), law.Amount() / 4, law.Amount() / 4, law.Amount() / 4};
    const auto say = [&](std::string& words, int64_t amount) {
      words += fmt::format("{}={} ", name, amount);
    };
    say(node, std::max(amounts[0], amounts[1] + amounts[2] + amounts[3]));
    say(less, amounts[1]), say(more, amounts[2]), say(asked, amounts[3]);
  }
  law.c.Nodes("n[0-1]", node).Quotas("a", less + "node=n0").Quotas("b", less + "node=n1");
  law.c.Quotas("more", more + "node=n1").Quotas("q", asked);
  OpenSession open(law.c, std::make_unique<Binpack>(law.AnyWeights()));
  const Points scores = ScoresOf(open, "q", {"n0", "n1"});
  RC_ASSERT(scores[1] >= scores[0]);
}

}  // namespace
}  // namespace sky::plugins
