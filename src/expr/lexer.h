// SPDX-License-Identifier: Apache-2.0
// Cuts an expression's text into tokens, each with its position. Used by the parser alone; a
// token's text points into the text given to the lexer, which must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "expr/expression.h"

namespace sky::expr {

struct Token {
  enum class Kind : uint8_t { kName, kNumber, kOpen, kClose, kComma, kStar, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;
  Position at;
};

// For messages: "'drf'", "the end of the expression".
std::string Describe(const Token& token);

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  // The next token; kEnd again and again at the end.
  std::expected<Token, Problem> Next();

 private:
  void SkipBlanks();
  Token Take(Token::Kind kind, size_t length);

  std::string_view text_;
  size_t offset_ = 0;
  Position at_;
};

}  // namespace sky::expr
