// SPDX-License-Identifier: Apache-2.0
// What the PodGroup of an earlier life's earmark says is in force before anybody is planned.
#include <gtest/gtest.h>

#include "framework/earmarks.h"
#include "testing/cluster.h"

namespace sky::actions {
namespace {

using testing::Cluster;

struct AnotherLife : ::testing::Test {
  Cluster c;  // nobody is old enough to be given an earmark

  // A gang of two waits for a whole node each, beside somebody who has half of one of them, and
  // somebody who would take the other half is planned after it.
  void Begin(const std::string& message) {
    for (const char* node : {"n10", "n2"}) c.Nodes(node, "gpu=8");
    c.Quotas("whole-[0-1]", "gpu=8").Quotas("small-[0-2]", "gpu=4");
    c.Pod("first", "gpu=4 node=n2 quota=small-0").Job("big", 2, "gpu=8");
    if (!message.empty())
      c.Edit<api::PodGroup>("default/big", [&](api::PodGroup& group) {
        api::Condition& said = group.status.conditions.emplace_back();
        said.type = framework::kEarmarkCondition;
        said.status = "True";
        said.message = message;
      });
    c.Pod("next", "gpu=4");
    c.Cycle();
  }
};
constexpr const char* kBoth = "kept for it until it starts: n2, n10";

TEST_F(AnotherLife, TakesUpWhatTheGroupSays) {
  Begin(kBoth);
  EXPECT_EQ(c.Why("pod:default/next"), "EarmarkedForOther");
  // In natural order, whatever the nodes' ids are now: nothing new is to be written.
  EXPECT_EQ(c.result().earmarks, (std::map<std::string, std::string>{{"default/big", kBoth}}));
}

TEST_F(AnotherLife, KnowsOfNoneThatNobodyTellsOf) {
  Begin("");
  EXPECT_EQ(c.Why("pod:default/next"), "");
  EXPECT_TRUE(c.result().earmarks.empty());
}

TEST_F(AnotherLife, DropsWhatCantHoldTheGangAnyMore) {
  Begin("kept for it until it starts: n2, gone");
  EXPECT_EQ(c.Why("pod:default/next"), "");
  EXPECT_TRUE(c.result().earmarks.empty());
}

TEST(EarmarkMessage, OfQuotasAloneIsReadBackForTheQueue) {
  Cluster c;
  c.Cycle();
  framework::Earmark mark;
  mark.queue = model::QueueId(3u);
  const std::string message = framework::EarmarkMessage(mark);
  EXPECT_EQ(message, "kept for it until it starts: quotas of its queue");
  const auto read = framework::ReadEarmark(c.snapshot(), message, model::QueueId(5u));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->queue, model::QueueId(5u));
  EXPECT_FALSE(framework::ReadEarmark(c.snapshot(), message, {}).has_value());
}

TEST(EarmarkMessage, NamesAsManyNodesAsFitAndIsReadBack) {
  Cluster c;
  c.Nodes("node-with-a-long-name-[0-1999]", "gpu=8");
  c.Cycle();
  framework::Earmark mark;
  const auto& nodes = c.snapshot().nodes();
  for (size_t i = 0; i < nodes.size(); ++i)
    mark.nodes.emplace(model::NodeId(i), nodes[model::NodeId(i)].name);
  const std::string message = framework::EarmarkMessage(mark);
  EXPECT_LT(message.size(), 32'768u);
  EXPECT_TRUE(message.ends_with(" more")) << message.substr(message.size() - 60);
  const auto read = framework::ReadEarmark(c.snapshot(), message, {});
  ASSERT_TRUE(read.has_value());
  EXPECT_GT(read->nodes.size(), 1000u);
  for (const auto& [node, name] : read->nodes) EXPECT_EQ(nodes[node].name, name);
  for (const char* text : {"", "kept for it until it starts: ", "kept for it until it starts: x"})
    EXPECT_FALSE(framework::ReadEarmark(c.snapshot(), text, {}).has_value()) << text;
}

}  // namespace
}  // namespace sky::actions
