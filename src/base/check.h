// SPDX-License-Identifier: Apache-2.0
// SKY_CHECK: a broken invariant is a bug; say the values and die. A restart rebuilds everything
// from the API server, so dying is safe where going on is not.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sky {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string detail);
}

// SKY_CHECK(a <= b, "a {} b {}", a, b)
#define SKY_CHECK(condition, ...)                                                        \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::sky::CheckFailed(__FILE__, __LINE__, #condition, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
