// SPDX-License-Identifier: Apache-2.0
#include "cache/wirings.h"

#include <algorithm>

#include "model/facts.h"

namespace sky::cache {

using model::Network;
using model::ZoneId;

namespace {

using Switches = std::vector<std::string>;

// Has all of the other's, and more.
bool Larger(const Switches& one, const Switches& other) {
  return one.size() > other.size() && std::ranges::includes(one, other);
}

}  // namespace

Wirings::Nodes Wirings::Set(const std::string& name, const model::NodeWiring& said, MonoTime now,
                            bool at_once) {
  const auto at = nodes_.find(name);
  const bool known = at != nodes_.end();
  if (!known && said == model::NodeWiring{}) return {};
  Node& node = known ? at->second : nodes_[name];
  const auto due = [&] {
    std::optional<MonoTime> first = node.roce.lost_since;
    if (node.ib.lost_since && (!first || *node.ib.lost_since < *first)) first = node.ib.lost_since;
    return first;
  };
  if (const auto first = due()) losses_.erase({*first + hold_down_, name});
  Nodes changed;
  if (!known || node.said != said) changed.insert(name);
  node.said = said;
  Show(name, Network::kRoce, said.roce, known, at_once, now, node.roce, changed);
  Show(name, Network::kIb, said.ib, known, at_once, now, node.ib, changed);
  if (const auto first = due()) losses_.insert({*first + hold_down_, name});
  if (said == model::NodeWiring{} && !node.roce.key.valid() && !node.ib.key.valid())
    nodes_.erase(name);
  return changed;
}

// One that was never seen has lost nothing before now: a NIC that is down counts until then.
void Wirings::Show(const std::string& name, Network network, const model::NetWiring& said,
                   bool known, bool at_once, MonoTime now, Shown& shown, Nodes& changed) {
  Switches counts = said.live;
  const Switches& before = known ? shown.switches : said.switches;
  std::optional<MonoTime> since;
  if (!at_once && !said.named.valid() && Larger(before, said.live)) {
    since = shown.lost_since.value_or(now);
    if (*since + hold_down_ <= now)
      since.reset();
    else
      counts = before;
  }
  shown.lost_since = since;
  shown.switches = std::move(counts);
  const ZoneId key =
      said.named.valid() ? ZoneId{} : model::ZoneOfSwitches(network, shown.switches, *names_);
  if (key == shown.key) return;
  Net& net = network == Network::kIb ? ib_ : roce_;
  // Only sets that share a switch with one that came or went can be a part of it.
  std::set<ZoneId> related;
  const auto relate = [&](ZoneId zone) {
    const auto there = net.zones.find(zone);
    if (there == net.zones.end()) return;
    for (const std::string& one : there->second.switches)
      related.insert(net.by_switch.at(one).begin(), net.by_switch.at(one).end());
  };
  relate(shown.key);
  Leave(net, name, shown.key);
  shown.key = key;
  Enter(net, name, shown);
  relate(shown.key);
  for (const ZoneId one : related) {
    const auto zone = net.zones.find(one);
    if (zone == net.zones.end()) continue;
    const ZoneId home = HomeOf(net, one);
    if (std::exchange(zone->second.home, home) != home)
      changed.insert(zone->second.nodes.begin(), zone->second.nodes.end());
  }
  changed.insert(name);
}

void Wirings::Leave(Net& net, const std::string& node, ZoneId key) {
  const auto zone = net.zones.find(key);
  if (zone == net.zones.end()) return;
  zone->second.nodes.erase(node);
  if (!zone->second.nodes.empty()) return;
  for (const std::string& one : zone->second.switches) {
    const auto of_switch = net.by_switch.find(one);
    of_switch->second.erase(key);
    if (of_switch->second.empty()) net.by_switch.erase(of_switch);
  }
  net.zones.erase(zone);
}

void Wirings::Enter(Net& net, const std::string& node, const Shown& shown) {
  if (!shown.key.valid()) return;
  const auto [zone, added] = net.zones.try_emplace(shown.key, Zone{shown.switches, {}, shown.key});
  zone->second.nodes.insert(node);
  if (!added) return;
  for (const std::string& one : shown.switches) net.by_switch[one].insert(shown.key);
}

// A larger zone has more switches and more nodes: machines that are wired with fewer on purpose are
// not the broken ones of a few that have more.
ZoneId Wirings::HomeOf(const Net& net, ZoneId key) {
  const Zone& part = net.zones.at(key);
  const auto larger = [&](const Zone& one, const Zone& other) {
    return one.nodes.size() > other.nodes.size() && Larger(one.switches, other.switches);
  };
  std::vector<ZoneId> all;
  for (const ZoneId other : net.by_switch.at(part.switches.front()))
    if (larger(net.zones.at(other), part)) all.push_back(other);
  // Not those that are a part of another one themselves.
  std::vector<ZoneId> whole;
  std::ranges::copy_if(all, std::back_inserter(whole), [&](ZoneId one) {
    return std::ranges::none_of(
        all, [&](ZoneId other) { return larger(net.zones.at(other), net.zones.at(one)); });
  });
  if (whole.size() != 1) return key;
  const size_t size = net.zones.at(whole.front()).switches.size();
  return 2 * part.switches.size() >= size ? whole.front() : key;
}

Wirings::Nodes Wirings::Tick(MonoTime now) {
  Nodes changed;
  while (!losses_.empty() && losses_.begin()->first <= now) {
    const std::string name = losses_.begin()->second;
    const model::NodeWiring said = nodes_.at(name).said;
    changed.merge(Set(name, said, now, false));
  }
  return changed;
}

std::optional<MonoTime> Wirings::Next() const {
  return losses_.empty() ? std::nullopt : std::optional(losses_.begin()->first);
}

model::NodeZones Wirings::Of(const std::string& name) const {
  model::NodeZones zones;
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return zones;
  const auto read = [](const Net& net, const model::NetWiring& said, const Shown& shown,
                       ZoneId& zone, std::optional<int32_t>& rails,
                       std::vector<model::Tier>& tiers) {
    tiers = said.tiers;
    zone = said.named;
    if (!shown.key.valid()) return;
    zone = net.zones.at(shown.key).home;
    if (zone != shown.key) rails = said.rails;
  };
  const Node& node = at->second;
  read(roce_, node.said.roce, node.roce, zones.roce, zones.roce_rails, zones.roce_tiers);
  read(ib_, node.said.ib, node.ib, zones.ib, zones.ib_rails, zones.ib_tiers);
  if (!zones.ib.valid()) {
    zones.ib = zones.roce;
    zones.ib_rails = zones.roce_rails;
    zones.ib_tiers = zones.roce_tiers;
  }
  return zones;
}

}  // namespace sky::cache
