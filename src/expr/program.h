// SPDX-License-Identifier: Apache-2.0
// An expression compiled for one callback: names are leaf indexes, `all` is spelled out, nested
// equal operators are flattened, plugins that don't take part are gone. Made once when plugins have
// registered, then evaluated (evaluate.h) in the inner loops, by any number of threads at once: it
// never changes.
//
//   joint(a, joint(b, c))  →  Worst[0..4) ├ Leaf a   nodes in prefix order in one array; a node's
//   children
//                                         ├ Leaf b   begin right behind it, and each says where it
//                                         ends └ Leaf c
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "expr/expression.h"

namespace sky::expr {

// What an operator does once the kind of value is known.
enum class Step : uint8_t {
  kLeaf,
  kAllTrue,      // and over bools
  kAnyTrue,      // or over bools: stops at the first true
  kWorst,        // joint, and over verdicts: asks everyone
  kFirstVeto,    // firstNotPass, or over verdicts: stops at the first verdict that isn't Fit
  kFirstAnswer,  // first, or over targets and sets: stops at the first that doesn't abstain
  kIntersect,
  kUnion,
  kSum,
  kMin,
  kMax,
  kKeys,  // first over order keys: all of them, compared one after another
};

class Program {
 public:
  struct Node {
    Step step = Step::kLeaf;
    uint32_t leaf = 0;  // kLeaf: index into the leaves given to Compile
    uint32_t end = 0;   // one behind the last node of this subtree
    Weight weight;
    bool operator==(const Node&) const = default;
  };

  // Nobody takes part, so it abstains.
  explicit Program(Type type) : type_(type) {}

  // `leaves` are the plugins that registered the callback, in the order of the configuration. Names
  // that are none of them abstain always and are dropped. Fails as Check does.
  static std::expected<Program, Problem> Compile(const Expression& expression, Type type,
                                                 std::span<const std::string> leaves);

  Type type() const { return type_; }
  bool empty() const { return nodes_.empty(); }
  std::span<const Node> nodes() const { return nodes_; }

  // Equal programs answer alike. Permuted arguments of and, joint, intersect, union, sum, min and
  // max give equal programs.
  bool operator==(const Program&) const = default;

 private:
  Type type_;
  std::vector<Node> nodes_;
};

}  // namespace sky::expr
