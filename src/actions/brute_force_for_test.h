// SPDX-License-Identifier: Apache-2.0
// The rules of placing a gang, read literally and tried in every way: which sets of zones it may
// span, and whether its members find nodes and quotas there. Knows nothing of the planner; slow on
// purpose, and only as clever as an instance of six members needs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actions/gang_case_for_test.h"

namespace sky::actions {

// Where members were put: by member; {-1, -1}: it was placed before, or wasn't placed.
struct Place {
  int quota = -1, node = -1;
  bool operator==(const Place&) const = default;
};
using Places = std::vector<Place>;

// Nodes where the chain may stand, in the order in which its ranks go.
using Zones = std::vector<int>;

class BruteForce {
 public:
  explicit BruteForce(const GangCase& gang);

  struct Wish {
    bool ordered = false;  // ranks follow the order of nodes
    int cap = 1'000'000;   // of the chain's members on one node
    bool others = true;    // those beside the chain need places too
  };
  // Does everybody who has none find a place, the chain inside `zones`?
  bool Possible(const Zones& zones, const Wish& wish);

  // How many zones a choice touches: those that are new to the gang count first.
  struct Span {
    int fresh = 0, all = 0;
    auto operator<=>(const Span&) const = default;
  };
  // Sets of zones of one spec code that the gang may have, the best first; one empty set when
  // nobody of the chain needs a place.
  std::vector<std::pair<Span, Zones>> Spans();
  // The least with which everybody finds a place; absent when there is none.
  std::optional<Span> Fewest();
  Span SpanOf(const std::set<std::pair<int, int>>& cells) const;
  Zones NodesOf(const std::set<std::pair<int, int>>& cells) const;
  // Somebody of the chain could use a quota that is on one of these nodes.
  bool Holds(const Zones& zones) const;
  // What is wrong with an answer; "" when it keeps every rule.
  std::string Wrong(const Places& places) const;

  // --- single rules ---
  using Cell = std::pair<int, int>;  // leaf, spec code
  Cell CellOf(int node) const;
  bool Admits(const GangCase::Pod& pod, int node) const;
  bool MayUse(const GangCase::Pod& pod, int quota) const;
  bool Selects(int quota, int node) const;
  // Placed members of the chain stand in the order of `zones`, as far as they are in it.
  bool InOrder(const Zones& zones, const Places& places) const;
  std::set<int> OwnZones() const;      // of placed members of the chain
  std::optional<int> OwnSpec() const;  // of placed members that ask devices
  bool NeedsPlace(size_t member, bool chain) const;

 private:
  struct Ledger {  // of nodes and quotas
    std::vector<Amounts> charged, bound, used;
    std::vector<int> at;  // of quotas
  };
  Ledger Begin() const;
  bool CouldHoldEmpty(const Cell& cell) const;
  // Where no node has a zone, the blocks stand for them, numbered from kBlock on.
  static constexpr int kBlock = 1000;
  static GangCase WithBlocks(GangCase gang);
  void Reset(const Zones& zones, const Wish& wish);
  // How far the ranks have come in the order of nodes.
  struct Line {
    int last = -1;
    bool placed_before = false;  // who stands there
  };
  bool Follows(const Line& line, int at, bool placed_before) const;
  bool Try(size_t step, Line line);
  bool TryNode(size_t step, Line line, int node);
  bool TryQuota(size_t step, Line line, int node, size_t quota);
  static Amounts Charge(const Amounts& request, const Amounts& used);

  const GangCase gang_;
  // of one search
  Wish wish_;
  Ledger ledger_;
  std::vector<int> position_;  // by node; -1: outside
  std::vector<size_t> steps_;  // members: the chain with its placed ones, then all others
  std::vector<int> load_;      // of the chain, by node
  std::optional<int> spec_;    // of those that ask devices
};

}  // namespace sky::actions
