// SPDX-License-Identifier: Apache-2.0
// Malformed notes, told to their owner one after the other; whoever reads them uses the default.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace sky::model {

// "KEY is "VALUE": WANTED", after those that `problem` holds already.
inline void Complain(std::string* problem, std::string_view what, std::string_view value,
                     std::string_view wanted) {
  *problem += fmt::format("{}{} is \"{}\": {}", problem->empty() ? "" : "; ", what,
                          CutText(value, 80), wanted);
}

}  // namespace sky::model
