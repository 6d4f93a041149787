// SPDX-License-Identifier: Apache-2.0
#include "cli/load.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/stop_signals.h"
#include "load/run.h"

namespace sky::cli {
namespace {

using load::Mode;

struct Flags {
  load::Options options;
  std::string groups, timeout = "300s", output = "text";
  bool no_nodes = false;
};

int Run(Flags& flags) {
  load::Options& options = flags.options;
  const auto timeout = ParseDuration(flags.timeout);
  if (!timeout || *timeout <= Duration::zero()) {
    fmt::print(stderr, "skyctl load: --timeout {}: a time such as 90s or 5m is wanted\n",
               flags.timeout);
    return 2;
  }
  options.timeout = *timeout;
  options.make_nodes = !flags.no_nodes;
  options.shape.groups =
      flags.groups.empty() ? options.shape.scheduler == "sky-scheduler" : flags.groups == "sky";
  BlockStopSignals();
  const SystemClock clock;
  const load::Outcome outcome =
      load::RunLoad(options, clock,
                    {.stop = [] { return StopSignalCame(); },
                     .say = [](std::string_view line) { fmt::print(stderr, "{}\n", line); }});
  if (outcome.report)
    fmt::print("{}", flags.output == "json" ? ToJson(*outcome.report) : ToText(*outcome.report));
  std::fflush(stdout);
  if (outcome.exit_code != 0) fmt::print(stderr, "skyctl load: {}\n", outcome.message);
  return outcome.exit_code;
}

void AddShape(CLI::App& command, Flags& flags) {
  load::Shape& shape = flags.options.shape;
  const CLI::Range positive(1, 1'000'000);
  command.add_option("--nodes", shape.nodes, "nodes to make")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--gpus-per-node", shape.gpus_per_node)
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--nodes-per-leaf", shape.nodes_per_leaf, "nodes under one leaf switch")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--pods", shape.pods, "pods to bind, of 1 GPU, 1 HCA and 4 cpu each")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--gang", shape.gang, "pods of a gang")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--namespace", shape.ns, "where the pods go; is made, and stays")
      ->capture_default_str();
  command.add_flag("--no-nodes", flags.no_nodes, "make no nodes, use those that are there");
  command.add_flag("--clean", flags.options.clean, "first remove what an earlier run left");
  command.add_flag("--keep", flags.options.keep, "leave in the cluster what was made");
  command.add_option("--output", flags.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

void AddScheduler(CLI::App& command, Flags& flags) {
  load::Options& options = flags.options;
  command.add_option("--scheduler", options.shape.scheduler, "schedulerName of the pods")
      ->capture_default_str();
  command
      .add_option("--groups", flags.groups,
                  "sky: PodGroups, quotas and topology; none: plain pods. By the scheduler's "
                  "name when left out")
      ->check(CLI::IsMember({"sky", "none"}));
  command.add_option("--per-quota", options.shape.per_quota, "pods that a quota has room for")
      ->check(CLI::IsMember({1, 8}))
      ->capture_default_str();
  command.add_option("--scheduler-log", options.scheduler_log, "the file for COMMAND's output")
      ->capture_default_str();
  command.add_option("COMMAND", options.command, "behind --: starts the scheduler");
  if (options.mode == Mode::kRate)
    command.add_option("--rate", options.rate, "pods a second")
        ->check(CLI::Range(0.1, 100'000.0))
        ->capture_default_str();
}

void AddMode(CLI::App& parent, Mode mode, const std::string& what, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  flags->options.mode = mode;
  CLI::App* command = parent.add_subcommand(std::string(ModeName(mode)), what);
  command->add_option("--kubeconfig", flags->options.kubeconfig,
                      "else $KUBECONFIG, ~/.kube/config, in-cluster");
  command->add_option("--in-flight", flags->options.in_flight, "requests at a time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--timeout", flags->timeout, "the longest wait for anything")
      ->capture_default_str();
  if (mode != Mode::kClean) AddShape(*command, *flags);
  if (mode != Mode::kClean && mode != Mode::kDirect) AddScheduler(*command, *flags);
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

}  // namespace

void AddLoad(CLI::App& app, int& exit_code) {
  CLI::App* load = app.add_subcommand("load", "gangs of pods for any scheduler, and what it takes");
  load->require_subcommand(1);
  AddMode(*load, Mode::kDrain, "the pods wait, then COMMAND starts the scheduler", exit_code);
  AddMode(*load, Mode::kBurst, "the scheduler runs, then all pods come at once", exit_code);
  AddMode(*load, Mode::kRate, "the scheduler runs, then pods come at a steady rate", exit_code);
  AddMode(*load, Mode::kDirect, "no scheduler: bind from here, the server's ceiling", exit_code);
  AddMode(*load, Mode::kClean, "remove what an earlier run left", exit_code);
}

}  // namespace sky::cli
