// SPDX-License-Identifier: Apache-2.0
// How a node hangs in the network: what its topology says (NodeWiring), and the zones that follow
// from it once lost switches have been lost for long enough (NodeZones). Values.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "model/types.h"

namespace sky::model {

// A domain above the zones: the higher the level, the farther apart are nodes that share only this.
struct Tier {
  int32_t level = 0;
  ZoneId domain;
  auto operator<=>(const Tier&) const = default;
};

// Of one network.
struct NetWiring {
  ZoneId named;                       // the zone by another's word: an override, or a leaf group
  std::vector<std::string> switches;  // each once, sorted; of NICs that are down too
  std::vector<std::string> live;      // of NICs that aren't
  int32_t rails = 0;                  // such NICs
  std::vector<Tier> tiers;            // by level
  bool operator==(const NetWiring&) const = default;
};
struct NodeWiring {
  NetWiring roce, ib;
  bool operator==(const NodeWiring&) const = default;
};

struct NodeZones {
  ZoneId roce, ib;  // invalid: in none. The IB one falls back to the RoCE one
  // Of a node that has lost some of its zone's switches: the NICs that are left to it (F41).
  std::optional<int32_t> roce_rails, ib_rails;
  std::vector<Tier> roce_tiers, ib_tiers;
  bool operator==(const NodeZones&) const = default;

  ZoneId of(Network network) const { return network == Network::kIb ? ib : roce; }
  const std::optional<int32_t>& rails(Network network) const {
    return network == Network::kIb ? ib_rails : roce_rails;
  }
  const std::vector<Tier>& tiers(Network network) const {
    return network == Network::kIb ? ib_tiers : roce_tiers;
  }
  bool any() const { return roce.valid() || ib.valid(); }
};

}  // namespace sky::model
