// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT as something to wait for. Block them before any thread starts, so that all
// threads leave them to the one that waits.
#pragma once

namespace sky::cli {

void BlockStopSignals();
// Returns when one of them has come.
void WaitForStopSignal();
// Whether one has come since the last call, without waiting.
bool StopSignalCame();

}  // namespace sky::cli
