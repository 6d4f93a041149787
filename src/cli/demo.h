// SPDX-License-Identifier: Apache-2.0
// skyctl demo: the worked example on the embedded cluster. Eight nodes under two leaf switches,
// four quotas, one gang of four RDMA workers; a live table of quotas taking their nodes, then where
// everybody landed.
#pragma once

#include <cstdio>

namespace sky::cli {

// Writes to `out`; redraws in place on a terminal, prints plain lines elsewhere. The exit code.
int RunDemo(std::FILE* out);

}  // namespace sky::cli
