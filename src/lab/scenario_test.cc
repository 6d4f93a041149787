// SPDX-License-Identifier: Apache-2.0
// Every script in tests/scenarios, one test a file: what it prints is the .out beside it, and
// nothing in it fails. SKY_UPDATE=1 in the environment writes the .out files anew.
#include "lab/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sky::lab {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class ScenarioScript : public ::testing::Test {
 public:
  explicit ScenarioScript(fs::path script) : script_(std::move(script)) {}
  void TestBody() override {
    std::string output;
    const auto failures = RunScript(ReadAll(script_), script_.filename().string(),
                                    [&](std::string_view piece) { output += piece; });
    ASSERT_TRUE(failures.has_value()) << failures.error().message();
    const fs::path golden = fs::path(script_).replace_extension(".out");
    if (const char* update = std::getenv("SKY_UPDATE"); update != nullptr && *update == '1')
      std::ofstream(golden, std::ios::binary | std::ios::trunc) << output;
    EXPECT_EQ(output, ReadAll(golden))
        << "when the new output is right: SKY_UPDATE=1 lab_test --gtest_filter='Scenarios.*'";
    EXPECT_EQ(*failures, 0) << output;
  }

 private:
  const fs::path script_;
};

// Registered before main: a script is a test as soon as its file is there.
[[maybe_unused]] const bool registered = [] {
  std::vector<fs::path> scripts;
  for (const auto& entry : fs::directory_iterator(fs::path(SKY_SOURCE_DIR) / "tests/scenarios"))
    if (entry.path().extension() == ".scn") scripts.push_back(entry.path());
  std::ranges::sort(scripts);
  for (const fs::path& script : scripts) {
    std::string name = script.stem().string();
    std::ranges::replace(name, '-', '_');
    ::testing::RegisterTest("Scenarios", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [script]() -> ::testing::Test* { return new ScenarioScript(script); });
  }
  return true;
}();

}  // namespace
}  // namespace sky::lab
