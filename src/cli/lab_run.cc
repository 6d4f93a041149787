// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_run.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "base/files.h"
#include "lab/scenario.h"

namespace sky::cli {

int RunLabRun(const std::string& script) {
  const auto text = ReadFile(script);
  if (!text) {
    fmt::print(stderr, "skyctl lab run: {}\n", text.error().message());
    return 2;
  }
  // The scheduler's log is not what the script shows; its times would be the machine's.
  spdlog::set_level(spdlog::level::off);
  const auto failures = lab::RunScript(*text, script, [](std::string_view piece) {
    std::fwrite(piece.data(), 1, piece.size(), stdout);
  });
  std::fflush(stdout);
  if (!failures) {
    fmt::print(stderr, "{}\n", failures.error().message());
    return 2;
  }
  if (*failures == 0) return 0;
  fmt::print(stderr, "{}: {} {} failed\n", script, *failures,
             *failures == 1 ? "statement" : "statements");
  return 1;
}

}  // namespace sky::cli
