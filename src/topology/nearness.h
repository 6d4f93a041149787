// SPDX-License-Identifier: Apache-2.0
// How far apart two zones are, as far as topologies say it: zones that share switches are near, the
// more the nearer; then those whose lowest common tier is low; then all others. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace sky::topology {

// Between the zones of two nodes.
int64_t Distance(const model::Cluster& cluster, model::Network network, model::NodeId one,
                 model::NodeId other);

// Of items that are to have these `sizes`, one each, those that are nearest to each other and to
// `base`: indexes into `items`. Every item may be the first, up to a limit; each next one is the
// nearest of its size, the first among equals. Empty: no two of them are near.
struct Item {
  int64_t size = 0;
  model::NodeId node;  // one of its zone
};
std::vector<size_t> Nearest(const model::Cluster& cluster, model::Network network,
                            std::span<const int64_t> sizes, std::span<const Item> items,
                            std::span<const model::NodeId> base);

}  // namespace sky::topology
