// SPDX-License-Identifier: Apache-2.0
// A scenario script as statements: lines of words, "#" comments, and bodies ("apply <<END" …
// "END"). Every verb, key and flag is checked here, before anything runs, so that a mistyped word
// stops with file, line and advice and is never quietly ignored. scenario.h runs them. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sky::lab {

struct ScriptVerb {
  std::string_view name;
  std::string_view usage;              // what follows the name
  size_t least = 0, most = 0;          // words before the first "key=value" or flag
  std::vector<std::string_view> keys;  // "key=value" words besides amounts
  std::vector<std::string_view> flags;
  bool amounts = false;  // gpu=1, cpu=500m, example.com/card=2
  enum class Body : uint8_t { kNone, kRequired } body = Body::kNone;
  bool free_text = false;  // the rest of the line is the statement's own business
};

// In the order of the documentation.
std::span<const ScriptVerb> ScenarioVerbs();

struct Statement {
  int line = 0;
  std::string text;  // as it stands in the script, without the body
  std::string verb;
  std::vector<std::string> names;  // the words before the first key or flag
  std::string words;               // keys, amounts and flags, for testing::ReadWords
  std::string rest;                // everything after the verb
  std::string body;
};

// `origin` is the file's name. The error is "file:line: what; what to write instead".
Result<std::vector<Statement>> ReadScript(std::string_view text, std::string_view origin);

}  // namespace sky::lab
