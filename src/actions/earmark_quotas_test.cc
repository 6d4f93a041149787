// SPDX-License-Identifier: Apache-2.0
// Places are kept only for a gang that the queue's quotas could hold if everybody else ended.
#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace sky::actions {
namespace {

using testing::Cluster;

struct KeptForAGang : ::testing::Test {
  Cluster c{"starveAfter: 0s"};
  // Three nodes, `whole` quotas of a whole one, and a gang that needs all of them.
  void Begin(int whole) {
    c.Nodes("n[0-2]", "gpu=8").Quotas(fmt::format("whole-[0-{}]", whole - 1), "gpu=8");
    c.Quotas("small-[0-1]", "gpu=4");
    c.Pod("first", "gpu=4");
    EXPECT_EQ(c.Cycle().size(), 1u);
    c.Job("big", 3, "gpu=8");
    c.Cycle();
    c.Pod("next", "gpu=4");
  }
};

TEST_F(KeptForAGang, WithQuotasForAllOfItNobodyElseComes) {
  Begin(3);
  EXPECT_TRUE(c.Cycle().empty());
  EXPECT_EQ(c.Why("pod:default/next"), "EarmarkedForOther");
}

TEST_F(KeptForAGang, ThatLacksQuotasWhoeverEndsNothingIsKept) {
  Begin(2);
  EXPECT_EQ(c.Why("default/big"), "InsufficientQuota");
  EXPECT_EQ(c.Cycle().size(), 1u);
}

// A quota goes away while places are kept: they are free again.
TEST_F(KeptForAGang, WhenItsQuotasGoItsPlacesAreFree) {
  Begin(3);
  EXPECT_TRUE(c.Cycle().empty());
  c.Remove<api::Quota>("whole-2");
  c.Cycle();
  c.Tick(std::chrono::seconds(31));
  c.Cycle();
  EXPECT_NE(c.Why("pod:default/next"), "EarmarkedForOther");
}

}  // namespace
}  // namespace sky::actions
