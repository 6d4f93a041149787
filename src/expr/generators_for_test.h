// SPDX-License-Identifier: Apache-2.0
// RapidCheck generators of expressions, for the tests of this room only: any expression at all, and
// one that fits a kind of value. Names are a…f, so that a few leaves meet often.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "expr/expression.h"

namespace sky::expr::testing_only {

inline const std::vector<std::string> kNames = {"a", "b", "c", "d", "e", "f"};

inline rc::Gen<Expression> LeafExpression() {
  return rc::gen::map(rc::gen::inRange<size_t>(0, kNames.size() + 1), [](size_t i) {
    return i < kNames.size() ? Expression::Name(kNames[i]) : Expression::All();
  });
}

inline Expression Weighted(Expression expression, int64_t thousandths) {
  if (thousandths >= 0) expression.weight = Weight{thousandths};
  return expression;
}

// An argument: a leaf or a call, with a weight now and then where weights may stand.
inline rc::Gen<Expression> ArgumentOf(std::vector<Op> ops, bool weights, int depth);

inline rc::Gen<Expression> CallOf(std::vector<Op> ops, bool weights, int depth) {
  return rc::gen::mapcat(rc::gen::inRange<size_t>(1, 5), [=](size_t count) {
    return rc::gen::map(
        rc::gen::pair(rc::gen::elementOf(ops), rc::gen::container<std::vector<Expression>>(
                                                   count, ArgumentOf(ops, weights, depth - 1))),
        [](std::pair<Op, std::vector<Expression>> parts) {
          return Expression::Call(parts.first, std::move(parts.second));
        });
  });
}

inline rc::Gen<Expression> ArgumentOf(std::vector<Op> ops, bool weights, int depth) {
  const auto inner = depth <= 0
                         ? LeafExpression()
                         : rc::gen::weightedOneOf<Expression>(
                               {{3, LeafExpression()},
                                {1, rc::gen::lazy([=] { return CallOf(ops, weights, depth); })}});
  if (!weights) return inner;
  const auto weight = rc::gen::weightedOneOf<int64_t>({{2, rc::gen::just<int64_t>(-1)},
                                                       {2, rc::gen::inRange<int64_t>(0, 20'000)},
                                                       {1, rc::gen::just(Weight::kMost)}});
  return rc::gen::map(rc::gen::pair(inner, weight), [](std::pair<Expression, int64_t> parts) {
    return Weighted(std::move(parts.first), parts.second);
  });
}

inline std::vector<Op> OpsOf(Type type) {
  std::vector<Op> ops;
  for (size_t i = 0; i < kOpCount; ++i)
    if (Fits(static_cast<Op>(i), type)) ops.push_back(static_cast<Op>(i));
  return ops;
}

// Anything the grammar allows, whatever the kinds.
inline rc::Gen<Expression> AnyExpression() {
  std::vector<Op> ops;
  for (size_t i = 0; i < kOpCount; ++i) ops.push_back(static_cast<Op>(i));
  return ArgumentOf(ops, true, 4);
}

// An operator over arguments that passes Check for this kind.
inline rc::Gen<Expression> ExpressionOf(Type type) {
  return CallOf(OpsOf(type), type == Type::kScore, 3);
}

}  // namespace sky::expr::testing_only
