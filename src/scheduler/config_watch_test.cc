// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "framework/config_fields.h"
#include "scheduler/known.h"

namespace sky::scheduler {
namespace {

namespace fs = std::filesystem;

struct ConfigWatchTest : ::testing::Test {
  ManualClock clock;
  kube::ManualLoop loop{clock};
  fs::path folder;
  std::vector<std::unique_ptr<framework::Engine>> used;
  std::vector<std::string> told;
  std::unique_ptr<ConfigWatch> watch;

  ConfigWatchTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder =
        fs::path(::testing::TempDir()) / fmt::format("sky-config-{}-{}", info->name(), getpid());
    fs::create_directories(folder);
  }
  ~ConfigWatchTest() override { fs::remove_all(folder); }

  static void Write(const fs::path& file, const std::string& text) { std::ofstream(file) << text; }
  // The program runs with what the file says now.
  void Run(const fs::path& file) {
    const auto registry = AllKnown();
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto loaded = framework::LoadConfig(text, "c", registry.Known());
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
    ConfigWatch::Callbacks callbacks;
    callbacks.use = [this](auto engine) { used.push_back(std::move(engine)); };
    callbacks.tell = [this](bool warning, const std::string& reason, const std::string& note) {
      told.push_back(fmt::format("{}{}: {}", warning ? "!" : "", reason, note));
    };
    watch = std::make_unique<ConfigWatch>(loop, file, registry, std::move(loaded->config),
                                          std::move(callbacks));
    watch->Start();
    Pass();
    EXPECT_TRUE(used.empty() && told.empty()) << "what runs already is no news";
  }
  void Pass() {
    for (int i = 0; i < 3; ++i) {
      clock.Advance(ConfigWatch::kEvery);
      loop.RunReady();
    }
  }
};

TEST_F(ConfigWatchTest, AFileThatIsWrittenInPlaceIsTaken) {
  const fs::path file = folder / "sched.yaml";
  Write(file, "period: 1s\n");
  Run(file);
  Write(file, "period: 2s\n");
  Pass();
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0]->config().period, std::chrono::seconds(2));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].substr(0, 14), "ConfigReloaded");
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::hours(1));
  Write(file, "period: 2s\n# the same\n");
  Pass();
  EXPECT_EQ(used.size(), 1u);
  EXPECT_EQ(told.size(), 1u);
}

// As a mounted ConfigMap does it: file → ..data/file, ..data → a folder of its own; the folder's
// link is replaced, and every file below has the time and name that it had.
TEST_F(ConfigWatchTest, ASymlinkThatIsSwappedIsTaken) {
  const auto version = [&](const char* name, const std::string& text) {
    fs::create_directories(folder / name);
    Write(folder / name / "sched.yaml", text);
    fs::last_write_time(folder / name / "sched.yaml", fs::file_time_type{});
  };
  version("..1", "batchDelay: 10ms\n");
  version("..2", "batchDelay: 11ms\n");
  fs::create_directory_symlink("..1", folder / "..data");
  fs::create_symlink("..data/sched.yaml", folder / "sched.yaml");
  Run(folder / "sched.yaml");
  fs::create_directory_symlink("..2", folder / "..data_tmp");
  fs::rename(folder / "..data_tmp", folder / "..data");
  Pass();
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0]->config().batch_delay, std::chrono::milliseconds(11));
}

TEST_F(ConfigWatchTest, ABadFileIsToldOfOnceAndTheOldOneStays) {
  const fs::path file = folder / "sched.yaml";
  Write(file, "period: 1s\n");
  Run(file);
  Write(file, "perod: 2s\n");
  Pass();
  Pass();
  EXPECT_TRUE(used.empty());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("!ConfigRefused: "), std::string::npos);
  EXPECT_NE(told[0].find("unknown key 'perod'; did you mean 'period'?"), std::string::npos);
  fs::remove(file);
  Pass();
  EXPECT_EQ(told.size(), 2u) << "nor may it go";
  Write(file, "plugins: [{name: storage, args: {heartbeatTolerance: soon}}]\n");
  Pass();
  EXPECT_EQ(told.size(), 3u);
  Write(file, "period: 1s\n");
  Pass();
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[3].substr(0, 14), "ConfigReloaded") << "good again";
  EXPECT_TRUE(used.empty()) << "and what it was";
}

