// SPDX-License-Identifier: Apache-2.0
// Who may be pushed out: what each plugin says, and what they say together. An empty answer is an
// answer, a veto can't be lost by the order of plugins, and nobody's word makes no victims.
#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/backoff/backoff.h"
#include "plugins/conformance/conformance.h"
#include "plugins/drf/drf.h"
#include "plugins/gang/gang.h"
#include "plugins/priority/priority.h"
#include "plugins/quotapredicates/quotapredicates.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using testing::Cluster;
using testing::OpenSession;
using Names = std::vector<std::string>;

struct Victims : ::testing::Test {
  Cluster c;
  Victims() {
    c.Nodes("n0", "gpu=16").Quotas("q[0-15]", "gpu=1");
    for (const auto& [name, value] : {std::pair("low", 1), {"mid", 5}, {"high", 9}}) {
      api::PriorityClass one;
      one.metadata.name = name;
      one.value = value;
      c.Put(std::move(one));
    }
  }
  // Who of these, in the order in which they would go, by the plugins that were opened.
  Names Preemptable(OpenSession& open, const std::string& comes, const Names& candidates) {
    return Say(open, open->Preemptable(open.Task(comes), Ids(open, candidates)));
  }
  Names Reclaimable(OpenSession& open, const std::string& comes, const Names& candidates) {
    return Say(open, open->Reclaimable(open.Task(comes), Ids(open, candidates)));
  }
  static std::vector<model::TaskId> Ids(OpenSession& open, const Names& pods) {
    std::vector<model::TaskId> ids;
    for (const std::string& pod : pods) ids.push_back(open.Task(pod));
    return ids;
  }
  static Names Say(OpenSession& open, const std::vector<model::TaskId>& ids) {
    EXPECT_TRUE(std::ranges::is_sorted(ids));
    Names names;
    for (const model::TaskId id : ids) names.push_back(open.rows().tasks()[id].facts->meta().name);
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(Victims, WhatTheClusterItselfNeedsIsNobodysVictim) {
  c.Pod("plain", "gpu=1").Pod("cluster", "gpu=1").Pod("node", "gpu=1").Pod("new", "gpu=1");
  c.Pod("dns", "gpu=1 ns=kube-system");
  for (const auto& [pod, name] :
       {std::pair("cluster", "system-cluster-critical"), {"node", "system-node-critical"}})
    c.Edit<api::Pod>(std::string("default/") + pod,
                     [&](api::Pod& it) { it.spec.priority_class_name = name; });
  OpenSession open(c, std::make_unique<Conformance>());
  const Names all = {"plain", "cluster", "kube-system/dns", "node"};
  EXPECT_EQ(Preemptable(open, "new", all), Names{"plain"});
  EXPECT_EQ(Reclaimable(open, "new", all), Names{"plain"});
}

TEST_F(Victims, AGangGivesWhatItHasBeyondItsMinimumAndBeyondEachRoles) {
  c.Job("g", 5, "gpu=1 role=worker", {3, ""}).Pod("new", "gpu=1");
  c.Put(testing::MakeWorker("g", "g-ps", *testing::ReadWords("gpu=1 role=ps")));
  c.Edit<api::PodGroup>("default/g", [](api::PodGroup& group) {
    group.spec.min_task_member.insert_or_assign("ps", 1);
  });
  while (!c.Cycle().empty()) {
  }
  OpenSession open(c, std::make_unique<Gang>());
  // Six run, three are needed, one of them the ps.
  EXPECT_EQ(Reclaimable(open, "new", {"g-ps", "g-4", "g-3", "g-2", "g-1", "g-0"}),
            (Names{"g-2", "g-3", "g-4"}));
  EXPECT_EQ(Reclaimable(open, "new", {"g-4"}), Names{"g-4"});
}

TEST_F(Victims, AGangAtItsMinimumIsNeverTouched) {
  c.Job("g", 3, "gpu=1", {3, "priority=low"}).Pod("new", "gpu=1");
  c.Cycle();
  OpenSession open(c, std::make_unique<Gang>(), std::make_unique<Conformance>());
  EXPECT_EQ(Reclaimable(open, "new", {"g-0", "g-1", "g-2"}), Names{});
}

TEST_F(Victims, OnlyAHigherPriorityPreempts) {
  c.Job("low", 2, "gpu=1", {1, "priority=low"}).Job("mid", 2, "gpu=1", {1, "priority=mid"});
  c.Job("new", 1, "gpu=1", {1, "priority=mid"});
  OpenSession open(c, std::make_unique<Priority>());
  EXPECT_EQ(Preemptable(open, "new-0", {"low-0", "mid-0"}), Names{"low-0"});
  EXPECT_EQ(Reclaimable(open, "new-0", {"low-0"}), Names{}) << "priority has no say there";
  c.Edit<api::Pod>("default/mid-1", [](api::Pod& pod) { pod.spec.priority = -1; });
  OpenSession again(c, std::make_unique<Priority>());
  EXPECT_EQ(Preemptable(again, "mid-0", {"mid-1"}), Names{"mid-1"}) << "inside its own job";
}

TEST_F(Victims, ARicherJobGivesUntilItIsNoRicher) {
  c.Job("rich", 8, "gpu=1", {1, ""}).Job("poor", 4, "gpu=1", {1, ""});
  while (!c.Cycle().empty()) {
  }
  c.Workers("poor", 4, 4, "gpu=1");
  OpenSession open(c, std::make_unique<Drf>());
  // 8 against 4 and the one that comes: 7, 6 and 5 are no less than 5.
  EXPECT_EQ(Preemptable(open, "poor-4", {"rich-7", "rich-6", "rich-5", "rich-4"}).size(), 3u);
}

// `reclaimable: false`: what a queue has is its own tasks' to take back.
TEST_F(Victims, AQueueThatKeepsItsPodsGivesThemToItsOwnTasksAlone) {
  api::Queue keeps;
  keeps.metadata.name = "keeps";
  keeps.spec.reclaimable = false;
  c.Put(keeps);
  c.Job("kept", 1, "gpu=1", {1, "queue=keeps"}).Job("own", 1, "gpu=1", {1, "queue=keeps"});
  c.Job("loose", 1, "gpu=1", {1, ""}).Job("other", 1, "gpu=1", {1, ""});
  OpenSession open(c, std::make_unique<QuotaPredicates>());
  const Names all = {"kept-0", "loose-0"};
  EXPECT_EQ(Reclaimable(open, "other-0", all), Names{"loose-0"});
  EXPECT_EQ(Reclaimable(open, "own-0", all), all);
  c.Edit<api::Queue>("keeps", [](api::Queue& queue) { queue.spec.reclaimable = true; });
  OpenSession again(c, std::make_unique<QuotaPredicates>());
  EXPECT_EQ(Reclaimable(again, "other-0", all), all);
}

// B32: any order of plugins gives the same victims; the one that is asked first hides nobody.
TEST_F(Victims, EveryPluginHasItsVetoInAnyOrder) {
  c.Job("gang", 3, "gpu=1", {2, "priority=low"}).Job("loose", 3, "gpu=1", {1, "priority=low"});
  c.Job("new", 1, "gpu=1", {1, "priority=high"});
  while (!c.Cycle().empty()) {
  }
  c.Edit<api::Pod>("default/loose-2",
                   [](api::Pod& pod) { pod.spec.priority_class_name = "system-node-critical"; });
  const Names all = {"gang-2", "gang-1", "gang-0", "loose-2", "loose-1", "loose-0"};
  const Names expected = {"gang-2", "loose-1"};
  // loose-2 takes the first of the two places that its gang may lose.
  OpenSession one(c, std::make_unique<Priority>(), std::make_unique<Gang>(),
                  std::make_unique<Conformance>());
  EXPECT_EQ(Preemptable(one, "new-0", all), expected);
  OpenSession two(c, std::make_unique<Conformance>(), std::make_unique<Gang>(),
                  std::make_unique<Priority>());
  EXPECT_EQ(Preemptable(two, "new-0", all), expected);
}

TEST_F(Victims, NobodysWordMakesNoVictims) {
  c.Pod("a", "gpu=1").Pod("b", "gpu=1");
  OpenSession open(c, std::make_unique<Backoff>());
  EXPECT_EQ(Preemptable(open, "a", {"b"}), Names{});
  EXPECT_FALSE(open->JobStarving(open.Job("pod:default/a")));
  EXPECT_TRUE(open->JobPipelined(open.Job("pod:default/a")));
  framework::Refusals why;
  EXPECT_FALSE(open->Overused(open.Queue("default"), {}, why));
}

TEST_F(Victims, AGangStarvesUntilItIsWholeAndIsPipelinedOnceItsMinimumHasPlaces) {
  c.Job("g", 3, "gpu=1", {2, ""});
  {
    OpenSession open(c, std::make_unique<Gang>(), std::make_unique<Priority>());
    EXPECT_TRUE(open->JobStarving(open.Job("default/g")));
    EXPECT_FALSE(open->JobPipelined(open.Job("default/g")));
    framework::Statement statement(*open);
    for (const char* pod : {"g-0", "g-1"})
      statement.AllocateTaskToQuota(open.Task(pod), open.Quota(fmt::format("q{}", pod[2])),
                                    open.Node("n0"));
    EXPECT_TRUE(open->JobPipelined(open.Job("default/g")));
  }
  c.Cycle();
  OpenSession open(c, std::make_unique<Gang>(), std::make_unique<Priority>());
  EXPECT_FALSE(open->JobStarving(open.Job("default/g"))) << "an extra alone doesn't starve";
}

TEST_F(Victims, AJobInBackOffIsNotPlannedAndSaysWhy) {
  c.Pod("a", "gpu=1");
  c.cache().SetBackoff("pod:default/a", model::Reason::kBindRefused, "a webhook says no");
  EXPECT_THAT(c.Cycle(), testing::BindsNothing());
  EXPECT_EQ(c.Why("pod:default/a"), "BindRefused");
  EXPECT_EQ(c.Detail("pod:default/a"), "a webhook says no");
  c.cache().SetBackoff("pod:default/a", model::Reason::kNone, "");
  EXPECT_EQ(c.Cycle().size(), 1u);
}

// Which members a minimum takes: by their own priority, then by rank.
TEST_F(Victims, TaskOrderChoosesTheMembersOfTheMinimum) {
  c.Job("g", 3, "gpu=1", {2, ""});
  c.Edit<api::Pod>("default/g-2", [](api::Pod& pod) { pod.spec.priority = 1; });
  EXPECT_THAT(c.Cycle(), testing::BindsTasks("g-0,g-2", "n0"));
}

}  // namespace
}  // namespace sky::plugins
