// SPDX-License-Identifier: Apache-2.0
#include "topology/algorithms.h"

#include <algorithm>
#include <map>

namespace sky::topology {

using model::CellId;
using model::Cluster;
using model::Network;
using model::NodeId;

namespace {

class NamedZone final : public TopologyAlgo {
 public:
  std::optional<std::vector<CellId>> Candidates(const SpecCells& cells) const override {
    if (cells.zones.empty()) return std::nullopt;
    return cells.zones;
  }
  int64_t AntiAffinity(const Cluster& cluster, Network network, NodeId node) const override {
    const model::Node& row = cluster.nodes()[node];
    if (!row.zone(network).valid()) return 0;
    const CellId cell = cluster.cells().Find({network, row.zone(network), row.spec});
    return cell.valid() ? 100 / static_cast<int64_t>(cluster.cells()[cell].nodes.size()) : 0;
  }
};

class Continuity final : public TopologyAlgo {
 public:
  std::optional<std::vector<CellId>> Candidates(const SpecCells& cells) const override {
    if (!cells.all.valid()) return std::nullopt;
    return std::vector<CellId>{cells.all};
  }
  int64_t AntiAffinity(const Cluster& cluster, Network, NodeId id) const override {
    const model::Node& row = cluster.nodes()[id];
    const CellId cell = cluster.cells().Find({Network::kRoce, {}, row.spec});
    if (!cell.valid()) return 0;
    const std::vector<NodeId>& nodes = cluster.cells()[cell].nodes;
    const auto at = std::ranges::lower_bound(nodes, id, [&](NodeId a, NodeId b) {
      return model::StandsBefore(cluster.nodes()[a], cluster.nodes()[b]);
    });
    if (at == nodes.end() || *at != id) return 0;
    const auto free = [&](NodeId beside) {
      const model::Node& other = cluster.nodes()[beside];
      return Adjacent(row, other) && FreeNode(cluster, other) ? 1 : 0;
    };
    const int neighbours = (at != nodes.begin() ? free(*std::prev(at)) : 0) +
                           (std::next(at) != nodes.end() ? free(*std::next(at)) : 0);
    return 100 - 50 * neighbours;
  }
};

}  // namespace

std::unique_ptr<TopologyAlgo> MakeAlgo(std::string_view name) {
  if (name == "rdma") return std::make_unique<NamedZone>();
  if (name == "continuity") return std::make_unique<Continuity>();
  return nullptr;
}

std::optional<std::vector<CellId>> IdenticalSpecTopologyAlgo::Candidates(const Cluster& cluster,
                                                                         Network network) const {
  std::map<model::SpecId, SpecCells> by_spec;
  for (const auto& [key, cell] : cluster.cells().by_key()) {
    if (!key.zone.valid())
      by_spec[key.spec].all = cell;
    else if (key.network == network)
      by_spec[key.spec].zones.push_back(cell);
  }
  std::optional<std::vector<CellId>> all;
  for (const auto& [spec, cells] : by_spec)
    if (const auto some = algo_->Candidates(cells)) {
      if (!all) all.emplace();
      all->insert(all->end(), some->begin(), some->end());
    }
  return all;
}

bool FreeNode(const Cluster& cluster, const model::Node& node) {
  if (!node.ready || node.unschedulable || node.has_spot()) return false;
  const auto touched = [&](const model::Resources& amounts) {
    return std::any_of(amounts.begin(), amounts.end(), [&](const model::Amount& one) {
      return one.value > 0 && cluster.names().resources.IsScalar(one.name);
    });
  };
  return !touched(node.committed) && !touched(node.used);
}

bool Adjacent(const model::Node& one, const model::Node& other) {
  if (one.index == model::Node::kNoIndex || other.index == model::Node::kNoIndex) return false;
  return std::max(one.index, other.index) - std::min(one.index, other.index) <= 1;
}

}  // namespace sky::topology
