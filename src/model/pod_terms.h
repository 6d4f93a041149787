// SPDX-License-Identifier: Apache-2.0
// What the terms of pod affinity and the constraints of topology spread say about other pods, in
// one form. Namespaces are told from each other by name alone: their objects aren't read, so a
// selector of namespaces sees the one label that every namespace has, kubernetes.io/metadata.name.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"

namespace sky::model {

class PodTerm {
 public:
  PodTerm(const api::PodAffinityTerm& term, std::string_view own_namespace);
  // Pods of the same namespace that aren't leaving; an empty selector counts none.
  PodTerm(const api::TopologySpreadConstraint& constraint, const api::ObjectMeta& own);

  const std::string& key() const { return key_; }  // of the topology
  bool Matches(const api::ObjectMeta& pod) const;
  // Equal terms have equal text.
  const std::string& text() const { return text_; }

 private:
  void Finish();

  std::string key_, text_;
  std::vector<std::string> namespaces_;                          // sorted
  std::optional<api::LabelSelector> of_namespaces_, of_labels_;  // absent: none
  bool leaving_ = true;                                          // pods that are leaving count too
};

// An empty selector is everybody's, though it counts nobody.
bool CountsItself(const api::TopologySpreadConstraint& constraint, const api::ObjectMeta& own);

// The parts of a pod's affinity; null without any.
const api::PodAffinity* AffinityOf(const api::Pod& pod);
const api::PodAffinity* AntiAffinityOf(const api::Pod& pod);
// May anything that it says depend on other pods, or do other pods depend on it?
bool HasPodTerms(const api::Pod& pod);
// A pod like it can't stand on its node: its ports are the node's, or it says so itself.
bool OneOnANode(const api::Pod& pod);

}  // namespace sky::model
