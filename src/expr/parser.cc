// SPDX-License-Identifier: Apache-2.0
// Recursive descent with one token of look-ahead; kMaxDepth bounds the recursion.
#include <array>
#include <utility>

#include "base/nearest.h"
#include "expr/lexer.h"

namespace sky::expr {
namespace {

constexpr std::string_view kAllName = "all";

template <class... Args>
std::unexpected<Problem> Wrong(Position at, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Problem{at, fmt::format(format, std::forward<Args>(args)...)});
}

std::array<std::string_view, kOpCount> OpNames() {
  std::array<std::string_view, kOpCount> names;
  for (size_t i = 0; i < kOpCount; ++i) names[i] = OpName(static_cast<Op>(i));
  return names;
}

std::expected<Weight, Problem> ReadWeight(const Token& token) {
  const std::string_view text = token.text;
  const size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view fraction = dot == text.npos ? std::string_view() : text.substr(dot + 1);
  const auto digits = [](std::string_view part) {
    return part.find_first_not_of("0123456789") == part.npos;
  };
  if (!digits(whole) || !digits(fraction) || (dot != text.npos && fraction.empty()))
    return Wrong(token.at, "'{}' is no weight; write it as 10 or 0.5", text);
  if (whole.size() > 1 && whole[0] == '0')
    return Wrong(token.at, "'{}' begins with a zero; write the weight as 10 or 0.5", text);
  if (fraction.size() > 3)
    return Wrong(token.at, "'{}' is finer than a thousandth; weights have at most three decimals",
                 text);
  int64_t value = 0;
  for (size_t i = 0; i < whole.size() && value <= Weight::kMost; ++i)
    value = value * 10 + (whole[i] - '0');
  int64_t scale = Weight::kOne;
  value *= scale;
  for (const char c : fraction) value += (scale /= 10) * (c - '0');
  if (value > Weight::kMost)
    return Wrong(token.at, "'{}' is more than {}, the greatest weight", text,
                 Weight::kMost / Weight::kOne);
  return Weight{value};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  std::expected<Expression, Problem> Whole() {
    TRY(Advance());
    if (token_.kind == Token::Kind::kEnd) return Wrong(token_.at, "the expression is empty");
    Expression whole = TRY(Argument(1));
    if (token_.kind == Token::Kind::kComma)
      return Wrong(token_.at, "several names need an operator around them, as in joint(a, b)");
    if (token_.kind != Token::Kind::kEnd)
      return Wrong(token_.at, "{} after the end of the expression", Describe(token_));
    return whole;
  }

 private:
  Checked Advance() {
    token_ = TRY(lexer_.Next());
    return {};
  }

  std::expected<Expression, Problem> Argument(int depth) {
    Expression argument = TRY(Term(depth));
    if (token_.kind != Token::Kind::kStar) return argument;
    argument.weight_at = token_.at;
    TRY(Advance());
    if (token_.kind != Token::Kind::kNumber)
      return Wrong(token_.at, "a weight such as 10 or 0.5 must follow '*', not {}",
                   Describe(token_));
    argument.weight = TRY(ReadWeight(token_));
    TRY(Advance());
    return argument;
  }

  std::expected<Expression, Problem> Term(int depth) {
    const Token name = token_;
    if (depth > kMaxDepth) return Wrong(name.at, "nested deeper than {} levels", kMaxDepth);
    if (name.kind == Token::Kind::kNumber)
      return Wrong(name.at, "a weight follows its name, as in topology*{}", name.text);
    if (name.kind != Token::Kind::kName)
      return Wrong(name.at, "a plugin, an operator or 'all' must stand here, not {}",
                   Describe(name));
    TRY(Advance());
    const std::optional<Op> op = FindOp(name.text);
    if (token_.kind == Token::Kind::kOpen) {
      if (op) return Call(*op, name, depth);
      return Wrong(name.at, "'{}' is no operator{}", name.text, DidYouMean(name.text, OpNames()));
    }
    if (op) return Wrong(name.at, "'{}' is an operator; write {}(…)", name.text, name.text);
    Expression leaf =
        name.text == kAllName ? Expression::All() : Expression::Name(std::string(name.text));
    leaf.at = name.at;
    return leaf;
  }

  // At the '(' of op.
  std::expected<Expression, Problem> Call(Op op, const Token& name, int depth) {
    Expression call = Expression::Call(op, {});
    call.at = name.at;
    const Position opened = token_.at;
    TRY(Advance());
    if (token_.kind == Token::Kind::kClose)
      return Wrong(token_.at, "'{}' needs at least one argument", name.text);
    while (true) {
      call.arguments.push_back(TRY(Argument(depth + 1)));
      if (token_.kind != Token::Kind::kComma) break;
      TRY(Advance());
    }
    if (token_.kind == Token::Kind::kEnd)
      return Wrong(opened, "this '(' of '{}' is never closed", name.text);
    if (token_.kind != Token::Kind::kClose)
      return Wrong(token_.at, "',' or ')' must stand here, not {}", Describe(token_));
    TRY(Advance());
    return call;
  }

  Lexer lexer_;
  Token token_;
};

}  // namespace

std::expected<Expression, Problem> Parse(std::string_view text) {
  if (text.size() > kMaxTextBytes)
    return Wrong({}, "the expression is {} bytes long; {} are allowed", text.size(), kMaxTextBytes);
  return Parser(text).Whole();
}

}  // namespace sky::expr
