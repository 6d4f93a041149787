// SPDX-License-Identifier: Apache-2.0
#include "api/selectors.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/names.h"

namespace sky::api {
namespace {

bool Contains(const std::vector<std::string>& values, std::string_view value) {
  return std::ranges::find(values, value) != values.end();
}

Status ValidateRequirement(const SelectorRequirement& requirement) {
  const auto& [key, op, values] = requirement;
  if (!IsQualifiedName(key)) return Fail(Code::kInvalid, "\"{}\" is not a label's name", key);
  if (op == "In" || op == "NotIn") {
    if (values.empty())
      return Fail(Code::kInvalid, "{} of \"{}\" needs at least one value", op, key);
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) return Fail(Code::kInvalid, "{} of \"{}\" takes no values", op, key);
  } else {
    return Fail(Code::kInvalid, "\"{}\" of \"{}\" is not one of In, NotIn, Exists, DoesNotExist",
                op, key);
  }
  const auto bad = std::ranges::find_if_not(values, IsLabelValue);
  if (bad == values.end()) return {};
  return Fail(Code::kInvalid, "\"{}\" can't be the value of a label (of \"{}\")", *bad, key);
}

// Of a requirement that validated.
bool MatchesValid(const SelectorRequirement& requirement, const StringMap& labels) {
  const auto label = labels.find(requirement.key);
  const bool present = label != labels.end();
  if (requirement.op == "Exists") return present;
  if (requirement.op == "DoesNotExist") return !present;
  const bool listed = present && Contains(requirement.values, label->second);
  return requirement.op == "In" ? listed : !listed;
}

// As Go's ParseInt(text, 10, 64).
std::optional<int64_t> ParseInteger(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool MatchesOrder(const SelectorRequirement& requirement, const StringMap& labels) {
  const auto& [key, op, values] = requirement;
  if (values.size() != 1 || !IsQualifiedName(key) || !IsLabelValue(values[0])) return false;
  const auto label = labels.find(key);
  if (label == labels.end()) return false;
  const auto bound = ParseInteger(values[0]);
  const auto value = ParseInteger(label->second);
  if (!bound || !value) return false;
  return op == "Gt" ? *value > *bound : *value < *bound;
}

bool MatchesExpression(const SelectorRequirement& requirement, const StringMap& labels) {
  if (requirement.op == "Gt" || requirement.op == "Lt") return MatchesOrder(requirement, labels);
  return ValidateRequirement(requirement).has_value() && MatchesValid(requirement, labels);
}

bool MatchesField(const SelectorRequirement& requirement, std::string_view node_name) {
  const auto& [key, op, values] = requirement;
  if (key != "metadata.name" || values.size() != 1) return false;
  if (op == "In") return values[0] == node_name;
  return op == "NotIn" && values[0] != node_name;
}

}  // namespace

Status ValidateLabelSelector(const LabelSelector& selector) {
  for (const auto& [key, value] : selector.match_labels)
    TRY(ValidateRequirement({key, "In", {value}}), "matchLabels");
  for (size_t i = 0; i < selector.match_expressions.size(); ++i)
    TRY(ValidateRequirement(selector.match_expressions[i]), "matchExpressions[{}]", i);
  return {};
}

bool Matches(const LabelSelector& selector, const StringMap& labels) {
  return ValidateLabelSelector(selector).has_value() && MatchesValidated(selector, labels);
}

bool MatchesValidated(const LabelSelector& selector, const StringMap& labels) {
  return std::ranges::all_of(selector.match_labels,
                             [&](const auto& wanted) {
                               const auto label = labels.find(wanted.first);
                               return label != labels.end() && label->second == wanted.second;
                             }) &&
         std::ranges::all_of(selector.match_expressions, [&](const auto& requirement) {
           return MatchesValid(requirement, labels);
         });
}

bool MatchesNodeTerm(const NodeSelectorTerm& term, std::string_view node_name,
                     const StringMap& labels) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  return std::ranges::all_of(term.match_expressions,
                             [&](const auto& e) { return MatchesExpression(e, labels); }) &&
         std::ranges::all_of(term.match_fields,
                             [&](const auto& f) { return MatchesField(f, node_name); });
}

bool MatchesNodeSelector(const NodeSelector& selector, std::string_view node_name,
                         const StringMap& labels) {
  return std::ranges::any_of(selector.node_selector_terms, [&](const NodeSelectorTerm& term) {
    return MatchesNodeTerm(term, node_name, labels);
  });
}

bool MatchesNode(const StringMap& node_selector, const NodeAffinity* affinity,
                 std::string_view node_name, const StringMap& labels) {
  for (const auto& [key, value] : node_selector) {
    const auto label = labels.find(key);
    if (label == labels.end() || label->second != value) return false;
  }
  return !affinity || !affinity->required ||
         MatchesNodeSelector(*affinity->required, node_name, labels);
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  // An empty key stands for every key, which only Exists may ask.
  const bool equal = toleration.op.empty() || toleration.op == "Equal";
  return equal && !toleration.key.empty() && toleration.value == taint.value;
}

const Taint* FindUntolerated(const std::vector<Taint>& taints,
                             const std::vector<Toleration>& tolerations) {
  const auto it = std::ranges::find_if(taints, [&](const Taint& taint) {
    return (taint.effect == "NoSchedule" || taint.effect == "NoExecute") &&
           std::ranges::none_of(tolerations,
                                [&](const Toleration& t) { return Tolerates(t, taint); });
  });
  return it == taints.end() ? nullptr : &*it;
}

}  // namespace sky::api
