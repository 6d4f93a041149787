// SPDX-License-Identifier: Apache-2.0
#include "scheduler/reporter.h"

#include <gtest/gtest.h>

#include "scheduler/fake_writer_for_test.h"
#include "testing/cluster.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using cache::Written;

struct ReporterTest : ::testing::Test {
  testing::Cluster c;
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  bool leading = true;
  Reporter reporter{loop, api, *c.names(), [this] { return leading; }};

  ReporterTest() { c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=1 hca=1"); }
  void Cycle() {
    c.Decide();
    reporter.Cycle(c.snapshot(), c.result());
  }
  // Cycles for a while, four a second.
  void Pass(Duration time) {
    for (Duration gone{}; gone < time; gone += 250ms) {
      Cycle();
      loop.Advance(250ms);
    }
  }
  // The API stores the oldest condition and its echo comes.
  std::string Take() {
    if (api.conditions.empty()) return "nothing";
    const auto [owner, condition] = FakeWriter::Answer(api.conditions, Result<Written>(Written{}));
    if (!owner.starts_with("pod "))
      c.Edit<api::PodGroup>(
          owner, [&, one = condition](api::PodGroup& group) { group.status.conditions = {one}; });
    return owner + " " + condition.type + " " + condition.reason;
  }
};

TEST_F(ReporterTest, AReasonIsWrittenAfterItStoodAndThenItIsCalm) {
  c.Job("train", 2, "gpu=1 hca=1", {3, ""});
  Cycle();
  loop.Advance(900ms);
  EXPECT_TRUE(api.conditions.empty());
  loop.Advance(200ms);
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods");
  EXPECT_EQ(api.events.size(), 1u);
  Pass(30s);
  EXPECT_TRUE(api.conditions.empty());
  EXPECT_EQ(api.events.size(), 1u);
}

TEST_F(ReporterTest, AGangThatStartsAtOnceWasNeverWaiting) {
  c.Job("train", 2, "gpu=1 hca=1", {3, ""});
  Cycle();
  loop.Advance(100ms);
  c.Workers("train", 2, 2, "gpu=1 hca=1");
  c.Cycle();
  reporter.Cycle(c.snapshot(), c.result());
  loop.Advance(5s);
  EXPECT_EQ(Take(), "default/train Scheduled Placed");
  EXPECT_TRUE(api.conditions.empty());
}

TEST_F(ReporterTest, AReasonThatChangesMustStandAnew) {
  c.Job("train", 2, "gpu=1 hca=1", {3, ""});
  Pass(750ms);
  c.Workers("train", 2, 2, "gpu=1 hca=1 gated");
  Cycle();  // Gated now
  loop.Advance(500ms);
  EXPECT_TRUE(api.conditions.empty()) << "the old reason's second is up, not the new one's";
  loop.Advance(600ms);
  EXPECT_EQ(Take(), "default/train Unschedulable Gated");
}

TEST_F(ReporterTest, AReasonGoesWhenItStopsBeingTrueWhoeverPlacedTheGang) {
  c.Job("train", 1, "gpu=1 hca=1", {2, ""});
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods");
  c.Workers("train", 1, 1, "gpu=1 hca=1 node=n1 quota=q1");
  c.Edit<api::Pod>("default/train-0", [](api::Pod& pod) { pod.spec.node_name = "n0"; });
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Scheduled Placed");
  Pass(5s);
  EXPECT_TRUE(api.conditions.empty());
}

TEST_F(ReporterTest, TheLastWordOfAnEarlierLifeIsTakenBack) {
  c.Job("train", 1, "gpu=1 hca=1 node=n0 quota=q0");
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) {
    api::Condition old;
    old.type = "Unschedulable";
    old.status = "True";
    old.reason = "ZoneFull";
    group.status.conditions.push_back(old);
  });
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Scheduled Placed");
}

TEST_F(ReporterTest, AReasonWhosePodsAreGoneGivesWayToWhatTheGroupLacks) {
  c.Quotas("big", "gpu=16").Job("train", 1, "gpu=16");
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Unschedulable LargerThanPossible");
  c.Remove<api::Pod>("default/train-0");
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods");
  Pass(5s);
  EXPECT_TRUE(api.conditions.empty());
}

TEST_F(ReporterTest, AnEarlierLifesReasonWhosePodsAreGoneGivesWayToo) {
  c.Put(testing::MakeGroup("train", 1, {}));
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) {
    api::Condition& old = group.status.conditions.emplace_back();
    old.type = "Unschedulable";
    old.status = "True";
    old.reason = "ZoneFull";
  });
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods");
}

TEST_F(ReporterTest, WhatCouldntBeWrittenForWantOfLeadershipIsWrittenLater) {
  c.Job("train", 2, "gpu=1 hca=1", {3, ""});
  leading = false;
  Pass(3s);
  EXPECT_TRUE(api.conditions.empty());
  leading = true;
  Pass(3s);
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods");
}

TEST_F(ReporterTest, ARefusedWriteIsTriedAgain) {
  c.Job("train", 2, "gpu=1 hca=1", {3, ""});
  Pass(2s);
  FakeWriter::Refuse(api.conditions, Code::kUnknownOutcome);
  Pass(6s);
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods");
}

TEST_F(ReporterTest, APodWithoutAGroupCarriesItsReasonItself) {
  c.Pod("lone", "gpu=9");
  Pass(2s);
  EXPECT_EQ(Take(), "pod default/lone PodScheduled Unschedulable");
  EXPECT_NE(reporter.WhyWaits("pod:default/lone"), "");
  EXPECT_EQ(reporter.WaitingByReason().size(), 1u);
  c.Remove<api::Pod>("default/lone");
  Pass(1s);
  EXPECT_TRUE(reporter.WaitingByReason().empty());
}

}  // namespace
}  // namespace sky::scheduler
