// SPDX-License-Identifier: Apache-2.0
// skyctl lab kubelets: hollow kubelets for the nodes of any API server, until SIGTERM or SIGINT.
#pragma once

#include <string>

namespace sky::cli {

// kubeconfig: "" searches as kubectl does. Prints "ready" when all nodes and pods have been seen.
// Returns the exit code.
int RunLabKubelets(const std::string& kubeconfig);

}  // namespace sky::cli
