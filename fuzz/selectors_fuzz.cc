// SPDX-License-Identifier: Apache-2.0
// Any text: a label selector that is accepted validates, and each of its requirements and the
// opposite one split the labels between them; a field selector that is accepted is the same when it
// is written out again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "api/selectors.h"
#include "base/check.h"

namespace {

using namespace sky::api;

std::string Opposite(const std::string& op) {
  if (op == "In") return "NotIn";
  if (op == "NotIn") return "In";
  return op == "Exists" ? "DoesNotExist" : "Exists";
}

void CheckLabels(std::string_view text) {
  const auto selector = ParseLabelSelector(text);
  if (!selector) return;
  SKY_CHECK(ValidateLabelSelector(*selector).has_value(), "{}", text);
  const StringMap labels = {{"a", "b"}, {"in", "x"}, {"example.com/gpu", ""}};
  bool all = true;
  for (const SelectorRequirement& requirement : selector->match_expressions) {
    LabelSelector one, other;
    one.match_expressions = {requirement};
    other.match_expressions = {requirement};
    other.match_expressions[0].op = Opposite(requirement.op);
    SKY_CHECK(Matches(one, labels) != Matches(other, labels), "{}", text);
    all = all && Matches(one, labels);
  }
  SKY_CHECK(Matches(*selector, labels) == all, "{}", text);
}

std::string Escape(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

void CheckFields(std::string_view text) {
  const auto terms = ParseFieldSelector(text);
  if (!terms) return;
  std::string written;
  for (const FieldTerm& term : *terms)
    written += term.path + (term.equal ? "==" : "!=") + Escape(term.value) + ",";
  const auto again = ParseFieldSelector(written);
  SKY_CHECK(again.has_value() && again->size() == terms->size(), "{} {}", text, written);
  for (size_t i = 0; i < terms->size(); ++i) {
    const FieldTerm &a = (*terms)[i], &b = (*again)[i];
    SKY_CHECK(a.path == b.path && a.value == b.value && a.equal == b.equal, "{} {}", text, written);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckLabels(text);
  CheckFields(text);
  return 0;
}
