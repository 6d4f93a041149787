// SPDX-License-Identifier: Apache-2.0
#include "scheduler/backoffs.h"

#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using model::Reason;

struct BackoffsTest : ::testing::Test {
  testing::Cluster c;
  ManualClock clock;
  kube::ManualLoop loop{clock};
  int replans = 0;
  Backoffs backoffs{loop, c.cache(), [this] { ++replans; }};
  cache::Round round;

  BackoffsTest() {
    c.Nodes("n[0-1]", "gpu=8").Quotas("q[0-1]", "gpu=1").Job("train", 2, "gpu=1", {3, ""});
    round.job = "default/train";
    round.entries.resize(1);
    round.entries[0].node_name = "n0";
  }
  void Fail(const std::string& why = "no") { backoffs.Failed(round, Reason::kBindRefused, why); }
  std::string Why() {
    const model::Cluster rows = c.cache().Copy();
    const model::Job& job = rows.jobs()[rows.jobs().Find("default/train")];
    return std::string(model::ReasonName(job.backoff)) + ":" + job.backoff_why;
  }
  // How long until the job may be planned again.
  Duration Wait() {
    const MonoTime began = clock.Mono();
    while (Why() != ":" && clock.Mono() - began < 5min) loop.Advance(10ms);
    return clock.Mono() - began;
  }
};

TEST_F(BackoffsTest, EachFailureDoublesTheWaitUpToAMinute) {
  Duration least = 1s;
  for (int i = 0; i < 10; ++i) {
    Fail();
    EXPECT_EQ(Why(), "BindRefused:no");
    const Duration wait = Wait();
    EXPECT_GE(wait, least);
    EXPECT_LE(wait, least * 5 / 4 + 10ms);
    least = std::min<Duration>(least * 2, 60s);
  }
  EXPECT_EQ(replans, 10);
}

TEST_F(BackoffsTest, SeveralMembersOfOneRoundAreOneFailureAndTheFirstByNameSpeaks) {
  Fail("train-10: no");
  Fail("train-2: no");
  Fail("train-3: no");
  EXPECT_EQ(Why(), "BindRefused:train-2: no");
  EXPECT_LE(Wait(), 1260ms);
}

TEST_F(BackoffsTest, WhatTheWallClockDoesChangesNothing) {
  Fail();
  clock.StepWall(-24h);
  EXPECT_LE(Wait(), 1260ms);
  Fail();
  clock.StepWall(+48h);
  EXPECT_EQ(Why(), "BindRefused:no");
  EXPECT_GE(Wait(), 2s);
}

TEST_F(BackoffsTest, ItEndsAtOnceWhenTheJobOrANodeOfTheRoundChanges) {
  Fail();
  backoffs.Forget("default/train");
  EXPECT_EQ(Why(), ":");
  Fail();
  backoffs.NodeChanged("n1");
  EXPECT_EQ(Why(), "BindRefused:no");
  backoffs.NodeChanged("n0");
  EXPECT_EQ(Why(), ":");
  EXPECT_EQ(replans, 2);
  Fail();
  EXPECT_LE(Wait(), 1260ms) << "from the beginning again";
}

TEST_F(BackoffsTest, AnOlderTimerEndsNoNewerWait) {
  Fail();
  backoffs.Forget("default/train");
  loop.Advance(900ms);
  Fail();
  loop.Advance(500ms);  // the first one's would be over
  EXPECT_EQ(Why(), "BindRefused:no");
}

TEST_F(BackoffsTest, AJobThatIsGoneLeavesNothingBehind) {
  Fail();
  c.Remove<api::Pod>("default/train-0");
  c.Remove<api::Pod>("default/train-1");
  c.Remove<api::PodGroup>("default/train");
  loop.Advance(2s);
  EXPECT_TRUE(backoffs.empty());
}

// F29: where it waited in vain outlives the pause.
struct LastNodesTest : BackoffsTest {
  std::vector<std::string> Last() {
    const model::Cluster rows = c.cache().Copy();
    return rows.jobs()[rows.jobs().Find("default/train")].last_nodes;
  }
  void FailOn(const std::vector<std::string>& nodes) {
    backoffs.WaitedInVain(round.job, nodes);
    Fail();
  }
  using Names = std::vector<std::string>;
};

TEST_F(LastNodesTest, TheyAreKeptBeyondThePauseAndGrowWithEachFailure) {
  FailOn({"n1"});
  EXPECT_EQ(Last(), Names{"n1"});
  Wait();
  EXPECT_EQ(Last(), Names{"n1"});
  FailOn({"n0"});
  Wait();
  EXPECT_EQ(Last(), (Names{"n0", "n1"}));
}

TEST_F(LastNodesTest, ABindingOrAChangeOfTheJobForgetsThem) {
  FailOn({"n0", "n1"});
  backoffs.Forget(round.job);
  EXPECT_EQ(Last(), Names{});
  EXPECT_TRUE(backoffs.empty());
}

TEST_F(LastNodesTest, ANodeThatChangedIsAsGoodAsAnyAgainAndTheOthersArent) {
  FailOn({"n0", "n1"});
  backoffs.NodeChanged("n0");
  EXPECT_EQ(Last(), Names{"n1"});
  EXPECT_EQ(Why(), ":") << "its pause was about that node";
  FailOn({"n0"});
  EXPECT_EQ(Last(), (Names{"n0", "n1"}));
  backoffs.NodeChanged("n1");
  EXPECT_EQ(Last(), Names{"n0"});
  EXPECT_EQ(Why(), "BindRefused:no") << "that wasn't about n1";
}

TEST_F(LastNodesTest, SoIsOneThatAPodLeavesWhichEndsNoPause) {
  FailOn({"n0", "n1"});
  backoffs.PodLeft("n0");
  EXPECT_EQ(Last(), Names{"n1"});
  EXPECT_EQ(Why(), "BindRefused:no");
}

}  // namespace
}  // namespace sky::scheduler
