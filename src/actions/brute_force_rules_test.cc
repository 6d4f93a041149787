// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "actions/brute_force_for_test.h"

namespace sky::actions {

Amounts BruteForce::Charge(const Amounts& request, const Amounts& used) {
  Amounts charge{};
  for (size_t name = 0; name < kAmounts; ++name) charge[name] = std::max(request[name], used[name]);
  return charge;
}

BruteForce::BruteForce(const GangCase& gang) : gang_(WithBlocks(gang)) {}

GangCase BruteForce::WithBlocks(GangCase gang) {
  const bool zones = std::any_of(gang.nodes.begin(), gang.nodes.end(),
                                 [](const auto& node) { return node.leaf >= 0; });
  if (!gang.zoned() || zones) return gang;
  // Somebody who has no place yet could have one there, if nobody else came.
  const auto takes = [&](int node) {
    for (size_t i = 0; i < gang.members.size(); ++i) {
      if (gang.members[i].node >= 0 || !gang.in_chain(gang.members[i])) continue;
      GangCase alone = gang;
      std::erase_if(alone.members, [](const auto& pod) { return pod.node < 0; });
      alone.members.push_back(gang.members[i]);
      for (GangCase::Node& row : alone.nodes) row.leaf = 0;
      if (BruteForce(alone).Possible({node}, {false, 1'000'000, false})) return true;
    }
    return std::any_of(gang.members.begin(), gang.members.end(),
                       [&](const auto& pod) { return pod.node == node && gang.in_chain(pod); });
  };
  int block = kBlock;
  std::map<int, int> last;  // node of a block, by spec code
  for (int node = 0; node < static_cast<int>(gang.nodes.size()); ++node) {
    GangCase::Node& row = gang.nodes[static_cast<size_t>(node)];
    const bool belongs = takes(node);
    const auto before = last.find(row.spec);
    row.leaf = belongs && before != last.end() &&
                       row.number - gang.nodes[static_cast<size_t>(before->second)].number <= 1
                   ? gang.nodes[static_cast<size_t>(before->second)].leaf
                   : ++block;
    if (belongs) last[row.spec] = node;
  }
  return gang;
}

BruteForce::Cell BruteForce::CellOf(int node) const {
  return {gang_.nodes[static_cast<size_t>(node)].leaf, gang_.nodes[static_cast<size_t>(node)].spec};
}

bool BruteForce::Admits(const GangCase::Pod& pod, int node) const {
  const GangCase::Node& row = gang_.nodes[static_cast<size_t>(node)];
  return !row.cordoned && (pod.rack < 0 || pod.rack == row.rack);
}

bool BruteForce::MayUse(const GangCase::Pod& pod, int quota) const {
  return pod.required < 0 || pod.required == quota;
}

bool BruteForce::Selects(int quota, int node) const {
  const GangCase::Quota& row = gang_.quotas[static_cast<size_t>(quota)];
  const GangCase::Node& there = gang_.nodes[static_cast<size_t>(node)];
  return !there.cordoned && (row.rack < 0 || row.rack == there.rack) &&
         (row.spec < 0 || row.spec == there.spec);
}

bool BruteForce::NeedsPlace(size_t member, bool chain) const {
  return gang_.members[member].node < 0 && gang_.in_chain(gang_.members[member]) == chain;
}

std::optional<int> BruteForce::OwnSpec() const {
  for (const GangCase::Pod& pod : gang_.members)
    if (pod.node >= 0 && pod.asks_devices()) return gang_.nodes[static_cast<size_t>(pod.node)].spec;
  return std::nullopt;
}

std::set<int> BruteForce::OwnZones() const {
  std::set<int> zones;
  for (const GangCase::Pod& pod : gang_.members)
    if (pod.node >= 0 && gang_.in_chain(pod) && CellOf(pod.node).first >= 0)
      zones.insert(CellOf(pod.node).first);
  return zones;
}

BruteForce::Ledger BruteForce::Begin() const {
  Ledger ledger;
  ledger.charged.resize(gang_.nodes.size());
  ledger.bound = ledger.charged;
  ledger.used.resize(gang_.quotas.size());
  for (const GangCase::Quota& quota : gang_.quotas) ledger.at.push_back(quota.node);
  for (const auto* pods : {&gang_.members, &gang_.neighbours})
    for (const GangCase::Pod& pod : *pods) {
      if (pod.node < 0) continue;
      if (pod.quota >= 0) ledger.at[static_cast<size_t>(pod.quota)] = pod.node;
      Amounts& to = pod.quota >= 0 ? ledger.used[static_cast<size_t>(pod.quota)]
                                   : ledger.charged[static_cast<size_t>(pod.node)];
      for (size_t name = 0; name < kAmounts; ++name) to[name] += pod.request[name];
    }
  for (size_t q = 0; q < gang_.quotas.size(); ++q) {
    if (ledger.at[q] < 0) continue;
    const auto node = static_cast<size_t>(ledger.at[q]);
    const Amounts charge = Charge(gang_.quotas[q].request, ledger.used[q]);
    for (size_t name = 0; name < kAmounts; ++name) {
      ledger.charged[node][name] += charge[name];
      ledger.bound[node][name] += gang_.quotas[q].request[name];
    }
  }
  return ledger;
}

// --- zones ---

Zones BruteForce::NodesOf(const std::set<Cell>& cells) const {
  // Strict ranks go by physical order alone, others zone by zone.
  std::vector<Cell> order;
  Zones zones;
  for (int node = 0; node < static_cast<int>(gang_.nodes.size()); ++node) {
    if (!cells.contains(CellOf(node))) continue;
    if (gang_.strict()) zones.push_back(node);
    if (std::find(order.begin(), order.end(), CellOf(node)) == order.end())
      order.push_back(CellOf(node));
  }
  if (gang_.strict()) return zones;
  // Cells whose first nodes have one number stand by the names of their zones, then spec codes.
  const auto first = [&](const Cell& cell) {
    for (size_t node = 0; node < gang_.nodes.size(); ++node)
      if (CellOf(static_cast<int>(node)) == cell) return gang_.nodes[node].number;
    return -1;
  };
  std::sort(order.begin(), order.end(), [&](const Cell& a, const Cell& b) {
    return std::pair(first(a), a) < std::pair(first(b), b);
  });
  for (const Cell& cell : order)
    for (int node = 0; node < static_cast<int>(gang_.nodes.size()); ++node)
      if (CellOf(node) == cell) zones.push_back(node);
  return zones;
}

// Could the chain stand in this zone if nothing else was there, and free quotas had no number? The
// whole chain: members that have places count as if they had none. Extras don't count.
bool BruteForce::CouldHoldEmpty(const Cell& cell) const {
  GangCase empty = gang_;
  empty.neighbours.clear();
  const bool begun = !OwnZones().empty();
  // A cordon where its members run keeps newcomers away, and passes.
  for (GangCase::Node& node : empty.nodes) node.cordoned = node.cordoned && !begun;
  std::vector<size_t> whole;
  for (size_t i = 0; i < gang_.members.size(); ++i) {
    GangCase::Pod& pod = empty.members[i];
    if (!gang_.in_chain(pod) || (pod.node >= 0 ? !begun : begun && gang_.elastic)) continue;
    whole.push_back(i);
    pod.node = pod.quota = -1;
  }
  GangCase unplaced = gang_;
  for (const size_t i : whole) unplaced.members[i] = empty.members[i];
  const Ledger ledger = BruteForce(unplaced).Begin();
  empty.members.clear();
  for (const size_t i : whole) {
    empty.members.push_back(unplaced.members[i]);
    // Whether it is the first of its rank is known only among all members.
    if (!gang_.ordered(i)) empty.members.back().rank = empty.members.back().note = -1;
  }
  // Bound quotas stay where somebody of the gang could still use them.
  empty.quotas.clear();
  std::vector<int> renumbered(gang_.quotas.size(), -1);
  for (size_t q = 0; q < gang_.quotas.size(); ++q) {
    GangCase::Quota quota = gang_.quotas[q];
    const bool on_node = ledger.at[q] >= 0;
    const bool usable =
        std::any_of(empty.members.begin(), empty.members.end(), [&](const GangCase::Pod& pod) {
          bool holds = MayUse(pod, static_cast<int>(q));
          for (size_t name = 0; name < kAmounts; ++name)
            holds = holds && (!quota.listed[name] || pod.request[name] == 0 ||
                              ledger.used[q][name] + pod.request[name] <= quota.request[name]);
          return holds;
        });
    if (!usable) continue;
    quota.node = ledger.at[q];
    renumbered[q] = static_cast<int>(empty.quotas.size());
    empty.quotas.push_back(quota);
    if (on_node && ledger.used[q] != Amounts{}) {
      GangCase::Pod there;
      there.request = ledger.used[q];
      there.node = ledger.at[q];
      there.quota = renumbered[q];
      empty.neighbours.push_back(there);
    }
    if (!on_node && !quota.demanded)
      for (size_t copy = 1; copy < empty.members.size(); ++copy) empty.quotas.push_back(quota);
  }
  for (GangCase::Pod& pod : empty.members)
    if (pod.required >= 0) {
      if (renumbered[static_cast<size_t>(pod.required)] < 0) return false;
      pod.required = renumbered[static_cast<size_t>(pod.required)];
    }
  BruteForce search(empty);
  return search.Possible(search.NodesOf({cell}), {gang_.strict(), 1'000'000, false});
}

std::vector<std::pair<BruteForce::Span, Zones>> BruteForce::Spans() {
  bool chain = false;
  for (size_t i = 0; i < gang_.members.size(); ++i) chain = chain || NeedsPlace(i, true);
  if (!chain) return {{Span{}, {}}};
  const std::set<int> own = OwnZones();
  std::set<int> own_specs;
  for (const GangCase::Pod& pod : gang_.members)
    if (pod.node >= 0 && gang_.in_chain(pod) && CellOf(pod.node).first >= 0 &&
        CellOf(pod.node).first < kBlock)
      own_specs.insert(CellOf(pod.node).second);
  const bool any_zone = std::any_of(gang_.nodes.begin(), gang_.nodes.end(),
                                    [](const auto& node) { return node.leaf >= 0; });
  bool chain_devices = false;
  for (size_t i = 0; i < gang_.members.size(); ++i)
    chain_devices = chain_devices || (NeedsPlace(i, true) && gang_.members[i].asks_devices());
  std::set<Cell> cells;
  for (int node = 0; node < static_cast<int>(gang_.nodes.size()); ++node) {
    const Cell cell = CellOf(node);
    if (any_zone && cell.first < 0) continue;
    if (!own_specs.empty() && !own_specs.contains(cell.second)) continue;
    if (chain_devices && OwnSpec() && *OwnSpec() != cell.second) continue;
    cells.insert(cell);
  }
  // Members that run don't move: a gang of one zone waits for a place in the one that has them.
  const bool blocks = std::any_of(cells.begin(), cells.end(),
                                  [](const Cell& cell) { return cell.first >= kBlock; });
  const bool may_wait = !blocks && std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
    return own.size() <= 1 && CouldHoldEmpty(cell);
  });
  const int most = blocks ? 1000 : gang_.zones > 0 ? gang_.zones : may_wait ? 1 : 1000;
  const int more = std::max(0, most - static_cast<int>(own.size()));
  const std::vector<Cell> all(cells.begin(), cells.end());
  std::vector<std::pair<Span, Zones>> spans;
  for (unsigned bits = 1; bits < 1u << all.size(); ++bits) {
    std::set<Cell> some;
    std::set<int> specs;
    for (size_t i = 0; i < all.size(); ++i)
      if ((bits >> i & 1) != 0) some.insert(all[i]), specs.insert(all[i].second);
    if (const Span span = SpanOf(some); specs.size() == 1 && span.fresh <= more)
      spans.emplace_back(span, NodesOf(some));
  }
  std::sort(spans.begin(), spans.end());
  return spans;
}

