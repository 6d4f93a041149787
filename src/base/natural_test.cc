// SPDX-License-Identifier: Apache-2.0
#include "base/natural.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sky {
namespace {

TEST(Natural, DigitRunsCompareAsNumbers) {
  std::vector<std::string> names = {"q-10", "q-2", "q-1", "q", "q-2a", "p-99"};
  std::sort(names.begin(), names.end(), NaturalLess{});
  EXPECT_EQ(names, (std::vector<std::string>{"p-99", "q", "q-1", "q-2", "q-2a", "q-10"}));
}

TEST(Natural, LeadingZerosAreToldApartByBytes) {
  EXPECT_TRUE(NaturalLess{}("a01", "a1"));
  EXPECT_FALSE(NaturalLess{}("a1", "a01"));
  EXPECT_TRUE(NaturalLess{}("a1", "a02"));
}

TEST(Natural, NumbersLongerThanAnyIntegerStillCompare) {
  EXPECT_TRUE(NaturalLess{}("n99999999999999999999", "n100000000000000000000"));
}

RC_GTEST_PROP(Natural, IsATotalOrder, ()) {
  const auto name = rc::gen::container<std::string>(rc::gen::element('a', 'b', '0', '1', '2', '-'));
  const std::string a = *name, b = *name, c = *name;
  const auto ab = NaturalCompare(a, b), ba = NaturalCompare(b, a);
  RC_ASSERT(std::is_eq(ab) == (a == b));
  RC_ASSERT(std::is_lt(ab) == std::is_gt(ba));
  if (std::is_lt(ab) && std::is_lt(NaturalCompare(b, c)))
    RC_ASSERT(std::is_lt(NaturalCompare(a, c)));
}

RC_GTEST_PROP(Natural, KeysCompareAsTheirNamesDo, ()) {
  const auto name =
      rc::gen::container<std::string>(rc::gen::element('a', '~', '.', '0', '1', '9', '-', '\xc3'));
  const std::string a = *name, b = *name;
  RC_ASSERT((NaturalKey(a) <=> NaturalKey(b)) == NaturalCompare(a, b));
}

TEST(Natural, TrailingNumberIsTheEndOfTheName) {
  EXPECT_EQ(TrailingNumber("worker-12"), 12);
  EXPECT_EQ(TrailingNumber("gpu-007"), 7);
  EXPECT_EQ(TrailingNumber("worker-12a"), std::nullopt);
  EXPECT_EQ(TrailingNumber("n99999999999999999999"), std::nullopt);
  EXPECT_EQ(TrailingNumber(""), std::nullopt);
}

}  // namespace
}  // namespace sky
