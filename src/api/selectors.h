// SPDX-License-Identifier: Apache-2.0
// Label selectors, field selectors, node selectors, taints: pure matching with kube-scheduler's
// semantics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "api/meta.h"
#include "base/result.h"

namespace sky::api {

// A selector as a query writes it: "a=b,c!=d,e in (x,y),f notin (z),g,!h".
Result<LabelSelector> ParseLabelSelector(std::string_view text);

// Operators In, NotIn, Exists, DoesNotExist with their values in order; a bad one is an error.
Status ValidateLabelSelector(const LabelSelector& selector);
// A selector that doesn't validate matches nothing.
bool Matches(const LabelSelector& selector, const StringMap& labels);
// The same for one that is known to validate: for who asks it of many.
bool MatchesValidated(const LabelSelector& selector, const StringMap& labels);

// "spec.nodeName=n1,status.phase!=Failed"; values may be empty; "\\,", "\\=" and "\\\\" are
// escapes.
struct FieldTerm {
  std::string path, value;
  bool equal = true;
};
Result<std::vector<FieldTerm>> ParseFieldSelector(std::string_view text);

// k8s.io/component-helpers nodeaffinity: terms ORed, requirements ANDed, empty term matches
// nothing, Gt/Lt on base-10 int64 only, matchFields only on metadata.name.
bool MatchesNodeTerm(const NodeSelectorTerm& term, std::string_view node_name,
                     const StringMap& labels);
bool MatchesNodeSelector(const NodeSelector& selector, std::string_view node_name,
                         const StringMap& labels);
// nodeSelector AND required node affinity.
bool MatchesNode(const StringMap& node_selector, const NodeAffinity* affinity,
                 std::string_view node_name, const StringMap& labels);

bool Tolerates(const Toleration& toleration, const Taint& taint);
// The first NoSchedule or NoExecute taint that nobody tolerates; nullptr when all are.
const Taint* FindUntolerated(const std::vector<Taint>& taints,
                             const std::vector<Toleration>& tolerations);

}  // namespace sky::api