BruteForce::Span BruteForce::SpanOf(const std::set<Cell>& cells) const {
  const std::set<int> own = OwnZones();
  const auto fresh = std::count_if(cells.begin(), cells.end(),
                                   [&](const Cell& cell) { return !own.contains(cell.first); });
  return {static_cast<int>(fresh), static_cast<int>(cells.size())};
}

std::optional<BruteForce::Span> BruteForce::Fewest() {
  for (const auto& [span, zones] : Spans())
    if (Possible(zones, {gang_.strict(), 1'000'000, true})) return span;
  return std::nullopt;
}

bool BruteForce::Holds(const Zones& zones) const {
  const Ledger ledger = Begin();
  for (size_t q = 0; q < gang_.quotas.size(); ++q)
    if (std::find(zones.begin(), zones.end(), ledger.at[q]) != zones.end()) return true;
  return false;
}

// --- every way ---

void BruteForce::Reset(const Zones& zones, const Wish& wish) {
  wish_ = wish;
  ledger_ = Begin();
  position_.assign(gang_.nodes.size(), -1);
  for (size_t i = 0; i < zones.size(); ++i)
    position_[static_cast<size_t>(zones[i])] = static_cast<int>(i);
  steps_.clear();
  load_.assign(gang_.nodes.size(), 0);
  for (size_t i = 0; i < gang_.members.size(); ++i) {
    const GangCase::Pod& pod = gang_.members[i];
    if (!gang_.in_chain(pod)) continue;
    if (pod.node >= 0) ++load_[static_cast<size_t>(pod.node)];
    if (gang_.ordered(i)) steps_.push_back(i);
  }
  for (const bool chain : {true, false})
    for (size_t i = 0; i < gang_.members.size(); ++i)
      if (NeedsPlace(i, chain) && (chain ? !gang_.ordered(i) : wish.others)) steps_.push_back(i);
  spec_ = OwnSpec();
}

