// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <spdlog/spdlog.h>

#include <cstdlib>

namespace sky {

void CheckFailed(const char* file, int line, const char* condition, std::string detail) {
  // The logger may be what is broken: stderr first.
  fmt::print(stderr, "{}:{}: broken invariant: {} {}\n", file, line, condition, detail);
  spdlog::critical("broken invariant at {}:{}: {} {}", file, line, condition, detail);
  spdlog::shutdown();
  std::abort();
}

}  // namespace sky
