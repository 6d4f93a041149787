// SPDX-License-Identifier: Apache-2.0
// Each rule of static binding is shown by a part of a scenario, which says it in a comment and then
// looks at what comes of it. What the parts print, and that it is right, scenario_test.cc compares.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace sky::lab {
namespace {

constexpr std::array kRules = {
    "the controller asks whether the node exists, is Ready, takes pods and has the labels",
    "it sets a node only where there is none, and never while tasks use the quota",
    "an unbound static quota has one candidate, its node",
    "any node after it was unusable for staticGrace",
    "room is the scheduler's to judge, and the newest without tasks loses",
    "not there again before its generation or the node's allocatable changes",
    "healing beats static",
};

bool Looks(const std::string& line) {
  return line.starts_with("show ") || line.starts_with("why ") || line.starts_with("expect ");
}

TEST(StaticRules, EachHasAPartOfAScenarioThatLooksAtIt) {
  std::ifstream script(std::string(SKY_SOURCE_DIR) + "/tests/scenarios/static-rules.scn");
  ASSERT_TRUE(script.is_open());
  const std::string mark = "# rule: ";
  std::map<std::string, int> looks;
  std::vector<std::string> found;
  for (std::string line; std::getline(script, line);) {
    if (line.starts_with(mark)) found.push_back(line.substr(mark.size()));
    if (!found.empty() && Looks(line)) ++looks[found.back()];
  }
  EXPECT_EQ(found, std::vector<std::string>(kRules.begin(), kRules.end()));
  for (const char* rule : kRules) EXPECT_GE(looks[rule], 1) << rule;
}

}  // namespace
}  // namespace sky::lab
