// SPDX-License-Identifier: Apache-2.0
// When a job that sleeps is asked again for the sake of its reasons alone.
#include <gtest/gtest.h>

#include "actions/naps.h"
#include "testing/cluster.h"

namespace sky::actions {
namespace {

using std::chrono::milliseconds;
using testing::Cluster;

struct NapsTest : ::testing::Test {
  Cluster c;

  // A gang that can't run goes to sleep, and then one of the nodes is closed: less than before.
  void Begin(int members) {
    c.Nodes("n[0-1]", "gpu=8").Quotas("q[0-1]", "gpu=1").Job("gang", members, "gpu=1");
    EXPECT_TRUE(Asked());
    c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.unschedulable = true; });
  }
  bool Asked() {
    c.Cycle();
    return !c.Why("default/gang").empty();
  }
};

TEST_F(NapsTest, AReasonStandsForASecondAndTenMillisecondsAMember) {
  Begin(100);
  EXPECT_FALSE(Asked());
  c.Tick(milliseconds(1999));
  EXPECT_FALSE(Asked());
  c.Tick(milliseconds(1));
  EXPECT_TRUE(Asked());
}

TEST_F(NapsTest, AReasonOfAFewIsRenewedSooner) {
  Begin(3);
  c.Tick(milliseconds(1029));
  EXPECT_FALSE(Asked());
  c.Tick(milliseconds(1));
  EXPECT_TRUE(Asked());
}

TEST_F(NapsTest, WhereNothingChangedNobodyIsAskedForThirtySeconds) {
  c.Nodes("n[0-1]", "gpu=8").Quotas("q[0-1]", "gpu=1").Job("gang", 3, "gpu=1");
  EXPECT_TRUE(Asked());
  c.Tick(milliseconds(29'999));
  EXPECT_FALSE(Asked());
  c.Tick(milliseconds(1));
  EXPECT_TRUE(Asked());
}

TEST_F(NapsTest, OfManyTheLongestAsleepAreAskedFirst) {
  c.Nodes("n[0-1]", "gpu=8");
  for (const char* job : {"a", "b", "c", "d", "e"}) c.Pod(job, "gpu=1");
  c.Cycle();
  framework::Session::Kept kept;
  Naps naps;
  const auto at = [&](int ms) {
    const Instant now{WallTime{}, MonoTime(milliseconds(ms))};
    return framework::Session(c.snapshot(), c.engine().config(), now, 1, nullptr, kept);
  };
  const std::vector<model::JobId> jobs(c.snapshot().waiting_jobs().begin(),
                                       c.snapshot().waiting_jobs().end());
  ASSERT_EQ(jobs.size(), 5u);
  const std::vector<size_t> order = {3, 0, 4, 1, 2};  // in which they fell asleep
  for (size_t i = 0; i < order.size(); ++i) {
    framework::Session session = at(static_cast<int>(i));
    Want want;
    want.steps = Naps::kSteps / 2;
    naps.Sleep(session, jobs[order[i]], want);
  }
  c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.unschedulable = true; });
  c.Cycle();
  EXPECT_EQ(naps.Overtaken(at(1009), jobs).size(), 0u);
  EXPECT_EQ(naps.Overtaken(at(1010), jobs), (std::vector{jobs[3]}));
  EXPECT_EQ(naps.Overtaken(at(2000), jobs), (std::vector{jobs[0], jobs[3]}));
}

}  // namespace
}  // namespace sky::actions
