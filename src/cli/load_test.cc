// SPDX-License-Identifier: Apache-2.0
// skyctl load as a program, against the embedded cluster and with our own scheduler.
#include "cli/load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/files.h"
#include "cli/program_for_test.h"
#include "kube/client.h"
#include "kube/http.h"
#include "kube/kubeconfig.h"

namespace sky::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::string Binary(const std::string& name) { return std::string(SKY_BIN_DIR) + "/" + name; }

class LoadTest : public ::testing::Test {
 protected:
  LoadTest() : folder_(fs::temp_directory_path() / fmt::format("sky-load-{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~LoadTest() override {
    lab_.reset();
    fs::remove_all(folder_);
  }

  void LabUp(std::string_view objects = "") {
    Words words = {Binary("skyctl"), "lab", "up", "--no-kubelets", "--kubeconfig", Config()};
    if (!objects.empty()) {
      std::ofstream(folder_ / "objects.yaml") << objects;
      words = words + Words{"-f", folder_ / "objects.yaml"};
    }
    lab_ = std::make_unique<Program>(words);
    ASSERT_TRUE(lab_->Ready()) << lab_->said();
  }
  std::string Config() const { return folder_ / "kubeconfig"; }

  static Words Small() {
    return {"--nodes", "4", "--nodes-per-leaf", "2", "--pods", "16",
            "--gang",  "4", "--gpus-per-node",  "8"};
  }
  Words Scheduler() const {
    return {"--", Binary("sky-scheduler"), "--kubeconfig", Config(), "--no-leader-elect"};
  }
  std::unique_ptr<Program> Start(const std::string& mode, const Words& more) const {
    return std::make_unique<Program>(
        Words{Binary("skyctl"), "load", mode, "--kubeconfig", Config()} + more);
  }

  struct Ended {
    int code = 0;
    std::string said;
    json report;  // null without one
  };
  Ended Load(const std::string& mode, const Words& more = {}) const {
    const auto program = Start(mode, more);
    Ended ended{program->Wait(), program->said(), nullptr};
    const size_t at = ended.said.find("{\"mode\"");
    if (at != std::string::npos)
      ended.report = json::parse(ended.said.substr(at, ended.said.find('\n', at) - at));
    return ended;
  }
  Ended Measure(const std::string& mode, const Words& more) const {
    return Load(mode, Small() + Words{"--output", "json"} + more);
  }

  // The names of all objects of a kind that the server has.
  template <class T>
  Words Names() const {
    const SystemClock clock;
    const auto access = kube::LoadAccess(kube::AccessOptions::FromEnvironment(Config()));
    const auto http = kube::HttpClient::Create(*access, clock).value();
    kube::Client client(*http);
    const auto listed = kube::Await<kube::ListOf<T>>(
        [&](kube::Done<kube::ListOf<T>> done) { client.List<T>({}, {}, std::move(done)); });
    Words names;
    for (const auto& item : listed.value().items) names.push_back(item->metadata.name);
    return names;
  }
  void ExpectNothingLeft(const Words& nodes = {}, const Words& quotas = {}) const {
    EXPECT_EQ(Names<api::Node>(), nodes);
    EXPECT_EQ(Names<api::NodeTopology>(), Words());
    EXPECT_EQ(Names<api::Pod>(), Words());
    EXPECT_EQ(Names<api::PodGroup>(), Words());
    EXPECT_EQ(Names<api::Placement>(), Words());
    EXPECT_EQ(Names<api::Quota>(), quotas);
  }

  const fs::path folder_;
  std::unique_ptr<Program> lab_;
};

void ExpectAllBound(const json& report) {
  EXPECT_EQ(report["podsBound"], 16) << report;
  EXPECT_EQ(report["gangsBound"], 4) << report;
  EXPECT_EQ(report["nodes"], 4) << report;
  EXPECT_EQ(report["problems"], json::array());
  // So few may be bound too fast for a rate.
  EXPECT_TRUE(report["bindingsPerSecond"].is_null() || report["bindingsPerSecond"] > 0) << report;
}

TEST_F(LoadTest, BindsByItselfWithoutAScheduler) {
  LabUp();
  const Ended ended = Measure("direct", {});
  ASSERT_EQ(ended.code, 0) << ended.said;
  ExpectAllBound(ended.report);
  EXPECT_GT(ended.report["startToLastBindSeconds"], 0);
  EXPECT_TRUE(ended.report["schedulerCpuSeconds"].is_null());
  EXPECT_TRUE(ended.report["quotasCaughtUpSeconds"].is_null());
  ExpectNothingLeft();
}

TEST_F(LoadTest, DrainsWithOurSchedulerWhateverAQuotaHolds) {
  LabUp();
  for (const Words& quotas : {Words{}, Words{"--per-quota", "8"}}) {
    const Ended ended = Measure("drain", quotas + Scheduler());
    ASSERT_EQ(ended.code, 0) << ended.said;
    ExpectAllBound(ended.report);
    EXPECT_EQ(ended.report["gangsAcrossLeaves"], 0);
    EXPECT_GE(ended.report["quotasCaughtUpSeconds"], ended.report["startToLastBindSeconds"]);
    EXPECT_GT(ended.report["schedulerCpuSeconds"], 0);
    EXPECT_GT(ended.report["schedulerPeakMemoryMiB"], 0);
    ExpectNothingLeft();
  }
}

TEST_F(LoadTest, MeasuresGangsThatArriveWhileOurSchedulerRuns) {
  LabUp();
  for (const auto& [mode, flags] :
       std::vector<std::pair<std::string, Words>>{{"burst", {}}, {"rate", {"--rate", "200"}}}) {
    const Ended ended = Measure(mode, flags + Scheduler());
    ASSERT_EQ(ended.code, 0) << ended.said;
    ExpectAllBound(ended.report);
    EXPECT_EQ(ended.report["mode"], mode);
    EXPECT_GT(ended.report["podCreateToBindSeconds"]["p50"], 0);
    EXPECT_GE(ended.report["gangCreateToBindSeconds"]["p99"],
              ended.report["gangCreateToBindSeconds"]["p50"]);
    ExpectNothingLeft();
  }
}

TEST_F(LoadTest, LoadsASchedulerThatRunsAlready) {
  LabUp();
  Program scheduler({Binary("sky-scheduler"), "--kubeconfig", Config(), "--no-leader-elect"});
  const Ended ended = Measure("burst", {});
  ASSERT_EQ(ended.code, 0) << ended.said;
  ExpectAllBound(ended.report);
  EXPECT_TRUE(ended.report["schedulerCpuSeconds"].is_null());
  EXPECT_EQ(scheduler.Stop(SIGTERM), 0);
}

TEST_F(LoadTest, IsTextUnlessAskedForJson) {
  LabUp();
  const Ended ended = Load("direct", Small());
  EXPECT_EQ(ended.code, 0);
  // Progress may come before it.
  EXPECT_NE(ended.said.find("direct: 16 pods in 4 gangs of 4 on 4 nodes, by skyctl-load\n"
                            "  bound                 16 of 16 pods, 4 of 4 gangs\n"),
            std::string::npos)
      << ended.said;
}

TEST_F(LoadTest, WhatIsLeftMustGoBeforeTheNextRun) {
  LabUp();
  ASSERT_EQ(Load("direct", Small() + Words{"--keep"}).code, 0);
  EXPECT_EQ(Names<api::Pod>().size(), 16u);
  const Ended refused = Load("direct", Small());
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.said.find("(4 nodes, 16 pods)"), std::string::npos) << refused.said;
  EXPECT_EQ(Load("direct", Small() + Words{"--clean", "--keep"}).code, 0);
  EXPECT_EQ(Load("clean").code, 0);
  ExpectNothingLeft();
}

