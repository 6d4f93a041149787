// SPDX-License-Identifier: Apache-2.0
// Pictures of quotas as the API server judges them: none is refused for what is in it, and what is
// refused all the same isn't repeated for ever.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cache/picture.h"
#include "lab/document.h"
#include "lab/simulation.h"
#include "lab/test_cluster.h"
#include "scheduler/known.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

class Pictures : public ::testing::Test {
 protected:
  Pictures() {
    SimulationOptions options;
    options.config = framework::DefaultConfig(scheduler::AllKnown().Known());
    options.kubelets = false;
    simulation = std::move(*Simulation::Create(std::move(options)));
    Apply(testing::MakeNode("n0", *testing::ReadWords("gpu=8")));
    Apply(testing::MakeQuota("q", *testing::ReadWords("gpu=8")));
  }
  template <class T>
  void Apply(const T& object) {
    const Status applied = simulation->Apply(api::Encode(object));
    ASSERT_TRUE(applied.has_value()) << applied.error().message();
  }
  static api::Pod HandBound(const std::string& name, const std::string& more = "") {
    return testing::MakeWorker("", name, *testing::ReadWords("gpu=1 node=n0 quota=q " + more));
  }
  api::QuotaStatus Shown() { return simulation->Get<api::Quota>("", "q")->status; }
  // How often the scheduler sent a status of the quota.
  size_t Writes() {
    const Json log = J(simulation->front().Log(0));
    return static_cast<size_t>(std::ranges::count_if(log["requests"], [](const Json& request) {
      return TextAt(request, {"verb"}) == "patch" && TextAt(request, {"resource"}) == "quotas";
    }));
  }

  std::unique_ptr<Simulation> simulation;
};

TEST(PictureBounds, AreThoseOfTheSchema) {
  const auto text = ReadFile(SKY_SOURCE_DIR "/deploy/crds/quotas.yaml");
  const auto crd = ParseYaml(text.value());
  ASSERT_TRUE(crd.has_value() && crd->size() == 1);
  const Json& tasks = crd->front()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
                                  ["status"]["properties"]["tasks"];
  EXPECT_EQ(tasks["maxItems"], cache::kMostShownTasks);
  EXPECT_EQ(tasks["items"]["properties"]["request"]["maxProperties"], cache::kMostShownResources);
}

TEST_F(Pictures, ThatAreRefusedAllTheSameAreTriedEverMoreSeldomAndToldOnce) {
  ASSERT_TRUE(simulation->front().faults().Add(
      "{faults: [{match: {verb: patch, resource: quotas, subresource: status, count: 0},"
      " action: {refuse: {code: 422, message: the webhook wants no hands}}}]}"));
  Apply(HandBound("p"));
  simulation->StartScheduler();
  simulation->Advance(10min);
  EXPECT_GE(Writes(), 12u);
  EXPECT_LE(Writes(), 18u) << "6 within a minute, then one a minute";
  ASSERT_EQ(simulation->events.size(), 1u);
  EXPECT_NE(simulation->events[0].find("the webhook wants no hands"), std::string::npos)
      << simulation->events[0];

  // Another picture is another matter.
  const size_t before = Writes();
  Apply(HandBound("other"));
  simulation->Advance(500ms);
  EXPECT_EQ(Writes(), before + 1);
  simulation->front().ClearFaults();
  simulation->Advance(2s);
  EXPECT_EQ(Shown().tasks.size(), 2u);
  EXPECT_EQ(simulation->events.size(), 1u);
}

}  // namespace
}  // namespace sky::lab
