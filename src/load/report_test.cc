// SPDX-License-Identifier: Apache-2.0
#include "load/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace sky::load {
namespace {

using std::chrono::milliseconds;

Report Whole() {
  Report report;
  report.mode = Mode::kBurst;
  report.scheduler = "sky-scheduler";
  report.nodes = 4;
  report.gang_size = 4;
  Reading& reading = report.reading;
  reading.pods = reading.bound = 16;
  reading.gangs = reading.gangs_bound = 4;
  reading.first_bind = milliseconds(120);
  reading.last_bind = milliseconds(620);
  reading.quotas_caught_up = milliseconds(1500);
  reading.bindings_per_second = 30.0;
  reading.creations_per_second = 1000.04;
  reading.pod_latency = Spread{milliseconds(100), milliseconds(250)};
  reading.gang_latency = Spread{milliseconds(200), milliseconds(300)};
  reading.gangs_across_leaves = 1;
  report.use = ProcessUse{milliseconds(40), 2048};
  return report;
}

TEST(LoadReport, IsAFewLinesForPeople) {
  EXPECT_EQ(ToText(Whole()),
            "burst: 16 pods in 4 gangs of 4 on 4 nodes, by sky-scheduler\n"
            "  bound                 16 of 16 pods, 4 of 4 gangs\n"
            "  creations             1000.0 /s, first to last\n"
            "  bindings              30.0 /s, first to last\n"
            "  start to first bind   0.120 s\n"
            "  start to last bind    0.620 s\n"
            "  pod create to bind    p50 0.100 s, p99 0.250 s\n"
            "  gang create to bind   p50 0.200 s, p99 0.300 s\n"
            "  quotas caught up      1.500 s\n"
            "  gangs across leaves   1\n"
            "  scheduler CPU         0.04 s, 2.500 ms a pod\n"
            "  scheduler memory      2.0 MiB at most\n");
}

TEST(LoadReport, NamesItsUnitsInJson) {
  const auto json = nlohmann::json::parse(ToJson(Whole()));
  EXPECT_EQ(json["mode"], "burst");
  EXPECT_EQ(json["podsBound"], 16);
  EXPECT_EQ(json["bindingsPerSecond"], 30.0);
  EXPECT_EQ(json["startToLastBindSeconds"], 0.62);
  EXPECT_EQ(json["gangCreateToBindSeconds"]["p99"], 0.3);
  EXPECT_EQ(json["quotasCaughtUpSeconds"], 1.5);
  EXPECT_EQ(json["gangsAcrossLeaves"], 1);
  EXPECT_EQ(json["schedulerCpuSeconds"], 0.04);
  EXPECT_EQ(json["schedulerCpuMsPerPod"], 2.5);
  EXPECT_EQ(json["schedulerPeakMemoryMiB"], 2.0);
  EXPECT_TRUE(json["unbound"].empty());
}

TEST(LoadReport, ItsFieldsStandInTheDocs) {
  const std::string docs = ReadFile(SKY_SOURCE_DIR "/docs/load.md").value();
  const auto json = nlohmann::json::parse(ToJson(Whole()));
  for (const auto& [name, value] : json.items())
    EXPECT_NE(docs.find("`" + name + "`"), std::string::npos) << name;
}

TEST(LoadReport, WhatIsNotKnownIsNullAndNoLine) {
  Report report;
  report.reading.pods = 3;
  const auto json = nlohmann::json::parse(ToJson(report));
  for (const char* name : {"bindingsPerSecond", "startToFirstBindSeconds", "podCreateToBindSeconds",
                           "quotasCaughtUpSeconds", "gangsAcrossLeaves", "schedulerCpuSeconds",
                           "schedulerCpuMsPerPod", "schedulerPeakMemoryMiB"}) {
    ASSERT_TRUE(json.contains(name)) << name;
    EXPECT_TRUE(json[name].is_null()) << name;
  }
  EXPECT_EQ(ToText(report).find("scheduler CPU"), std::string::npos);
}

TEST(LoadReport, TellsProblemsAndWhatUnboundPodsSayMostFirst) {
  Report report = Whole();
  report.reading.problems = {"3 pods are bound to n0, whose allocatable holds 2"};
  report.unbound = {{"a rare one", 1}, {"a common one", 7}};
  const std::string text = ToText(report);
  EXPECT_TRUE(
      text.ends_with("  wrong                 3 pods are bound to n0, whose allocatable "
                     "holds 2\n"
                     "  unbound               7 × a common one\n"
                     "  unbound               1 × a rare one\n"))
      << text;
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["problems"].size(), 1u);
  EXPECT_EQ(json["unbound"]["a common one"], 7);
}

}  // namespace
}  // namespace sky::load
