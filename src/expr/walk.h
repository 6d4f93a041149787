// SPDX-License-Identifier: Apache-2.0
// The inside of evaluate.h: one walk over a Program's nodes a kind of value. A walk starts at a
// node and stays in its subtree; its recursion is bounded by the parser's depth. Include evaluate.h
// instead.
#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "expr/program.h"

namespace sky::expr {

// A verdict has a severity; value-initialised it is Fit, and greater is worse: Fit < NotNow < Never
// < Error.
template <class V>
concept Graded = requires(const V& v) {
  { v.severity } -> std::totally_ordered;
};

// A score in thousandths of a point: 0…100 a leaf, times its weight.
struct Score {
  int64_t thousandths = 0;
  auto operator<=>(const Score&) const = default;
};

namespace walk {

using Nodes = const Program::Node*;

template <class Leaf>
using Answer = std::remove_cvref_t<std::invoke_result_t<Leaf&, uint32_t>>;  // std::optional<value>

inline void ExpectType(const Program& program, Type type) {
  SKY_CHECK(program.type() == type, "a program of {} evaluated as {}", TypeName(program.type()),
            TypeName(type));
}

// Both factors and terms are never negative, so the greatest value is the only one to stop at, and
// stopping there keeps a sum independent of its order.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}
inline int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

// score × weight, rounded down to a thousandth, without losing the middle of the product.
inline Score Weigh(Score score, Weight weight) {
  const int64_t whole = score.thousandths / Weight::kOne, rest = score.thousandths % Weight::kOne;
  return {SaturatingAdd(SaturatingMultiply(whole, weight.thousandths),
                        rest * weight.thousandths / Weight::kOne)};
}

template <class Leaf>
std::optional<bool> Bool(Nodes nodes, uint32_t at, Leaf& leaf) {
  if (nodes[at].step == Step::kLeaf) return leaf(nodes[at].leaf);
  const bool stops_at_true = nodes[at].step == Step::kAnyTrue;
  std::optional<bool> result;
  for (uint32_t i = at + 1; i < nodes[at].end; i = nodes[i].end) {
    const std::optional<bool> answer = Bool(nodes, i, leaf);
    if (!answer) continue;
    if (stops_at_true && *answer) return true;
    result = result.value_or(true) && *answer;
  }
  return result;
}

template <Graded V>
bool Vetoes(const V& verdict) {
  return verdict.severity > std::remove_cvref_t<decltype(verdict.severity)>{};
}

template <class Leaf, class Keep>
Answer<Leaf> VerdictOf(Nodes nodes, uint32_t at, Leaf& leaf, Keep& keep) {
  if (nodes[at].step == Step::kLeaf) {
    Answer<Leaf> answer = leaf(nodes[at].leaf);
    if (answer && Vetoes(*answer)) keep(nodes[at].leaf, std::as_const(*answer));
    return answer;
  }
  const bool stops_at_veto = nodes[at].step == Step::kFirstVeto;
  Answer<Leaf> worst;
  for (uint32_t i = at + 1; i < nodes[at].end; i = nodes[i].end) {
    Answer<Leaf> answer = VerdictOf(nodes, i, leaf, keep);
    if (!answer) continue;
    const bool worse = !worst || answer->severity > worst->severity;
    if (worse) worst = std::move(answer);
    if (stops_at_veto && Vetoes(*worst)) return worst;
  }
  return worst;
}

template <class Leaf>
std::optional<Score> ScoreOf(Nodes nodes, uint32_t at, Leaf& leaf) {
  const Program::Node& node = nodes[at];
  if (node.step == Step::kLeaf) {
    const std::optional<int64_t> answer = leaf(node.leaf);
    if (!answer) return std::nullopt;
    return Score{std::clamp<int64_t>(*answer, 0, 100) * node.weight.thousandths};
  }
  std::optional<Score> result;
  for (uint32_t i = at + 1; i < node.end; i = nodes[i].end) {
    const std::optional<Score> answer = ScoreOf(nodes, i, leaf);
    if (!answer) continue;
    if (!result)
      result = answer;
    else if (node.step == Step::kSum)
      result->thousandths = SaturatingAdd(result->thousandths, answer->thousandths);
    else
      result = node.step == Step::kMin ? std::min(*result, *answer) : std::max(*result, *answer);
  }
  if (result) result = Weigh(*result, node.weight);
  return result;
}

template <class Leaf>
Answer<Leaf> FirstAnswer(Nodes nodes, uint32_t at, Leaf& leaf) {
  if (nodes[at].step == Step::kLeaf) return leaf(nodes[at].leaf);
  for (uint32_t i = at + 1; i < nodes[at].end; i = nodes[i].end)
    if (Answer<Leaf> answer = FirstAnswer(nodes, i, leaf)) return answer;
  return std::nullopt;
}

template <class T>
bool StrictlyAscending(const std::vector<T>& set) {
  return std::adjacent_find(set.begin(), set.end(), std::not_fn(std::less<>())) == set.end();
}

template <class T>
void IntersectInto(std::vector<T>& into, const std::vector<T>& with) {
  auto other = with.begin();
  std::erase_if(into, [&](const T& id) {
    while (other != with.end() && *other < id) ++other;
    return other == with.end() || id < *other;
  });
}

template <class T>
void UniteInto(std::vector<T>& into, const std::vector<T>& with) {
  std::vector<T> both;
  both.reserve(into.size() + with.size());
  std::set_union(into.begin(), into.end(), with.begin(), with.end(), std::back_inserter(both));
  into = std::move(both);
}

template <class Leaf>
Answer<Leaf> SetOf(Nodes nodes, uint32_t at, Leaf& leaf) {
  const Step step = nodes[at].step;
  if (step == Step::kLeaf) {
    Answer<Leaf> answer = leaf(nodes[at].leaf);
    if (answer)
      SKY_CHECK(StrictlyAscending(*answer), "leaf {} gave a set that isn't sorted", nodes[at].leaf);
    return answer;
  }
  Answer<Leaf> result;
  for (uint32_t i = at + 1; i < nodes[at].end; i = nodes[i].end) {
    Answer<Leaf> answer = SetOf(nodes, i, leaf);
    if (!answer) continue;
    if (step == Step::kFirstAnswer) return answer;
    if (!result)
      result = std::move(answer);
    else if (step == Step::kIntersect)
      IntersectInto(*result, *answer);
    else
      UniteInto(*result, *answer);
  }
  return result;
}

}  // namespace walk

}  // namespace sky::expr
