// SPDX-License-Identifier: Apache-2.0
// skyctl's command line: subcommands and their flags. Exit codes: 0 done, 1 the thing asked for
// failed, 2 wrong usage.
#pragma once

namespace sky::cli {

int RunSkyctl(int argc, char** argv);

}  // namespace sky::cli