TEST_F(ConfigWatchTest, WhatCantChangeStaysAndIsNamedAndTheRestIsTaken) {
  const fs::path file = folder / "sched.yaml";
  Write(file, "schedulerName: a\n");
  Run(file);
  Write(file, "schedulerName: b\ncommitOrder: quotaFirst\nperiod: 3s\n");
  Pass();
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0]->config().scheduler_name, "a");
  EXPECT_EQ(used[0]->config().commit_order, framework::CommitOrder::kPlacementFirst);
  EXPECT_EQ(used[0]->config().period, std::chrono::seconds(3));
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0],
            "!ConfigNeedsRestart: schedulerName, commitOrder can't change while the program runs: "
            "what the file says of them counts from its next start");
}

// Of a sentence: what stands in `code`.
std::set<std::string> Codes(std::string_view text) {
  std::set<std::string> codes;
  for (size_t at = text.find('`'); at != std::string_view::npos; at = text.find('`', at)) {
    const size_t end = text.find('`', at + 1);
    codes.emplace(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return codes;
}

TEST(ConfigKeys, EachCountsAtOnceOrIsNamedAndThePageSaysWhich) {
  const std::map<std::string, std::string, std::less<>> others = {
      {"schedulerName", "other"},
      {"period", "7s"},
      {"batchDelay", "7ms"},
      {"commitOrder", "quotaFirst"},
      {"actions", "[allocateJob, allocateQuota, bind]"},
      {"specLabelKeys", "[kind]"},
      {"topologyResources", "{roce: [rdma/other], ib: []}"},
      {"spotResource", "example.com/spot"},
      {"spotDevice", "example.com/card"},
      {"minFixQuotaInterval", "7s"},
      {"minRunTime", "7s"},
      {"startTimeout", "7s"},
      {"claimTimeout", "7s"},
      {"staticGrace", "7s"},
      {"reservationTTL", "7s"},
      {"nodeLostAfter", "7s"},
      {"zonePatience", "7s"},
      {"zoneHoldDown", "7s"},
      {"zoneFrom", "leafGroup"},
      {"pick", "leastFragment"},
      {"starveAfter", "7s"},
      {"earmarkStall", "7s"},
      {"earmarkMax", "7s"},
      {"plugins", "[{name: gang}]"},
      {"expressions", "{quotaToNode.nOrder: 'sum(topology*10, binpack*2)'}"},
  };
  const auto registry = AllKnown();
  const framework::Config running = framework::DefaultConfig(registry.Known());
  std::set<std::string> at_once, kept;
  for (const framework::Field& field : framework::ConfigFields()) {
    ASSERT_TRUE(others.contains(field.name)) << field.name;
    const std::string name(field.name);
    auto next = framework::LoadConfig(name + ": " + others.at(name), "c", registry.Known());
    ASSERT_TRUE(next.has_value()) << next.error().message();
    ASSERT_FALSE(next->config == running) << name << " says what runs already";
    const auto named = KeepFixed(running, next->config);
    if (named.empty()) {
      EXPECT_FALSE(next->config == running) << name << " does nothing and says nothing";
      if (name != "actions" && name != "plugins" && name != "expressions") at_once.insert(name);
    } else {
      EXPECT_EQ(named, std::vector{name});
      EXPECT_TRUE(next->config == running) << name;
      kept.insert(name);
    }
  }
  std::ifstream in(std::string(SKY_SOURCE_DIR) + "/docs/configuration.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const size_t first = page.find("Actions,\nplugins with their arguments");
  const size_t second = page.find("(`ConfigReloaded`).", first);
  const size_t third = page.find("stay as they", second);
  ASSERT_NE(third, std::string::npos);
  EXPECT_EQ(Codes(page.substr(first, second - first)), at_once);
  std::set<std::string> told = Codes(page.substr(second, third - second));
  for (const char* no_key : {"ConfigReloaded", "heartbeatTolerance", "storage"})
    EXPECT_EQ(told.erase(no_key), 1u) << no_key;
  EXPECT_EQ(told, kept);
}

}  // namespace
}  // namespace sky::scheduler
