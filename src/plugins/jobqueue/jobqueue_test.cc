// SPDX-License-Identifier: Apache-2.0
#include "plugins/jobqueue/jobqueue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;
using testing::OpenSession;

// One node of eight GPUs; groups stand in the line that their label names.
struct JobQueueTest : ::testing::Test {
  Cluster c;
  JobQueueTest() { c.Nodes("n0", "gpu=8").Quotas("q[0-9]", "gpu=1").Quotas("big[0-9]", "gpu=8"); }

  void Line(const std::string& name, const std::function<void(api::JobQueueSpec&)>& say = {}) {
    api::JobQueue line;
    line.metadata.name = name;
    line.metadata.namespace_ = "default";
    line.spec.queue = "default";
    line.spec.job_selector.emplace().match_labels.emplace("line", name);
    if (say) say(line.spec);
    c.Put(std::move(line));
  }
  void Job(const std::string& name, const std::string& line, int members = 1,
           const std::string& words = "gpu=1", const testing::Gang& gang = {}) {
    c.Tick(std::chrono::seconds(1));  // who came first stands first
    c.Job(name, members, words, gang);
    c.Edit<api::PodGroup>("default/" + name, [&](api::PodGroup& group) {
      group.metadata.labels.insert_or_assign("line", line);
    });
  }
  void EditLine(const std::string& name, const std::function<void(api::JobQueueSpec&)>& change) {
    c.Edit<api::JobQueue>("default/" + name, [&](api::JobQueue& line) { change(line.spec); });
  }
  int32_t Running(const std::string& line) {
    const model::Cluster rows = c.cache().Copy();
    return rows.job_queues()[rows.job_queues().Find("default/" + line)].running;
  }
};

void Strict(api::JobQueueSpec& spec) { spec.policy = "StrictFIFO"; }

TEST_F(JobQueueTest, RunsNoMoreJobsThanItMayAndSaysSo) {
  Line("slow", [](api::JobQueueSpec& spec) { spec.max_running_jobs = 2; });
  for (const char* name : {"a", "b", "c"}) Job(name, "slow", 2);
  EXPECT_THAT(c.Cycle(), BindsTasks("a-[0-1],b-[0-1]", "n0"));
  EXPECT_EQ(Running("slow"), 2);
  EXPECT_EQ(c.Why("default/c"), "JobBlockedByJobQueue");
  EXPECT_EQ(c.Detail("default/c"), "JobQueue default/slow runs 2 of at most 2 jobs");
  EXPECT_EQ(c.result()
                .refusals.at(c.snapshot().jobs().Find("default/c"))
                .counts.at(model::Reason::kBlockedByJobQueue),
            2)
      << "one for each task";
  c.Finish("default/a-0");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "the other member of a still runs";
  c.Finish("default/a-1");
  EXPECT_THAT(c.Cycle(), BindsTasks("c-[0-1]", "n0"));
}

