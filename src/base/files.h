// SPDX-License-Identifier: Apache-2.0
// Reading a file whole. A folder, or anything else that isn't readable, is an error that says why
// instead of an empty text.
#pragma once

#include <string>

#include "base/result.h"

namespace sky {

// kNotFound: it isn't there; kInvalid: it can't be read. The message begins with the path.
Result<std::string> ReadFile(const std::string& path);

}  // namespace sky
