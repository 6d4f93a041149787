// SPDX-License-Identifier: Apache-2.0
// What the API server said, for people: without the request that it was said to, which changes
// nothing for them. Bounded, on one line.
#pragma once

#include <string>

#include "base/result.h"
#include "base/text.h"

namespace sky::scheduler {

inline std::string Words(const Error& error) {
  std::string words = error.message();
  for (const char* verb : {"POST /", "PUT /", "PATCH /", "DELETE /", "GET /"})
    if (words.starts_with(verb))
      if (const size_t end = words.find(": "); end != std::string::npos) {
        words.erase(0, end + 2);
        break;
      }
  constexpr size_t kMost = 400;
  if (words.size() > kMost) words = fmt::format("{}…", CutText(words, kMost));
  for (char& c : words)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return words;
}

}  // namespace sky::scheduler
