// SPDX-License-Identifier: Apache-2.0
// sky-scheduler: flags → run.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

#include "base/log.h"
#include "cli/command_line.h"
#include "scheduler/process.h"

int main(int argc, char** argv) {
  try {
    CLI::App app{
        "Places the pods of schedulerName sky-scheduler: whole gangs, in two hops, Task -> Quota "
        "-> Node."};
    sky::scheduler::ProcessOptions options;
    std::string log_format = "text", log_level = "info";
    bool no_leader_elect = false, print_config = false;
    app.add_option("--kubeconfig", options.kubeconfig,
                   "else $KUBECONFIG, ~/.kube/config, the pod's service account");
    app.add_option("--config", options.config_file, "YAML; all defaults without it");
    app.add_flag("--print-config", print_config,
                 "print what --config comes to, defaults filled in, and end");
    app.add_option("--http", options.http_address,
                   "address of /healthz, /readyz, /metrics, /diagnose")
        ->capture_default_str();
    app.add_option("--http-port-file", options.http_port_file, "where the chosen port is written");
    app.add_option("--log-format", log_format, "text or json")->capture_default_str();
    app.add_option("--log-level", log_level, "trace, debug, info, warn, error")
        ->capture_default_str();
    app.add_flag("--no-leader-elect", no_leader_elect, "for one replica alone: no Lease");
    app.add_option("--lease-namespace", options.lease_namespace, "of the Lease")
        ->capture_default_str();
    app.set_version_flag("--version", SKY_VERSION);
    if (const auto ended = sky::cli::ReadCommandLine(app, argc, argv)) return *ended;
    options.leader_elect = !no_leader_elect;
    if (auto log = sky::SetUpLog(log_format, log_level); !log) {
      fmt::print(stderr, "sky-scheduler: {}\n", log.error().message());
      return 2;
    }
    return print_config ? sky::scheduler::PrintConfig(options.config_file)
                        : sky::scheduler::RunProcess(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "sky-scheduler: {}\n", error.what());
    return 1;
  }
}
