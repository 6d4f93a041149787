// SPDX-License-Identifier: Apache-2.0
#include "plugins/nodeorder/nodeorder.h"

#include <algorithm>

#include "framework/session.h"

namespace sky::plugins {
namespace {

struct Known {
  const char* name;
  int64_t weight;
};
constexpr std::array<Known, NodeOrder::kParts> kKnown = {{{"nodeAffinity", 1},
                                                          {"interPodAffinity", 1},
                                                          {"taintToleration", 1},
                                                          {"podTopologySpread", 1},
                                                          {"leastAllocated", 0},
                                                          {"mostAllocated", 0},
                                                          {"balancedAllocation", 0}}};

// Collects weighted parts; absent when no part had anything to say.
class Mean {
 public:
  explicit Mean(size_t nodes) : sums_(nodes, 0) {}
  void Add(int64_t weight, const Scores& part) {
    if (!part) return;
    weights_ += weight;
    for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += weight * (*part)[i];
  }
  Scores Take() {
    if (weights_ == 0) return std::nullopt;
    for (int64_t& sum : sums_) sum /= weights_;
    return std::move(sums_);
  }

 private:
  std::vector<int64_t> sums_;
  int64_t weights_ = 0;
};

bool Give(const Scores& scores, std::span<int64_t> given) {
  if (scores) std::ranges::copy(*scores, given.begin());
  return scores.has_value();
}

const api::NodeAffinity* NodeAffinityOf(const std::optional<api::Affinity>& affinity) {
  return affinity && affinity->node ? &*affinity->node : nullptr;
}

}  // namespace

Scores NodeOrder::OfTask(const model::Cluster& cluster, model::Neighbours& neighbours,
                         model::TaskId task, Candidates nodes) const {
  const api::PodSpec& pod = cluster.tasks()[task].facts->pod->spec;
  Mean mean(nodes.size());
  const auto add = [&](Part part, auto score) {
    if (weights_[part] > 0) mean.Add(weights_[part], score());
  };
  add(kNodeAffinity,
      [&] { return ScoreNodeAffinity(cluster, NodeAffinityOf(pod.affinity), nodes); });
  add(kInterPodAffinity, [&] { return ScorePodAffinity(cluster, neighbours, task, nodes); });
  add(kTaintToleration, [&] { return ScoreTaints(cluster, pod.tolerations, nodes); });
  add(kPodTopologySpread, [&] { return ScoreSpread(cluster, neighbours, task, nodes); });
  add(kLeastAllocated, [&] { return ScoreAmounts(cluster, Amounts::kLeast, task, nodes); });
  add(kMostAllocated, [&] { return ScoreAmounts(cluster, Amounts::kMost, task, nodes); });
  add(kBalancedAllocation, [&] { return ScoreAmounts(cluster, Amounts::kBalanced, task, nodes); });
  return mean.Take();
}

Scores NodeOrder::OfQuota(const model::Cluster& cluster, const model::Quota& quota,
                          Candidates nodes) const {
  const api::QuotaSpec& spec = quota.object->spec;
  const api::NodeAffinity* affinity =
      spec.affinity && spec.affinity->node ? &*spec.affinity->node : nullptr;
  Mean mean(nodes.size());
  if (weights_[kNodeAffinity] > 0)
    mean.Add(weights_[kNodeAffinity], ScoreNodeAffinity(cluster, affinity, nodes));
  if (weights_[kTaintToleration] > 0)
    mean.Add(weights_[kTaintToleration], ScoreTaints(cluster, spec.tolerations, nodes));
  return mean.Take();
}

void NodeOrder::OnSessionOpen(framework::Session& session) {
  const model::Cluster& cluster = session.cluster();
  model::Neighbours& neighbours = session.neighbours();
  session.task_to_node.batch_n_order.Add(
      "nodeorder", [&](model::TaskId task, Candidates nodes, std::span<int64_t> given) {
        return Give(OfTask(cluster, neighbours, task, nodes), given);
      });
  session.quota_to_node.batch_n_order.Add(
      "nodeorder", [&](model::QuotaId id, Candidates nodes, std::span<int64_t> given) {
        const model::Quota& quota = cluster.quotas()[id];
        return Give(quota.tasks.empty() ? OfQuota(cluster, quota, nodes)
                                        : OfTask(cluster, neighbours, quota.tasks.front(), nodes),
                    given);
      });
}

framework::PluginKind NodeOrder::Kind() {
  framework::PluginKind kind{
      [](const framework::PluginArgs& args,
         const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
        Weights weights;
        for (size_t i = 0; i < kParts; ++i)
          weights[i] = TRY(args.Int(kKnown[i].name, kKnown[i].weight, 0, 1'000'000));
        return std::make_unique<NodeOrder>(weights);
      },
      {},
      {"taskToNode.batchNOrder", "quotaToNode.batchNOrder"}};
  for (const Known& known : kKnown) kind.args.push_back({known.name, framework::ArgType::kInt});
  return kind;
}

}  // namespace sky::plugins
