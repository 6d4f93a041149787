// SPDX-License-Identifier: Apache-2.0
// Evaluates a Program. The caller supplies the leaves as a function `leaf(uint32_t index)` that
// returns std::optional<value>; nullopt abstains. Operators ignore abstainers and abstain when all
// do; what then stands is the caller's default for the callback. Called in the innermost loops: it
// allocates nothing (sets aside, which are the caller's type), and inlines the leaf. Pure; as
// thread-safe as the leaves are.
#pragma once

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>

#include "expr/walk.h"

namespace sky::expr {

// The keys of one item in the order of their importance; smaller is earlier. The caller appends a
// key that is unique, which makes the order strict and total.
using OrderKey = boost::container::small_vector<int64_t, 8>;
inline std::strong_ordering CompareKeys(const OrderKey& a, const OrderKey& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

template <class Leaf>  // leaf → std::optional<bool>
std::optional<bool> EvaluateBool(const Program& program, Leaf&& leaf) {
  walk::ExpectType(program, Type::kBool);
  if (program.empty()) return std::nullopt;
  return walk::Bool(program.nodes().data(), 0, leaf);
}

// leaf → std::optional<V>. `keep(index, const V&)` is told every verdict met that isn't Fit: under
// joint that is everyone's, under firstNotPass the one that stopped it. Which of equally bad
// verdicts becomes joint's result follows the order of the leaves, not the order in the text.
template <class Leaf, class Keep>
  requires Graded<typename walk::Answer<Leaf>::value_type>
walk::Answer<Leaf> EvaluateVerdict(const Program& program, Leaf&& leaf, Keep&& keep) {
  walk::ExpectType(program, Type::kVerdict);
  if (program.empty()) return std::nullopt;
  return walk::VerdictOf(program.nodes().data(), 0, leaf, keep);
}
template <class Leaf>
walk::Answer<Leaf> EvaluateVerdict(const Program& program, Leaf&& leaf) {
  return EvaluateVerdict(program, leaf, [](uint32_t, const auto&) {});
}

template <class Leaf>  // leaf → std::optional<int64_t>, clamped to 0…100
std::optional<Score> EvaluateScore(const Program& program, Leaf&& leaf) {
  walk::ExpectType(program, Type::kScore);
  if (program.empty()) return std::nullopt;
  return walk::ScoreOf(program.nodes().data(), 0, leaf);
}

template <class Leaf>  // leaf → std::optional<target of any type>; naming none is abstaining
walk::Answer<Leaf> EvaluateTarget(const Program& program, Leaf&& leaf) {
  walk::ExpectType(program, Type::kTarget);
  if (program.empty()) return std::nullopt;
  return walk::FirstAnswer(program.nodes().data(), 0, leaf);
}

// leaf → std::optional<std::vector<T>>, each strictly ascending. An empty set is an answer and
// stays empty.
template <class Leaf>
walk::Answer<Leaf> EvaluateSet(const Program& program, Leaf&& leaf) {
  walk::ExpectType(program, Type::kSet);
  if (program.empty()) return std::nullopt;
  return walk::SetOf(program.nodes().data(), 0, leaf);
}

// leaf → std::optional<int64_t>: the key of one item. One key a leaf, always as many: who abstains
// counts as 0, because leaving a key out of single comparisons would make the order intransitive.
template <class Leaf>
OrderKey EvaluateOrderKey(const Program& program, Leaf&& leaf) {
  walk::ExpectType(program, Type::kOrderKey);
  OrderKey key;
  for (const Program::Node& node : program.nodes())
    if (node.step == Step::kLeaf)
      key.push_back(std::optional<int64_t>(leaf(node.leaf)).value_or(0));
  return key;
}

}  // namespace sky::expr
