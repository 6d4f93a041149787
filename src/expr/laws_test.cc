// SPDX-License-Identifier: Apache-2.0
// The algebra as laws over random expressions and answers. A second evaluator, which walks the
// Expression itself and knows nothing of flattening, sorting or stopping early, says what is right.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "expr/evaluate.h"
#include "expr/generators_for_test.h"

namespace sky::expr {
namespace {

struct Ruling {
  int severity = 0;
  int leaf = 0;
  bool operator==(const Ruling&) const = default;
};
using Ids = std::vector<int>;

// Who takes part: a…e; f is named by expressions but never registered.
const std::vector<std::string> kNamed = {"a", "b", "c", "d", "e"};

template <class T>
using AnswerList = std::vector<std::optional<T>>;

template <class T>
AnswerList<T> Generate(const rc::Gen<T>& value) {
  AnswerList<T> answers;
  for (size_t i = 0; i < kNamed.size(); ++i) {
    if (*rc::gen::inRange(0, 3) == 0)
      answers.emplace_back();
    else
      answers.emplace_back(*value);
  }
  return answers;
}

// What each argument answers, `all` spelled out, abstainers left out.
template <class T>
std::vector<T> Given(const Expression& call,
                     const std::function<std::optional<T>(const Expression&)>& value) {
  std::vector<T> given;
  for (const Expression& argument : call.arguments) {
    std::vector<Expression> spelled = {argument};
    if (argument.kind == Expression::Kind::kAll) {
      spelled.clear();
      for (const std::string& name : kNamed) {
        spelled.push_back(Expression::Name(name));
        spelled.back().weight = argument.weight;
      }
    }
    for (const Expression& one : spelled)
      if (auto v = value(one)) given.push_back(*v);
  }
  return given;
}

template <class T>
std::optional<T> LeafAnswer(const std::string& name, const AnswerList<T>& answers) {
  const auto at = std::find(kNamed.begin(), kNamed.end(), name);
  return at == kNamed.end() ? std::nullopt : answers[static_cast<size_t>(at - kNamed.begin())];
}

template <class T>
std::optional<T> Naive(const Expression& e, const AnswerList<T>& answers,
                       const std::function<T(Op, const std::vector<T>&)>& combine) {
  if (e.kind == Expression::Kind::kName) return LeafAnswer(e.name, answers);
  const auto given =
      Given<T>(e, [&](const Expression& a) { return Naive<T>(a, answers, combine); });
  if (given.empty()) return std::nullopt;
  return combine(e.op, given);
}

// Shuffles the arguments of every operator that promises not to care.
Expression Shuffle(Expression e) {
  for (Expression& argument : e.arguments) argument = Shuffle(std::move(argument));
  const bool free = e.op != Op::kOr && e.op != Op::kFirst && e.op != Op::kFirstNotPass;
  if (free)
    for (size_t i = e.arguments.size(); i > 1; --i)
      std::swap(e.arguments[i - 1], e.arguments[*rc::gen::inRange<size_t>(0, i)]);
  return e;
}

template <class T>
auto From(const AnswerList<T>& answers) {
  return [&answers](uint32_t leaf) { return answers[leaf]; };
}

RC_GTEST_PROP(Laws, PermutingFreeOperatorsChangesNoProgram, ()) {
  const Type type = static_cast<Type>(*rc::gen::inRange<size_t>(0, kTypeCount));
  const Expression e = *testing_only::ExpressionOf(type);
  RC_ASSERT(*Program::Compile(e, type, kNamed) == *Program::Compile(Shuffle(e), type, kNamed));
}

RC_GTEST_PROP(Laws, BoolsAnswerAsTheAlgebraSays, ()) {
  const Expression e = *testing_only::ExpressionOf(Type::kBool);
  const auto answers = Generate<bool>(rc::gen::arbitrary<bool>());
  const auto right = Naive<bool>(e, answers, [](Op op, const std::vector<bool>& v) {
    return op == Op::kAnd ? std::count(v.begin(), v.end(), false) == 0
                          : std::count(v.begin(), v.end(), true) > 0;
  });
  RC_ASSERT(EvaluateBool(*Program::Compile(e, Type::kBool, kNamed), From(answers)) == right);
}

RC_GTEST_PROP(Laws, VerdictsAnswerAsTheAlgebraSaysAndKeepTheirReasons, ()) {
  const Expression e = *testing_only::ExpressionOf(Type::kVerdict);
  auto answers =
      Generate<Ruling>(rc::gen::map(rc::gen::inRange(0, 4), [](int s) { return Ruling{s, 0}; }));
  for (size_t i = 0; i < answers.size(); ++i)
    if (answers[i]) answers[i]->leaf = static_cast<int>(i);
  const auto right = Naive<Ruling>(e, answers, [](Op op, const std::vector<Ruling>& v) {
    const auto worse = [](const Ruling& x, const Ruling& y) { return x.severity < y.severity; };
    if (op == Op::kAnd || op == Op::kJoint) return *std::max_element(v.begin(), v.end(), worse);
    const auto veto =
        std::find_if(v.begin(), v.end(), [](const Ruling& x) { return x.severity > 0; });
    return veto == v.end() ? v.front() : *veto;
  });
  std::set<int> kept;
  const auto got = EvaluateVerdict(*Program::Compile(e, Type::kVerdict, kNamed), From(answers),
                                   [&](uint32_t leaf, const Ruling& v) {
                                     RC_ASSERT(v.leaf == static_cast<int>(leaf));
                                     kept.insert(v.leaf);
                                   });
  RC_ASSERT(got.has_value() == right.has_value());
  // Ties may name another leaf than the text's first, but never another severity.
  if (got) RC_ASSERT(got->severity == right->severity);
  if (got && got->severity > 0) RC_ASSERT(kept.contains(got->leaf));
  RC_ASSERT(kept.empty() == (!got || got->severity == 0));
}

RC_GTEST_PROP(Laws, JointKeepsTheReasonOfEveryLeafThatRefuses, ()) {
  const auto answers =
      Generate<Ruling>(rc::gen::map(rc::gen::inRange(0, 4), [](int s) { return Ruling{s, 0}; }));
  const Expression joint = Expression::Call(
      Op::kJoint, {Expression::All(), *testing_only::ExpressionOf(Type::kVerdict)});
  std::set<uint32_t> kept, refusing;
  EvaluateVerdict(*Program::Compile(joint, Type::kVerdict, kNamed), From(answers),
                  [&](uint32_t leaf, const Ruling&) { kept.insert(leaf); });
  for (uint32_t i = 0; i < answers.size(); ++i)
    if (answers[i] && answers[i]->severity > 0) refusing.insert(i);
  RC_ASSERT(kept == refusing);
}

RC_GTEST_PROP(Laws, SetsAnswerAsTheAlgebraSays, ()) {
  const Expression e = *testing_only::ExpressionOf(Type::kSet);
  const auto answers = Generate<Ids>(rc::gen::map(rc::gen::inRange(0, 256), [](int bits) {
    Ids ids;
    for (int id = 0; id < 8; ++id)
      if (bits >> id & 1) ids.push_back(id);
    return ids;
  }));
  const auto right = Naive<Ids>(e, answers, [](Op op, const std::vector<Ids>& v) {
    if (op == Op::kOr) return v.front();
    Ids result;
    for (int id = 0; id < 8; ++id) {
      const auto has = [id](const Ids& s) { return std::binary_search(s.begin(), s.end(), id); };
      const auto holders = static_cast<size_t>(std::count_if(v.begin(), v.end(), has));
      if (op == Op::kIntersect ? holders == v.size() : holders > 0) result.push_back(id);
    }
    return result;
  });
  RC_ASSERT(EvaluateSet(*Program::Compile(e, Type::kSet, kNamed), From(answers)) == right);
}

RC_GTEST_PROP(Laws, TargetsAnswerAsTheAlgebraSays, ()) {
  const Expression e = *testing_only::ExpressionOf(Type::kTarget);
  const auto answers = Generate<int>(rc::gen::inRange(0, 8));
  const auto right =
      Naive<int>(e, answers, [](Op, const std::vector<int>& v) { return v.front(); });
  RC_ASSERT(EvaluateTarget(*Program::Compile(e, Type::kTarget, kNamed), From(answers)) == right);
}

// In exact big arithmetic: __int128 holds what the tests below can reach, and is cut at int64 at
// the end.
__extension__ using Wide = __int128;

Wide Cut(Wide value) { return std::min<Wide>(value, std::numeric_limits<int64_t>::max()); }

std::optional<Wide> NaiveScore(const Expression& e, const AnswerList<int64_t>& answers) {
  const Wide weight = e.weight.value_or(Weight{}).thousandths;
  std::optional<Wide> result;
  if (e.kind == Expression::Kind::kName) {
    if (const auto leaf = LeafAnswer(e.name, answers))
      result = Wide{std::clamp<int64_t>(*leaf, 0, 100)} * Weight::kOne;
  } else {
    const auto given = Given<Wide>(e, [&](const Expression& a) { return NaiveScore(a, answers); });
    for (const Wide v : given) {
      if (!result)
        result = v;
      else if (e.op == Op::kSum)
        result = Cut(*result + v);
      else
        result = e.op == Op::kMin ? std::min(*result, v) : std::max(*result, v);
    }
  }
  if (result) result = Cut(*result * weight / Weight::kOne);
  return result;
}

RC_GTEST_PROP(Laws, ScoresAnswerAsTheAlgebraSays, ()) {
  const Expression e = *testing_only::ExpressionOf(Type::kScore);
  const auto answers = Generate<int64_t>(rc::gen::inRange<int64_t>(-50, 200));
  const auto right = NaiveScore(e, answers);
  const auto got = EvaluateScore(*Program::Compile(e, Type::kScore, kNamed), From(answers));
  RC_ASSERT(got.has_value() == right.has_value());
  if (got) RC_ASSERT(got->thousandths == static_cast<int64_t>(*right));
}

RC_GTEST_PROP(Laws, NestingKeepsAbstention, ()) {
  const Type type = static_cast<Type>(*rc::gen::inRange<size_t>(0, kTypeCount - 1));
  const Program program = *Program::Compile(*testing_only::ExpressionOf(type), type, kNamed);
  switch (type) {
    case Type::kBool:
      RC_ASSERT(!EvaluateBool(program, [](uint32_t) { return std::optional<bool>(); }));
      break;
    case Type::kVerdict:
      RC_ASSERT(!EvaluateVerdict(program, [](uint32_t) { return std::optional<Ruling>(); }));
      break;
    case Type::kTarget:
      RC_ASSERT(!EvaluateTarget(program, [](uint32_t) { return std::optional<int>(); }));
      break;
    case Type::kSet:
      RC_ASSERT(!EvaluateSet(program, [](uint32_t) { return std::optional<Ids>(); }));
      break;
    case Type::kScore:
      RC_ASSERT(!EvaluateScore(program, [](uint32_t) { return std::optional<int64_t>(); }));
      break;
    case Type::kOrderKey:
      break;  // a key is always whole
  }
}

RC_GTEST_PROP(Laws, OrderKeysWithAUniqueLastKeyFormAStrictTotalOrder, ()) {
  const Program program =
      *Program::Compile(*testing_only::ExpressionOf(Type::kOrderKey), Type::kOrderKey, kNamed);
  std::vector<OrderKey> keys;
  for (int64_t unique = 0; unique < 3; ++unique) {
    const auto answers = Generate<int64_t>(rc::gen::inRange<int64_t>(-1, 2));
    keys.push_back(EvaluateOrderKey(program, From(answers)));
    keys.back().push_back(unique);
  }
  for (const OrderKey& a : keys) {
    for (const OrderKey& b : keys) {
      RC_ASSERT(std::is_eq(CompareKeys(a, b)) == (&a == &b));
      RC_ASSERT(std::is_lt(CompareKeys(a, b)) == std::is_gt(CompareKeys(b, a)));
      for (const OrderKey& c : keys)
        if (std::is_lt(CompareKeys(a, b)) && std::is_lt(CompareKeys(b, c)))
          RC_ASSERT(std::is_lt(CompareKeys(a, c)));
    }
  }
}

}  // namespace
}  // namespace sky::expr
