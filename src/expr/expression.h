// SPDX-License-Identifier: Apache-2.0
// The expression language that combines what plugins answer: "joint(predicates, storage)",
// "sum(topology*10, binpack)". Text becomes an Expression (Parse), is held to the operators that
// fit its kind of value (Check), and is compiled to a Program (program.h) that the cycle evaluates
// (evaluate.h). Nothing here knows a plugin: a name is a name. Pure; values are owned by their
// holder.
//
//   expression := name | 'all' | operator '(' argument (',' argument)* ')'
//   argument   := expression ['*' weight]
//   name       := letter (letter | digit | '_' | '-' | '.')*      not an operator's name
//   weight     := digits ['.' one to three digits], at most 1000000
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sky::expr {

// Bounds of what Parse accepts: far above any sane configuration, low enough to recurse over.
inline constexpr size_t kMaxTextBytes = 64 * 1024;
inline constexpr int kMaxDepth = 100;

// Where in the text, both counted from 1; a column is a byte.
struct Position {
  int line = 1, column = 1;
  auto operator<=>(const Position&) const = default;
};

// What is wrong with an expression, and where. Usable with TRY.
struct Problem {
  Position at;
  std::string message;

  Problem With(std::string_view context) &&;
  Error ToError() const;  // Code::kInvalid, "line 1, column 7: …"
};
using Checked = std::expected<void, Problem>;

enum class Op : uint8_t {
  kAnd,
  kOr,
  kJoint,
  kIntersect,
  kUnion,
  kSum,
  kMin,
  kMax,
  kFirst,
  kFirstNotPass,
};
inline constexpr size_t kOpCount = 10;
std::string_view OpName(Op op);
std::optional<Op> FindOp(std::string_view name);

// The kinds of values that callbacks give.
enum class Type : uint8_t { kBool, kVerdict, kTarget, kSet, kScore, kOrderKey };
inline constexpr size_t kTypeCount = 6;
std::string_view TypeName(Type type);  // "bool", "verdict", …
bool Fits(Op op, Type type);           // the table of operators and kinds
std::string OpsThatFit(Type type);     // "and, or, joint, firstNotPass"

// A factor ≥ 0 in thousandths: exact for the decimals that the grammar allows.
struct Weight {
  static constexpr int64_t kOne = 1000;
  static constexpr int64_t kMost = 1'000'000 * kOne;

  int64_t thousandths = kOne;
  auto operator<=>(const Weight&) const = default;
};

struct Expression {
  enum class Kind : uint8_t {
    kName,  // one plugin
    kAll,   // every enabled plugin that registered the callback, in the order of the configuration
    kCall,  // op(arguments…)
  };

  Kind kind = Kind::kName;
  Op op = Op::kAnd;                   // kCall
  std::string name;                   // kName
  std::vector<Expression> arguments;  // kCall: at least one
  std::optional<Weight> weight;       // present exactly when written
  Position at;                        // of the name, of `all` or of the operator
  Position weight_at;                 // of the '*'

  static Expression Name(std::string name);
  static Expression All();
  static Expression Call(Op op, std::vector<Expression> arguments);

  // The same expression; where its parts stood in a text doesn't count.
  bool operator==(const Expression& other) const;
};

std::expected<Expression, Problem> Parse(std::string_view text);

// "sum(topology*10, binpack)"; Parse(Print(e)) == e for every e that Parse gave.
std::string Print(const Expression& expression);

// Whether every operator of the expression fits the kind of value, with weights only directly below
// sum, min and max, and `all` only below an operator.
Checked Check(const Expression& expression, Type type);

// Calls visit(const Expression&) for each name, in the order written.
template <class Visit>
void ForEachName(const Expression& expression, const Visit& visit) {
  if (expression.kind == Expression::Kind::kName) visit(expression);
  for (const Expression& argument : expression.arguments) ForEachName(argument, visit);
}

bool MentionsAll(const Expression& expression);

}  // namespace sky::expr
