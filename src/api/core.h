// SPDX-License-Identifier: Apache-2.0
// The other Kubernetes kinds that we read or write: Node, Lease, Event, PodDisruptionBudget,
// PriorityClass. Lease is PUT, so it keeps the members that we don't know.
#pragma once

#include "api/meta.h"

namespace sky::api {

struct Taint {
  std::string key, value, effect;
  Time time_added;
  bool operator==(const Taint&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("key", s.key), v("value", s.value), v("effect", s.effect), v("timeAdded", s.time_added);
  }
};

struct NodeSpec {
  bool unschedulable = false;
  std::vector<Taint> taints;
  bool operator==(const NodeSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("unschedulable", s.unschedulable), v("taints", s.taints);
  }
};

struct NodeStatus {
  ResourceList capacity, allocatable;
  std::vector<Condition> conditions;
  bool operator==(const NodeStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("capacity", s.capacity), v("allocatable", s.allocatable), v("conditions", s.conditions);
  }
};

struct Node {
  ObjectMeta metadata;
  NodeSpec spec;
  NodeStatus status;
  bool operator==(const Node&) const = default;
  const Condition* FindCondition(std::string_view type) const;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct LeaseSpec {
  std::string holder_identity;
  std::optional<int32_t> lease_duration_seconds, lease_transitions;
  MicroTime acquire_time, renew_time;
  Extra extra;
  bool operator==(const LeaseSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("holderIdentity", s.holder_identity), v("leaseDurationSeconds", s.lease_duration_seconds);
    v("acquireTime", s.acquire_time), v("renewTime", s.renew_time),
        v("leaseTransitions", s.lease_transitions);
  }
};

struct Lease {
  ObjectMeta metadata;
  LeaseSpec spec;
  bool operator==(const Lease&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec);
  }
};

struct ObjectReference {
  std::string api_version, kind, name, namespace_, uid, resource_version;
  bool operator==(const ObjectReference&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("kind", s.kind), v("namespace", s.namespace_), v("name", s.name), v("uid", s.uid);
    v("apiVersion", s.api_version), v("resourceVersion", s.resource_version);
  }
};

struct EventSeries {
  int32_t count = 0;
  MicroTime last_observed_time;
  bool operator==(const EventSeries&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("count", s.count), v("lastObservedTime", s.last_observed_time);
  }
};

struct Event {  // events.k8s.io/v1
  ObjectMeta metadata;
  MicroTime event_time;
  std::optional<EventSeries> series;
  std::string reporting_controller, reporting_instance, action, reason, note,
      type;  // type: Normal, Warning
  ObjectReference regarding;
  std::optional<ObjectReference> related;
  bool operator==(const Event&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("eventTime", s.event_time), v("series", s.series);
    v("reportingController", s.reporting_controller), v("reportingInstance", s.reporting_instance);
    v("action", s.action), v("reason", s.reason), v("regarding", s.regarding),
        v("related", s.related);
    v("note", s.note), v("type", s.type);
  }
};

struct PodDisruptionBudgetSpec {
  std::optional<IntOrString> min_available, max_unavailable;
  std::optional<LabelSelector> selector;
  bool operator==(const PodDisruptionBudgetSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("minAvailable", s.min_available), v("maxUnavailable", s.max_unavailable),
        v("selector", s.selector);
  }
};

struct PodDisruptionBudgetStatus {
  int64_t observed_generation = 0;
  int32_t disruptions_allowed = 0, current_healthy = 0, desired_healthy = 0, expected_pods = 0;
  FlatMap<Time> disrupted_pods;
  bool operator==(const PodDisruptionBudgetStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("observedGeneration", s.observed_generation), v("disruptedPods", s.disrupted_pods);
    v("disruptionsAllowed", s.disruptions_allowed), v("currentHealthy", s.current_healthy);
    v("desiredHealthy", s.desired_healthy), v("expectedPods", s.expected_pods);
  }
};

struct PodDisruptionBudget {
  ObjectMeta metadata;
  PodDisruptionBudgetSpec spec;
  PodDisruptionBudgetStatus status;
  bool operator==(const PodDisruptionBudget&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct PriorityClass {
  ObjectMeta metadata;
  int32_t value = 0;
  bool global_default = false;
  std::string description, preemption_policy;
  bool operator==(const PriorityClass&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("value", s.value), v("globalDefault", s.global_default);
    v("description", s.description), v("preemptionPolicy", s.preemption_policy);
  }
};

}  // namespace sky::api
