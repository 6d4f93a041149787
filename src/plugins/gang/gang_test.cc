// SPDX-License-Identifier: Apache-2.0
#include "plugins/gang/gang.h"

#include <gtest/gtest.h>

#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using model::Reason;
using model::Verdict;
using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;
using testing::OpenSession;

struct GangTest : ::testing::Test {
  Cluster c;
  GangTest() { c.Nodes("n[0-3]", "gpu=8").Quotas("q[0-9]", "gpu=1"); }

  void Roles(const std::string& group, const std::map<std::string, int32_t>& least) {
    c.Edit<api::PodGroup>("default/" + group, [&](api::PodGroup& it) {
      for (const auto& [role, count] : least) it.spec.min_task_member.insert_or_assign(role, count);
    });
  }
  void Delete(const std::string& pod) {
    c.Edit<api::Pod>("default/" + pod, [](api::Pod& it) {
      it.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
    });
  }
  Verdict Valid(const std::string& job) {
    OpenSession open(c, std::make_unique<Gang>());
    return open->JobValid(open.Job("default/" + job));
  }
};

// --- jobValid: are there enough pods at all? ---

TEST_F(GangTest, CountsMembersThatRunOrHaveEndedWellOrMayBePlaced) {
  c.Job("train", 3, "gpu=1", {3, ""});
  EXPECT_TRUE(Valid("train").fit());
  c.Cycle();
  EXPECT_TRUE(Valid("train").fit()) << "all run";
  c.Finish("default/train-0");
  EXPECT_TRUE(Valid("train").fit()) << "one has succeeded";
  c.Edit<api::Pod>("default/train-1", [](api::Pod& pod) { pod.status.phase = "Failed"; });
  EXPECT_EQ(Valid("train"), Verdict::NotNow(Reason::kNotEnoughPods, 3, 2));
  c.Workers("train", 3, 3, "gpu=1");
  EXPECT_TRUE(Valid("train").fit()) << "its successor has come";
  Delete("train-2");
  EXPECT_EQ(Valid("train"), Verdict::NotNow(Reason::kNotEnoughPods, 3, 2))
      << "a leaving pod is nobody's member";
}

TEST_F(GangTest, GatedMembersMayStillCome) {
  c.Job("train", 2, "gpu=1", {3, ""}).Workers("train", 2, 2, "gpu=1 gated");
  EXPECT_EQ(Valid("train"), Verdict::NotNow(Reason::kGated, 3, 2));
  c.Remove<api::Pod>("default/train-1");
  EXPECT_EQ(Valid("train"), Verdict::NotNow(Reason::kNotEnoughPods, 3, 1)) << "gates or not";
}

TEST_F(GangTest, EachRoleNeedsItsMinimum) {
  c.Job("train", 2, "gpu=1 role=worker", {2, ""});
  Roles("train", {{"worker", 1}, {"ps", 1}});
  EXPECT_EQ(Valid("train"), Verdict::NotNow(Reason::kNotEnoughPods, 1, 0)) << "two, but no ps";
  c.Put(testing::MakeWorker("train", "train-ps", *testing::ReadWords("gpu=1 role=ps")));
  EXPECT_TRUE(Valid("train").fit());
  Delete("train-ps");
  EXPECT_FALSE(Valid("train").fit());
}

TEST_F(GangTest, TheSumOfTheRolesCountsWhereItIsMoreThanMinMember) {
  c.Job("train", 2, "gpu=1 role=worker", {1, ""});
  Roles("train", {{"worker", 3}});
  EXPECT_EQ(Valid("train"), Verdict::NotNow(Reason::kNotEnoughPods, 3, 2));
}