bool BruteForce::Possible(const Zones& zones, const Wish& wish) {
  Reset(zones, wish);
  return Try(0, {});
}

// Members that were placed before are judged among themselves by the numbers of their nodes, and by
// those only in a strict gang: nothing can be done about them.
bool BruteForce::Follows(const Line& line, int at, bool placed_before) const {
  if (at >= line.last || line.last < 0) return true;
  if (!placed_before || !line.placed_before) return false;
  return !gang_.strict() || gang_.nodes[static_cast<size_t>(at)].number ==
                                gang_.nodes[static_cast<size_t>(line.last)].number;
}

bool BruteForce::Try(size_t step, Line line) {
  if (step == steps_.size()) return true;
  const size_t member = steps_[step];
  const GangCase::Pod& pod = gang_.members[member];
  const bool ranked = gang_.in_chain(pod) && gang_.ordered(member) && wish_.ordered;
  if (pod.node >= 0) {
    const int at = gang_.strict() ? pod.node : position_[static_cast<size_t>(pod.node)];
    if (!ranked || at < 0) return Try(step + 1, line);
    return Follows(line, at, true) && Try(step + 1, {std::max(at, line.last), true});
  }
  for (int node = 0; node < static_cast<int>(gang_.nodes.size()); ++node) {
    if (!Admits(pod, node)) continue;
    const int position = position_[static_cast<size_t>(node)];
    if (gang_.in_chain(pod) && (position < 0 || load_[static_cast<size_t>(node)] >= wish_.cap))
      continue;
    const int at = gang_.strict() ? node : position;
    if (ranked && !Follows(line, at, false)) continue;
    if (pod.asks_devices() && spec_ && *spec_ != CellOf(node).second) continue;
    if (TryNode(step, ranked ? Line{at, false} : line, node)) return true;
  }
  return false;
}

