// SPDX-License-Identifier: Apache-2.0
// Random lives of a cluster (soak_script.h) under the virtual clock. After every step the ledgers
// equal a recount and no card is given out twice; once everything is mended nobody writes any
// more, a scheduler that starts anew has nothing to add, and an emptied cluster takes a gang that
// needs all of it. A life depends on its seed and number of steps alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sky::lab {

struct Broken {
  std::string what;
  std::string script;  // up to there; a scenario that can be run
};

// Absent: nothing went wrong in the life with this seed.
std::optional<Broken> Soak(uint64_t seed, int steps);

}  // namespace sky::lab
