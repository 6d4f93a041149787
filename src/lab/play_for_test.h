// SPDX-License-Identifier: Apache-2.0
// Plays scripts on one cluster, and remembers what they showed: for tests that look at more than a
// golden.
#pragma once

#include <string>

#include "base/check.h"
#include "lab/scenario.h"

namespace sky::lab {

class Play {
 public:
  Play() = default;
  // With this configuration: its YAML is loaded as from a file.
  explicit Play(const framework::Config& config) {
    Run("config <<END\n" + framework::PrintConfig(config) + "END\n");
  }

  // What these statements showed; each of them must pass.
  std::string Run(const std::string& text) {
    std::string said = RunAny(text);
    SKY_CHECK(failures_ == 0, "{}", said);
    return said;
  }
  // How many of them failed.
  int Failures(const std::string& text) {
    RunAny(text);
    return failures_;
  }
  // What they showed when one of them failed; "" when all passed.
  std::string Failed(const std::string& text) {
    const std::string said = RunAny(text);
    return failures_ > 0 ? said : std::string();
  }
  bool Passes(const std::string& text) { return Failures(text) == 0; }

  // Everything that was run, a scenario; and all that it showed.
  const std::string& played() const { return played_; }
  const std::string& shown() const { return shown_; }

 private:
  std::string RunAny(const std::string& text) {
    auto script = ReadScript(text, "play");
    SKY_CHECK(script.has_value(), "{}", script.error().message());
    const size_t before = shown_.size();
    played_ += text;
    failures_ = 0;
    for (const Statement& statement : *script) failures_ += scenario_.Run(statement) ? 0 : 1;
    return shown_.substr(before);
  }

  std::string shown_, played_;
  int failures_ = 0;
  Scenario scenario_{[this](std::string_view text) { shown_ += text; }};
};

}  // namespace sky::lab
