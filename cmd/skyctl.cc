// SPDX-License-Identifier: Apache-2.0
#include "cli/skyctl.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    return sky::cli::RunSkyctl(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "skyctl: {}\n", error.what());
    return 1;
  }
}
