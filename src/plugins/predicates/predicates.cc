// SPDX-License-Identifier: Apache-2.0
#include "plugins/predicates/predicates.h"

#include <algorithm>

#include "api/selectors.h"
#include "framework/session.h"

namespace sky::plugins {
namespace {

using framework::Reads;
using model::Reason;
using model::Verdict;

const api::Taint kCordon{"node.kubernetes.io/unschedulable", "", "NoSchedule", {}};

bool TolerateCordon(const std::vector<api::Toleration>& tolerations) {
  return std::any_of(tolerations.begin(), tolerations.end(), [](const api::Toleration& toleration) {
    return api::Tolerates(toleration, kCordon);
  });
}

// Readiness, cordon and taints; who tolerates what comes from the pod or the quota. A taint that
// somebody gave the node is said before a cordon, which passes: whoever waits for the node would
// wait in vain.
Verdict Admits(const model::Node& node, const std::vector<api::Toleration>& tolerations) {
  const bool up = node.ready && !node.object->metadata.deleting();
  const Verdict open = up ? Cordon(node, tolerations) : Verdict::NotNow(Reason::kNodeNotReady);
  if (open.fit()) return Taints(node, tolerations);
  std::vector<api::Taint> lasting = node.object->spec.taints;
  std::erase_if(lasting, [](const api::Taint& taint) {
    return taint.key.starts_with("node.kubernetes.io/");  // the node's own state
  });
  return api::FindUntolerated(lasting, tolerations) == nullptr
             ? open
             : Verdict::NotNow(Reason::kTaintNotTolerated);
}

struct HostPort {
  std::string_view ip, protocol;
  int32_t port;
};

void CollectPorts(const api::Pod& pod, std::vector<HostPort>& ports) {
  const auto add = [&](const api::Container& container) {
    for (const api::ContainerPort& port : container.ports) {
      const int32_t number = port.host_port > 0      ? port.host_port
                             : pod.spec.host_network ? port.container_port
                                                     : 0;
      if (number <= 0) continue;
      ports.push_back({port.host_ip.empty() ? "0.0.0.0" : std::string_view(port.host_ip),
                       port.protocol.empty() ? "TCP" : std::string_view(port.protocol), number});
    }
  };
  for (const api::Container& container : pod.spec.containers) add(container);
  for (const api::Container& container : pod.spec.init_containers)
    if (container.restart_policy == "Always") add(container);
}

bool Clash(const HostPort& a, const HostPort& b) {
  return a.port == b.port && a.protocol == b.protocol &&
         (a.ip == b.ip || a.ip == "0.0.0.0" || b.ip == "0.0.0.0");
}

bool AnyClash(const std::vector<HostPort>& wanted, const api::Pod& pod) {
  std::vector<HostPort> theirs;
  CollectPorts(pod, theirs);
  for (const HostPort& a : wanted)
    for (const HostPort& b : theirs)
      if (Clash(a, b)) return true;
  return false;
}

}  // namespace

Verdict Cordon(const model::Node& node, const std::vector<api::Toleration>& tolerations) {
  return node.unschedulable && !TolerateCordon(tolerations)
             ? Verdict::NotNow(Reason::kNodeUnschedulable)
             : Verdict::Fit();
}

Verdict Taints(const model::Node& node, const std::vector<api::Toleration>& tolerations) {
  const api::Taint* taint = api::FindUntolerated(node.object->spec.taints, tolerations);
  if (taint == nullptr) return Verdict::Fit();
  // The cordon shows twice: as a flag and as the taint that the node controller adds.
  return Verdict::NotNow(taint->key == kCordon.key ? Reason::kNodeUnschedulable
                                                   : Reason::kTaintNotTolerated);
}

Verdict NodeLabels(const model::Node& node, const api::PodSpec& pod) {
  const api::StringMap& labels = node.object->metadata.labels;
  if (!api::MatchesNode(pod.node_selector, nullptr, node.name, labels))
    return Verdict::NotNow(Reason::kNodeSelectorMismatch);
  const api::NodeAffinity* affinity =
      pod.affinity && pod.affinity->node ? &*pod.affinity->node : nullptr;
  if (affinity != nullptr && !api::MatchesNode({}, affinity, node.name, labels))
    return Verdict::NotNow(Reason::kNodeAffinityMismatch);
  return Verdict::Fit();
}

Verdict NodeStatics(const model::Cluster& cluster, model::TaskId task_id, model::NodeId node_id) {
  const model::Node& node = cluster.nodes()[node_id];
  const api::Pod& pod = *cluster.tasks()[task_id].facts->pod;
  if (!node.exists()) return Verdict::NotNow(Reason::kNodeNotReady);
  // Its kubelet has just refused such a pod, and would again (F35).
  if (std::ranges::binary_search(node.avoided, cluster.tasks()[task_id].facts->node_class))
    return Verdict::NotNow(Reason::kBindRefused);
  if (const Verdict labels = NodeLabels(node, pod.spec); !labels.fit()) return labels;
  return Admits(node, pod.spec.tolerations);
}

Verdict QuotaStatics(const model::Cluster& cluster, model::QuotaId quota_id,
                     model::NodeId node_id) {
  const model::Node& node = cluster.nodes()[node_id];
  const api::QuotaSpec& spec = cluster.quotas()[quota_id].object->spec;
  if (!node.exists()) return Verdict::NotNow(Reason::kNodeNotReady);
  if (spec.affinity && spec.affinity->node &&
      !api::MatchesNode({}, &*spec.affinity->node, node.name, node.object->metadata.labels))
    return Verdict::NotNow(Reason::kNodeAffinityMismatch);
  return Admits(node, spec.tolerations);
}

Verdict HostPorts(const model::Cluster& cluster, model::TaskId task_id, model::NodeId node_id) {
  std::vector<HostPort> wanted;
  CollectPorts(*cluster.tasks()[task_id].facts->pod, wanted);
  if (wanted.empty()) return Verdict::Fit();
  const model::Node& node = cluster.nodes()[node_id];
  const auto clashes = [&](model::TaskId other) {
    return other != task_id && AnyClash(wanted, *cluster.tasks()[other].facts->pod);
  };
  if (std::any_of(node.tasks.begin(), node.tasks.end(), clashes))
    return Verdict::NotNow(Reason::kPortConflict);
  for (const auto* quotas : {&node.quotas, &node.planned_quotas})
    for (const model::QuotaId quota : *quotas)
      for (const model::TaskId other : cluster.quotas()[quota].tasks)
        if (!cluster.tasks()[other].bound() && clashes(other))
          return Verdict::NotNow(Reason::kPortConflict);
  return Verdict::Fit();
}

void Predicates::OnSessionOpen(framework::Session& session) {
  const model::Cluster& cluster = session.cluster();
  session.task_to_node.AddPredicate(
      "predicates", Reads::kNodeStatic,
      [&](model::TaskId task, model::NodeId node) { return NodeStatics(cluster, task, node); });
  session.task_to_node.AddPredicate(
      "predicates", Reads::kNodeDynamic,
      [&](model::TaskId task, model::NodeId node) { return HostPorts(cluster, task, node); });
  other_pods_.Open(cluster, session.neighbours());
  session.task_to_node.AddPredicate(
      "predicates", Reads::kRelational,
      [&](model::TaskId task, model::NodeId node) { return other_pods_.Affinity(task, node); });
  session.task_to_node.AddPredicate(
      "predicates", Reads::kRelational,
      [&](model::TaskId task, model::NodeId node) { return other_pods_.Spread(task, node); });
  pod_volumes_.Open(cluster);
  session.task_to_node.AddPredicate(
      "predicates", Reads::kRelational,
      [&](model::TaskId task, model::NodeId node) { return pod_volumes_.Verdict(task, node); });
  session.quota_to_node.AddPredicate(
      "predicates", Reads::kNodeStatic,
      [&](model::QuotaId quota, model::NodeId node) { return QuotaStatics(cluster, quota, node); });
}

framework::PluginKind Predicates::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<Predicates>();
          },
          {},
          {"taskToNode.predicate", "quotaToNode.predicate"}};
}

}  // namespace sky::plugins