// A member that was decided counts before it is bound; a leaving one until it is gone.
TEST_F(JobQueueTest, ClaimsAndLeavingMembersHoldTheSlot) {
  Line("one", [](api::JobQueueSpec& spec) { spec.max_running_jobs = 1; });
  Job("a", "one"), Job("b", "one");
  ASSERT_EQ(c.Decide().size(), 1u);
  EXPECT_EQ(Running("one"), 1);
  EXPECT_THAT(c.Cycle(), BindsTasks("a-0", "n0"));
  c.Edit<api::Pod>("default/a-0", [](api::Pod& pod) {
    pod.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Remove<api::Pod>("default/a-0");
  EXPECT_THAT(c.Cycle(), BindsTasks("b-0", "n0"));
}

TEST_F(JobQueueTest, ARunningJobNeedsNoSecondSlotForItsRepairAndItsExtras) {
  Line("one", [](api::JobQueueSpec& spec) { spec.max_running_jobs = 1; });
  Job("a", "one", 3, "gpu=1", {2, ""});
  EXPECT_EQ(c.Cycle().size(), 2u);
  EXPECT_THAT(c.Cycle(), BindsTasks("a-2", "n0")) << "its extra";
  EditLine("one", [](api::JobQueueSpec& spec) { spec.suspended = true; });
  c.Remove<api::Pod>("default/a-0"), c.Remove<api::Pod>("default/a-1");
  c.Workers("a", 3, 3, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("a-3", "n0")) << "its repair, of a suspended line too";
}

// BestEffortFIFO gives the slot to the first that has a plan.
TEST_F(JobQueueTest, ASlotGoesToTheFirstThatFits) {
  Line("one", [](api::JobQueueSpec& spec) { spec.max_running_jobs = 1; });
  c.Pod("other", "gpu=1");
  ASSERT_EQ(c.Cycle().size(), 1u);
  Job("wide", "one", 1, "gpu=8"), Job("narrow", "one"), Job("later", "one");
  EXPECT_THAT(c.Cycle(), BindsTasks("narrow-0", "n0"));
  EXPECT_EQ(c.Why("default/wide"), "InsufficientQuotaIdle");
  EXPECT_EQ(c.Why("default/later"), "JobBlockedByJobQueue");
}

TEST_F(JobQueueTest, NobodyOvertakesAStrictHeadThatWaitsForRoom) {
  Line("strict", Strict);
  c.Pod("other", "gpu=1");
  ASSERT_EQ(c.Cycle().size(), 1u);
  Job("wide", "strict", 1, "gpu=8"), Job("narrow", "strict");
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(c.Cycle(), BindsNothing()) << "the head sleeps meanwhile, and still stands first";
    EXPECT_EQ(c.Detail("default/narrow"),
              "JobQueue default/strict is StrictFIFO, and jobs before it wait for room");
  }
  Job("outside", "nowhere");
  EXPECT_THAT(c.Cycle(), BindsTasks("outside-0", "n0")) << "it stands in no line";
  c.Finish("default/other"), c.Finish("default/outside-0");
  EXPECT_THAT(c.Cycle(), BindsTasks("wide-0", "n0"));
  c.Finish("default/wide-0");
  EXPECT_THAT(c.Cycle(), BindsTasks("narrow-0", "n0"));
}

// Rule 6: complete, ungated, and feasible on the empty cluster; else it is passed over.
TEST_F(JobQueueTest, AStrictHeadThatCouldNotRunAnywayIsPassedOver) {
  Line("strict", Strict);
  Job("short", "strict", 1, "gpu=1", {2, ""});
  Job("gated", "strict", 1, "gpu=1 gated");
  Job("giant", "strict", 2, "gpu=8");
  Job("quotaless", "strict", 11, "gpu=8");
  Job("picky", "strict", 1, "gpu=1 select=disk:tape");
  Job("classless", "strict", 1, "gpu=1", {0, "priority=none"});
  Job("held", "strict");
  c.cache().SetBackoff("default/held", model::Reason::kBackoff, "it was refused");
  Job("fine", "strict");
  EXPECT_THAT(c.Cycle(), BindsTasks("fine-0", "n0"));
  const auto who = [&](const std::string& job) {
    return c.result().refusals.at(c.snapshot().jobs().Find("default/" + job)).who;
  };
  EXPECT_EQ(c.Why("default/short"), "NotEnoughPods");
  EXPECT_EQ(who("short"), "passed over in JobQueue default/strict");
  EXPECT_EQ(who("gated"), "passed over in JobQueue default/strict");
  EXPECT_EQ(c.Why("default/giant"), "LargerThanPossible");
  EXPECT_EQ(who("giant"), "passed over in JobQueue default/strict");
  EXPECT_EQ(c.Why("default/quotaless"), "InsufficientQuota");
}

TEST_F(JobQueueTest, AHeadRegainsItsPlaceWhenItCanRun) {
  Line("strict", Strict);
  c.Pod("other", "gpu=1");
  ASSERT_EQ(c.Cycle().size(), 1u);
  Job("wide", "strict", 1, "gpu=8 gated"), Job("first", "strict"), Job("second", "strict");
  EXPECT_THAT(c.Cycle(), BindsTasks("first-0,second-0", "n0"));
  c.Edit<api::Pod>("default/wide-0", [](api::Pod& pod) { pod.spec.scheduling_gates.clear(); });
  Job("third", "strict");
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "the first of the line waits for eight GPUs now";
}

TEST_F(JobQueueTest, ASuspendedLineLetsNobodyIn) {
  Line("shut", [](api::JobQueueSpec& spec) { spec.suspended = true; });
  Job("a", "shut");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Detail("default/a"), "JobQueue default/shut is suspended");
  EditLine("shut", [](api::JobQueueSpec& spec) { spec.suspended = false; });
  EXPECT_THAT(c.Cycle(), BindsTasks("a-0", "n0"));
}

