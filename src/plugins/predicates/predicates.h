// SPDX-License-Identifier: Apache-2.0
// predicates: Kubernetes' own filters, with kube-scheduler's semantics: Ready, cordon, taints, node
// selector and affinity (read only what nodes declare: kept by class), and host ports, pod
// affinity, topology spread and volumes (read what is there or elsewhere: asked every time). Quotas
// are held to Ready, taints and node affinity too. docs/predicates.md says what is missing.
#pragma once

#include "framework/plugin.h"
#include "model/cluster.h"
#include "plugins/predicates/other_pods.h"
#include "plugins/predicates/pod_volumes.h"

namespace sky::plugins {

class Predicates final : public framework::Plugin {
 public:
  std::string_view name() const override { return "predicates"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  OtherPods other_pods_;
  PodVolumes pod_volumes_;
};

// The parts, for tests: what a node says against what a pod or quota asks.
model::Verdict Cordon(const model::Node& node, const std::vector<api::Toleration>& tolerations);
model::Verdict Taints(const model::Node& node, const std::vector<api::Toleration>& tolerations);
model::Verdict NodeLabels(const model::Node& node, const api::PodSpec& pod);
model::Verdict NodeStatics(const model::Cluster& cluster, model::TaskId task, model::NodeId node);
model::Verdict QuotaStatics(const model::Cluster& cluster, model::QuotaId quota,
                            model::NodeId node);
// Host ports of the pods on the node and of those that are about to be.
model::Verdict HostPorts(const model::Cluster& cluster, model::TaskId task, model::NodeId node);

}  // namespace sky::plugins
