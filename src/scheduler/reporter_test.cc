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
  Reporter reporter{loop, c.cache(), api, *c.names(), 5min, [this] { return leading; }};

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
          owner, [&](api::PodGroup& group) { group.status.conditions = api.all_conditions; });
    std::string text = owner;
    if (owner.starts_with("pod ")) return text + " " + condition.type + " " + condition.reason;
    for (const api::Condition& one : api.all_conditions) text += " " + one.type + " " + one.reason;
    return text;
  }
};

TEST_F(ReporterTest, AReasonIsWrittenAfterItStoodAndThenItIsCalm) {
  c.Job("train", 2, "gpu=1 hca=1", {3, ""});
  Cycle();
  loop.Advance(900ms);
  EXPECT_TRUE(api.conditions.empty());
  loop.Advance(200ms);
  EXPECT_EQ(api.all_conditions.at(0).message, "2 of 3 members can run") << "said once";
  EXPECT_EQ(reporter.WhyWaits("default/train"), "NotEnoughPods: 2 of 3 members can run");
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods");
  ASSERT_EQ(api.events.size(), 1u);
  EXPECT_EQ(api.events[0].reason + "|" + api.events[0].note,
            "NotEnoughPods|2 of 3 members can run");
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
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
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
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
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
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
}

TEST_F(ReporterTest, AReasonWhosePodsAreGoneGivesWayToWhatTheGroupLacks) {
  c.Quotas("big", "gpu=16").Job("train", 1, "gpu=16");
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Admitted Admitted Unschedulable LargerThanPossible");
  c.Remove<api::Pod>("default/train-0");
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Admitted Admitted Unschedulable NotEnoughPods");
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

// --- what is true of a gang's places ---

TEST_F(ReporterTest, AGangHasItsPlacesWhenTheyAreBoundNotWhenTheyAreDecided) {
  c.Job("train", 2, "gpu=1 hca=1");
  const auto rounds = c.Decide();
  ASSERT_EQ(rounds.size(), 1u);
  reporter.Cycle(c.snapshot(), c.result());
  Pass(30s);
  EXPECT_TRUE(api.conditions.empty()) << "its record may still be refused";
  const auto bind = [&](size_t i) {
    const cache::RoundEntry& entry = rounds[0].entries[i];
    c.cache().NoteBound(entry.uid, entry.node_name, entry.quota_name);
    reporter.Bound(entry, rounds[0]);
    loop.Advance(10ms);
  };
  bind(0);
  EXPECT_TRUE(api.conditions.empty());
  bind(1);
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed")
      << "at once, not with the next cycle";
}

TEST_F(ReporterTest, EachRoleMustHaveItsPlaces) {
  c.Job("train", 1, "gpu=1 hca=1 node=n0 quota=q0 role=worker", {2, ""});
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) {
    group.spec.min_task_member.insert_or_assign("launcher", 1);
    group.spec.min_task_member.insert_or_assign("worker", 1);
  });
  c.Workers("train", 1, 1, "gpu=1 hca=1 node=n0 quota=q1 role=worker");
  Pass(2s);
  EXPECT_TRUE(api.conditions.empty());
  c.Workers("train", 2, 2, "gpu=1 hca=1 node=n1 quota=q2 role=launcher");
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
}

TEST_F(ReporterTest, AGroupThatIsMadeAnewAroundPodsThatRunIsToldSo) {
  c.Job("train", 2, "gpu=1 hca=1");
  c.Cycle();
  reporter.Cycle(c.snapshot(), c.result());
  loop.RunReady();
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
  c.Remove<api::PodGroup>("default/train");
  Pass(2s);
  c.Put(testing::MakeGroup("train", 2, {}));
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
  Pass(5s);
  EXPECT_TRUE(api.conditions.empty());
}

