// SPDX-License-Identifier: Apache-2.0
#include "plugins/storage/storage.h"

#include <gtest/gtest.h>

#include "api/keys.h"
#include "model/facts.h"
#include "testing/matchers.h"

namespace sky::plugins {
namespace {

using std::chrono::seconds;
using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;

struct StorageTest : ::testing::Test {
  Cluster c;
  WallTime ready_since;

  StorageTest() : ready_since(c.now().wall) {
    c.Nodes("n[0-1]", "gpu=8").Quotas("q[0-1]", "gpu=1");
    for (const char* name : {"n0", "n1"})
      c.Edit<api::Node>(name, [&](api::Node& node) {
        for (api::Condition& one : node.status.conditions)
          if (one.type == "Ready") one.last_transition_time.at = ready_since;
      });
  }
  // The node says of a mount point, `beat` after it became Ready.
  void Mount(const char* name, const char* id, const char* status, Duration beat) {
    c.Edit<api::Node>(name, [&](api::Node& node) {
      const std::string type = std::string("infiniai-fs-") + id;
      std::erase_if(node.status.conditions, [&](const auto& one) { return one.type == type; });
      api::Condition condition;
      condition.type = type, condition.status = status;
      condition.last_heartbeat_time.at = ready_since + beat;
      node.status.conditions.push_back(condition);
    });
  }
  void Pod(const char* name, const char* ids, const char* words = "gpu=1") {
    api::Pod pod = testing::MakeWorker("", name, *testing::ReadWords(words));
    pod.metadata.annotations.emplace(std::string(api::key::kRequiredMountPoints), ids);
    c.Put(std::move(pod));
  }
};

TEST_F(StorageTest, ATaskGoesWhereAllOfItsMountPointsAreReady) {
  Mount("n0", "a", "True", seconds(1));
  Mount("n1", "a", "True", seconds(1));
  Mount("n1", "b", "True", seconds(1));
  Pod("p", "b, a,");
  EXPECT_THAT(c.Cycle(), BindsTasks("p", "n1"));
}

TEST_F(StorageTest, WhoseStorageIsNowhereReadyWaitsAndStartsWhenItIs) {
  Mount("n0", "a", "False", seconds(1));
  Pod("p", "a");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/p"), "StorageNotReady");
  Mount("n0", "a", "True", seconds(5));
  EXPECT_THAT(c.Cycle(), BindsTasks("p", "n0"));
}

TEST_F(StorageTest, AHeartbeatFromBeforeTheNodeCameBackDoesntCountBeyondTheTolerance) {
  const auto mounts = [&](Duration beat) {
    Mount("n0", "a", "True", beat);
    return model::MountsOf(c.Get<api::Node>("n0"), seconds(90)).size();
  };
  EXPECT_EQ(mounts(seconds(-89)), 1u);
  EXPECT_EQ(mounts(seconds(-90)), 0u);
  EXPECT_EQ(mounts(seconds(-91)), 0u);
}

TEST_F(StorageTest, ToleranceIsConfigured) {
  Cluster strict(
      "plugins: [{name: gang}, {name: predicates}, {name: quotapredicates}, "
      "{name: storage, args: {heartbeatTolerance: 0s}}]");
  EXPECT_EQ(strict.settings().mount_tolerance, Duration::zero());
  EXPECT_EQ(c.settings().mount_tolerance, seconds(90));
}

TEST_F(StorageTest, AGroupDeclaresForAllOfItsMembers) {
  Mount("n1", "a", "True", seconds(1));
  api::PodGroup group = testing::MakeGroup("train", 2, *testing::ReadWords(""));
  group.metadata.annotations.emplace(std::string(api::key::kRequiredMountPoints), "a");
  c.Put(std::move(group));
  c.Workers("train", 0, 1, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-[0-1]", "n1"));
}

TEST_F(StorageTest, ABoundQuotaIsOnlyOfferedWhereItsNodeHasTheStorage) {
  c.Quotas("here", "gpu=2 node=n0");
  Mount("n1", "a", "True", seconds(1));
  Pod("p", "a");
  EXPECT_THAT(c.Cycle(), BindsTasks("p", "n1"));
  Pod("r", "a", "gpu=1 required=here");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/r"), "StorageNotReady");
}

// What was mounted counts by the order of two events, so time alone changes nothing: a machine that
// comes back takes its mount points away, and the next heartbeat of each brings it back.
TEST_F(StorageTest, AMachineThatCameBackIsUsedFromTheNextHeartbeatOnAndWhoWaitsIsToldAndWoken) {
  Mount("n0", "a", "True", seconds(1));
  c.Edit<api::Node>("n0", [&](api::Node& node) {
    for (api::Condition& one : node.status.conditions)
      if (one.type == "Ready") one.last_transition_time.at = ready_since + seconds(300);
  });
  Pod("p", "a");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/p"), "StorageNotReady");
  c.Tick(std::chrono::hours(1));
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/p"), "StorageNotReady");
  Mount("n0", "a", "True", seconds(210));
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "as old as the tolerance allows, and no younger";
  Mount("n0", "a", "True", seconds(211));
  EXPECT_THAT(c.Cycle(), BindsTasks("p", "n0")) << "in the very cycle that it begins";
}

TEST_F(StorageTest, AHeartbeatThatMakesAMountPointReadyBeginsACycleAndOneThatTakesItTells) {
  const auto apply = [&](const char* status, Duration beat) {
    api::Node node = c.Get<api::Node>("n0");
    const auto before = std::make_shared<const api::Node>(node);
    std::erase_if(node.status.conditions,
                  [](const auto& one) { return one.type == "infiniai-fs-a"; });
    api::Condition condition;
    condition.type = "infiniai-fs-a", condition.status = status;
    condition.last_heartbeat_time.at = ready_since + beat;
    node.status.conditions.push_back(condition);
    const auto after = std::make_shared<const api::Node>(node);
    return c.cache().Apply(
        api::Delta<api::Node>{api::Delta<api::Node>::Type::kUpdate, after, before});
  };
  EXPECT_EQ(apply("True", seconds(-90)), cache::Effect::kNothing) << "too old to count";
  EXPECT_EQ(apply("True", seconds(1)), cache::Effect::kRelevant);
  EXPECT_EQ(apply("True", seconds(9)), cache::Effect::kNothing);
  EXPECT_EQ(apply("False", seconds(10)), cache::Effect::kRelevant);
}

TEST_F(StorageTest, AHeartbeatThatChangesNothingIsNoNews) {
  Mount("n0", "a", "True", seconds(1));
  api::Node later = c.Get<api::Node>("n0");
  later.status.conditions.back().last_heartbeat_time.at = ready_since + seconds(100);
  const auto before = std::make_shared<const api::Node>(c.Get<api::Node>("n0"));
  EXPECT_EQ(
      c.cache().Apply(api::Delta<api::Node>{api::Delta<api::Node>::Type::kUpdate,
                                            std::make_shared<const api::Node>(later), before}),
      cache::Effect::kNothing);
}

}  // namespace
}  // namespace sky::plugins
