// SPDX-License-Identifier: Apache-2.0
#include "model/task.h"

#include <gtest/gtest.h>

#include <set>

#include "model/verdict.h"

namespace sky::model {
namespace {

constexpr int kLast = static_cast<int>(TaskState::kUnknown);

TEST(TaskState, EveryStateHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i <= kLast; ++i) names.insert(TaskStateName(static_cast<TaskState>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kLast) + 1);
  EXPECT_FALSE(names.contains(""));
}

TEST(TaskState, TheWayForwardIsLegalStepByStep) {
  const TaskState way[] = {
      TaskState::kGated,     TaskState::kPending,  TaskState::kAllocatedToQuota,
      TaskState::kAllocated, TaskState::kBinding,  TaskState::kBound,
      TaskState::kRunning,   TaskState::kSucceeded};
  for (size_t i = 1; i < std::size(way); ++i)
    EXPECT_TRUE(LegalTransition(way[i - 1], way[i])) << TaskStateName(way[i]);
}

TEST(TaskState, DiscardVoidAndRefusalLeadBackToPending) {
  for (const TaskState from :
       {TaskState::kAllocatedToQuota, TaskState::kAllocated, TaskState::kBinding})
    EXPECT_TRUE(LegalTransition(from, TaskState::kPending)) << TaskStateName(from);
}

TEST(TaskState, NothingThatRanIsEverPlacedAgain) {
  for (const TaskState from : {TaskState::kBound, TaskState::kRunning, TaskState::kReleasing,
                               TaskState::kSucceeded, TaskState::kFailed})
    for (const TaskState to : {TaskState::kPending, TaskState::kGated, TaskState::kAllocatedToQuota,
                               TaskState::kAllocated, TaskState::kBinding})
      EXPECT_FALSE(LegalTransition(from, to)) << TaskStateName(from) << " " << TaskStateName(to);
}

TEST(TaskState, NobodySkipsTheNodeOnTheWayToABinding) {
  EXPECT_FALSE(LegalTransition(TaskState::kPending, TaskState::kBinding));
  EXPECT_FALSE(LegalTransition(TaskState::kAllocatedToQuota, TaskState::kBinding));
  EXPECT_FALSE(LegalTransition(TaskState::kGated, TaskState::kAllocated));
}

TEST(TaskState, APodMayEndFromAnywhere) {
  for (int i = 0; i <= kLast; ++i) {
    const auto from = static_cast<TaskState>(i);
    if (from == TaskState::kSucceeded || from == TaskState::kFailed) continue;
    EXPECT_TRUE(LegalTransition(from, TaskState::kFailed)) << TaskStateName(from);
  }
}

TEST(Reason, EveryReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 1; i < static_cast<int>(Reason::kCount); ++i)
    names.insert(ReasonName(static_cast<Reason>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Reason::kCount) - 1);
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(ReasonName(Reason::kNone), "");
}

}  // namespace
}  // namespace sky::model