bool BruteForce::TryNode(size_t step, Line line, int node) {
  const GangCase::Pod& pod = gang_.members[steps_[step]];
  const std::optional<int> spec = spec_;
  if (pod.asks_devices()) spec_ = CellOf(node).second;
  if (gang_.in_chain(pod)) ++load_[static_cast<size_t>(node)];
  std::set<int> alike;  // free quotas of one shape that nobody demands are as good as each other
  bool works = false;
  for (size_t q = 0; q < gang_.quotas.size() && !works; ++q) {
    const bool fresh = ledger_.at[q] < 0;
    if (!MayUse(pod, static_cast<int>(q)) || (!fresh && ledger_.at[q] != node)) continue;
    if (fresh && !gang_.quotas[q].demanded && !alike.insert(gang_.quotas[q].shape).second) continue;
    works = TryQuota(step, line, node, q);
  }
  if (gang_.in_chain(pod)) --load_[static_cast<size_t>(node)];
  spec_ = spec;
  return works;
}

bool BruteForce::TryQuota(size_t step, Line line, int node, size_t q) {
  const GangCase::Quota& quota = gang_.quotas[q];
  const Amounts& asked = gang_.members[steps_[step]].request;
  const Amounts& has = gang_.nodes[static_cast<size_t>(node)].allocatable;
  const bool fresh = ledger_.at[q] < 0;
  if (fresh && !Selects(static_cast<int>(q), node)) return false;
  const Amounts used_before = ledger_.used[q],
                charged_before = ledger_.charged[static_cast<size_t>(node)],
                bound_before = ledger_.bound[static_cast<size_t>(node)];
  Amounts used = used_before, charged = charged_before, bound = bound_before;
  for (size_t name = 0; name < kAmounts; ++name) used[name] += asked[name];
  const Amounts charge = Charge(quota.request, used),
                before = fresh ? Amounts{} : Charge(quota.request, used_before);
  for (size_t name = 0; name < kAmounts; ++name) {
    if (quota.listed[name] && asked[name] > 0 && used[name] > quota.request[name]) return false;
    const int growth = charge[name] - before[name];
    charged[name] += growth;
    if ((growth > 0 || asked[name] > 0) && charged[name] > has[name]) return false;
    if (fresh) bound[name] += quota.request[name];
    if (fresh && quota.request[name] > 0 && bound[name] > has[name]) return false;
  }
  ledger_.used[q] = used;
  ledger_.charged[static_cast<size_t>(node)] = charged;
  ledger_.bound[static_cast<size_t>(node)] = bound;
  ledger_.at[q] = node;
  const bool works = Try(step + 1, line);
  ledger_.used[q] = used_before;
  ledger_.charged[static_cast<size_t>(node)] = charged_before;
  ledger_.bound[static_cast<size_t>(node)] = bound_before;
  if (fresh) ledger_.at[q] = -1;
  return works;
}

