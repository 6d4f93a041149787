// SPDX-License-Identifier: Apache-2.0
#include "api/version.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace sky::api {
namespace {

RC_GTEST_PROP(CompareVersions, OrdersNumbersAsNumbers, (uint64_t a, uint64_t b)) {
  RC_ASSERT(CompareVersions(std::to_string(a), std::to_string(b)) == (a <=> b));
}

TEST(CompareVersions, TakesNumbersOfAnyLength) {
  const std::string big(40, '9');
  EXPECT_TRUE(CompareVersions(big, big + "0") < 0);
  EXPECT_TRUE(CompareVersions("1" + big, big) > 0);
}

TEST(CompareVersions, KnowsOnlyEqualityOfAnythingElse) {
  for (const char* text : {"", "a", "01", "1a", "-1", " 1", "1.5"}) {
    EXPECT_TRUE(CompareVersions(text, text) == 0) << text;
    for (const char* number : {"0", "1", "2"}) {
      EXPECT_TRUE(CompareVersions(text, number) == std::partial_ordering::unordered) << text;
      EXPECT_TRUE(CompareVersions(number, text) == std::partial_ordering::unordered) << text;
    }
  }
}

}  // namespace
}  // namespace sky::api
