// SPDX-License-Identifier: Apache-2.0
#include "topology/order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sky::topology {
namespace {

TEST(Order, ALostRankMayGoBetweenItsNeighbours) {
  const Positions placed = {0, std::nullopt, 2, 3};
  const Interval interval = IntervalOf(placed, 1);
  EXPECT_EQ(interval.lowest, 0);
  EXPECT_EQ(interval.highest, 2);
  EXPECT_TRUE(interval.Holds(0));
  EXPECT_FALSE(interval.Holds(3));
}

TEST(Order, WithoutNeighboursTheIntervalIsOpen) {
  EXPECT_TRUE(IntervalOf({std::nullopt}, 0).Holds(INT64_MIN));
  EXPECT_FALSE(IntervalOf({std::nullopt, 4}, 0).Holds(5));
  EXPECT_FALSE(IntervalOf({4, std::nullopt}, 1).Holds(3));
}

RC_GTEST_PROP(Order, ARankInsideItsIntervalKeepsAMonotoneChainMonotone,
              (std::vector<uint8_t> raw)) {
  RC_PRE(!raw.empty());
  std::sort(raw.begin(), raw.end());
  Positions placed(raw.begin(), raw.end());
  const size_t rank = *rc::gen::inRange<size_t>(0, raw.size());
  placed[rank].reset();
  const Interval interval = IntervalOf(placed, rank);
  const int64_t choice = *rc::gen::inRange<int64_t>(-5, 300);
  placed[rank] = choice;
  RC_ASSERT(Monotone(placed) == interval.Holds(choice));
}

}  // namespace
}  // namespace sky::topology
