// SPDX-License-Identifier: Apache-2.0
#include "expr/lexer.h"

#include <optional>

namespace sky::expr {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.'; }

size_t NameLength(std::string_view text) {
  size_t length = 0;
  while (length < text.size() && IsNamePart(text[length])) ++length;
  return length;
}

std::optional<Token::Kind> Punctuation(char c) {
  switch (c) {
    case '(':
      return Token::Kind::kOpen;
    case ')':
      return Token::Kind::kClose;
    case ',':
      return Token::Kind::kComma;
    case '*':
      return Token::Kind::kStar;
    default:
      return std::nullopt;
  }
}

std::string DescribeByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte > 0x20 && byte < 0x7f) return fmt::format("'{}'", c);
  return fmt::format("byte 0x{:02x}", byte);
}

}  // namespace

std::string Describe(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the expression";
  return fmt::format("'{}'", token.text);
}

void Lexer::SkipBlanks() {
  for (; offset_ < text_.size(); ++offset_) {
    const char c = text_[offset_];
    if (c == '\n') {
      ++at_.line;
      at_.column = 1;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_.column;
    } else {
      return;
    }
  }
}

Token Lexer::Take(Token::Kind kind, size_t length) {
  const Token token{kind, text_.substr(offset_, length), at_};
  offset_ += length;
  at_.column += static_cast<int>(length);
  return token;
}

std::expected<Token, Problem> Lexer::Next() {
  SkipBlanks();
  if (offset_ == text_.size()) return Take(Token::Kind::kEnd, 0);
  const char c = text_[offset_];
  if (const auto kind = Punctuation(c)) return Take(*kind, 1);
  // A number runs as far as a name would, so that "010x" is one wrong number and not a number and a
  // name.
  if (IsDigit(c)) return Take(Token::Kind::kNumber, NameLength(text_.substr(offset_)));
  if (IsLetter(c)) return Take(Token::Kind::kName, NameLength(text_.substr(offset_)));
  return std::unexpected(Problem{
      at_,
      fmt::format("{} has no meaning here; names are letters, digits, '_', '-' and '.', and begin "
                  "with a letter",
                  DescribeByte(c))});
}

}  // namespace sky::expr
