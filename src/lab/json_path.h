// SPDX-License-Identifier: Apache-2.0
// The JSONPath that printer columns use: ".spec.queue", ".status.allocated['nvidia\.com/gpu']",
// ".status.tasks[0].name", ".spec.nodes[*]", ".status.conditions[?(@.type==\"Ready\")].status".
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/document.h"

namespace sky::lab {

class JsonPath {
 public:
  // Refuses what it doesn't know, with the place.
  static Result<JsonPath> Parse(std::string_view text);
  // All values there, in order; they live as long as the document.
  std::vector<const Json*> Evaluate(const Json& document) const;

 private:
  struct Step {
    enum class Kind : uint8_t { kMember, kIndex, kAll, kWhere };
    Kind kind = Kind::kMember;
    std::string name;                // kMember
    int64_t index = 0;               // kIndex; negative counts from the end
    std::vector<std::string> field;  // kWhere: @.a.b == value
    std::string value;
  };
  static Result<Step> ParseBracket(std::string_view inside, std::string_view whole);
  static void Take(const Step& step, const Json& at, std::vector<const Json*>& out);
  std::vector<Step> steps_;
};

}  // namespace sky::lab
