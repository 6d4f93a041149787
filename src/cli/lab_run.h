// SPDX-License-Identifier: Apache-2.0
// skyctl lab run: a scenario script on a cluster of its own, in this process and under a virtual
// clock; what it shows goes to standard output.
#pragma once

#include <string>

namespace sky::cli {

// Returns the exit code: 0 everything held, 1 something in the script failed, 2 it can't be read.
int RunLabRun(const std::string& script);

}  // namespace sky::cli
