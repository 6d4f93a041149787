// SPDX-License-Identifier: Apache-2.0
#include "scheduler/diagnoses.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "scheduler/fake_writer_for_test.h"
#include "scheduler/member_words.h"
#include "testing/cluster.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using cache::Written;
using nlohmann::json;

class DiagnosesTest : public ::testing::Test {
 protected:
  testing::Cluster c;
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  bool leading = true, busy = false;
  Reporter reporter{loop, c.cache(), api, *c.names(), 5min, [this] { return leading; }};
  MemberWords members{loop, api, [this] { return leading; }, [this] { return busy; }};
  Diagnoses diagnoses{*c.names(), reporter};
  model::Cluster rows{c.names()};  // of another snapshot, which says what it renews
  uint64_t cycles = 0;

  DiagnosesTest() { c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=1 hca=1"); }
  void Cycle() {
    c.Decide();
    Told();
  }
  void Told() {
    reporter.Cycle(c.snapshot(), c.result());
    members.Cycle(c.snapshot(), c.result());
    diagnoses.Cycle(c.snapshot(), c.result(), ++cycles, std::nullopt);
  }
  std::string Said(const std::string& ns, const std::string& name) {
    const auto answer = diagnoses.Answer(ns, name);
    if (!answer) return std::string(CodeName(answer.error().code()));
    const json said = json::parse(*answer);
    return std::string(said["state"]) + " " + std::string(said["reason"]);
  }
  // Every condition that is asked for is stored, and comes back; how many of pods there were.
  int Store(const std::string& text = "") {
    int pods = 0;
    while (!api.conditions.empty()) {
      const auto [owner, condition] =
          FakeWriter::Answer(api.conditions, Result<Written>(Written{}));
      if (!owner.starts_with("pod ")) continue;
      ++pods;
      if (!text.empty()) {
        EXPECT_EQ(condition.message, text);
      }
      EXPECT_EQ(condition.reason, "Unschedulable");
      c.Edit<api::Pod>(owner.substr(4),
                       [&](api::Pod& pod) { pod.status.conditions = {condition}; });
      loop.Advance(1ms);
    }
    return pods;
  }
};

TEST_F(DiagnosesTest, AJobIsToldFromItsFirstCycleToItsEnd) {
  EXPECT_EQ(Said("default", "train"), "Unavailable");
  c.Job("train", 2, "gpu=1 hca=1", {3, ""});
  Cycle();
  EXPECT_EQ(Said("default", "train"), "waiting NotEnoughPods");
  c.Workers("train", 2, 2, "gpu=1 hca=1");
  Cycle();
  EXPECT_EQ(Said("default", "train"), "starting ");
  c.Cycle();
  Told();
  Cycle();
  EXPECT_EQ(Said("default", "train"), "placed ");
  for (const char* pod : {"default/train-0", "default/train-1", "default/train-2"})
    c.Remove<api::Pod>(pod);
  c.Remove<api::PodGroup>("default/train");
  Cycle();
  EXPECT_EQ(Said("default", "train"), "NotFound");
  EXPECT_EQ(diagnoses.size(), 0u);
}

TEST_F(DiagnosesTest, PodsWithoutAGroupGoByTheirOwnName) {
  c.Pod("lone", "gpu=9");
  c.Workers("ghost", 0, 1, "gpu=1");
  Cycle();
  EXPECT_EQ(Said("default", "lone"), "waiting InsufficientQuota");
  EXPECT_EQ(Said("default", "ghost"), "waiting NoPodGroup");
  EXPECT_EQ(Said("other", "lone"), "NotFound");
  EXPECT_EQ(Said("default", "..%2f"), "Invalid");
  EXPECT_EQ(Said("Default", "lone"), "Invalid");
  EXPECT_EQ(Said("default", std::string(5000, 'a')), "Invalid");
}

TEST_F(DiagnosesTest, WhoLosesTheLeadKnowsNothing) {
  c.Pod("lone", "gpu=9");
  Cycle();
  diagnoses.Forget();
  EXPECT_EQ(Said("default", "lone"), "Unavailable");
  Cycle();
  EXPECT_EQ(Said("default", "lone"), "waiting InsufficientQuota");
}

TEST_F(DiagnosesTest, ASleepingJobKeepsItsReason) {
  c.Job("wide", 5, "gpu=1 hca=1");
  Cycle();
  ASSERT_EQ(Said("default", "wide"), "waiting InsufficientQuota");
  Cycle();
  Cycle();
  EXPECT_TRUE(c.result().refusals.empty());
  EXPECT_EQ(c.result().asleep.size(), 1u);
  EXPECT_EQ(Said("default", "wide"), "waiting InsufficientQuota");
}

TEST_F(DiagnosesTest, WhatChangedBeforeTheCommitIsNamedUntilItIsPlannedAgain) {
  c.Job("train", 2, "gpu=1 hca=1", {2, ""});
  for (const bool beside : {false, true}) {
    if (beside) c.Workers("train", 2, 2, "gpu=1 hca=1 gated");
    c.BeforeCommit([&] {
      c.Edit<api::Node>("n0", [&](api::Node& node) { node.spec.unschedulable = !beside; });
      c.Edit<api::Node>("n1", [&](api::Node& node) { node.spec.unschedulable = beside; });
    });
    Cycle();
    EXPECT_EQ(Said("default", "train"), "waiting PlacementConflict");
    const json said = json::parse(*diagnoses.Answer("default", "train"));
    std::set<std::string> reasons;
    for (const json& tasks : said["waits"])
      for (const json& reason : tasks["reasons"]) reasons.insert(reason["reason"]);
    EXPECT_EQ(reasons, beside ? (std::set<std::string>{"PlacementConflict", "Gated"})
                              : std::set<std::string>{"PlacementConflict"});
  }
  Cycle();
  EXPECT_EQ(Said("default", "train"), "starting ");
}

TEST_F(DiagnosesTest, WhatIsRenewedBySnapshotsIsWhatAWholeLookFinds) {
  const auto keep_up = [&] {
    const auto renewed = c.cache().UpdateSnapshot(rows);
    diagnoses.Cycle(rows, {}, ++cycles, renewed);
    Diagnoses whole(*c.names(), reporter);
    whole.Cycle(rows, {}, cycles, std::nullopt);
    EXPECT_EQ(diagnoses.size(), whole.size());
    for (const char* name : {"a", "b", "lone"}) {
      const auto one = diagnoses.Answer("default", name), other = whole.Answer("default", name);
      EXPECT_EQ(one.has_value(), other.has_value()) << name;
      if (one && other) {
        EXPECT_EQ(*one, *other);
      }
    }
  };
  c.Job("a", 2, "gpu=1 hca=1");
  keep_up();
  c.Pod("lone", "gpu=1 node=n0 quota=q0");
  c.Job("b", 1, "gpu=1");
  keep_up();
  c.Remove<api::Pod>("default/lone");
  c.Finish("default/a-0");
  keep_up();
  c.Remove<api::PodGroup>("default/b");
  c.Remove<api::Pod>("default/b-0");
  keep_up();
  c.Pod("lone", "gpu=2");  // takes a row that was another's
  keep_up();
}

TEST_F(DiagnosesTest, EachWaitingMemberSaysItsGangsReasonOnce) {
  c.Job("wide", 5, "gpu=1 hca=1");
  Cycle();
  loop.Advance(900ms);
  EXPECT_TRUE(api.conditions.empty());
  loop.Advance(200ms);
  EXPECT_EQ(Store("InsufficientQuota: its PodGroup wide says more"), 5);
  for (const std::string& version : api.pod_versions) EXPECT_NE(version, "") << "who is bound";
  for (int i = 0; i < 20; ++i) {
    Cycle();
    loop.Advance(250ms);
  }
  EXPECT_EQ(Store(), 0) << "calm";
  EXPECT_EQ(c.result().asleep.size(), 1u) << "what we wrote wakes nobody";
  // Another process finds it said.
  MemberWords later{loop, api, [] { return true; }, [] { return false; }};
  c.Workers("wide", 5, 5, "gpu=1 hca=1 gated");  // a row that changed
  c.Decide();
  later.Cycle(c.snapshot(), c.result());
  loop.Advance(2s);
  EXPECT_EQ(Store(), 0);
}

TEST_F(DiagnosesTest, MembersSayTheReasonThatTookTheOthersPlace) {
  c.Job("wide", 5, "gpu=1 hca=1");
  Cycle();
  loop.Advance(1100ms);
  Store();
  c.Edit<api::PodGroup>("default/wide", [](api::PodGroup& group) { group.spec.min_member = 6; });
  Cycle();
  loop.Advance(1100ms);
  EXPECT_EQ(Store("NotEnoughPods: its PodGroup wide says more"), 5);
}

TEST_F(DiagnosesTest, MembersWordsWaitForBindingsAndGiveWayToAChange) {
  c.Job("wide", 5, "gpu=1 hca=1");
  busy = true;
  Cycle();
  loop.Advance(5s);
  EXPECT_EQ(Store(), 0);
  busy = false;
  loop.Advance(100ms);
  EXPECT_EQ(api.conditions.size(), 4u) << "no more at once";
  while (!api.conditions.empty()) {
    FakeWriter::Refuse(api.conditions, Code::kConflict);
    loop.Advance(1ms);
  }
  loop.Advance(20s);
  // One that changed meanwhile is looked at when the gang is refused again, not before.
  EXPECT_LE(api.conditions.size(), 1u);
}

TEST_F(DiagnosesTest, WhoGetsAPlaceIsNotToldThatItHasNone) {
  c.Job("train", 4, "gpu=1 hca=1", {5, ""});
  Cycle();
  c.Workers("train", 4, 4, "gpu=1 hca=1");
  c.Quotas("q4", "gpu=1 hca=1");
  loop.Advance(900ms);
  Cycle();
  loop.Advance(5s);
  EXPECT_EQ(Store(), 0);
}

}  // namespace
}  // namespace sky::scheduler