constexpr std::string_view kForeign = R"(
apiVersion: v1
kind: Node
metadata: {name: real-0}
status:
  allocatable: {cpu: 64, pods: 110, memory: 1Ti, nvidia.com/gpu: 16, rdma/hca: 16}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: Quota
metadata: {name: theirs}
spec: {queueName: default, request: {cpu: 1}}
)";

TEST_F(LoadTest, MakesNoNodesBesideOthersAndLeavesThoseAlone) {
  LabUp(kForeign);
  const Ended refused = Load("direct", Small());
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.said.find("(real-0)"), std::string::npos) << refused.said;
  EXPECT_EQ(Names<api::Pod>(), Words());

  const Ended ended = Measure("drain", Words{"--no-nodes"} + Scheduler());
  ASSERT_EQ(ended.code, 0) << ended.said;
  EXPECT_EQ(ended.report["podsBound"], 16);
  EXPECT_EQ(ended.report["nodes"], 1);
  EXPECT_TRUE(ended.report["gangsAcrossLeaves"].is_null());
  EXPECT_EQ(Names<api::Node>(), Words{"real-0"});
  EXPECT_EQ(Names<api::Quota>(), Words{"theirs"});
  EXPECT_EQ(Names<api::Pod>(), Words());
}

TEST_F(LoadTest, TellsWhatUnboundPodsSayWhenTheTimeIsOver) {
  LabUp();
  const Ended ended = Measure(
      "drain", {"--timeout", "1s", "--scheduler", "nobody", "--", "tail", "-f", "/dev/null"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_NE(ended.said.find("bound 0 of 16 pods, for 1s now"), std::string::npos) << ended.said;
  EXPECT_EQ(ended.report["podsBound"], 0);
  EXPECT_EQ(ended.report["unbound"], json({{"no scheduler has said anything", 16}}));
  ExpectNothingLeft();
}

TEST_F(LoadTest, TellsWhatItsFirstPodSaysWhenThatIsNeverBound) {
  LabUp();
  const Ended silent = Measure(
      "burst", {"--timeout", "1s", "--scheduler", "nobody", "--", "tail", "-f", "/dev/null"});
  EXPECT_EQ(silent.code, 1);
  EXPECT_NE(silent.said.find("nobody to bind a first pod, for 1s now. No scheduler has said "
                             "anything of it"),
            std::string::npos)
      << silent.said;
  // Cordoned, and the run makes no node of its own.
  std::string foreign(kForeign);
  foreign.replace(foreign.find("status:"), 0, "spec: {unschedulable: true}\n");
  lab_.reset();
  LabUp(foreign);
  const Ended refused = Measure("burst", Words{"--timeout", "4s", "--no-nodes"} + Scheduler());
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.said.find("It says: "), std::string::npos) << refused.said;
  EXPECT_NE(refused.said.find("NodeUnschedulable"), std::string::npos) << refused.said;
  ExpectNothingLeft(Words{"real-0"}, Words{"theirs"});
}

TEST_F(LoadTest, ASchedulerThatEndsEarlyIsAFailure) {
  LabUp();
  for (const char* mode : {"drain", "burst", "rate"}) {
    const Ended ended = Measure(mode, {"--", "false"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_NE(ended.said.find("false ended early, with exit code 1"), std::string::npos)
        << ended.said;
    ExpectNothingLeft();
  }
}

TEST_F(LoadTest, ASignalEndsItAndWhatItMadeGoes) {
  LabUp();
  const auto load = Start("burst", Small());
  ASSERT_TRUE(load->Says("waiting for sky-scheduler to bind a first pod")) << load->said();
  EXPECT_EQ(load->Stop(SIGINT), 1);
  EXPECT_NE(load->said().find("stopped by a signal"), std::string::npos) << load->said();
  ExpectNothingLeft();
}

TEST_F(LoadTest, ItsFlagsStandInTheDocs) {
  const std::string docs = ReadFile(SKY_SOURCE_DIR "/docs/load.md").value();
  const std::string help = Load("rate", {"--help"}).said;
  const std::regex flag("--[a-z-]+");
  size_t flags = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), flag), end; at != end; ++at, ++flags)
    EXPECT_TRUE(at->str() == "--help" || docs.find("`" + at->str()) != std::string::npos)
        << at->str();
  EXPECT_GT(flags, 15u) << help;
}

