// SPDX-License-Identifier: Apache-2.0
#include "expr/expression.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sky::expr {
namespace {

struct OpRow {
  std::string_view name;
  std::array<bool, kTypeCount> fits;  // by Type
};

// One row an operator, in the order of Op.     bool   verdict target set    score  order key
constexpr std::array<OpRow, kOpCount> kOps = {
    {{"and", {true, true, false, false, false, false}},
     {"or", {true, true, true, true, false, false}},
     {"joint", {false, true, false, false, false, false}},
     {"intersect", {false, false, false, true, false, false}},
     {"union", {false, false, false, true, false, false}},
     {"sum", {false, false, false, false, true, false}},
     {"min", {false, false, false, false, true, false}},
     {"max", {false, false, false, false, true, false}},
     {"first", {false, false, true, false, false, true}},
     {"firstNotPass", {false, true, false, false, false, false}}}};

constexpr std::array<std::string_view, kTypeCount> kTypes = {"bool", "verdict", "target",
                                                             "set",  "score",   "orderKey"};

std::string PrintWeight(Weight weight) {
  std::string text = fmt::format("*{}", weight.thousandths / Weight::kOne);
  const int64_t fraction = weight.thousandths % Weight::kOne;
  if (fraction == 0) return text;
  text += fmt::format(".{:03}", fraction);
  text.erase(text.find_last_not_of('0') + 1);
  return text;
}

void PrintTo(const Expression& expression, std::string& out) {
  switch (expression.kind) {
    case Expression::Kind::kName:
      out += expression.name;
      break;
    case Expression::Kind::kAll:
      out += "all";
      break;
    case Expression::Kind::kCall:
      out += OpName(expression.op);
      for (size_t i = 0; i < expression.arguments.size(); ++i) {
        out += i == 0 ? "(" : ", ";
        PrintTo(expression.arguments[i], out);
      }
      out += ')';
      break;
  }
  if (expression.weight) out += PrintWeight(*expression.weight);
}

Checked CheckBelow(const Expression& expression, Type type, bool weighable) {
  if (expression.weight && !weighable)
    return std::unexpected(
        Problem{expression.weight_at, "only the arguments of sum, min and max have weights"});
  if (expression.kind != Expression::Kind::kCall) return {};
  if (!Fits(expression.op, type))
    return std::unexpected(Problem{
        expression.at, fmt::format("'{}' can't combine values of the kind {}; these can: {}",
                                   OpName(expression.op), TypeName(type), OpsThatFit(type))});
  for (const Expression& argument : expression.arguments)
    if (Checked below = CheckBelow(argument, type, type == Type::kScore); !below) return below;
  return {};
}

}  // namespace

Problem Problem::With(std::string_view context) && {
  if (!context.empty()) message = fmt::format("{}: {}", context, message);
  return std::move(*this);
}

Error Problem::ToError() const {
  return Error(Code::kInvalid, fmt::format("line {}, column {}: {}", at.line, at.column, message));
}

std::string_view OpName(Op op) { return kOps[static_cast<size_t>(op)].name; }

std::optional<Op> FindOp(std::string_view name) {
  const auto* row =
      std::find_if(kOps.begin(), kOps.end(), [&](const OpRow& r) { return r.name == name; });
  if (row == kOps.end()) return std::nullopt;
  return static_cast<Op>(row - kOps.begin());
}

std::string_view TypeName(Type type) { return kTypes[static_cast<size_t>(type)]; }

bool Fits(Op op, Type type) {
  return kOps[static_cast<size_t>(op)].fits[static_cast<size_t>(type)];
}

std::string OpsThatFit(Type type) {
  std::string names;
  for (size_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (Fits(op, type)) names += fmt::format("{}{}", names.empty() ? "" : ", ", OpName(op));
  }
  return names;
}

Expression Expression::Name(std::string name) {
  Expression expression;
  expression.kind = Kind::kName;
  expression.name = std::move(name);
  return expression;
}

Expression Expression::All() {
  Expression expression;
  expression.kind = Kind::kAll;
  return expression;
}

Expression Expression::Call(Op op, std::vector<Expression> arguments) {
  Expression expression;
  expression.kind = Kind::kCall;
  expression.op = op;
  expression.arguments = std::move(arguments);
  return expression;
}

bool Expression::operator==(const Expression& other) const {
  return kind == other.kind && op == other.op && name == other.name && weight == other.weight &&
         arguments == other.arguments;
}

std::string Print(const Expression& expression) {
  std::string text;
  PrintTo(expression, text);
  return text;
}

Checked Check(const Expression& expression, Type type) {
  if (expression.kind == Expression::Kind::kAll)
    return std::unexpected(
        Problem{expression.at,
                fmt::format("'all' needs an operator around it that says how to combine; one of {}",
                            OpsThatFit(type))});
  return CheckBelow(expression, type, false);
}

bool MentionsAll(const Expression& expression) {
  return expression.kind == Expression::Kind::kAll ||
         std::any_of(expression.arguments.begin(), expression.arguments.end(), MentionsAll);
}

}  // namespace sky::expr
