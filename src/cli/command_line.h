// SPDX-License-Identifier: Apache-2.0
// How every program of ours reads its command line: the exit codes, and what is refused whatever
// the flag. Add the flags and subcommands first.
#pragma once

#include <optional>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace sky::cli {

// The exit code of a program that ends here: 0 after --help or --version, 2 for wrong usage, which
// an empty value is as well: left by a variable that isn't set, it would quietly mean the default.
std::optional<int> ReadCommandLine(CLI::App& app, int argc, const char* const* argv);

}  // namespace sky::cli
