// SPDX-License-Identifier: Apache-2.0
#include "diagnose/job_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "diagnose/describe.h"
#include "diagnose/step.h"
#include "testing/cluster.h"

namespace sky::diagnose {
namespace {

using model::Reason;
using nlohmann::json;

// What /diagnose says of a job after the cycle that was just run.
json Asked(const testing::Cluster& c, const std::string& key) {
  const model::JobId id = c.snapshot().jobs().Find(key);
  Standing standing;
  if (const auto found = c.result().refusals.find(id); found != c.result().refusals.end()) {
    standing.why = std::make_shared<const framework::Refusals>(found->second);
    standing.reason = model::ReasonName(found->second.main);
    standing.message = Describe(found->second, c.snapshot().names());
  }
  return json::parse(ToJson(FactsOf(c.snapshot(), id), standing, c.snapshot().names()));
}

std::set<std::string> ReasonsOf(const json& waits) {
  std::set<std::string> reasons;
  for (const json& reason : waits["reasons"]) reasons.insert(reason["reason"]);
  return reasons;
}

TEST(Steps, EveryReasonHasOneAndEveryStepAName) {
  std::set<std::string_view> names;
  for (const Step step : kLadder) EXPECT_TRUE(names.insert(StepName(step)).second);
  EXPECT_EQ(names.size(), 6u);
  EXPECT_FALSE(names.contains(""));
  for (size_t i = 1; i < static_cast<size_t>(Reason::kCount); ++i)
    EXPECT_LE(StepOf(static_cast<Reason>(i)), Step::kReclaim);
  EXPECT_EQ(StepOf(Reason::kQueueClosed), Step::kEnqueue);
  EXPECT_EQ(StepOf(Reason::kInsufficientQuota), Step::kAllocateJob);
  EXPECT_EQ(StepOf(Reason::kZoneFull), Step::kAllocateZone);
  EXPECT_EQ(StepOf(Reason::kInsufficientIdle), Step::kAllocateQuota);
  EXPECT_EQ(StepOf(Reason::kBindRefused), Step::kBind);
  EXPECT_EQ(StepOf(Reason::kReclaimNoVictim), Step::kReclaim);
}

TEST(JobReport, AWaitingGangTellsStepReasonsAndNumbers) {
  testing::Cluster c;
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-5]", "gpu=8 hca=8");
  c.Pod("one", "gpu=8 hca=8");
  c.Cycle();
  c.Job("train", 4, "gpu=8 hca=8");
  c.Cycle();
  const json said = Asked(c, "default/train");
  EXPECT_EQ(said["state"], "waiting");
  EXPECT_EQ(said["reason"], "ZoneFull");
  EXPECT_EQ(said["message"],
            "roce#S1 has room for 3 of 4 (InsufficientQuotaIdle nvidia.com/gpu on 1)");
  EXPECT_EQ(said["ladder"][1], json({{"step", "allocateJob"}, {"state", "passed"}}));
  EXPECT_EQ(said["ladder"][2],
            json({{"step", "allocateZone"}, {"state", "refused"}, {"reason", "ZoneFull"}}));
  EXPECT_EQ(said["ladder"][4], json({{"step", "bind"}, {"state", "notReached"}}));
  ASSERT_EQ(said["waits"].size(), 1u) << said;
  EXPECT_EQ(said["waits"][0]["tasks"], json({"train-0", "train-1", "train-2", "train-3"}));
  EXPECT_EQ(said["waits"][0]["reasons"][0], json({{"reason", "ZoneFull"},
                                                  {"step", "allocateZone"},
                                                  {"count", 1},
                                                  {"wanted", 4},
                                                  {"have", 3}}));
  EXPECT_EQ(said["waits"][0]["reasons"][1], json({{"reason", "InsufficientQuotaIdle"},
                                                  {"step", "allocateQuota"},
                                                  {"count", 1},
                                                  {"resource", "nvidia.com/gpu"},
                                                  {"wanted", "8"},
                                                  {"have", "0"}}));
  EXPECT_EQ(said["members"]["waiting"], 4);
  EXPECT_EQ(said["leftOut"], 0);
}

TEST(JobReport, MembersThatDifferWaitForTheOneThatIsRefused) {
  testing::Cluster c;
  c.Leaf("S1", "n[0-3]", "gpu=8").Quotas("q[0-7]", "gpu=1");
  c.Job("mix", 2, "gpu=1", {4, ""});
  c.Workers("mix", 2, 2, "gpu=1 select=disk:fast");
  c.Workers("mix", 3, 3, "gpu=1 gated");
  c.Workers("mix", 4, 4, "gpu=1");
  c.Cycle();
  const json said = Asked(c, "default/mix");
  EXPECT_EQ(said["reason"], "NodeSelectorMismatch") << said;
  ASSERT_EQ(said["waits"].size(), 3u) << said;
  EXPECT_EQ(said["waits"][0]["tasks"], json({"mix-2"}));
  EXPECT_EQ(ReasonsOf(said["waits"][0]), std::set<std::string>{"NodeSelectorMismatch"});
  EXPECT_EQ(said["waits"][1]["tasks"], json({"mix-3"}));
  EXPECT_EQ(ReasonsOf(said["waits"][1]), std::set<std::string>{"Gated"});
  EXPECT_EQ(said["waits"][2]["tasks"], json({"mix-0", "mix-1", "mix-4"}));
  EXPECT_EQ(said["waits"][2]["waitsFor"], "mix-2");
}

TEST(JobReport, APlacedJobTellsWhere) {
  testing::Cluster c;
  c.Leaf("S1", "n[0-1]", "gpu=1 hca=1").Quotas("q[0-1]", "gpu=1 hca=1");
  c.Job("train", 2, "gpu=1 hca=1");
  c.Decide();
  const json decided = Asked(c, "default/train");
  EXPECT_EQ(decided["state"], "starting") << decided;
  EXPECT_EQ(decided["ladder"][4]["state"], "underWay");
  c.Cycle();
  c.Cycle();
  const json placed = Asked(c, "default/train");
  EXPECT_EQ(placed["state"], "placed") << placed;
  EXPECT_EQ(placed["reason"], "");
  EXPECT_EQ(placed["places"].size(), 2u);
  EXPECT_EQ(placed["places"][1],
            json({{"task", "train-1"}, {"state", "Running"}, {"quota", "q1"}, {"node", "n1"}}));
  EXPECT_TRUE(placed["waits"].empty());
}

TEST(JobReport, AReasonThatTheFactsHaveOvertakenIsLeftOut) {
  JobFacts job;
  job.key = "default/train";
  job.needed = 2;
  job.decided = 2;
  model::Names names;
  const auto state = [&](const char* reason) {
    return json::parse(ToJson(job, {reason, "words", nullptr, 7}, names));
  };
  EXPECT_EQ(state("ZoneFull")["state"], "starting");
  EXPECT_EQ(state("Backoff")["state"], "waiting") << "its bindings aren't taken";
  EXPECT_EQ(state("PlacementConflict")["state"], "starting") << "of an earlier decision";
  job.gated = 1;
  EXPECT_EQ(state("ZoneFull")["state"], "starting") << "a gated extra waits for nobody";
  job.gated = 0;
  job.whole = true;
  EXPECT_EQ(state("Backoff")["state"], "starting");
  job.decided = 0;
  EXPECT_EQ(state("ZoneFull")["state"], "placed");
  job.waiting = 1;
  EXPECT_EQ(state("ZoneFull")["reason"], "ZoneFull") << "an extra waits";
}

TEST(JobReport, AnAnswerIsBounded) {
  testing::Cluster c;
  c.Leaf("S1", "n0", "gpu=8").Quotas("q0", "gpu=1");
  c.Job("huge", 1000, "gpu=1");
  c.Cycle();
  const json said = Asked(c, "default/huge");
  EXPECT_EQ(said["waits"][0]["tasks"].size(), kMostTasks);
  EXPECT_EQ(said["waits"][0]["tasks"][255], "huge-255") << "the first by rank";
  EXPECT_EQ(said["leftOut"], 1000 - kMostTasks);
  EXPECT_EQ(said["members"]["waiting"], 1000);
}

}  // namespace
}  // namespace sky::diagnose