TEST_F(LoadTest, TellsWrongUsageFromFailure) {
  LabUp();
  EXPECT_EQ(Load("drain", Small()).code, 2);
  EXPECT_EQ(Load("nothing").code, 2);
  EXPECT_EQ(Load("direct", {"--rate", "5"}).code, 2);
  EXPECT_EQ(Load("direct", {"--timeout", "soon"}).code, 2);
  EXPECT_EQ(Load("direct", {"--pods", "0"}).code, 2);
  EXPECT_EQ(Load("burst", {"--per-quota", "3"}).code, 2);
  EXPECT_EQ(Load("direct", {"--help"}).code, 0);
  EXPECT_EQ(Load("direct", Small() + Words{"--kubeconfig", "missing"}).code, 2);  // given twice
  EXPECT_EQ(Load("drain", Small() + Words{"--groups", "none"} + Scheduler()).code, 2);
  EXPECT_EQ(Load("direct", {"--gang", "32", "--pods", "20"}).code, 2);
  lab_->Stop(SIGTERM);
  EXPECT_EQ(Load("direct", Small()).code, 1);
}

TEST_F(LoadTest, AKubeconfigThatIsntThereIsWrongUsageOfEveryProgram) {
  for (const Words& command : {Words{"skyctl", "load", "direct"}, Words{"skyctl", "load", "clean"},
                               Words{"skyctl", "lab", "kubelets"}, Words{"sky-scheduler"}}) {
    Words words = command + Words{"--kubeconfig", folder_ / "missing"};
    words[0] = Binary(words[0]);
    Program program(words);
    EXPECT_EQ(program.Wait(), 2) << program.said();
    EXPECT_NE(program.said().find("missing: No such file"), std::string::npos) << program.said();
  }
}

}  // namespace
}  // namespace sky::cli
