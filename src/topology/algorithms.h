// SPDX-License-Identifier: Apache-2.0
// What may answer where a gang with topology goes, and how well a node suits it:
//   namedzone   (rdma)  zones of its network; a small zone suits better than a large one
//   continuity          nodes by index, in blocks of free neighbours; a gap suits better than the
//                       middle of a free block
// Each is asked through IdenticalSpecTopologyAlgo, spec code by spec code: no zone, block or
// neighbour is ever of two. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace sky::topology {

// The cells of one spec code: of all its nodes, and of the zones of a network.
struct SpecCells {
  model::CellId all;
  std::vector<model::CellId> zones;
};

class TopologyAlgo {
 public:
  virtual ~TopologyAlgo() = default;
  // Where a gang may go; absent: nothing to say about these.
  virtual std::optional<std::vector<model::CellId>> Candidates(const SpecCells& cells) const = 0;
  // 0…100: less where it would use up more of what others need whole.
  virtual int64_t AntiAffinity(const model::Cluster& cluster, model::Network network,
                               model::NodeId node) const = 0;
};

// "rdma" and "continuity", as the configuration names them; null: no such one.
std::unique_ptr<TopologyAlgo> MakeAlgo(std::string_view name);

class IdenticalSpecTopologyAlgo {
 public:
  explicit IdenticalSpecTopologyAlgo(std::unique_ptr<TopologyAlgo> algo) : algo_(std::move(algo)) {}
  std::optional<std::vector<model::CellId>> Candidates(const model::Cluster& cluster,
                                                       model::Network network) const;
  const TopologyAlgo& algo() const { return *algo_; }

 private:
  std::unique_ptr<TopologyAlgo> algo_;
};

// Nobody's accelerators are in use there, and somebody's may be.
bool FreeNode(const model::Cluster& cluster, const model::Node& node);
// One stands beside the other in physical order.
bool Adjacent(const model::Node& one, const model::Node& other);

}  // namespace sky::topology
