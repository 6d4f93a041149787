// SPDX-License-Identifier: Apache-2.0
// The machine's clock is corrected by hours, back and forth, while something waits: whatever waits
// is measured by monotonic time, so nothing comes late and nothing early.
#include <gtest/gtest.h>

#include "lab/scene_for_test.h"
#include "scheduler/known.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

class CorrectedClock : public ::testing::TestWithParam<Duration> {
 protected:
  CorrectedClock() {
    SimulationOptions options;
    options.config = framework::DefaultConfig(scheduler::AllKnown().Known());
    lab = std::move(*Simulation::Create(std::move(options)));
    for (const char* node : {"n0", "n1", "n2"})
      Make(testing::MakeNode(node, *testing::ReadWords("gpu=8")));
    for (const char* quota : {"q-0", "q-1"})
      Make(testing::MakeQuota(quota, *testing::ReadWords("gpu=8")));
    Make(testing::MakeGroup("train", 2, {}));
    for (const char* worker : {"train-0", "train-1"})
      Make(testing::MakeWorker("train", worker, *testing::ReadWords("gpu=8")));
  }
  template <class T>
  void Make(const T& object) {
    MakeIn(*lab, object);
  }
  int Placed() {
    int placed = 0;
    for (const api::Pod& pod : lab->List<api::Pod>()) placed += pod.spec.node_name.empty() ? 0 : 1;
    return placed;
  }
  bool Lost(const std::string& node) {
    const model::Cluster rows = lab->scheduler()->cache().Copy();
    return rows.nodes()[rows.nodes().Find(node)].lost;
  }
  std::unique_ptr<Simulation> lab;
};

TEST_P(CorrectedClock, ABackOffEndsInItsOwnTime) {
  ASSERT_TRUE(lab->front().faults().Add(R"(faults:
- {match: {verb: create, resource: placements, count: 3}, action: {refuse: {code: 403}}}
)"));
  lab->StartScheduler();
  lab->Advance(100ms);
  lab->clock().StepWall(GetParam());
  lab->Advance(6900ms);
  EXPECT_EQ(Placed(), 0) << "1 s, 2 s and 4 s haven't passed";
  lab->Advance(2s);
  EXPECT_EQ(Placed(), 2);
}

TEST_P(CorrectedClock, ALostNodesQuotaComesBackInItsOwnTime) {
  lab->StartScheduler();
  lab->Advance(5s);
  ASSERT_EQ(Placed(), 2);
  // n0 hosts q-0; its pod goes, and the node isn't Ready any more.
  const std::string node = lab->Get<api::Pod>("default", "train-0")->spec.node_name;
  lab->Call("PATCH", "/api/v1/nodes/" + node,
            R"({"metadata":{"annotations":{"lab.infini-ai.com/fail":"true"}}})",
            "application/merge-patch+json");
  lab->Advance(1s);
  lab->clock().StepWall(GetParam());
  lab->Advance(45s);
  EXPECT_FALSE(Lost(node));
  lab->Advance(30s);
  EXPECT_TRUE(Lost(node));
}

INSTANTIATE_TEST_SUITE_P(Steps, CorrectedClock, ::testing::Values(-24h, -1h, 1h, 24h));

}  // namespace
}  // namespace sky::lab
