// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace sky {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"period", "batchDelay", "gang", "drf"};

TEST(Nearest, FindsTheNameBehindASlip) {
  EXPECT_EQ(Nearest("perod", kNames), "period");
  EXPECT_EQ(Nearest("gnag", kNames), "gang");
  EXPECT_EQ(Nearest("batchdelay", kNames), "batchDelay");
  EXPECT_EQ(DidYouMean("drff", kNames), "; did you mean 'drf'?");
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(Nearest("storage", kNames), std::nullopt);
  EXPECT_EQ(Nearest("", kNames), std::nullopt);
  EXPECT_EQ(DidYouMean(std::string(100'000, 'a'), kNames), "");
}

TEST(Nearest, TakesTheFirstOfEquallyNearNames) {
  EXPECT_EQ(Nearest("a1", std::vector<std::string>{"a2", "a3"}), "a2");
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndZeroOnlyForEqualNames, ()) {
  const auto name = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
  const std::string a = *name, b = *name;
  RC_ASSERT(EditDistance(a, b) == EditDistance(b, a));
  RC_ASSERT((EditDistance(a, b) == 0) == (a == b));
  RC_ASSERT(EditDistance(a, b) <= std::max(a.size(), b.size()));
}

}  // namespace
}  // namespace sky