TEST_F(GangTest, WhatNoRecordCouldHoldNeverStarts) {
  c.Job("train", 1, "gpu=1", {4096, ""}).Job("vast", 1, "gpu=1", {4097, ""});
  EXPECT_EQ(Valid("train"), Verdict::NotNow(Reason::kNotEnoughPods, 4096, 1));
  EXPECT_EQ(Valid("vast"), Verdict::Never(Reason::kLargerThanPossible, 4097, 4096));
  c.Job("sum", 1, "gpu=1");
  Roles("sum", {{"ps", 97}, {"worker", 4000}});
  EXPECT_EQ(Valid("sum"), Verdict::Never(Reason::kLargerThanPossible, 4097, 4096));
}

TEST_F(GangTest, AJobOfOneIsAGangOfOne) {
  c.Pod("lone", "gpu=1");
  OpenSession open(c, std::make_unique<Gang>());
  EXPECT_TRUE(open->JobValid(open.Job("pod:default/lone")).fit());
  EXPECT_FALSE(open->JobReady(open.Job("pod:default/lone"))) << "it has no claim yet";
}

// --- the gates of both hops, and jobReady ---

struct Gates : GangTest {
  // Hop 1 for the first `tasks` members, hop 2 for the first `nodes` of their quotas.
  void Plan(OpenSession& open, framework::JobRound& round, int tasks, int nodes) {
    for (int i = 0; i < tasks; ++i) {
      const auto quota = open.Quota(fmt::format("q{}", i));
      const auto task = open.Task(fmt::format("train-{}", i));
      const auto node = open.Node("n0");
      round.statement.AllocateTaskToQuota(task, quota, node);
      round.plan.tasks.push_back({task, quota, node, {}});
    }
    for (int i = 0; i < nodes; ++i)
      round.statement.AllocateQuotaToNode(open.Quota(fmt::format("q{}", i)), open.Node("n0"));
  }
};

TEST_F(Gates, QuotaReadyNeedsAShareForEachNeededMember) {
  c.Job("train", 4, "gpu=1", {3, ""});
  for (int tasks = 0; tasks <= 4; ++tasks) {
    OpenSession open(c, std::make_unique<Gang>());
    framework::JobRound round(*open, open.Job("default/train"));
    Plan(open, round, tasks, 0);
    framework::Refusals why;
    EXPECT_EQ(open->QuotaReady(round, why), tasks >= 3) << tasks;
    EXPECT_EQ(why.main, tasks >= 3 ? Reason::kNone : Reason::kInsufficientQuota);
    if (tasks >= 3) continue;
    EXPECT_EQ(why.examples.at(Reason::kInsufficientQuota).have, tasks);
  }
}

TEST_F(Gates, QuotaAllocateNeedsANodeForEachNeededMembersShare) {
  c.Job("train", 4, "gpu=1", {3, ""});
  for (int nodes = 0; nodes <= 4; ++nodes) {
    OpenSession open(c, std::make_unique<Gang>());
    framework::JobRound round(*open, open.Job("default/train"));
    Plan(open, round, 4, nodes);
    framework::Refusals why;
    EXPECT_EQ(open->QuotaAllocate(round, why), nodes >= 3) << nodes;
    EXPECT_EQ(why.main, nodes >= 3 ? Reason::kNone : Reason::kInsufficientQuotaIdle);
  }
}

TEST_F(Gates, WhoRunsOrHasSucceededCountsForBoth) {
  c.Job("train", 2, "gpu=1", {2, ""});
  ASSERT_THAT(c.Cycle(), BindsTasks("train-[0-1]", "n0,n0"));
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& it) { it.spec.min_member = 3; });
  c.Workers("train", 2, 2, "gpu=1");
  c.Finish("default/train-0");
  OpenSession open(c, std::make_unique<Gang>());
  framework::JobRound round(*open, open.Job("default/train"));
  framework::Refusals why;
  EXPECT_FALSE(open->QuotaReady(round, why));
  round.statement.AllocateTaskToQuota(open.Task("train-2"), open.Quota("q2"), open.Node("n0"));
  EXPECT_TRUE(open->QuotaReady(round, why));
  EXPECT_FALSE(open->QuotaAllocate(round, why));
  round.statement.AllocateQuotaToNode(open.Quota("q2"), open.Node("n0"));
  EXPECT_TRUE(open->QuotaAllocate(round, why));
}

