// SPDX-License-Identifier: Apache-2.0
// skyctl lab up: the embedded cluster as a program of its own, until SIGTERM or SIGINT.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sky::cli {

struct LabUpOptions {
  uint16_t port = 0;
  std::string kubeconfig;            // is written; a file that lab up didn't write is left alone
  std::vector<std::string> objects;  // YAML or JSON files, created in order before "ready"
  bool kubelets = true;
  bool garbage_collector = false;
  std::string faults;  // a file; "" is none
};

// Prints "ready" when everything can be used. Returns the exit code.
int RunLabUp(const LabUpOptions& options);

}  // namespace sky::cli
