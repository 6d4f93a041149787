// SPDX-License-Identifier: Apache-2.0
// Text of others that is shown: the part that has room, in whole characters. Half a character is
// no UTF-8, and no JSON either. Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace sky {

// As many bytes from the start as fit into `most`, without a part of a character at the end.
std::string_view CutText(std::string_view text, size_t most);

}  // namespace sky
