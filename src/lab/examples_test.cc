// SPDX-License-Identifier: Apache-2.0
// docs/examples as the README uses them: skyctl lab up begins with the nodes, kubectl applies the
// gang, and it runs under one switch.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "lab/objects.h"
#include "lab/simulation.h"
#include "scheduler/known.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

std::string Example(const std::string& name) {
  std::ifstream in(std::string(SKY_SOURCE_DIR) + "/docs/examples/" + name);
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Examples, TheGangOfTheReadmeRunsUnderOneSwitch) {
  SimulationOptions options;
  options.config = framework::DefaultConfig(scheduler::AllKnown().Known());
  auto made = Simulation::Create(std::move(options));
  ASSERT_TRUE(made.has_value()) << made.error().message();
  Simulation& lab = **made;
  lab.StartScheduler();
  for (const char* name : {"nodes.yaml", "gang.yaml"}) {
    const Status created = CreateObjects(lab.api(), Example(name));
    ASSERT_TRUE(created.has_value()) << created.error().message();
    lab.Advance(3s);
  }
  for (int i = 0; i < 4; ++i) {
    const auto pod = lab.Get<api::Pod>("default", fmt::format("train-{}", i));
    EXPECT_EQ(pod->spec.node_name, fmt::format("gpu-{}", i));
    EXPECT_EQ(pod->status.phase, "Running");
  }
  EXPECT_EQ(lab.Get<api::Placement>("default", "train")->spec.zones,
            (std::vector<std::string>{"ib#leaf-1"}));
}

}  // namespace
}  // namespace sky::lab
