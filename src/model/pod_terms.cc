// SPDX-License-Identifier: Apache-2.0
#include "model/pod_terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/selectors.h"

namespace sky::model {
namespace {

using api::LabelSelector;

// With its length, so that no text can be read as two others.
void Append(std::string& text, std::string_view piece) {
  fmt::format_to(std::back_inserter(text), "{}:{}", piece.size(), piece);
}

void Append(std::string& text, const std::optional<LabelSelector>& selector) {
  if (!selector) return text.push_back('-'), void();
  fmt::format_to(std::back_inserter(text), "({} {}", selector->match_labels.size(),
                 selector->match_expressions.size());
  for (const auto& [key, value] : selector->match_labels) Append(text, key), Append(text, value);
  for (const api::SelectorRequirement& one : selector->match_expressions) {
    Append(text, one.key), Append(text, one.op);
    text += std::to_string(one.values.size());
    for (const std::string& value : one.values) Append(text, value);
  }
  text.push_back(')');
}

// One that doesn't validate matches nothing, as an absent one.
std::optional<LabelSelector> Valid(const std::optional<LabelSelector>& selector) {
  return selector && api::ValidateLabelSelector(*selector) ? selector : std::nullopt;
}

bool Empty(const LabelSelector& selector) {
  return selector.match_labels.empty() && selector.match_expressions.empty();
}

// With matchLabelKeys: the pod's own values of these labels are asked of the others too.
std::optional<LabelSelector> SpreadSelector(const api::TopologySpreadConstraint& constraint,
                                            const api::ObjectMeta& own) {
  std::optional<LabelSelector> selector = Valid(constraint.label_selector);
  if (!selector) return selector;
  for (const std::string& key : constraint.match_label_keys)
    if (const auto label = own.labels.find(key); label != own.labels.end())
      selector->match_expressions.push_back({key, "In", {label->second}});
  return selector;
}

}  // namespace

PodTerm::PodTerm(const api::PodAffinityTerm& term, std::string_view own_namespace)
    : key_(term.topology_key),
      namespaces_(term.namespaces),
      of_namespaces_(Valid(term.namespace_selector)),
      of_labels_(Valid(term.label_selector)) {
  if (namespaces_.empty() && !term.namespace_selector) namespaces_.emplace_back(own_namespace);
  Finish();
}

PodTerm::PodTerm(const api::TopologySpreadConstraint& constraint, const api::ObjectMeta& own)
    : key_(constraint.topology_key),
      namespaces_{own.namespace_},
      of_labels_(SpreadSelector(constraint, own)),
      leaving_(false) {
  if (of_labels_ && Empty(*of_labels_)) of_labels_.reset();
  Finish();
}

void PodTerm::Finish() {
  std::sort(namespaces_.begin(), namespaces_.end());
  Append(text_, key_);
  text_ += std::to_string(namespaces_.size());
  for (const std::string& name : namespaces_) Append(text_, name);
  Append(text_, of_namespaces_);
  Append(text_, of_labels_);
  text_.push_back(leaving_ ? 'l' : '-');
}

bool PodTerm::Matches(const api::ObjectMeta& pod) const {
  if (!of_labels_ || (!leaving_ && pod.deleting())) return false;
  if (!std::binary_search(namespaces_.begin(), namespaces_.end(), pod.namespace_)) {
    if (!of_namespaces_) return false;
    const api::StringMap labels{{"kubernetes.io/metadata.name", pod.namespace_}};
    if (!Empty(*of_namespaces_) && !api::MatchesValidated(*of_namespaces_, labels)) return false;
  }
  return api::MatchesValidated(*of_labels_, pod.labels);
}

bool CountsItself(const api::TopologySpreadConstraint& constraint, const api::ObjectMeta& own) {
  const std::optional<LabelSelector> selector = SpreadSelector(constraint, own);
  return selector && api::MatchesValidated(*selector, own.labels);
}

const api::PodAffinity* AffinityOf(const api::Pod& pod) {
  return pod.spec.affinity && pod.spec.affinity->pod ? &*pod.spec.affinity->pod : nullptr;
}

const api::PodAffinity* AntiAffinityOf(const api::Pod& pod) {
  return pod.spec.affinity && pod.spec.affinity->pod_anti ? &*pod.spec.affinity->pod_anti : nullptr;
}

bool OneOnANode(const api::Pod& pod) {
  const auto takes_port = [](const api::Container& container) {
    return std::ranges::any_of(container.ports,
                               [](const api::ContainerPort& port) { return port.host_port > 0; });
  };
  if (std::ranges::any_of(pod.spec.containers, takes_port)) return true;
  const api::PodAffinity* away = AntiAffinityOf(pod);
  return away != nullptr && std::ranges::any_of(away->required, [&](const auto& term) {
           return term.topology_key == "kubernetes.io/hostname" &&
                  PodTerm(term, pod.metadata.namespace_).Matches(pod.metadata);
         });
}

bool HasPodTerms(const api::Pod& pod) {
  return AffinityOf(pod) != nullptr || AntiAffinityOf(pod) != nullptr ||
         !pod.spec.topology_spread_constraints.empty();
}

}  // namespace sky::model
