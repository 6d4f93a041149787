// SPDX-License-Identifier: Apache-2.0
// core/v1 Pod: the fields that scheduling reads. What isn't listed is dropped on decoding, which is
// safe because pods are only ever patched, bound or evicted, never PUT.
#pragma once

#include "api/meta.h"

namespace sky::api {

struct ResourceRequirements {
  ResourceList requests, limits;
  bool operator==(const ResourceRequirements&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("requests", s.requests), v("limits", s.limits);
  }
};

struct ContainerPort {
  int32_t host_port = 0, container_port = 0;
  std::string protocol, host_ip;  // "" is TCP; "" is 0.0.0.0
  bool operator==(const ContainerPort&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("hostPort", s.host_port), v("containerPort", s.container_port), v("protocol", s.protocol),
        v("hostIP", s.host_ip);
  }
};

struct Container {
  std::string name, image,
      restart_policy;  // restartPolicy "Always" makes an init container a sidecar
  ResourceRequirements resources;
  std::vector<ContainerPort> ports;
  bool operator==(const Container&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("name", s.name), v("image", s.image), v("restartPolicy", s.restart_policy);
    v("resources", s.resources), v("ports", s.ports);
  }
};

struct PodAffinityTerm {
  std::optional<LabelSelector> label_selector, namespace_selector;
  std::vector<std::string> namespaces;
  std::string topology_key;
  bool operator==(const PodAffinityTerm&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("labelSelector", s.label_selector), v("namespaces", s.namespaces);
    v("topologyKey", s.topology_key), v("namespaceSelector", s.namespace_selector);
  }
};

struct WeightedPodAffinityTerm {
  int32_t weight = 0;
  PodAffinityTerm term;
  bool operator==(const WeightedPodAffinityTerm&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("weight", s.weight), v("podAffinityTerm", s.term);
  }
};

struct PodAffinity {  // podAffinity and podAntiAffinity have one form
  std::vector<PodAffinityTerm> required;
  std::vector<WeightedPodAffinityTerm> preferred;
  bool operator==(const PodAffinity&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("requiredDuringSchedulingIgnoredDuringExecution", s.required);
    v("preferredDuringSchedulingIgnoredDuringExecution", s.preferred);
  }
};

struct Affinity {
  std::optional<NodeAffinity> node;
  std::optional<PodAffinity> pod, pod_anti;
  bool operator==(const Affinity&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("nodeAffinity", s.node), v("podAffinity", s.pod), v("podAntiAffinity", s.pod_anti);
  }
};

struct TopologySpreadConstraint {
  int32_t max_skew = 0;
  std::string topology_key, when_unsatisfiable, node_affinity_policy, node_taints_policy;
  std::optional<LabelSelector> label_selector;
  std::optional<int32_t> min_domains;
  std::vector<std::string> match_label_keys;
  bool operator==(const TopologySpreadConstraint&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("maxSkew", s.max_skew), v("topologyKey", s.topology_key),
        v("whenUnsatisfiable", s.when_unsatisfiable);
    v("labelSelector", s.label_selector), v("minDomains", s.min_domains);
    v("nodeAffinityPolicy", s.node_affinity_policy), v("nodeTaintsPolicy", s.node_taints_policy);
    v("matchLabelKeys", s.match_label_keys);
  }
};

struct NamedRef {  // a scheduling gate, or the claim of a volume
  std::string name;
  bool operator==(const NamedRef&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("name", s.name);
  }
};

struct PersistentVolumeClaimSource {
  std::string claim_name;
  bool operator==(const PersistentVolumeClaimSource&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("claimName", s.claim_name);
  }
};

struct EphemeralVolumeSource {  // that it is one is enough: its claim is made by others
  bool operator==(const EphemeralVolumeSource&) const = default;
  template <class Self, class V>
  static void Fields(Self&, V&&) {}
};

struct Volume {
  std::string name;
  std::optional<PersistentVolumeClaimSource> persistent_volume_claim;
  std::optional<EphemeralVolumeSource> ephemeral;
  bool operator==(const Volume&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("name", s.name), v("persistentVolumeClaim", s.persistent_volume_claim),
        v("ephemeral", s.ephemeral);
  }
};

struct PodSpec {
  std::string node_name, scheduler_name, priority_class_name, preemption_policy, restart_policy;
  std::optional<int32_t> priority;
  std::optional<int64_t> termination_grace_period_seconds;
  bool host_network = false;
  StringMap node_selector;
  std::optional<Affinity> affinity;
  std::vector<Toleration> tolerations;
  std::vector<Container> containers, init_containers;
  ResourceList overhead;
  std::optional<ResourceRequirements> resources;  // pod-level
  std::vector<NamedRef> scheduling_gates;
  std::vector<TopologySpreadConstraint> topology_spread_constraints;
  std::vector<Volume> volumes;

  bool operator==(const PodSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("nodeName", s.node_name), v("schedulerName", s.scheduler_name);
    v("priorityClassName", s.priority_class_name), v("preemptionPolicy", s.preemption_policy);
    v("restartPolicy", s.restart_policy), v("priority", s.priority);
    v("terminationGracePeriodSeconds", s.termination_grace_period_seconds),
        v("hostNetwork", s.host_network);
    v("nodeSelector", s.node_selector), v("affinity", s.affinity), v("tolerations", s.tolerations);
    v("containers", s.containers), v("initContainers", s.init_containers);
    v("overhead", s.overhead), v("resources", s.resources);
    v("schedulingGates", s.scheduling_gates),
        v("topologySpreadConstraints", s.topology_spread_constraints);
    v("volumes", s.volumes);
  }
};

struct ContainerStatus {
  std::string name;
  ResourceList allocated_resources;
  std::optional<ResourceRequirements> resources;
  bool operator==(const ContainerStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("name", s.name), v("allocatedResources", s.allocated_resources), v("resources", s.resources);
  }
};

struct PodStatus {
  std::string phase, reason, message, nominated_node_name;
  std::vector<Condition> conditions;
  Time start_time;
  std::vector<ContainerStatus> container_statuses, init_container_statuses;
  ResourceList allocated_resources;  // these two: of pod-level resources while they are resized
  std::optional<ResourceRequirements> resources;
  bool operator==(const PodStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("phase", s.phase), v("reason", s.reason), v("message", s.message);
    v("nominatedNodeName", s.nominated_node_name), v("conditions", s.conditions),
        v("startTime", s.start_time);
    v("containerStatuses", s.container_statuses),
        v("initContainerStatuses", s.init_container_statuses);
    v("allocatedResources", s.allocated_resources), v("resources", s.resources);
  }
};

struct Pod {
  ObjectMeta metadata;
  PodSpec spec;
  PodStatus status;
  bool operator==(const Pod&) const = default;
  bool terminal() const { return status.phase == "Succeeded" || status.phase == "Failed"; }
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

}  // namespace sky::api
