// SPDX-License-Identifier: Apache-2.0
// Plays scripts, and remembers what they showed: for laws about whole clusters.
#pragma once

#include <string>

#include "base/check.h"
#include "lab/scenario.h"

namespace sky::lab {

class Play {
 public:
  // What these statements showed. Statements may fail; see Failed.
  std::string Run(const std::string& text) {
    said_.clear();
    auto script = ReadScript(text, "play");
    SKY_CHECK(script.has_value(), "{}", script.error().message());
    played_ += text;
    for (const Statement& statement : *script) scenario_.Run(statement);
    return said_;
  }
  // What of them failed; "" when all passed.
  std::string Failed(const std::string& text) {
    const std::string said = Run(text);
    return said.contains("FAILED") ? said : std::string();
  }
  bool Passes(const std::string& text) { return Failed(text).empty(); }
  // Everything that was run: a scenario.
  const std::string& played() const { return played_; }

 private:
  std::string said_, played_;
  Scenario scenario_{[this](std::string_view text) { said_ += text; }};
};

}  // namespace sky::lab
