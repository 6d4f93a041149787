// SPDX-License-Identifier: Apache-2.0
#include "controllers/static_bind.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/static_bind.h"

namespace sky::controllers {
namespace {

struct StaticBind : ::testing::Test {
  api::Quota quota;
  api::Node node;

  StaticBind() {
    quota.metadata.name = "q";
    quota.metadata.uid = "u";
    quota.metadata.resource_version = "7";
    quota.metadata.generation = 3;
    quota.spec.request.emplace("nvidia.com/gpu", api::Quantity::Units(4));
    quota.spec.static_bind_node = "n1";
    node.metadata.name = "n1";
    node.metadata.labels.emplace("spec", "a100");
    node.status.allocatable.emplace("nvidia.com/gpu", api::Quantity::Units(8));
    api::Condition ready;
    ready.type = "Ready", ready.status = "True";
    node.status.conditions.push_back(ready);
  }
  // The status part of what is due, "" when nothing is.
  std::string Due(bool seen = true) const {
    const auto patch = StaticBindPatch(quota, seen ? &node : nullptr);
    if (!patch) return "";
    const auto document = nlohmann::json::parse(*patch);
    EXPECT_EQ(document["metadata"]["resourceVersion"], "7");
    EXPECT_EQ(document["metadata"]["uid"], "u");
    return document["status"].dump();
  }
  void Says(const std::string& name, bool bound) {
    quota.status.static_bind_status = api::StaticBindStatus{name, bound};
  }

  const std::string kBinds =
      R"({"nodeName":"n1","staticBindStatus":{"bound":true,"nodeName":"n1"}})";
  const std::string kWaits = R"({"staticBindStatus":{"bound":false,"nodeName":"n1"}})";
};

TEST_F(StaticBind, AUsableNodeIsBoundAndThenThereIsNothingToDo) {
  EXPECT_EQ(Due(), kBinds);
  Says("n1", true);
  quota.status.node_name = "n1";
  EXPECT_EQ(Due(), "");
}

TEST_F(StaticBind, ANodeThatCantBeUsedIsWaitedForInHalfState) {
  const auto waits = [&](const std::function<void()>& change) {
    const api::Node before = node;
    change();
    EXPECT_EQ(Due(), kWaits);
    node = before;
  };
  waits([&] { node.status.conditions[0].status = "Unknown"; });
  waits([&] { node.status.conditions.clear(); });
  waits([&] { node.spec.unschedulable = true; });
  waits([&] { node.metadata.deletion_timestamp.at = WallTime{} + std::chrono::hours(1); });
  quota.spec.node_selector.emplace("spec", "h100");
  waits([] {});
  quota.spec.node_selector.clear();
  EXPECT_EQ(Due(false), kWaits) << "it doesn't exist";
  Says("n1", false);
  EXPECT_EQ(Due(false), "");
  EXPECT_EQ(Due(), kBinds) << "and when it comes";
}

TEST_F(StaticBind, TheNodeIsOnlySetWhereThereIsNoneAndNobodyUsesTheQuota) {
  quota.status.node_name = "n4";
  EXPECT_EQ(Due(), kWaits) << "healed to where its pods are";
  quota.status.node_name.clear();
  quota.status.tasks.emplace_back().name = "p";
  EXPECT_EQ(Due(), kWaits);
  quota.status.tasks.clear();
  quota.status.reserved_tasks.emplace_back().job = "train";
  EXPECT_EQ(Due(), kWaits);
}

TEST_F(StaticBind, ARefusalStandsUntilTheQuotaOrTheNodeChanges) {
  Says("n1", false);
  quota.status.conditions.push_back(api::StaticRefusal(quota, node, WallTime{}));
  EXPECT_EQ(Due(), "");
  node.status.allocatable.emplace("cpu", api::Quantity::Units(1));
  EXPECT_EQ(Due(), "") << "of which the quota asks nothing";
  node.status.allocatable.insert_or_assign("nvidia.com/gpu", api::Quantity::Units(16));
  EXPECT_EQ(Due(), kBinds);
  node.status.allocatable.insert_or_assign("nvidia.com/gpu", *api::Quantity::Parse("8000m"));
  EXPECT_EQ(Due(), "") << "the same amount, written otherwise";
  quota.metadata.generation = 4;
  EXPECT_EQ(Due(), kBinds);
}

TEST_F(StaticBind, WhoIsNoLongerAskedIsGivenBackByTheScheduler) {
  Says("n1", true);
  quota.status.node_name = "n1";
  quota.spec.static_bind_node.clear();
  EXPECT_EQ(Due(), kWaits);
  Says("n1", false);
  EXPECT_EQ(Due(), "") << "until it is off the node";
  quota.status.node_name.clear();
  EXPECT_EQ(Due(), R"({"staticBindStatus":null})");
  quota.status.static_bind_status.reset();
  EXPECT_EQ(Due(), "");
}

TEST_F(StaticBind, ADeletedQuotaIsLeftAlone) {
  quota.metadata.deletion_timestamp.at = WallTime{} + std::chrono::hours(1);
  EXPECT_EQ(Due(), "");
}

}  // namespace
}  // namespace sky::controllers
