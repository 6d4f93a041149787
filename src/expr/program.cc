// SPDX-License-Identifier: Apache-2.0
#include "expr/program.h"

#include <algorithm>
#include <compare>
#include <iterator>
#include <optional>
#include <utility>

#include "base/check.h"

namespace sky::expr {
namespace {

// A node of the tree while it is still rearranged.
struct Draft {
  Step step = Step::kLeaf;
  uint32_t leaf = 0;
  Weight weight;
  std::vector<Draft> children;

  std::strong_ordering operator<=>(const Draft& other) const {
    if (const auto order = step <=> other.step; order != 0) return order;
    if (const auto order = leaf <=> other.leaf; order != 0) return order;
    if (const auto order = weight <=> other.weight; order != 0) return order;
    return std::lexicographical_compare_three_way(children.begin(), children.end(),
                                                  other.children.begin(), other.children.end());
  }
  bool operator==(const Draft& other) const { return (*this <=> other) == 0; }
};

Step StepOf(Op op, Type type) {
  switch (op) {
    case Op::kAnd:
      return type == Type::kBool ? Step::kAllTrue : Step::kWorst;
    case Op::kOr:
      if (type == Type::kBool) return Step::kAnyTrue;
      return type == Type::kVerdict ? Step::kFirstVeto : Step::kFirstAnswer;
    case Op::kJoint:
      return Step::kWorst;
    case Op::kIntersect:
      return Step::kIntersect;
    case Op::kUnion:
      return Step::kUnion;
    case Op::kSum:
      return Step::kSum;
    case Op::kMin:
      return Step::kMin;
    case Op::kMax:
      return Step::kMax;
    case Op::kFirst:
      return type == Type::kOrderKey ? Step::kKeys : Step::kFirstAnswer;
    case Op::kFirstNotPass:
      return Step::kFirstVeto;
  }
  SKY_CHECK(false, "operator {}", static_cast<int>(op));
  return Step::kLeaf;
}

bool OrderMatters(Step step) {
  return step == Step::kAnyTrue || step == Step::kFirstVeto || step == Step::kFirstAnswer ||
         step == Step::kKeys;
}

class Compiler {
 public:
  Compiler(Type type, std::span<const std::string> leaves) : type_(type), leaves_(leaves) {}

  // Adds what the expression stands for: nothing where nobody takes part, several for `all`.
  void AddTo(std::vector<Draft>& siblings, const Expression& expression) const {
    const Weight weight = expression.weight.value_or(Weight{});
    switch (expression.kind) {
      case Expression::Kind::kAll:
        for (uint32_t i = 0; i < leaves_.size(); ++i)
          siblings.push_back({Step::kLeaf, i, weight, {}});
        break;
      case Expression::Kind::kName: {
        const auto found = std::find(leaves_.begin(), leaves_.end(), expression.name);
        if (found == leaves_.end()) break;
        siblings.push_back(
            {Step::kLeaf, static_cast<uint32_t>(found - leaves_.begin()), weight, {}});
        break;
      }
      case Expression::Kind::kCall: {
        Draft call{StepOf(expression.op, type_), 0, weight, {}};
        for (const Expression& argument : expression.arguments) AddTo(call.children, argument);
        if (call.children.empty()) break;
        siblings.push_back(Simplify(std::move(call)));
        break;
      }
    }
  }

 private:
  static Draft Simplify(Draft call) {
    std::vector<Draft> flat;
    for (Draft& child : call.children) {
      // A weighted operator rounds once for all of its arguments, so it has to stay.
      if (child.step == call.step && child.weight == Weight{})
        std::move(child.children.begin(), child.children.end(), std::back_inserter(flat));
      else
        flat.push_back(std::move(child));
    }
    if (!OrderMatters(call.step)) {
      std::sort(flat.begin(), flat.end());
      if (call.step != Step::kSum) flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
    }
    call.children = std::move(flat);
    return Unwrap(std::move(call));
  }

  // joint(a) is a, and sum(a*2)*1 is a*2; kKeys of one is that one key.
  static Draft Unwrap(Draft call) {
    if (call.children.size() != 1) return call;
    Draft& only = call.children.front();
    if (only.weight != Weight{} && call.weight != Weight{}) return call;
    if (only.weight == Weight{}) only.weight = call.weight;
    return Draft(std::move(only));
  }

  Type type_;
  std::span<const std::string> leaves_;
};

void Emit(const Draft& draft, std::vector<Program::Node>& nodes) {
  const size_t at = nodes.size();
  nodes.push_back({draft.step, draft.leaf, 0, draft.weight});
  for (const Draft& child : draft.children) Emit(child, nodes);
  nodes[at].end = static_cast<uint32_t>(nodes.size());
}

}  // namespace

std::expected<Program, Problem> Program::Compile(const Expression& expression, Type type,
                                                 std::span<const std::string> leaves) {
  TRY(Check(expression, type));
  std::vector<Draft> whole;
  Compiler(type, leaves).AddTo(whole, expression);
  Program program(type);
  for (const Draft& draft : whole) Emit(draft, program.nodes_);
  return program;
}

}  // namespace sky::expr
