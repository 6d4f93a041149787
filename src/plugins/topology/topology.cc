// SPDX-License-Identifier: Apache-2.0
#include "plugins/topology/topology.h"

#include <algorithm>
#include <set>

#include "topology/order.h"

namespace sky::plugins {
namespace {

using framework::TopologyPolicy;
using model::CellKey;
using model::Cluster;
using model::JobId;
using model::Network;
using model::NodeId;
using model::Reason;
using model::TaskId;

bool NeedRDMA(const model::Job& job) { return job.needs_rdma; }

bool EnableTopologyScheduling(const model::Job& job) {
  if (job.notes.topology == model::TopologyMode::kOff) return false;
  return job.notes.topology == model::TopologyMode::kStrict || NeedRDMA(job);
}

// By the resource asked; without one the IB view, which falls back to RoCE.
Network NetworkOf(const Cluster& cluster, const model::Job& job) {
  for (const TaskId id : job.ranked)
    if (cluster.tasks()[id].facts->needs_rdma) return cluster.tasks()[id].facts->network;
  return Network::kIb;
}

// Zones and spec codes of the members that already have a node.
void SiblingCells(const Cluster& cluster, const model::Job& job, Network network,
                  std::set<CellKey>& cells) {
  for (const TaskId id : job.ranked) {
    const model::Task& task = cluster.tasks()[id];
    const NodeId node = task.bound() ? task.node : task.claim.node;
    if (!node.valid() || (job.needs_rdma && !task.facts->needs_rdma)) continue;
    const model::Node& row = cluster.nodes()[node];
    if (row.zone(network).valid()) cells.insert({network, row.zone(network), row.spec});
  }
}

TopologyPolicy PolicyOf(const framework::Session& session, JobId id) {
  const Cluster& cluster = session.cluster();
  const model::Job& job = cluster.jobs()[id];
  TopologyPolicy policy;
  policy.enabled = EnableTopologyScheduling(job);
  policy.strict = policy.enabled && job.notes.topology == model::TopologyMode::kStrict;
  policy.pack = job.notes.pack;
  policy.max_zones = job.notes.max_zones;
  if (const auto made = job.object ? job.object->metadata.creation_timestamp.at : std::nullopt)
    policy.patient_until = *made + session.config().zone_patience;
  policy.network = NetworkOf(cluster, job);
  std::vector<model::CellId> everywhere;
  int64_t nodes = 0, zoned = 0;
  for (const auto& [key, cell] : cluster.cells().by_key()) {
    const auto size = static_cast<int64_t>(cluster.cells()[cell].nodes.size());
    if (!key.zone.valid()) {
      everywhere.push_back(cell);
      nodes += size;
    } else if (key.network == policy.network) {
      zoned += size;
      policy.cells.push_back(cell);
    }
  }
  // No discovery anywhere: physical order is all there is to go by.
  if (!policy.enabled || zoned == 0)
    policy.cells = std::move(everywhere);
  else
    policy.without_topology = nodes - zoned;
  return policy;
}

// forceNodeOrderWhenAllocateQuota: in a strict gang the nodes' indexes never fall as ranks rise.
bool ForceNodeOrder(const Cluster& cluster, const framework::JobRound& round,
                    framework::Refusals& why) {
  const model::Job& job = cluster.jobs()[round.job];
  if (!EnableTopologyScheduling(job) || job.notes.topology != model::TopologyMode::kStrict)
    return true;
  topology::Positions positions;
  const std::vector<TaskId> unranked = topology::Unranked(cluster, job);
  for (const TaskId id : job.ranked) {
    const model::Task& task = cluster.tasks()[id];
    if (NeedRDMA(job) && !task.facts->needs_rdma) continue;
    if (std::find(unranked.begin(), unranked.end(), id) != unranked.end()) continue;
    const NodeId node = task.bound()               ? task.node
                        : task.claim.node.valid()  ? task.claim.node
                        : task.claim.quota.valid() ? cluster.quotas()[task.claim.quota].node
                                                   : NodeId{};
    positions.push_back(node.valid() ? std::optional(cluster.nodes()[node].index) : std::nullopt);
  }
  if (topology::Monotone(positions)) return true;
  why.Add(Reason::kNodeOrderNotMonotone);
  return false;
}

// 100 for a node in the zone of a sibling that has a place.
std::optional<int64_t> SiblingScore(const Cluster& cluster, JobId id, NodeId node) {
  if (!id.valid() || !EnableTopologyScheduling(cluster.jobs()[id])) return std::nullopt;
  const Network network = NetworkOf(cluster, cluster.jobs()[id]);
  std::set<CellKey> siblings;
  SiblingCells(cluster, cluster.jobs()[id], network, siblings);
  const model::Node& row = cluster.nodes()[node];
  return siblings.contains({network, row.zone(network), row.spec}) ? 100 : 0;
}

JobId JobOf(const Cluster& cluster, model::QuotaId quota) {
  const auto& tasks = cluster.quotas()[quota].tasks;
  return tasks.empty() ? JobId{} : cluster.tasks()[tasks.front()].job;
}

// selectBestNodeForQuota: candidates come in physical order, already inside [pre, last]: the first.
std::optional<NodeId> SelectBestNode(const Cluster& cluster, JobId job,
                                     std::span<const NodeId> nodes) {
  if (!job.valid() || !EnableTopologyScheduling(cluster.jobs()[job]) || nodes.empty())
    return std::nullopt;
  return nodes.front();
}

}  // namespace

void Topology::OnSessionOpen(framework::Session& session) {
  const Cluster& cluster = session.cluster();
  session.predicate_zone = [&](JobId job) { return PolicyOf(session, job); };
  session.quota_allocate.Add("topology",
                             [&](const framework::JobRound& round, framework::Refusals& why) {
                               return ForceNodeOrder(cluster, round, why);
                             });
  session.quota_to_node.n_order.Add("topology", [&](model::QuotaId quota, NodeId node) {
    return SiblingScore(cluster, JobOf(cluster, quota), node);
  });
  session.task_to_node.n_order.Add("topology", [&](TaskId task, NodeId node) {
    return SiblingScore(cluster, cluster.tasks()[task].job, node);
  });
  session.quota_to_node.best_n.Add("topology",
                                   [&](model::QuotaId quota, std::span<const NodeId> nodes) {
                                     return SelectBestNode(cluster, JobOf(cluster, quota), nodes);
                                   });
}

framework::PluginKind Topology::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<Topology>();
          },
          {},
          {"quotaAllocate", "quotaToNode.nOrder", "taskToNode.nOrder", "quotaToNode.bestN"}};
}

}  // namespace sky::plugins
