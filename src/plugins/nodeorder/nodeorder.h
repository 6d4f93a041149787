// SPDX-License-Identifier: Apache-2.0
// nodeorder: kube-scheduler's scores as one: the mean of its parts by their weights, so that it
// stays within 0…100. A part that has nothing to say about the pod leaves the mean. A quota is
// scored as the first of its tasks, and before it has one by its own affinity and tolerations.
#pragma once

#include <map>
#include <string>

#include "framework/plugin.h"
#include "plugins/nodeorder/scores.h"

namespace sky::plugins {

class NodeOrder final : public framework::Plugin {
 public:
  enum Part : uint8_t {
    kNodeAffinity,
    kInterPodAffinity,
    kTaintToleration,
    kPodTopologySpread,
    kLeastAllocated,
    kMostAllocated,
    kBalancedAllocation,
    kParts,
  };
  using Weights = std::array<int64_t, kParts>;
  explicit NodeOrder(const Weights& weights) : weights_(weights) {}
  std::string_view name() const override { return "nodeorder"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  Scores OfTask(const model::Cluster& cluster, model::Neighbours& neighbours, model::TaskId task,
                Candidates nodes) const;
  Scores OfQuota(const model::Cluster& cluster, const model::Quota& quota, Candidates nodes) const;

  Weights weights_;
};

}  // namespace sky::plugins
