// SPDX-License-Identifier: Apache-2.0
// Our own kinds, group scheduling.infini-ai.com/v1alpha1. deploy/crds/*.yaml holds their schemas;
// crd_test.cc holds both equal, names and types.
#pragma once

#include "api/meta.h"

namespace sky::api {

inline constexpr std::string_view kGroup = "scheduling.infini-ai.com";
inline constexpr std::string_view kVersion = "v1alpha1";

struct PodGroupSpec {
  std::string queue;                 // "" is "default"
  int32_t min_member = 0;            // 0 (absent) is 1
  FlatMap<int32_t> min_task_member;  // role → least members
  std::string priority_class_name;
  ResourceList min_resources;
  bool operator==(const PodGroupSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("queue", s.queue), v("minMember", s.min_member), v("minTaskMember", s.min_task_member);
    v("priorityClassName", s.priority_class_name), v("minResources", s.min_resources);
  }
};

struct PodGroupStatus {
  std::string phase;  // Pending, Inqueue, Running, Unknown, Completed
  int32_t running = 0, succeeded = 0, failed = 0, pending = 0;
  std::vector<Condition> conditions;  // Admitted, Scheduled, Unschedulable, PartialStart, Earmarked
  bool operator==(const PodGroupStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("phase", s.phase), v("running", s.running), v("succeeded", s.succeeded),
        v("failed", s.failed);
    v("pending", s.pending), v("conditions", s.conditions);
  }
};

struct PodGroup {
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
  bool operator==(const PodGroup&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct QuotaTerm {                              // of inter-quota and pod→quota affinity
  std::optional<LabelSelector> label_selector;  // over quotas
  std::string topology_key;                     // "node" or "zone"
  bool operator==(const QuotaTerm&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("labelSelector", s.label_selector), v("topologyKey", s.topology_key);
  }
};

struct WeightedQuotaTerm {
  int32_t weight = 0;
  QuotaTerm term;
  bool operator==(const WeightedQuotaTerm&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("weight", s.weight), v("term", s.term);
  }
};

struct QuotaTermSet {
  std::vector<QuotaTerm> required;
  std::vector<WeightedQuotaTerm> preferred;
  bool operator==(const QuotaTermSet&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("required", s.required), v("preferred", s.preferred);
  }
};

struct QuotaTerms {
  std::optional<QuotaTermSet> affinity, anti_affinity;
  bool operator==(const QuotaTerms&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("affinity", s.affinity), v("antiAffinity", s.anti_affinity);
  }
};

struct QuotaAffinity {
  std::optional<NodeAffinity> node;
  std::optional<QuotaTerms> quota, pod_quota;
  bool operator==(const QuotaAffinity&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("node", s.node), v("quota", s.quota), v("podQuota", s.pod_quota);
  }
};

struct QuotaSpec {
  std::string queue_name;
  ResourceList request;
  StringMap node_selector;
  std::vector<Toleration> tolerations;
  std::optional<QuotaAffinity> affinity;
  std::vector<std::string> shared_queues;
  std::string static_bind_node;
  bool operator==(const QuotaSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("queueName", s.queue_name), v("request", s.request), v("nodeSelector", s.node_selector);
    v("tolerations", s.tolerations), v("affinity", s.affinity), v("sharedQueues", s.shared_queues);
    v("staticBindNode", s.static_bind_node);
  }
};

struct QuotaTask {  // a pod that uses the quota: claimed or bound
  std::string namespace_, name, uid, job, role;
  std::optional<int32_t> index;
  ResourceList request;
  bool operator==(const QuotaTask&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("namespace", s.namespace_), v("name", s.name), v("uid", s.uid), v("job", s.job),
        v("role", s.role);
    v("index", s.index), v("request", s.request);
  }
};

struct ReservedTask {  // room kept for the successor of a pod that left
  std::string job, role, pod, pod_uid, successor_uid;
  std::optional<int32_t> index;
  ResourceList request;
  Time expires;
  bool operator==(const ReservedTask&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("job", s.job), v("role", s.role), v("index", s.index), v("pod", s.pod),
        v("podUID", s.pod_uid);
    v("successorUID", s.successor_uid), v("request", s.request), v("expires", s.expires);
  }
};

struct StaticBindStatus {
  std::string node_name;
  bool bound = false;
  bool operator==(const StaticBindStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("nodeName", s.node_name), v("bound", s.bound);
  }
};

struct QuotaStatus {
  std::string
      phase;  // QuotaEmpty, QuotaBound; "" (stored before the default existed) reads as QuotaEmpty
  std::string node_name;
  ResourceList allocated, shadow_resource;
  std::optional<StaticBindStatus> static_bind_status;
  std::vector<QuotaTask> tasks;
  std::vector<ReservedTask> reserved_tasks;
  std::vector<Condition> conditions;
  bool operator==(const QuotaStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("phase", s.phase), v("nodeName", s.node_name), v("allocated", s.allocated);
    v("shadowResource", s.shadow_resource), v("staticBindStatus", s.static_bind_status);
    v("tasks", s.tasks), v("reservedTasks", s.reserved_tasks), v("conditions", s.conditions);
  }
};

struct Quota {
  ObjectMeta metadata;
  QuotaSpec spec;
  QuotaStatus status;
  bool operator==(const Quota&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct QueueSpec {
  int32_t weight = 0;  // 0 (absent) is 1
  int32_t priority = 0;
  std::string parent;
  ResourceList capability;          // a name that isn't listed has no limit
  std::optional<bool> reclaimable;  // absent is true
  ResourceList overcommit;          // resource → ratio ≥ 1
  std::optional<QuotaSpec> quota_template;
  bool operator==(const QueueSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("weight", s.weight), v("priority", s.priority), v("parent", s.parent),
        v("capability", s.capability);
    v("reclaimable", s.reclaimable), v("overcommit", s.overcommit),
        v("quotaTemplate", s.quota_template);
  }
};

struct SpecAllocated {
  ResourceList allocatable, allocated, shadow;
  bool operator==(const SpecAllocated&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("allocatable", s.allocatable), v("allocated", s.allocated), v("shadow", s.shadow);
  }
};

struct QueueStatus {
  std::string state;  // Open, Closing, Closed
  int32_t pending = 0, inqueue = 0, running = 0, unknown = 0, completed = 0;
  FlatMap<SpecAllocated> spec_allocated;  // spec code → sums; "none" for quotas without one
  bool operator==(const QueueStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("state", s.state), v("pending", s.pending), v("inqueue", s.inqueue), v("running", s.running);
    v("unknown", s.unknown), v("completed", s.completed), v("specAllocated", s.spec_allocated);
  }
};

struct Queue {
  ObjectMeta metadata;
  QueueSpec spec;
  QueueStatus status;
  bool operator==(const Queue&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct JobQueueSpec {
  std::string queue;
  std::optional<LabelSelector> job_selector;  // over PodGroups
  int32_t priority = 0;
  std::optional<int32_t> max_running_jobs;
  std::string policy;  // StrictFIFO, BestEffortFIFO; "" is BestEffortFIFO
  bool suspended = false;
  bool operator==(const JobQueueSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("queue", s.queue), v("jobSelector", s.job_selector), v("priority", s.priority);
    v("maxRunningJobs", s.max_running_jobs), v("policy", s.policy), v("suspended", s.suspended);
  }
};

struct JobQueueStatus {
  int32_t pending = 0, admitted = 0, running = 0;
  std::string blocking_job;
  std::vector<Condition> conditions;
  bool operator==(const JobQueueStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("pending", s.pending), v("admitted", s.admitted), v("running", s.running);
    v("blockingJob", s.blocking_job), v("conditions", s.conditions);
  }
};

struct JobQueue {
  ObjectMeta metadata;
  JobQueueSpec spec;
  JobQueueStatus status;
  bool operator==(const JobQueue&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

struct TopologyNic {
  std::string name, switch_name;  // interface name and the leaf switch that it is plugged into
  std::string rdma_device, port, chassis_id, guid, state, source, message;
  bool operator==(const TopologyNic&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("name", s.name), v("switchName", s.switch_name), v("rdmaDevice", s.rdma_device),
        v("port", s.port);
    v("chassisID", s.chassis_id), v("guid", s.guid), v("state", s.state), v("source", s.source);
    v("message", s.message);
  }
};

struct TopologyNet {
  std::vector<TopologyNic> roce, ib;
  bool operator==(const TopologyNet&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("roce", s.roce), v("ib", s.ib);
  }
};

struct TopologyTier {  // a domain above the leaf: 1 is the leaf, 2 its spine block, …
  int32_t level = 0;
  std::string network, domain;
  bool operator==(const TopologyTier&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("level", s.level), v("network", s.network), v("domain", s.domain);
  }
};

struct NodeTopologySpec {
  TopologyNet net;
  std::vector<TopologyTier> tiers;
  bool operator==(const NodeTopologySpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("net", s.net), v("tiers", s.tiers);
  }
};

struct NodeTopologyStatus {
  Time time;
  std::string source, completeness;
  std::vector<Condition> conditions;
  bool operator==(const NodeTopologyStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("time", s.time), v("source", s.source), v("completeness", s.completeness),
        v("conditions", s.conditions);
  }
};

struct NodeTopology {
  ObjectMeta metadata;
  NodeTopologySpec spec;
  NodeTopologyStatus status;
  bool operator==(const NodeTopology&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

// One member's place. Node, zone and quota are indexes into the tables beside it, which keeps a
// gang of thousands below the size that etcd takes.
struct PlacementEntry {
  std::string task, pod_uid, role;  // task: the pod's name
  std::optional<int32_t> rank;
  int32_t quota = 0, node = 0, zone = -1;  // zone and quota -1: none
  bool operator==(const PlacementEntry&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("task", s.task), v("role", s.role), v("rank", s.rank), v("podUID", s.pod_uid);
    v.Always("quota", s.quota), v.Always("node", s.node), v.Always("zone", s.zone);
  }
};

// The most that deploy/crds/placements.yaml takes; a gang that needs more members is refused (F16).
inline constexpr size_t kMostPlacementEntries = 4096;

struct PlacementSpec {
  std::string pod_group_uid;
  int64_t round = 0, leader_epoch = 0;
  std::vector<std::string> nodes, zones, quotas;
  std::vector<PlacementEntry> entries;
  Extra extra;
  bool operator==(const PlacementSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("podGroupUID", s.pod_group_uid), v.Always("round", s.round),
        v.Always("leaderEpoch", s.leader_epoch);
    v("nodes", s.nodes), v("zones", s.zones), v("quotas", s.quotas), v.Always("entries", s.entries);
  }
};

struct Placement {  // no status subresource: the create is the commit point
  ObjectMeta metadata;
  PlacementSpec spec;
  bool operator==(const Placement&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec);
  }
};

struct QuotaSetSpec {
  int32_t replicas = 0;
  QuotaSpec template_;
  bool operator==(const QuotaSetSpec&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v.Always("replicas", s.replicas), v("template", s.template_);  // 0 is a wish
  }
};

struct QuotaSetStatus {
  int32_t replicas = 0, bound = 0;
  ResourceList allocated;
  bool operator==(const QuotaSetStatus&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("replicas", s.replicas), v("bound", s.bound), v("allocated", s.allocated);
  }
};

struct QuotaSet {
  ObjectMeta metadata;
  QuotaSetSpec spec;
  QuotaSetStatus status;
  bool operator==(const QuotaSet&) const = default;
  template <class Self, class V>
  static void Fields(Self& s, V&& v) {
    v("metadata", s.metadata), v("spec", s.spec), v("status", s.status);
  }
};

}  // namespace sky::api
