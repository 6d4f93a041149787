// SPDX-License-Identifier: Apache-2.0
// skyctl lab soak: random lives of a small cluster, one after the other, until one breaks.
#pragma once

#include <cstdint>

namespace sky::cli {

struct LabSoakOptions {
  uint64_t seed = 1;  // of the first
  int lives = 10;
  int steps = 300;
};

// Returns the exit code: 0 nothing broke, 1 something did, and its script is on standard output.
int RunLabSoak(const LabSoakOptions& options);

}  // namespace sky::cli
