// SPDX-License-Identifier: Apache-2.0
#include "plugins/topology/topology.h"

#include <algorithm>
#include <functional>
#include <set>

#include "model/facts.h"
#include "topology/order.h"
#include "topology/zone_affinity.h"

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

// A node that has lost switches is no choice for who asks more NICs of it than are left (F41).
std::optional<model::Verdict> EnoughRails(const framework::Session& session, TaskId id,
                                          NodeId node) {
  const Cluster& cluster = session.cluster();
  const model::PodFacts& facts = *cluster.tasks()[id].facts;
  if (!facts.needs_rdma) return std::nullopt;
  const auto& rails = cluster.nodes()[node].zones.rails(facts.network);
  if (!rails) return std::nullopt;
  const auto& resources = session.config().topology_resources;
  const auto& globs = facts.network == Network::kIb ? resources.ib : resources.roce;
  int64_t asked = 0;
  model::ResourceId name;
  for (const auto& [resource, amount] : facts.request)
    if (std::ranges::any_of(globs, [&](const std::string& glob) {
          return model::GlobMatches(glob, cluster.names().resources.Name(resource));
        }))
      asked += amount, name = resource;
  const int64_t left = int64_t{1000} * *rails;
  return asked <= left ? model::Verdict::Fit()
                       : model::Verdict::NotNow(Reason::kInsufficientIdle, asked, left, name);
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

Topology::Topology(const std::map<std::string, int64_t>& algorithms) {
  // Those that weigh the same: namedzone first.
  for (const char* name : {"rdma", "continuity"})
    if (const auto known = algorithms.find(name); known != algorithms.end())
      algorithms_.push_back(
          {name, known->second, topology::IdenticalSpecTopologyAlgo(topology::MakeAlgo(name))});
  std::ranges::sort(algorithms_, [](const Weighted& a, const Weighted& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.name > b.name;
  });
}

const Topology::Answer& Topology::Ask(const framework::Session& session, Network network) {
  const auto [at, added] = answers_.try_emplace(network);
  Answer& answer = at->second;
  if (!added) return answer;
  const Cluster& cluster = session.cluster();
  const auto size = [&](model::CellId cell) {
    return static_cast<int64_t>(cluster.cells()[cell].nodes.size());
  };
  for (const auto& [key, cell] : cluster.cells().by_key()) {
    if (!key.zone.valid()) answer.without_topology += size(cell);
    if (key.zone.valid() && key.network == network) answer.without_topology -= size(cell);
  }
  for (const Weighted& one : algorithms_) {
    auto cells = one.algo.Candidates(cluster, network);
    if (!cells) continue;
    answer.cells = std::move(*cells);
    answer.in_blocks = one.name == "continuity";
    answer.small_zones = one.name == "rdma" && one.weight > 0;
    break;
  }
  // Nodes by index are candidates with a topology or without.
  if (answer.in_blocks) answer.without_topology = 0;
  return answer;
}

TopologyPolicy Topology::PolicyOf(const framework::Session& session, JobId id) {
  const Cluster& cluster = session.cluster();
  const model::Job& job = cluster.jobs()[id];
  TopologyPolicy policy;
  policy.enabled = EnableTopologyScheduling(job);
  policy.network = NetworkOf(cluster, job);
  policy.strict = policy.enabled && job.notes.topology == model::TopologyMode::kStrict;
  policy.pack = job.notes.pack;
  policy.max_zones = job.notes.max_zones;
  if (const auto made = job.object ? job.object->metadata.creation_timestamp.at : std::nullopt)
    policy.patient_until = *made + session.config().zone_patience;
  if (!policy.enabled) {
    for (const auto& [key, cell] : cluster.cells().by_key())
      if (!key.zone.valid()) policy.cells.push_back(cell);
    return policy;
  }
  const Answer& answer = Ask(session, policy.network);
  policy.cells = answer.cells;
  policy.in_blocks = answer.in_blocks;
  policy.small_zones = answer.small_zones;
  policy.without_topology = answer.without_topology;
  if (!job.affinity_key.empty())
    policy.kin = topology::ZoneAffinityTracker(cluster, id, policy.network).by_node();
  return policy;
}

// The weighted mean of what the algorithms say; 0 when none has a weight.
int64_t Topology::AntiAffinity(const Cluster& cluster, Network network, NodeId node) const {
  int64_t sum = 0, weights = 0;
  for (const Weighted& one : algorithms_) {
    if (one.weight == 0) continue;
    sum += one.weight * one.algo.algo().AntiAffinity(cluster, network, node);
    weights += one.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

// A gang that stands somewhere: its zones alone count. One that is attracted: where most of those
// are that attract it. Any other: where it is least in the way.
std::optional<int64_t> Topology::Score(const framework::Session& session, JobId id,
                                       NodeId node) const {
  const Cluster& cluster = session.cluster();
  if (!id.valid() || !EnableTopologyScheduling(cluster.jobs()[id])) return std::nullopt;
  const Network network = NetworkOf(cluster, cluster.jobs()[id]);
  const model::Node& row = cluster.nodes()[node];
  std::set<CellKey> siblings;
  SiblingCells(cluster, cluster.jobs()[id], network, siblings);
  if (!siblings.empty()) return siblings.contains({network, row.zone(network), row.spec}) ? 100 : 0;
  if (!cluster.jobs()[id].affinity_key.empty()) {
    const topology::ZoneAffinityTracker kin(cluster, id, network);
    if (!kin.by_node().empty()) return kin.ZoneScore(row);
  }
  return AntiAffinity(cluster, network, node);
}

void Topology::OnSessionOpen(framework::Session& session) {
  answers_.clear();
  const Cluster& cluster = session.cluster();
  session.predicate_zone = [this, &session](JobId job) { return PolicyOf(session, job); };
  session.quota_allocate.Add("topology",
                             [&](const framework::JobRound& round, framework::Refusals& why) {
                               return ForceNodeOrder(cluster, round, why);
                             });
  session.task_to_node.AddPredicate(
      "topology", framework::Reads::kNodeStatic,
      [&session](TaskId task, NodeId node) { return EnoughRails(session, task, node); });
  session.quota_to_node.n_order.Add("topology",
                                    [this, &session, &cluster](model::QuotaId quota, NodeId node) {
                                      return Score(session, JobOf(cluster, quota), node);
                                    });
  session.task_to_node.n_order.Add("topology",
                                   [this, &session, &cluster](TaskId task, NodeId node) {
                                     return Score(session, cluster.tasks()[task].job, node);
                                   });
  session.quota_to_node.best_n.Add("topology",
                                   [&](model::QuotaId quota, std::span<const NodeId> nodes) {
                                     return SelectBestNode(cluster, JobOf(cluster, quota), nodes);
                                   });
}

framework::PluginKind Topology::Kind() {
  return {[](const framework::PluginArgs& args,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            auto weights =
                TRY(args.Ints("algorithms", {{"rdma", 100}, {"continuity", 0}}, 0, 1'000'000));
            for (const auto& [name, weight] : weights)
              if (topology::MakeAlgo(name) == nullptr)
                return std::unexpected(args.Wrong(
                    "algorithms",
                    fmt::format("'{}' is no algorithm; there are rdma and continuity", name)));
            if (weights.empty())
              return std::unexpected(
                  args.Wrong("algorithms", "names none; there are rdma and continuity"));
            return std::make_unique<Topology>(weights);
          },
          {{"algorithms", framework::ArgType::kInts}},
          {"quotaAllocate", "quotaToNode.nOrder", "quotaToNode.bestN", "taskToNode.predicate",
           "taskToNode.nOrder"}};
}

}  // namespace sky::plugins
