// SPDX-License-Identifier: Apache-2.0
// Structured logs on stderr: one line an event, as text or JSON, with the cycle number on every
// line. spdlog does the work; call SetUpLog once in main, then spdlog::info(...) anywhere.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sky {

// format: "text" or "json"; level: trace, debug, info, warn, error.
Status SetUpLog(std::string_view format, std::string_view level);

// The cycle number that log lines carry from now on: what is logged between two cycles follows from
// the first of them. 0 is before any. Thread-safe.
void SetLogCycle(uint64_t cycle);

}  // namespace sky