TEST_F(JobQueueTest, AJobStandsInTheHighestLineThatSelectsItInItsNamespaceAndQueue) {
  const auto line_of = [&](const std::string& job) {
    const model::Cluster rows = c.cache().Copy();
    const model::JobQueueId line = rows.jobs()[rows.jobs().Find("default/" + job)].line;
    return line.valid() ? rows.job_queues()[line].name : "";
  };
  Job("a", "x");
  EXPECT_EQ(line_of("a"), "");
  Line("x");
  EXPECT_EQ(line_of("a"), "default/x") << "the line came after its job";
  Line("all", [](api::JobQueueSpec& spec) { spec.job_selector->match_labels.clear(); });
  EXPECT_EQ(line_of("a"), "default/all") << "the first by name";
  EditLine("x", [](api::JobQueueSpec& spec) { spec.priority = 1; });
  EXPECT_EQ(line_of("a"), "default/x");
  EditLine("x", [](api::JobQueueSpec& spec) { spec.policy = "Anyhow"; });
  EXPECT_EQ(line_of("a"), "default/all") << "one that breaks a rule selects nobody";
  EditLine("all", [](api::JobQueueSpec& spec) { spec.queue = "other"; });
  EXPECT_EQ(line_of("a"), "");
  EditLine("x", [](api::JobQueueSpec& spec) { spec.policy = "", spec.max_running_jobs = 0; });
  EXPECT_EQ(line_of("a"), "default/x");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Remove<api::JobQueue>("default/x");
  EXPECT_EQ(line_of("a"), "");
  EXPECT_THAT(c.Cycle(), BindsTasks("a-0", "n0"));
}

std::string Listed(const std::vector<testing::Bound>& bound) {
  std::string names;
  for (const testing::Bound& one : bound) names += one.pod.substr(0, one.pod.find('-')) + " ";
  return names;
}

// Rule 9, inside a cycle and from one cycle to the next.
TEST_F(JobQueueTest, LinesOfEqualPriorityTakeTurnsAndHigherOnesGoFirst) {
  Line("x"), Line("y"), Line("high", [](api::JobQueueSpec& spec) { spec.priority = 1; });
  for (const char* name : {"x1", "x2", "x3", "x4"}) Job(name, "x", 1, "gpu=2");
  for (const char* name : {"y1", "y2", "y3", "y4"}) Job(name, "y", 1, "gpu=2");
  Job("h1", "high", 1, "gpu=2");
  c.Quotas("two[0-9]", "gpu=2");
  EXPECT_EQ(Listed(c.Cycle()), "h1 x1 x2 y1 ");
  c.Finish("default/x1-0");
  EXPECT_EQ(Listed(c.Cycle()), "y2 ") << "x was served last";
  c.Finish("default/x2-0");
  EXPECT_EQ(Listed(c.Cycle()), "x3 ");
}

TEST_F(JobQueueTest, JobsOutsideOfLinesTakeTheirTurnsToo) {
  Line("x");
  for (const char* name : {"x1", "x2", "x3"}) Job(name, "x", 1, "gpu=4");
  for (const char* name : {"o1", "o2"}) Job(name, "", 1, "gpu=4");
  EXPECT_EQ(Listed(c.Cycle()), "o1 x1 ");
}

// A turn that came to nothing is no turn; a session that is undone has taken no slot.
RC_GTEST_FIXTURE_PROP(JobQueueTest, WhatIsUndoneHasTakenNoSlotAndNoTurn, (uint64_t seed)) {
  Line("x", [](api::JobQueueSpec& spec) { spec.max_running_jobs = 1; }), Line("y");
  for (const char* name : {"x1", "x2"}) Job(name, "x", 2);
  for (const char* name : {"y1", "y2"}) Job(name, "y", 2);
  OpenSession open(c, std::make_unique<JobQueues>());
  const auto state = [&] {
    std::string text = open.rows().Dump();
    for (const char* job : {"x1", "x2", "y1", "y2"}) {
      const model::JobId id = open.Job(std::string("default/") + job);
      framework::Refusals why;
      // Turns count on; what they say about the order is what has to come back.
      text += fmt::format("{} {} {}\n", job, open->JobEnqueueable(id, why),
                          open->KeyOf(id) < open->KeyOf(open.Job("default/x1")));
    }
    return text;
  };
  Rng rng(seed);
  std::vector<std::string> tasks = {"x1-0", "x1-1", "x2-0", "x2-1", "y1-0", "y1-1", "y2-0", "y2-1"};
  for (size_t i = tasks.size(); i > 1; --i) std::swap(tasks[i - 1], tasks[rng.Below(i)]);
  std::vector<std::string> before = {state()};
  framework::Statement statement(*open);
  for (size_t i = 0; i < tasks.size(); ++i) {
    statement.AllocateTaskToQuota(open.Task(tasks[i]), open.Quota(fmt::format("q{}", i)),
                                  open.Node("n0"));
    before.push_back(state());
  }
  while (before.size() > 1) {
    const size_t keep = rng.Below(before.size() - 1);
    statement.RollBackTo(keep);
    before.resize(keep + 1);
    RC_ASSERT(state() == before.back());
  }
}

