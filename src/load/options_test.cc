// SPDX-License-Identifier: Apache-2.0
#include "load/options.h"

#include <gtest/gtest.h>

namespace sky::load {
namespace {

std::string Said(const Status& status) { return status ? "fine" : status.error().message(); }

Options Direct() {
  Options options;
  options.mode = Mode::kDirect;
  return options;
}

api::Node NodeNamed(const std::string& name) {
  api::Node node;
  node.metadata.name = name;
  return node;
}

TEST(LoadOptions, ADrainStartsItsScheduler) {
  Options options;
  EXPECT_NE(Said(CheckOptions(options)).find("end the line with its command"), std::string::npos);
  options.command = {"sky-scheduler"};
  EXPECT_EQ(Said(CheckOptions(options)), "fine");
  options.mode = Mode::kDirect;
  EXPECT_NE(Said(CheckOptions(options)).find("leave out the command"), std::string::npos);
}

TEST(LoadOptions, PodsMustFitOnTheNodesThatAreMade) {
  Options options = Direct();
  options.shape.pods = 801;
  EXPECT_NE(Said(CheckOptions(options)).find("at most --pods 800"), std::string::npos);
  options.make_nodes = false;  // then the nodes that are there decide
  EXPECT_EQ(Said(CheckOptions(options)), "fine");
}

TEST(LoadOptions, OurSchedulerIsNotAskedToWorkWithoutGroups) {
  for (const Mode mode : {Mode::kDrain, Mode::kBurst, Mode::kRate}) {
    Options options;
    options.mode = mode;
    options.command = {"sky-scheduler"};
    options.shape.groups = false;
    EXPECT_NE(Said(CheckOptions(options)).find("leave --groups out"), std::string::npos);
    options.shape.scheduler = "default-scheduler";
    EXPECT_EQ(Said(CheckOptions(options)), "fine");
  }
}

TEST(LoadOptions, AGangNeedsItsPods) {
  Options options = Direct();
  options.shape.pods = 20;
  EXPECT_EQ(Said(CheckOptions(options)),
            "--pods 20 makes no gang of --gang 32: at least --pods 32, or at most --gang 20");
  options.shape.gang = 20;
  EXPECT_EQ(Said(CheckOptions(options)), "fine");
  options.shape.gang = 16;  // the last one is smaller
  EXPECT_EQ(Said(CheckOptions(options)), "fine");
  options.mode = Mode::kClean;  // makes none
  options.shape.gang = 32;
  EXPECT_EQ(Said(CheckOptions(options)), "fine");
}

TEST(LoadOptions, NamesAndQuotasMustBePossible) {
  Options options = Direct();
  options.shape.ns = "No Namespace";
  EXPECT_NE(Said(CheckOptions(options)).find("--namespace"), std::string::npos);
  options = Direct();
  options.shape.scheduler = "";
  EXPECT_NE(Said(CheckOptions(options)).find("--scheduler"), std::string::npos);
  options = Direct();
  options.shape.gpus_per_node = 12;
  options.shape.per_quota = 8;
  EXPECT_NE(Said(CheckOptions(options)).find("multiple of --per-quota"), std::string::npos);
}

TEST(LoadSurvey, WhatAnEarlierRunLeftIsNamed) {
  const std::string said = Said(CheckSurvey(Direct(), {{{"nodes", 3}, {"pods", 12}}, {}}));
  EXPECT_NE(said.find("3 nodes, 12 pods"), std::string::npos) << said;
  EXPECT_NE(said.find("--clean"), std::string::npos) << said;
  EXPECT_EQ(Said(CheckSurvey(Direct(), {})), "fine");
}

TEST(LoadSurvey, NodesAreNeverMadeBesideOthers) {
  Options options = Direct();
  const Survey one{{}, {NodeNamed("real-0")}}, two{{}, {NodeNamed("real-0"), NodeNamed("real-1")}};
  EXPECT_NE(Said(CheckSurvey(options, one)).find("(real-0)"), std::string::npos);
  EXPECT_NE(Said(CheckSurvey(options, two)).find("(real-0 and 1 more)"), std::string::npos);
  options.make_nodes = false;
  EXPECT_EQ(Said(CheckSurvey(options, two)), "fine");
  EXPECT_NE(Said(CheckSurvey(options, {})).find("leave out --no-nodes"), std::string::npos);
}

}  // namespace
}  // namespace sky::load
