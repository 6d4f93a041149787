// SPDX-License-Identifier: Apache-2.0
#include "plugins/binpack/binpack.h"

#include "framework/session.h"

namespace sky::plugins {

int64_t Binpack::Score(const model::Cluster& cluster, const model::Resources& request,
                       const model::Resources& used, const model::Resources& allocatable) const {
  int64_t sum = 0, weights = 0;
  for (const auto& [name, asked] : request) {
    if (asked <= 0 || name == model::ResourceNames::kPods) continue;
    int64_t weight = 1;
    if (!weights_.empty()) {
      const auto found = weights_.find(cluster.names().resources.Name(name));
      if (found != weights_.end()) weight = found->second;
    }
    weights += weight;
    const int64_t offered = allocatable[name];
    if (offered <= 0 || used[name] > offered - asked) return 0;
    // In thousandths; amounts may be near the end of int64.
    const int64_t after = used[name] + asked;
    const int64_t part =
        offered > INT64_MAX / 1000 ? after / (offered / 1000) : after * 1000 / offered;
    sum += weight * part;
  }
  return weights == 0 ? 0 : sum / (weights * 10);
}

void Binpack::OnSessionOpen(framework::Session& session) {
  const model::Cluster& cluster = session.cluster();
  session.quota_to_node.n_order.Add(
      "binpack", [this, &cluster](model::QuotaId quota, model::NodeId node_id) {
        const model::Node& node = cluster.nodes()[node_id];
        // What is bound, planned, and held by others: a node that strangers fill is full too.
        return Score(cluster, cluster.quotas()[quota].request, node.committed, node.allocatable);
      });
  session.task_to_node.n_order.Add(
      "binpack", [this, &cluster](model::TaskId task, model::NodeId node_id) {
        const model::Node& node = cluster.nodes()[node_id];
        return Score(cluster, cluster.tasks()[task].facts->request, node.used, node.allocatable);
      });
}

framework::PluginKind Binpack::Kind() {
  return {[](const framework::PluginArgs& args,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            auto weights = TRY(args.Ints("resources", {}, 0, 1'000'000));
            return std::make_unique<Binpack>(std::move(weights));
          },
          {{"resources", framework::ArgType::kInts}},
          {"quotaToNode.nOrder", "taskToNode.nOrder"}};
}

}  // namespace sky::plugins
