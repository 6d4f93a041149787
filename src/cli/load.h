// SPDX-License-Identifier: Apache-2.0
// skyctl load: its flags. What it does stands in src/load.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace sky::cli {

// Adds `load` and its modes to the program; the mode that is called sets the exit code.
void AddLoad(CLI::App& app, int& exit_code);

}  // namespace sky::cli
