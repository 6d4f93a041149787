// SPDX-License-Identifier: Apache-2.0
// Static binding as the scheduler sees it: what a quota's status says, which node it may go to, and
// what is taken off a node that is bound beyond what it has.
#include <gtest/gtest.h>

#include "api/static_bind.h"
#include "testing/matchers.h"

namespace sky::cache {
namespace {

using std::chrono::seconds;
using testing::BindsNothing;
using testing::BindsQuotas;
using testing::BindsTasks;
using testing::Cluster;

struct StaticTest : ::testing::Test {
  Cluster c;
  StaticTest() { c.Nodes("n[0-3]", "gpu=8"); }
  void Quota(const std::string& name, const char* words) { c.Quotas(name, words); }
  // As the controller writes it.
  void Bind(const std::string& name, const std::string& node) {
    c.Edit<api::Quota>(name, [&](api::Quota& quota) {
      quota.metadata.generation = 1;
      quota.status.static_bind_status = api::StaticBindStatus{node, true};
      quota.status.node_name = node;
    });
  }
  void Ready(const char* node, const char* status) {
    c.Edit<api::Node>(node, [&](api::Node& it) {
      for (api::Condition& one : it.status.conditions)
        if (one.type == "Ready") one.status = status;
    });
  }
  std::string NodeOf(const char* quota) {
    const auto picture = c.cache().PictureOf(quota);
    return picture ? picture->status.node_name : "gone";
  }
  std::string Where(const std::string& pod) {
    for (const testing::Bound& one : c.Cycle())
      if (one.pod == pod) return one.quota + " on " + one.node;
    return c.Why("pod:default/" + pod);
  }
};

TEST_F(StaticTest, HalfStateHasOneCandidateAndComesBeforeOtherQuotas) {
  Quota("a", "gpu=1");
  Quota("s", "gpu=1 static=n2");
  c.Pod("p", "gpu=1");
  EXPECT_EQ(Where("p"), "s on n2");
  c.Pod("r", "gpu=1");
  EXPECT_EQ(Where("r"), "a on n2") << "a free one, by binpack";
}

TEST_F(StaticTest, AStatusWithoutASpecSteersAsWell) {
  Quota("s", "gpu=1");
  c.Edit<api::Quota>("s", [](api::Quota& quota) {
    quota.status.static_bind_status = api::StaticBindStatus{"n3", false};
  });
  c.Pod("p", "gpu=1");
  EXPECT_EQ(Where("p"), "s on n3");
}

TEST_F(StaticTest, OnANodeItComesBeforeQuotasThatAreBoundOtherwise) {
  Quota("bound", "gpu=1 node=n0");
  Quota("s", "gpu=2 static=n2");
  Bind("s", "n2");
  c.Pod("p", "gpu=1");
  EXPECT_EQ(Where("p"), "s on n2");
}

TEST_F(StaticTest, ANodeThatIsntReadyIsWaitedForUntilTheGraceIsOver) {
  Quota("s", "gpu=1 static=n2");
  Ready("n2", "False");
  c.Pod("p", "gpu=1");
  EXPECT_EQ(Where("p"), "StaticNodeNotReady");
  c.Tick(seconds(59));
  EXPECT_EQ(Where("p"), "StaticNodeNotReady");
  c.Tick(seconds(1));
  EXPECT_EQ(Where("p"), "s on n0") << "like any other quota";
}

TEST_F(StaticTest, ANodeThatComesBackInTimeIsUsedAtOnce) {
  Quota("s", "gpu=1 static=n2");
  Ready("n2", "False");
  c.Pod("p", "gpu=1");
  EXPECT_EQ(Where("p"), "StaticNodeNotReady");
  c.Tick(seconds(30));
  Ready("n2", "True");
  EXPECT_EQ(Where("p"), "s on n2");
}

TEST_F(StaticTest, ANodeThatDoesntExistAndACordonedOneCountAsUnusable) {
  Quota("s", "gpu=1 static=n7");
  Quota("t", "gpu=2 static=n3");
  c.Edit<api::Node>("n3", [](api::Node& node) { node.spec.unschedulable = true; });
  c.Pod("p", "gpu=1 required=s").Pod("r", "gpu=2 required=t");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/p"), "StaticNodeNotReady");
  c.Tick(seconds(60));
  EXPECT_EQ(c.Cycle().size(), 2u);
}

TEST_F(StaticTest, ItStaysOnItsNodeWhenItsTasksEnd) {
  Quota("s", "gpu=1 static=n2");
  Bind("s", "n2");
  c.Pod("p", "gpu=1");
  EXPECT_EQ(Where("p"), "s on n2");
  c.Edit<api::Quota>("s", [&](api::Quota& quota) {
    quota.status.tasks.emplace_back().uid = c.Get<api::Pod>("default/p").metadata.uid;
  });
  c.Finish("default/p");
  EXPECT_EQ(NodeOf("s"), "n2");
  // Its controller wants it there no longer.
  c.Edit<api::Quota>("s", [](api::Quota& quota) {
    quota.spec.static_bind_node.clear();
    quota.status.static_bind_status->bound = false;
  });
  EXPECT_EQ(NodeOf("s"), "");
}

TEST_F(StaticTest, AnotherNodeIsAskedForAndTheOldOneIsLeft) {
  Quota("s", "gpu=1 static=n2");
  Bind("s", "n2");
  EXPECT_EQ(NodeOf("s"), "n2");
  c.Edit<api::Quota>("s", [](api::Quota& quota) {
    quota.spec.static_bind_node = "n1";
    quota.status.static_bind_status = api::StaticBindStatus{"n1", false};
  });
  EXPECT_EQ(NodeOf("s"), "");
}

TEST_F(StaticTest, HealingBeatsStatic) {
  Quota("s", "gpu=1 static=n2");
  api::Pod pod = testing::MakeWorker("", "p", *testing::ReadWords("gpu=1"));
  pod.spec.node_name = "n1";
  pod.status.phase = "Running";
  pod.metadata.annotations.emplace("scheduling.infini-ai.com/quota-name", "s");
  c.Put(std::move(pod));
  Bind("s", "n2");
  c.Cycle();
  EXPECT_EQ(NodeOf("s"), "n1");
}

TEST_F(StaticTest, TheNewestWithoutTasksLosesAnOverboundNode) {
  for (const char* name : {"old", "used", "new"}) {
    Quota(name, "gpu=4 static=n2");
    Bind(name, "n2");
    c.Tick(seconds(1));
    if (std::string(name) == "used") {
      c.Pod("p", "gpu=4 required=used");
      EXPECT_EQ(Where("p"), "used on n2");
    }
  }
  c.Cycle();
  EXPECT_EQ(NodeOf("old"), "n2");
  EXPECT_EQ(NodeOf("used"), "n2");
  EXPECT_EQ(NodeOf("new"), "");
  const auto picture = c.cache().PictureOf("new");
  ASSERT_TRUE(picture && picture->conditions);
  const api::Condition& said = picture->conditions->back();
  EXPECT_EQ(said.type, "StaticRefused");
  EXPECT_EQ(said.observed_generation, 1);
  EXPECT_NE(said.message.find("node n2 is bound beyond what it offers (nvidia.com/gpu 8)"),
            std::string::npos)
      << said.message;
  // Written, it stands and causes nothing more, until the node offers more.
  c.Edit<api::Quota>("new", [&](api::Quota& quota) {
    quota.status.node_name.clear();
    quota.status.static_bind_status->bound = false;
    quota.status.conditions = *picture->conditions;
  });
  c.Cycle();
  for (const Picture& stale : c.cache().TakeStalePictures(10)) EXPECT_NE(stale.name, "new");
  c.Edit<api::Node>("n2", [](api::Node& node) {
    node.status.allocatable.insert_or_assign("nvidia.com/gpu", api::Quantity::Units(16));
  });
  c.Cycle();
  const auto after = c.cache().PictureOf("new");
  ASSERT_TRUE(after && after->conditions);
  EXPECT_TRUE(after->conditions->empty()) << "no longer true";
}

TEST_F(StaticTest, WhatIsntAskedOfTheNodeIsNoReason) {
  Quota("cpu", "cpu=1 static=n2");
  Quota("gpu-a", "gpu=8 static=n2");
  Quota("gpu-b", "gpu=8 static=n2");
  for (const char* name : {"cpu", "gpu-a", "gpu-b"}) Bind(name, "n2");
  c.Cycle();
  EXPECT_EQ(NodeOf("cpu"), "n2");
  EXPECT_EQ(NodeOf("gpu-a"), "n2");
  EXPECT_EQ(NodeOf("gpu-b"), "") << "made in one moment: the later name";
}

}  // namespace
}  // namespace sky::cache
