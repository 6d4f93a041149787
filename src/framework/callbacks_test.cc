// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sky::framework {
namespace {

TEST(Callbacks, EveryDefaultParsesAndFitsItsKind) {
  for (const Callback& callback : AllCallbacks()) {
    const auto parsed = expr::Parse(callback.expression);
    ASSERT_TRUE(parsed.has_value()) << callback.name;
    const auto checked = expr::Check(*parsed, callback.type);
    EXPECT_TRUE(checked.has_value()) << callback.name << ": " << callback.expression;
    EXPECT_EQ(expr::Print(*parsed), callback.expression);
  }
}

TEST(Callbacks, AreTheThreeBundlesWithSixStagesAndTheSessionFunctions) {
  std::set<std::string_view> expected = {
      "jobOrder",    "queueOrder",  "taskOrder",     "jobValid",     "jobEnqueueable",
      "jobReady",    "quotaReady",  "quotaAllocate", "jobPipelined", "jobStarving",
      "preemptable", "reclaimable", "overused"};
  std::set<std::string> staged;
  for (const char* bundle : {"taskToQuota", "quotaToNode", "taskToNode"})
    for (const char* stage :
         {"select", "prePredicate", "predicate", "nOrder", "batchNOrder", "bestN"})
      staged.insert(std::string(bundle) + "." + stage);
  expected.insert(staged.begin(), staged.end());
  std::set<std::string_view> names;
  for (const Callback& callback : AllCallbacks()) names.insert(callback.name);
  EXPECT_EQ(names, expected);
  EXPECT_EQ(AllCallbacks().size(), expected.size());
}

TEST(Callbacks, AreFoundByName) {
  EXPECT_EQ(AllCallbacks()[*FindCallback("jobReady")].name, "jobReady");
  EXPECT_EQ(FindCallback("jobRead"), std::nullopt);
}

}  // namespace
}  // namespace sky::framework
