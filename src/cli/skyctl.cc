// SPDX-License-Identifier: Apache-2.0
#include "cli/skyctl.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

#include "cli/command_line.h"
#include "cli/demo.h"
#include "cli/lab_kubelets.h"
#include "cli/lab_run.h"
#include "cli/lab_soak.h"
#include "cli/lab_up.h"
#include "cli/load.h"
#include "lab/script.h"

namespace sky::cli {
namespace {

void AddLabUp(CLI::App& lab, int& exit_code) {
  auto options = std::make_shared<LabUpOptions>();
  auto no_kubelets = std::make_shared<bool>(false);
  CLI::App* up = lab.add_subcommand("up", "serve the embedded cluster on loopback until SIGTERM");
  up->add_option("--port", options->port, "0 takes a free one; the kubeconfig says which")
      ->check(CLI::Range(0, 65535));
  up->add_option("--kubeconfig", options->kubeconfig, "the file to write")->required();
  up->add_option("-f,--filename", options->objects, "YAML files of objects to begin with");
  up->add_flag("--no-kubelets", *no_kubelets, "nodes and pods stay as they are written");
  up->add_flag("--gc", options->garbage_collector, "delete what has lost its owners");
  up->add_option("--faults", options->faults, "a file of faults to inject");
  up->callback([options, no_kubelets, &exit_code] {
    options->kubelets = !*no_kubelets;
    exit_code = RunLabUp(*options);
  });
}

void AddLabRun(CLI::App& lab, int& exit_code) {
  auto script = std::make_shared<std::string>();
  CLI::App* run = lab.add_subcommand("run", "run a scenario script and print what it shows");
  run->add_option("FILE", *script, "a script such as tests/scenarios/worked-example.scn")
      ->required();
  std::string words = "Statements:\n";
  for (const lab::ScriptVerb& verb : lab::ScenarioVerbs())
    words += fmt::format("  {} {}\n", verb.name, verb.usage);
  run->footer(words + "docs/lab.md says what they do.");
  run->callback([script, &exit_code] { exit_code = RunLabRun(*script); });
}

void AddLabSoak(CLI::App& lab, int& exit_code) {
  auto options = std::make_shared<LabSoakOptions>();
  CLI::App* soak =
      lab.add_subcommand("soak", "random lives of a small cluster, until something breaks");
  soak->add_option("--seed", options->seed, "of the first life (1); the next has the next one");
  soak->add_option("--lives", options->lives, "how many (10)")->check(CLI::Range(1, 1'000'000));
  soak->add_option("--steps", options->steps, "events in each (300)")
      ->check(CLI::Range(1, 1'000'000));
  soak->callback([options, &exit_code] { exit_code = RunLabSoak(*options); });
}

void AddLabKubelets(CLI::App& lab, int& exit_code) {
  auto kubeconfig = std::make_shared<std::string>();
  CLI::App* kubelets =
      lab.add_subcommand("kubelets", "hollow kubelets for the nodes of any API server");
  kubelets->add_option("--kubeconfig", *kubeconfig, "else $KUBECONFIG, ~/.kube/config, in-cluster");
  kubelets->callback([kubeconfig, &exit_code] { exit_code = RunLabKubelets(*kubeconfig); });
}

}  // namespace

int RunSkyctl(int argc, char** argv) {
  CLI::App app(
      "skyctl: looks into Sky-Scheduler, loads it, and runs an embedded cluster to try it on");
  app.set_version_flag("--version", SKY_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  CLI::App* lab = app.add_subcommand("lab", "the embedded cluster");
  lab->require_subcommand(1);
  AddLabUp(*lab, exit_code);
  AddLabKubelets(*lab, exit_code);
  app.add_subcommand("demo", "the worked example on an embedded cluster of its own")
      ->callback([&exit_code] { exit_code = RunDemo(stdout); });
  AddLabRun(*lab, exit_code);
  AddLabSoak(*lab, exit_code);
  AddLoad(app, exit_code);
  if (const auto ended = ReadCommandLine(app, argc, argv)) return *ended;
  return exit_code;
}

}  // namespace sky::cli