TEST_F(GangTest, IsReadyWhenItsClaimsFitWhatIsIdleNow) {
  c.Job("train", 2, "gpu=1", {2, ""});
  ASSERT_EQ(c.Decide().size(), 1u);
  const auto ready = [&] {
    OpenSession open(c, std::make_unique<Gang>());
    return open->JobReady(open.Job("default/train"));
  };
  EXPECT_TRUE(ready());
  // Seven of eight cards go to strangers: one of the two claims has no room any more.
  c.Put(
      testing::MakeWorker("", "stranger", *testing::ReadWords("gpu=7 scheduler=another node=n0")));
  EXPECT_FALSE(ready());
  c.Remove<api::Pod>("default/stranger");
  EXPECT_TRUE(ready());
  // A leaving pod is not yet gone: the claim waits (F13).
  c.Put(testing::MakeWorker("", "leaving", *testing::ReadWords("gpu=7 scheduler=another node=n0")));
  Delete("leaving");
  EXPECT_FALSE(ready());
}

TEST_F(GangTest, ALostClaimMakesAGangUnready) {
  c.Job("train", 2, "gpu=1", {2, ""});
  ASSERT_EQ(c.Decide().size(), 1u);
  Delete("train-0");
  OpenSession open(c, std::make_unique<Gang>());
  EXPECT_FALSE(open->JobReady(open.Job("default/train")));
}

TEST_F(GangTest, AGangThatRunsGoesOnWhoeverItLostUnlessNobodyIsLeft) {
  c.Job("train", 2, "gpu=1", {2, ""});
  ASSERT_EQ(c.Cycle().size(), 2u);
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& it) { it.spec.min_member = 3; });
  c.Workers("train", 2, 2, "gpu=1");
  ASSERT_EQ(c.Decide().size(), 1u);
  const auto ready = [&] {
    OpenSession open(c, std::make_unique<Gang>());
    return open->JobReady(open.Job("default/train"));
  };
  EXPECT_TRUE(ready());
  Delete("train-0");
  EXPECT_TRUE(ready()) << "F12: the claim of train-2 is carried out";
  Delete("train-1");
  EXPECT_FALSE(ready()) << "a leaving member is none of those that run";
}

// --- order ---

TEST_F(GangTest, DamagedGangsComeFirstThenNewOnesThenExtras) {
  for (const char* name : {"damaged", "whole"}) c.Job(name, 2, "gpu=1", {2, ""});
  ASSERT_EQ(c.Cycle().size(), 4u);
  c.Remove<api::Pod>("default/damaged-0");
  c.Workers("damaged", 2, 2, "gpu=1").Workers("whole", 2, 2, "gpu=1").Job("another", 1, "gpu=1");
  OpenSession open(c, std::make_unique<Gang>());
  std::vector<std::string> names;
  for (const model::JobId job : open->OrderedJobs([](model::JobId) { return true; }))
    names.push_back(open.rows().jobs()[job].name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"default/damaged", "default/another", "default/whole"}));
}

// --- whole cycles ---

TEST_F(GangTest, AllOrNothingWithRoles) {
  c.Job("train", 3, "gpu=1 role=worker", {2, ""});
  c.Put(testing::MakeWorker("train", "train-ps", *testing::ReadWords("gpu=16 role=ps")));
  Roles("train", {{"worker", 1}, {"ps", 1}});
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "the ps fits nowhere, so no worker starts";
  c.Remove<api::Pod>("default/train-ps");
  c.Put(testing::MakeWorker("train", "train-ps", *testing::ReadWords("gpu=1 role=ps")));
  EXPECT_EQ(c.Cycle().size(), 2u) << "the ps and one worker";
  EXPECT_EQ(c.Cycle().size(), 2u) << "the extras";
}

}  // namespace
}  // namespace sky::plugins