// --- an answer ---

bool BruteForce::InOrder(const Zones& zones, const Places& places) const {
  Line line;
  for (size_t i = 0; i < gang_.members.size(); ++i) {
    const GangCase::Pod& pod = gang_.members[i];
    if (!gang_.in_chain(pod) || !gang_.ordered(i)) continue;
    const int node = pod.node >= 0 ? pod.node : places[i].node;
    int at = node;
    if (!gang_.strict()) {
      const auto found = std::find(zones.begin(), zones.end(), node);
      if (found == zones.end()) continue;
      at = static_cast<int>(found - zones.begin());
    }
    if (!Follows(line, at, pod.node >= 0)) return false;
    line = {std::max(at, line.last), pod.node >= 0};
  }
  return true;
}

std::string BruteForce::Wrong(const Places& places) const {
  GangCase after = gang_;
  std::set<int> specs;
  for (size_t i = 0; i < places.size(); ++i) {
    GangCase::Pod& pod = after.members[i];
    const auto [quota, node] = places[i];
    if (pod.node >= 0 && quota >= 0) return "somebody is placed twice";
    if (pod.node >= 0) {
      if (pod.asks_devices()) specs.insert(CellOf(pod.node).second);
      continue;
    }
    if (quota < 0) return "somebody has no place";
    if (!Admits(pod, node)) return "a node that its pod doesn't select";
    if (!MayUse(pod, quota)) return "another quota than the one it demands";
    if (pod.asks_devices()) specs.insert(CellOf(node).second);
    pod.node = node;
    pod.quota = quota;
  }
  if (specs.size() > 1) return "two spec codes";
  const Ledger before = Begin();
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].quota < 0) continue;
    const auto q = static_cast<size_t>(places[i].quota);
    if (before.at[q] >= 0 && before.at[q] != places[i].node) return "a quota away from its node";
    if (before.at[q] < 0 && !Selects(places[i].quota, places[i].node))
      return "a node that its quota doesn't select";
    for (size_t j = 0; j < places.size(); ++j)
      if (places[j].quota == places[i].quota && places[j].node != places[i].node)
        return "one quota on two nodes";
  }
  const Ledger end = BruteForce(after).Begin();
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].quota < 0) continue;
    const auto q = static_cast<size_t>(places[i].quota), node = static_cast<size_t>(places[i].node);
    for (size_t name = 0; name < kAmounts; ++name) {
      const int has = gang_.nodes[node].allocatable[name], asked = after.members[i].request[name];
      if (gang_.quotas[q].listed[name] && asked > 0 &&
          end.used[q][name] > gang_.quotas[q].request[name])
        return "a quota overfull";
      if ((asked > 0 || end.charged[node][name] > before.charged[node][name]) &&
          end.charged[node][name] > has)
        return "a node overfull";
      if (before.at[q] < 0 && gang_.quotas[q].request[name] > 0 && end.bound[node][name] > has)
        return "more quotas on a node than it has";
    }
  }
  return "";
}

}  // namespace sky::actions
