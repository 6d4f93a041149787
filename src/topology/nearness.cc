// SPDX-License-Identifier: Apache-2.0
#include "topology/nearness.h"

#include <algorithm>
#include <limits>
#include <set>

namespace sky::topology {

using model::NodeId;

namespace {

constexpr int64_t kTier = 1000, kFar = 1'000'000;
// Pairs looked at for one set, after which no other first one is tried.
constexpr size_t kPairs = 4000;

// The switches of a zone that is made of them; none of one that has a name by another's word.
std::vector<std::string_view> SwitchesOf(std::string_view zone) {
  std::vector<std::string_view> switches;
  const size_t names = zone.find('#');
  if (names == std::string_view::npos) return switches;
  for (zone.remove_prefix(names + 1);;) {
    const size_t end = zone.find('\0');
    switches.push_back(zone.substr(0, end));
    if (end == std::string_view::npos) return switches;
    zone.remove_prefix(end + 1);
  }
}

// Topologies say nothing that makes two of these near.
bool AllFar(const model::Cluster& cluster, model::Network network, std::span<const Item> items,
            std::span<const NodeId> base) {
  std::set<model::ZoneId> zones;
  std::set<std::string_view> seen;
  const auto says = [&](NodeId id) {
    const model::NodeZones& node = cluster.nodes()[id].zones;
    const model::ZoneId zone = node.of(network);
    if (!node.tiers(network).empty()) return true;
    if (!zone.valid() || !zones.insert(zone).second) return false;
    return std::ranges::any_of(SwitchesOf(cluster.names().zones.Name(zone)),
                               [&](std::string_view name) { return !seen.insert(name).second; });
  };
  return std::ranges::none_of(items, says, &Item::node) && std::ranges::none_of(base, says);
}

}  // namespace

int64_t Distance(const model::Cluster& cluster, model::Network network, NodeId one, NodeId other) {
  const model::NodeZones &a = cluster.nodes()[one].zones, &b = cluster.nodes()[other].zones;
  const model::ZoneId x = a.of(network), y = b.of(network);
  if (!x.valid() || !y.valid()) return kFar;
  if (x == y) return 0;
  const auto& zones = cluster.names().zones;
  const auto switches = SwitchesOf(zones.Name(x));
  int64_t shared = 0;
  for (const std::string_view name : SwitchesOf(zones.Name(y)))
    shared += std::ranges::count(switches, name);
  if (shared > 0) return kTier - std::min(shared, kTier - 1);
  for (const model::Tier& tier : a.tiers(network))
    if (std::ranges::count(b.tiers(network), tier) > 0)
      return kTier + std::clamp<int64_t>(tier.level, 0, kTier);
  return kFar;
}

std::vector<size_t> Nearest(const model::Cluster& cluster, model::Network network,
                            std::span<const int64_t> sizes, std::span<const Item> items,
                            std::span<const NodeId> base) {
  std::vector<size_t> best;
  if (AllFar(cluster, network, items, base)) return best;
  int64_t least = std::numeric_limits<int64_t>::max();
  size_t pairs = 0;
  for (size_t seed = 0; seed < items.size() && pairs < kPairs; ++seed) {
    if (sizes.empty() || items[seed].size != sizes[0]) continue;
    std::vector<size_t> taken;
    std::vector<int64_t> far(items.size(), 0);  // from all that are taken, and the base
    int64_t sum = 0;
    const auto come = [&](NodeId node) {
      for (size_t i = 0; i < items.size(); ++i)
        far[i] += Distance(cluster, network, items[i].node, node);
      pairs += items.size();
    };
    for (const NodeId node : base) come(node);
    while (taken.size() < sizes.size()) {
      size_t next = taken.empty() ? seed : items.size();
      for (size_t i = 0; i < items.size() && !taken.empty(); ++i)
        if (items[i].size == sizes[taken.size()] && std::ranges::count(taken, i) == 0 &&
            (next == items.size() || far[i] < far[next]))
          next = i;
      if (next == items.size()) break;
      sum += far[next];
      taken.push_back(next);
      come(items[next].node);
    }
    if (taken.size() == sizes.size() && sum < least) least = sum, best = std::move(taken);
  }
  return best;
}

}  // namespace sky::topology
