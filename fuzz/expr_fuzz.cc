// SPDX-License-Identifier: Apache-2.0
// Any text: it parses or is refused with a position inside it; what parses prints to a text that
// parses to the same, and compiles and evaluates for every kind of value that it fits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "expr/evaluate.h"

namespace {

using namespace sky::expr;

struct Verdict {
  int severity = 0;
};

const std::vector<std::string>& Leaves() {
  static const std::vector<std::string> leaves = {"a", "b", "topology", "gang"};
  return leaves;
}

void Evaluate(const Program& program) {
  switch (program.type()) {
    case Type::kBool:
      EvaluateBool(program, [](uint32_t i) { return std::optional<bool>(i % 2 == 0); });
      break;
    case Type::kVerdict:
      EvaluateVerdict(program,
                      [](uint32_t i) { return std::optional(Verdict{static_cast<int>(i)}); });
      break;
    case Type::kTarget:
      EvaluateTarget(program, [](uint32_t i) { return std::optional(i); });
      break;
    case Type::kSet:
      EvaluateSet(program,
                  [](uint32_t i) { return std::optional(std::vector<uint32_t>{i, i + 1}); });
      break;
    case Type::kScore: {
      const auto score =
          EvaluateScore(program, [](uint32_t i) { return std::optional(int64_t{i} * 40); });
      SKY_CHECK(!score || score->thousandths >= 0, "score {}", score->thousandths);
      break;
    }
    case Type::kOrderKey:
      EvaluateOrderKey(program, [](uint32_t i) { return std::optional(int64_t{i}); });
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = Parse(text);
  if (!parsed) {
    SKY_CHECK(parsed.error().at.column >= 1 &&
              parsed.error().at.column <= static_cast<int>(size) + 1);
    return 0;
  }
  const auto again = Parse(Print(*parsed));
  SKY_CHECK(again && *again == *parsed, "printed {}", Print(*parsed));
  for (size_t i = 0; i < kTypeCount; ++i) {
    const Type type = static_cast<Type>(i);
    const auto program = Program::Compile(*parsed, type, Leaves());
    SKY_CHECK(program.has_value() == Check(*parsed, type).has_value());
    if (program) Evaluate(*program);
  }
  return 0;
}
