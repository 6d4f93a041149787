// SPDX-License-Identifier: Apache-2.0
// What a program that can't begin ends with: 2 when what it was given is wrong or isn't there, so
// that a script can tell usage from a failure, which is 1. Pure.
#pragma once

#include "base/result.h"

namespace sky {

inline int ExitCode(const Error& error) {
  return error.code() == Code::kInvalid || error.code() == Code::kNotFound ? 2 : 1;
}

}  // namespace sky
