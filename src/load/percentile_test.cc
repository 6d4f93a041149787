// SPDX-License-Identifier: Apache-2.0
#include "load/percentile.h"

#include <gtest/gtest.h>
// gtest first
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace sky::load {
namespace {

using std::chrono::milliseconds;

std::vector<Duration> UpTo(int most) {
  std::vector<Duration> values;
  for (int i = most; i >= 1; --i) values.emplace_back(milliseconds(i));
  return values;
}

TEST(Percentile, IsTheNearestRank) {
  EXPECT_EQ(Percentile(UpTo(100), 50), milliseconds(50));
  EXPECT_EQ(Percentile(UpTo(100), 99), milliseconds(99));
  EXPECT_EQ(Percentile(UpTo(25), 99), milliseconds(25));
  EXPECT_EQ(Percentile(UpTo(4), 50), milliseconds(2));
  EXPECT_EQ(Percentile(UpTo(3), 1), milliseconds(1));
  EXPECT_EQ(Percentile(UpTo(1), 50), milliseconds(1));
}

TEST(Percentile, OfNothingThereIsNone) {
  EXPECT_EQ(Percentile({}, 99), std::nullopt);
  EXPECT_EQ(SpreadOf({}), std::nullopt);
  EXPECT_EQ(SpreadOf({milliseconds(7)}), (Spread{milliseconds(7), milliseconds(7)}));
}

RC_GTEST_PROP(Percentile, SoManyDontExceedItAndItIsTheSmallestSuch, (std::vector<int> numbers)) {
  RC_PRE(!numbers.empty());
  const int percent = *rc::gen::inRange(1, 101);
  std::vector<Duration> values;
  for (const int number : numbers) values.emplace_back(number);
  const Duration found = Percentile(values, percent).value();
  const auto share = [&](auto fits) { return 100 * std::ranges::count_if(values, fits); };
  const auto wanted = percent * static_cast<int64_t>(values.size());
  RC_ASSERT(share([&](Duration value) { return value <= found; }) >= wanted);
  RC_ASSERT(share([&](Duration value) { return value < found; }) < wanted);
  RC_ASSERT(std::ranges::find(values, found) != values.end());
}

}  // namespace
}  // namespace sky::load