TEST_F(JobQueueTest, ItsControllerForgetsLinesThatNobodyAskedAboutForAWhile) {
  JobQueues plugin;
  EXPECT_EQ(plugin.NextReconcile(), std::nullopt) << "there is nothing to forget";
  EXPECT_EQ(c.result().next_reconcile, std::nullopt);
  Line("x"), Job("a", "x");
  c.Cycle();
  ASSERT_EQ(c.result().next_reconcile, c.now().wall + std::chrono::minutes(1));
  c.Tick(std::chrono::minutes(1)), c.Cycle();
  c.Tick(std::chrono::minutes(1)), c.Cycle();
  c.Tick(std::chrono::minutes(1)), c.Cycle();
  EXPECT_EQ(c.result().next_reconcile, std::nullopt);
}

// Liveness, as far as lines decide it (earmarks for gangs that need several places at once come
// beside them): jobs of one task, each of which runs for a cycle, in lines of any kind, some
// hopeless, gated or short. Whoever could run on the empty cluster has run after as many cycles as
// there are jobs, and what a line asks for has been obeyed in each.
RC_GTEST_FIXTURE_PROP(JobQueueTest, EveryFeasibleJobRunsWithinAsManyCyclesAsThereAreJobs,
                      (uint64_t seed)) {
  Rng rng(seed);
  const auto any = [&](int64_t below) {
    return static_cast<int32_t>(rng.Below(static_cast<uint64_t>(below)));
  };
  std::map<std::string, int32_t> most;
  for (const char* name : {"x", "y", "z"})
    Line(name, [&](api::JobQueueSpec& spec) {
      spec.policy = any(2) == 0 ? "StrictFIFO" : "BestEffortFIFO";
      spec.priority = any(2);
      if (any(2) == 0) most[name] = *(spec.max_running_jobs = 1 + any(2));
    });
  std::map<std::string, std::string> waiting;  // feasible ones → their line
  std::set<std::string> hopeless;
  const int jobs = 6 + any(8);
  for (int i = 0; i < jobs; ++i) {
    const std::string name = fmt::format("j{}", i);
    const std::string line = std::vector<std::string>{"x", "y", "z", ""}[rng.Below(4)];
    const int32_t kind = any(6);
    if (kind == 0)
      Job(name, line, 1, "gpu=16");
    else if (kind == 1)
      Job(name, line, 1, "gpu=1 gated");
    else if (kind == 2)
      Job(name, line, 1, "gpu=1", {2, ""});
    else
      Job(name, line, 1, any(2) == 0 ? "gpu=8" : "gpu=1");
    if (kind < 3)
      hopeless.insert(name);
    else
      waiting.emplace(name, line);
  }
  for (int cycle = 0; cycle < jobs && !waiting.empty(); ++cycle) {
    c.Tick(std::chrono::seconds(1));
    std::map<std::string, int32_t> running;
    std::vector<std::string> ended;
    for (const testing::Bound& one : c.Cycle()) {
      const std::string job = one.pod.substr(0, one.pod.find('-'));
      RC_ASSERT(!hopeless.contains(job));
      ++running[waiting.at(job)];
      waiting.erase(job);
      ended.push_back("default/" + one.pod);
    }
    for (const auto& [line, count] : most) RC_ASSERT(running[line] <= count);
    for (const std::string& pod : ended) c.Finish(pod);
  }
  RC_ASSERT(waiting.empty());
}

}  // namespace
}  // namespace sky::plugins