TEST_F(ReporterTest, ARoundThatFailsAgainAndAgainSaysOneThingOnce) {
  c.Job("train", 2, "gpu=1 hca=1");
  for (int i = 0; i < 5; ++i) {
    const auto rounds = c.Decide();  // in flight for a moment
    ASSERT_EQ(rounds.size(), 1u);
    reporter.Cycle(c.snapshot(), c.result());
    loop.Advance(250ms);
    c.cache().DropRound(rounds[0].number);
    reporter.Refused(rounds[0], &rounds[0].entries[0], model::Reason::kBindRefused,
                     "train-0: denied by a webhook");
    c.cache().SetBackoff("default/train", model::Reason::kBindRefused,
                         "train-0: denied by a webhook");
    Pass(2s);
    c.cache().SetBackoff("default/train", model::Reason::kNone, "");
    EXPECT_EQ(Take(), i == 0 ? "default/train Unschedulable BindRefused" : "nothing");
  }
  ASSERT_EQ(api.events.size(), 2u);
  EXPECT_EQ(api.events[0].regarding.name, "train-0");
  EXPECT_EQ(api.events[0].note, "train-0: denied by a webhook");
  EXPECT_EQ(api.events[1].regarding.name, "train");
  EXPECT_EQ(api.events[1].note, "train-0: denied by a webhook");
}

TEST_F(ReporterTest, AServerThatTakesNoBindingsIsNamedUntilItDoes) {
  c.Job("train", 1, "gpu=1 hca=1");
  const auto rounds = c.Decide();
  reporter.Cycle(c.snapshot(), c.result());
  reporter.Delayed(rounds[0], "bindings", "429 Too Many Requests");
  Pass(700ms);
  EXPECT_TRUE(api.conditions.empty()) << "only what stands is said";
  Pass(500ms);
  EXPECT_EQ(Take(), "default/train Unschedulable Backoff");
  Pass(5s);
  EXPECT_NE(reporter.WhyWaits("default/train").find("429 Too Many Requests"), std::string::npos);
  const cache::RoundEntry& entry = rounds[0].entries[0];
  c.cache().NoteBound(entry.uid, entry.node_name, entry.quota_name);
  reporter.Bound(entry, rounds[0]);
  loop.Advance(10ms);
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
}

// --- F12e ---

TEST_F(ReporterTest, AGangThatStaysPartialIsToldSoAfterItsTimeAndNoLongerWhenItIsWhole) {
  c.Job("train", 1, "gpu=1 hca=1 node=n0 quota=q0", {2, ""});
  c.Workers("train", 1, 1, "gpu=1 hca=1 gated");
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Unschedulable Gated");
  Pass(290s);
  EXPECT_EQ(reporter.partial(), 0u);
  Pass(20s);
  EXPECT_EQ(Take(), "default/train Unschedulable Gated PartialStart MembersMissing");
  EXPECT_EQ(reporter.partial(), 1u);
  EXPECT_EQ(api.events.back().reason, "PartialStart");
  EXPECT_EQ(api.events.back().note, "1 of 2 members are bound");
  Pass(20s);
  EXPECT_TRUE(api.conditions.empty());
  c.Edit<api::Pod>("default/train-1", [](api::Pod& pod) {
    pod.spec.scheduling_gates.clear();
    pod.spec.node_name = "n1";
  });
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Admitted Admitted Scheduled Placed");
  EXPECT_EQ(reporter.partial(), 0u);
  Pass(20s);
  EXPECT_TRUE(api.conditions.empty());
}

TEST_F(ReporterTest, WhatAnEarlierLifeSaidOfAPartialGangStandsAndGoes) {
  c.Job("train", 1, "gpu=1 hca=1 node=n0 quota=q0", {2, ""});
  c.Edit<api::PodGroup>("default/train", [](api::PodGroup& group) {
    for (const auto& [type, reason, message] :
         {std::tuple{"Unschedulable", "NotEnoughPods", "1 of 2 members can run"},
          std::tuple{"PartialStart", "MembersMissing", "1 of 2 members are bound"}}) {
      api::Condition& one = group.status.conditions.emplace_back();
      one.type = type;
      one.status = "True";
      one.reason = reason;
      one.message = message;
    }
  });
  Pass(20s);
  EXPECT_TRUE(api.conditions.empty()) << "it is still so";
  EXPECT_EQ(reporter.partial(), 1u);
  c.Remove<api::Pod>("default/train-0");
  Pass(2s);
  EXPECT_EQ(Take(), "default/train Unschedulable NotEnoughPods") << "nobody runs any more";
}

}  // namespace
}  // namespace sky::scheduler
