// SPDX-License-Identifier: Apache-2.0
// sky-scheduler as a process: configuration, client, election, informers, the cycle's thread, HTTP,
// and an end that settles writes before it gives the lease back.
#pragma once

#include <string>

#include "framework/plugin.h"

namespace sky::scheduler {

struct ProcessOptions {
  std::string kubeconfig;   // "" searches
  std::string config_file;  // "" is all defaults
  std::string http_address = "127.0.0.1:0";
  std::string http_port_file;  // the chosen port is written here
  bool leader_elect = true;
  std::string lease_namespace = "sky-system", lease_name = "sky-scheduler";
};

// The configuration of a file (all defaults without one), with its warnings logged.
Result<framework::Config> ReadConfig(const std::string& file, const framework::Registry& registry);

// What the file comes to, on standard output. The process's exit code.
int PrintConfig(const std::string& file);

// Runs until SIGTERM or SIGINT. The process's exit code.
int RunProcess(const ProcessOptions& options);

}  // namespace sky::scheduler
