// SPDX-License-Identifier: Apache-2.0
// Broken invariants, and the ids that can't be mixed up.
#include "base/check.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

#include "base/ids.h"

namespace sky {
namespace {

TEST(CheckDeathTest, SaysWhatWasWrongWithItsValues) {
  const int a = 2, b = 1;
  EXPECT_DEATH(SKY_CHECK(a <= b, "a {} b {}", a, b), "a <= b.*a 2 b 1");
  EXPECT_DEATH(SKY_CHECK(a == b), "a == b");
}

TEST(Check, EvaluatesOnceAndOnlyTheConditionWhenItHolds) {
  int conditions = 0, details = 0;
  SKY_CHECK(++conditions > 0, "{}", ++details);
  EXPECT_EQ(conditions, 1);
  EXPECT_EQ(details, 0);
}

struct Apples;
struct Pears;

TEST(Ids, AreInvalidUntilTheyAreGiven) {
  const Id<Apples> none, first(0u), last(size_t{7});
  EXPECT_FALSE(none.valid());
  EXPECT_TRUE(first.valid());
  EXPECT_EQ(last.index(), 7u);
  EXPECT_LT(first, last);
  EXPECT_LT(last, none) << "whoever has none sorts last";
  EXPECT_EQ(std::unordered_set<Id<Apples>>({first, Id<Apples>(0u), last}).size(), 2u);
}

TEST(Ids, OfDifferentThingsDontMix) {
  static_assert(!std::is_convertible_v<Id<Apples>, Id<Pears>>);
  static_assert(!std::is_constructible_v<Id<Apples>, Id<Pears>>);
  static_assert(!std::is_convertible_v<uint32_t, Id<Apples>>);
}

}  // namespace
}  // namespace sky
