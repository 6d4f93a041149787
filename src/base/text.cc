// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

namespace sky {

std::string_view CutText(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace sky
