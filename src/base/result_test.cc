// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

namespace sky {
namespace {

Result<int> Even(int number) {
  if (number % 2 != 0) return Fail(Code::kInvalid, "{} is odd", number);
  return number;
}

template <class Function>
Result<int> Call(Function function) {
  return function();
}

TEST(Result, TryGivesTheValueOrReturnsTheErrorWithContext) {
  const auto half = [](int number) -> Result<int> {
    return TRY(Even(number), "half of {}", number) / 2;
  };
  EXPECT_EQ(half(6).value(), 3);
  const Error error = half(7).error();
  EXPECT_EQ(error.code(), Code::kInvalid);
  EXPECT_EQ(error.message(), "half of 7: 7 is odd");
}

TEST(Result, ATryMayStandInsideAnother) {
  const auto quarter = [](int number) -> Result<int> {
    const int half = TRY(Call([&]() -> Result<int> {
                           TRY(Even(number));
                           return Even(TRY(Even(number), "inner") / 2);
                         }),
                         "outer");
    return half / 2;
  };
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(7).error().message(), "outer: 7 is odd");
  EXPECT_EQ(quarter(6).error().message(), "outer: 3 is odd");
}

}  // namespace
}  // namespace sky
