// SPDX-License-Identifier: Apache-2.0
// What every API object shares. Types here are values: each lists its JSON fields once, in
// Fields(), and reader, writer and the CRD check (api/json.h, crd_test.cc) all follow that list.
//
// Fields(self, v) calls v("jsonName", self.member) once a field, in the order in which they are
// written. A zero value (empty text, list or map, nullopt, false, 0) is left out on writing.
#pragma once

#include <boost/container/flat_map.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/quantity.h"
#include "base/clock.h"

namespace sky::api {

template <class T>
using FlatMap = boost::container::flat_map<std::string, T, std::less<>>;
using StringMap = FlatMap<std::string>;
using ResourceList = FlatMap<Quantity>;  // resource name → amount

// An instant as JSON text with whole seconds (metav1.Time); absent when never set.
struct Time {
  std::optional<WallTime> at;
  bool operator==(const Time&) const = default;
};
// The same with microseconds (metav1.MicroTime).
struct MicroTime {
  std::optional<WallTime> at;
  bool operator==(const MicroTime&) const = default;
};

// An int or a text in JSON (intstr.IntOrString), kept as text: "50%" or "3".
struct IntOrString {
  std::string text;
  bool is_int = false;
  bool operator==(const IntOrString&) const = default;
};

// Members that we don't know, kept as raw JSON and written back: for types that we PUT.
struct Extra {
  std::vector<std::pair<std::string, std::string>>
      members;  // name → JSON text, in order of appearance
  bool operator==(const Extra&) const = default;
};

struct OwnerReference {
  std::string api_version, kind, name, uid;
  bool controller = false;
  bool block_owner_deletion = false;
  bool operator==(const OwnerReference&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("apiVersion", s.api_version), v("kind", s.kind), v("name", s.name), v("uid", s.uid);
    v("controller", s.controller), v("blockOwnerDeletion", s.block_owner_deletion);
  }
};

struct ObjectMeta {
  std::string name, namespace_, uid, resource_version, generate_name;
  int64_t generation = 0;
  Time creation_timestamp, deletion_timestamp;
  std::optional<int64_t> deletion_grace_period_seconds;
  StringMap labels, annotations;
  std::vector<OwnerReference> owner_references;
  std::vector<std::string> finalizers;

  bool operator==(const ObjectMeta&) const = default;
  bool deleting() const { return deletion_timestamp.at.has_value(); }
  const OwnerReference* Controller() const;
  // Empty when absent.
  std::string_view Label(std::string_view key) const;
  std::string_view Annotation(std::string_view key) const;
  // "namespace/name", or "name" for a cluster-scoped object.
  std::string Key() const;

  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("name", s.name), v("generateName", s.generate_name), v("namespace", s.namespace_),
        v("uid", s.uid);
    v("resourceVersion", s.resource_version), v("generation", s.generation);
    v("creationTimestamp", s.creation_timestamp), v("deletionTimestamp", s.deletion_timestamp);
    v("deletionGracePeriodSeconds", s.deletion_grace_period_seconds);
    v("labels", s.labels), v("annotations", s.annotations);
    v("ownerReferences", s.owner_references), v("finalizers", s.finalizers);
  }
};

struct Condition {
  std::string type, status, reason, message;  // status: "True", "False" or "Unknown"
  Time last_transition_time, last_heartbeat_time;
  int64_t observed_generation = 0;
  bool operator==(const Condition&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("type", s.type), v("status", s.status), v("observedGeneration", s.observed_generation);
    v("lastHeartbeatTime", s.last_heartbeat_time), v("lastTransitionTime", s.last_transition_time);
    v("reason", s.reason), v("message", s.message);
  }
};

struct SelectorRequirement {  // of labels (LabelSelector) and of node labels (NodeSelectorTerm)
                              // alike
  std::string key, op;        // In, NotIn, Exists, DoesNotExist, and for nodes Gt, Lt
  std::vector<std::string> values;
  bool operator==(const SelectorRequirement&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("key", s.key), v("operator", s.op), v("values", s.values);
  }
};

struct LabelSelector {  // an absent selector matches nothing, an empty one everything
  StringMap match_labels;
  std::vector<SelectorRequirement> match_expressions;
  bool operator==(const LabelSelector&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("matchLabels", s.match_labels), v("matchExpressions", s.match_expressions);
  }
};

struct Toleration {
  std::string key, op, value, effect;
  std::optional<int64_t> toleration_seconds;
  bool operator==(const Toleration&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("key", s.key), v("operator", s.op), v("value", s.value), v("effect", s.effect);
    v("tolerationSeconds", s.toleration_seconds);
  }
};

struct NodeSelectorTerm {
  std::vector<SelectorRequirement> match_expressions, match_fields;
  bool operator==(const NodeSelectorTerm&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("matchExpressions", s.match_expressions), v("matchFields", s.match_fields);
  }
};

struct NodeSelector {  // terms are ORed; an empty list matches nothing
  std::vector<NodeSelectorTerm> node_selector_terms;
  bool operator==(const NodeSelector&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("nodeSelectorTerms", s.node_selector_terms);
  }
};

struct PreferredSchedulingTerm {
  int32_t weight = 0;
  NodeSelectorTerm preference;
  bool operator==(const PreferredSchedulingTerm&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("weight", s.weight), v("preference", s.preference);
  }
};

struct NodeAffinity {
  std::optional<NodeSelector> required;
  std::vector<PreferredSchedulingTerm> preferred;
  bool operator==(const NodeAffinity&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("requiredDuringSchedulingIgnoredDuringExecution", s.required);
    v("preferredDuringSchedulingIgnoredDuringExecution", s.preferred);
  }
};

}  // namespace sky::api
