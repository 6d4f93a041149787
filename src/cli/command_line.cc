// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/nearest.h"

namespace sky::cli {
namespace {

void RefuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_items_expected_max() > 0)
      option->check(
          [](const std::string& value) {
            return value.empty()
                       ? std::string("an empty value means nothing: give one, or leave it out")
                       : std::string();
          },
          "");
  for (CLI::App* subcommand : app.get_subcommands(nullptr)) RefuseEmptyValues(*subcommand);
}

// A command that isn't there, or none: says which there are, where CLI11 would only say that one is
// required.
int Refuse(const CLI::App& app, std::string path, const CLI::ParseError& error) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
    path += " " + at->get_name();
  }
  std::vector<std::string> names;
  for (const CLI::App* one : at->get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  if (names.empty() || error.get_name() != "RequiredError") return app.exit(error) == 0 ? 0 : 2;
  const std::vector<std::string> rest = app.remaining(true);
  if (rest.empty()) {
    fmt::print(stderr, "{}", at->help());
    return 2;
  }
  fmt::print(stderr, "{}: no command \"{}\"{}; there are: {}\n", path, rest.front(),
             DidYouMean(rest.front(), names), fmt::join(names, ", "));
  return 2;
}

}  // namespace

std::optional<int> ReadCommandLine(CLI::App& app, int argc, const char* const* argv) {
  RefuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& ended) {
    return Refuse(app, std::filesystem::path(argv[0]).filename().string(), ended);
  }
  return std::nullopt;
}

}  // namespace sky::cli
