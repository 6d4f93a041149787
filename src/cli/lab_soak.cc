// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_soak.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "lab/soak.h"

namespace sky::cli {

int RunLabSoak(const LabSoakOptions& options) {
  spdlog::set_level(spdlog::level::off);
  for (int i = 0; i < options.lives; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    fmt::print(stderr, "life {} of {}, seed {}\n", i + 1, options.lives, seed);
    const auto broken = lab::Soak(seed, options.steps);
    if (!broken) continue;
    fmt::print("# seed {}, {} steps\n{}", seed, options.steps, broken->script);
    std::fflush(stdout);
    fmt::print(stderr, "broken: {}\nits script is on standard output; skyctl lab run repeats it\n",
               broken->what);
    return 1;
  }
  fmt::print("{} lives of {} steps: nothing broke\n", options.lives, options.steps);
  return 0;
}

}  // namespace sky::cli
