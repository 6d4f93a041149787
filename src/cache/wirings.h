// SPDX-License-Identifier: Apache-2.0
// From what topologies say to the zones of nodes (F41). A switch that a node loses counts as lost
// after the hold-down; another one counts at once. A node whose switches are a part, at least half,
// of exactly one larger zone's is a degraded member of that zone: a broken rail makes no zone of
// its own. Costs what a change touches: zones that share a switch. Guarded by the cache's lock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/cells.h"
#include "model/wiring.h"

namespace sky::cache {

class Wirings {
 public:
  Wirings(std::shared_ptr<model::Names> names, Duration hold_down)
      : names_(std::move(names)), hold_down_(hold_down) {}

  using Nodes = std::set<std::string>;
  // What is said of the node now. `at_once`: what it loses doesn't wait, its topology is gone.
  // Nodes whose zones may be others now.
  Nodes Set(const std::string& node, const model::NodeWiring& said, MonoTime now, bool at_once);
  // Time passed: the same.
  Nodes Tick(MonoTime now);
  std::optional<MonoTime> Next() const;  // when that may change something
  model::NodeZones Of(const std::string& node) const;

 private:
  struct Shown {  // of one network: what counts
    std::vector<std::string> switches;
    std::optional<MonoTime> lost_since;
    model::ZoneId key;  // the zone of exactly these
  };
  struct Node {
    model::NodeWiring said;
    Shown roce, ib;
  };
  struct Zone {
    std::vector<std::string> switches;
    Nodes nodes;
    model::ZoneId home;  // itself, or the one of which its nodes are degraded members
  };
  struct Net {
    std::map<model::ZoneId, Zone> zones;
    std::map<std::string, std::set<model::ZoneId>> by_switch;
  };
  void Show(const std::string& node, model::Network network, const model::NetWiring& said,
            bool known, bool at_once, MonoTime now, Shown& shown, Nodes& changed);
  static void Leave(Net& net, const std::string& node, model::ZoneId key);
  static void Enter(Net& net, const std::string& node, const Shown& shown);
  static model::ZoneId HomeOf(const Net& net, model::ZoneId key);

  const std::shared_ptr<model::Names> names_;
  const Duration hold_down_;
  std::map<std::string, Node> nodes_;
  std::set<std::pair<MonoTime, std::string>> losses_;  // when the first of a node's counts
  Net roce_, ib_;
};

}  // namespace sky::cache
