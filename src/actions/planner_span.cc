// SPDX-License-Identifier: Apache-2.0
// Which cells a gang takes together: the fewest zones, those of its placed members before any
// other, and no more than it may span.
#include <algorithm>
#include <functional>
#include <numeric>

#include "actions/blocks.h"
#include "actions/planner_asked.h"
#include "actions/round_tasks.h"
#include "base/natural.h"
#include "topology/nearness.h"

namespace sky::actions {

using model::CellId;
using model::NodeId;
using model::QuotaId;
using model::SpecId;
using model::TaskId;

namespace {

// Up to so many cells every set of them is tried, for gangs where counts decide nothing.
constexpr size_t kSmall = 6;

}  // namespace

bool Planner::Zoned(const std::vector<Cell>& cells) const {
  return !cells.empty() && cluster_.cells()[cells[0].id].key.zone.valid();
}

void Planner::FindSiblings() {
  own_.clear();
  own_specs_.clear();
  more_.reset();
  if (!policy_.enabled) return;
  for (const TaskId id : cluster_.jobs()[round_.job].ranked)
    if (const NodeId node = InChain(id) ? cluster_.PlaceOf(id) : NodeId{}; node.valid())
      if (const model::ZoneId zone = ZoneOf(node); zone.valid()) {
        own_.insert(zone);
        own_specs_.insert(cluster_.nodes()[node].spec);
      }
}

// All cells of the spec codes on which the chain may stand: one that has begun keeps to its own,
// with accelerators or without.
std::vector<CellId> Planner::Candidates(std::span<const TaskId> chain) const {
  std::vector<CellId> cells = OfOneSpec(chain, policy_.cells);
  if (!own_specs_.empty())
    std::erase_if(
        cells, [&](CellId cell) { return !own_specs_.contains(cluster_.cells()[cell].key.spec); });
  return cells;
}

// The most that cells which these tasks may have together count: of one spec code, unless nothing
// ties them to one; all of the gang's own zones, and so many others.
int64_t Planner::Reach(std::span<const TaskId> tasks, const std::vector<Cell>& cells,
                       int64_t Cell::* count, int64_t more) const {
  if (!Zoned(cells)) {
    if (!InChain(tasks.front()) && !AsksAccelerator(cluster_, tasks.front()))
      return std::accumulate(cells.begin(), cells.end(), int64_t{0},
                             [&](int64_t sum, const Cell& cell) { return sum + cell.*count; });
    more = 1;
  }
  struct Sums {
    int64_t own = 0;
    std::vector<int64_t> others;
  };
  std::map<SpecId, Sums> by_spec;
  for (const Cell& cell : cells) {
    const int64_t counted = std::min<int64_t>(cell.*count, INT32_MAX);
    if (Fresh(cell))
      by_spec[cell.spec].others.push_back(counted);
    else
      by_spec[cell.spec].own += counted;
  }
  int64_t best = 0;
  for (auto& [spec, sums] : by_spec) {
    std::ranges::sort(sums.others, std::greater());
    const auto taken = std::min(static_cast<size_t>(more), sums.others.size());
    best = std::max(best,
                    std::accumulate(sums.others.begin(),
                                    sums.others.begin() + static_cast<ptrdiff_t>(taken), sums.own));
  }
  return best;
}

// --- sets of cells, the best first ---

namespace {

// Cells out of `all` with the rooms of `like` that are nearest to each other and to `base`.
using Near = std::function<std::vector<const CellRoom*>(
    const std::vector<const CellRoom*>& like, const std::vector<const CellRoom*>& all,
    const std::vector<const CellRoom*>& base, int64_t CellRoom::* room)>;

template <class Cells, class Room>
int64_t SumOf(const Cells& cells, Room room) {
  return std::accumulate(cells.begin(), cells.end(), int64_t{0}, [&](int64_t sum, auto* cell) {
    return sum + std::min<int64_t>(cell->*room, INT32_MAX);
  });
}

// Sets of `least` to `limit` cells that may hold `n` tasks, each beside `base`. Tasks that are
// alike: the largest ones, and of the last that only has to hold the rest the smallest that does.
// Others, and those whom an order of nodes constrains: more than just enough, too.
template <class Cells, class Room>
void AddSets(int64_t n, size_t least, size_t limit, Cells all, const Cells& base, Room room,
             const Near& near, std::vector<Cells>& choices) {
  std::sort(all.begin(), all.end(), [&](auto* a, auto* b) {
    if (a->*room != b->*room) return a->*room > b->*room;
    if (a->kin != b->kin) return a->kin > b->kin;
    return a->rank < b->rank;
  });
  limit = std::min(limit, all.size());
  const auto first = [&](size_t count) {
    return Cells(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
  };
  const auto add = [&](Cells choice) {
    choice.insert(choice.end(), base.begin(), base.end());
    choices.push_back(std::move(choice));
  };
  size_t fewest = least;
  while (fewest < limit && SumOf(first(fewest), room) < n) ++fewest;
  if (fewest > limit || SumOf(first(fewest), room) < n) return;
  const int64_t rest = n - SumOf(first(fewest - 1), room);
  size_t last = fewest - 1;
  for (size_t i = fewest; i < all.size() && all[i]->*room >= rest; ++i)
    if (all[i]->*room < all[last]->*room) last = i;
  Cells tight = first(fewest - 1);
  tight.push_back(all[last]);
  // As many that are as large, and nearer to each other.
  if (tight.size() + base.size() > 1 && std::ranges::count(all, tight.back()->*room, room) +
                                                std::ranges::count(all, all[0]->*room, room) >
                                            static_cast<ptrdiff_t>(tight.size()))
    if (Cells nearest = near(tight, all, base, room); !nearest.empty()) add(std::move(nearest));
  add(std::move(tight));
  for (size_t more = fewest; more <= std::min(limit, fewest + 3); ++more) add(first(more));
  if (limit > fewest + 3) add(first(limit));
}

// More idle bound quotas first, then where those are that attract it, the tightest fit, a small
// zone, physical order (3.7).
template <class Cells, class Cell, class Room>
void AddSingles(int64_t n, const std::vector<Cell>& cells, Room room, std::vector<Cells>& choices) {
  Cells fitting;
  for (const Cell& cell : cells)
    if (cell.*room >= n) fitting.push_back(&cell);
  std::sort(fitting.begin(), fitting.end(), [&](const Cell* a, const Cell* b) {
    const int64_t bound_a = std::min(a->bound, n), bound_b = std::min(b->bound, n);
    if (bound_a != bound_b) return bound_a > bound_b;
    if (a->kin != b->kin) return a->kin > b->kin;
    if (a->*room != b->*room) return a->*room < b->*room;
    if (a->far != b->far) return a->far < b->far;
    if (a->crowd != b->crowd) return a->crowd < b->crowd;
    return a->rank < b->rank;
  });
  for (const Cell* cell : fitting) choices.push_back({cell});
}

// Sets of more than one cell of one spec code with room for somebody: the gang's own and others.
template <class Cells, class Room>
void AddSeveral(int64_t n, size_t more, const Cells& own, const Cells& others, Room room,
                const Near& near, std::vector<Cells>& choices) {
  AddSets(n, 2, own.size(), own, {}, room, near, choices);
  if (!own.empty()) {
    AddSets(std::max<int64_t>(n - SumOf(own, room), 1), 1, more, others, own, room, near, choices);
    // Whom ranks tie to a place may need exactly one that counts don't favour.
    constexpr size_t kMost = 64;
    for (size_t i = 0; i < others.size() && i < kMost && more > 0; ++i) {
      choices.push_back(own);
      choices.back().push_back(others[i]);
    }
  }
  AddSets(n, 2, more, others, {}, room, near, choices);
  Cells all = own;
  all.insert(all.end(), others.begin(), others.end());
  if (all.size() > kSmall) return;
  std::ranges::sort(all, {}, [](auto* cell) { return cell->rank; });
  for (unsigned set = 1; set < 1u << all.size(); ++set) {
    Cells choice;
    for (size_t i = 0; i < all.size(); ++i)
      if ((set >> i & 1) != 0) choice.push_back(all[i]);
    if (choice.size() >= 2 && SumOf(choice, room) >= n) choices.push_back(std::move(choice));
  }
}

}  // namespace

// Sets of cells with `room` for n tasks, of which at most `more` are new zones. Among equals the
// first is the best.
std::vector<Planner::Choice> Planner::Choices(int64_t n, int64_t more,
                                              const std::vector<Cell>& cells,
                                              int64_t Cell::* room) const {
  struct BySpec {
    Choice own, others;
  };
  std::map<std::string_view, BySpec, NaturalLess> by_spec;
  for (const Cell& cell : cells) {
    if (cell.*room <= 0) continue;
    BySpec& some =
        by_spec[cell.spec.valid() ? cluster_.names().specs.Name(cell.spec) : std::string_view{}];
    (Fresh(cell) ? some.others : some.own).push_back(&cell);
  }
  const Near near = [&](const Choice& like, const Choice& all, const Choice& base,
                        int64_t Cell::* of) { return NearestTo(like, all, base, of); };
  std::vector<Choice> choices;
  AddSingles(n, cells, room, choices);
  const auto limit = static_cast<size_t>(std::min<int64_t>(more, INT32_MAX));
  for (const auto& [spec, some] : by_spec) {
    AddSeveral(n, limit, some.own, some.others, room, near, choices);
    AddCover(limit, some.own, some.others, choices);
  }
  for (Choice& choice : choices) std::ranges::sort(choice, {}, &Cell::rank);
  std::erase_if(choices, [&](const Choice& choice) { return FreshIn(choice) > more; });
  return choices;
}

// Tasks that differ may each need cells of another kind: one cell after the other that takes most
// of those who are left.
void Planner::AddCover(size_t more, Choice own, Choice others, std::vector<Choice>& choices) const {
  if (kinds_.size() < 2) return;
  std::vector<int64_t> left = kinds_;
  const auto gain = [&](const Cell* cell) {
    int64_t sum = 0;
    for (size_t k = 0; k < left.size(); ++k)
      sum += std::clamp<int64_t>(cell->kinds[k], 0, std::max<int64_t>(left[k], 0));
    return sum;
  };
  const auto take = [&](const Cell* cell) {
    for (size_t k = 0; k < left.size(); ++k) left[k] -= std::max<int64_t>(cell->kinds[k], 0);
  };
  for (const Cell* cell : own) take(cell);
  while (own.size() < 2 || std::ranges::any_of(left, [](int64_t some) { return some > 0; })) {
    if (more-- == 0 || others.empty()) return;
    const auto best = std::ranges::max_element(others, {}, gain);
    if (gain(*best) == 0) return;
    take(*best);
    own.push_back(*best);
    others.erase(best);
  }
  choices.push_back(std::move(own));
}

// Overlapping zones, and those below one switch of a higher tier, are near (F41).
Planner::Choice Planner::NearestTo(const Choice& like, const Choice& all, const Choice& base,
                                   int64_t Cell::* room) const {
  if (policy_.in_blocks || all.empty() || !cluster_.cells()[all[0]->id].key.zone.valid()) return {};
  const auto sample = [&](const Cell* cell) { return NodesIn(*cell).front(); };
  std::vector<topology::Item> items;
  for (const Cell* cell : all) items.push_back({cell->*room, sample(cell)});
  std::vector<int64_t> sizes;
  for (const Cell* cell : like) sizes.push_back(cell->*room);
  std::vector<NodeId> beside;
  for (const Cell* cell : base) beside.push_back(sample(cell));
  Choice nearest;
  for (const size_t i : topology::Nearest(cluster_, policy_.network, sizes, items, beside))
    nearest.push_back(all[i]);
  return nearest;
}

int64_t Planner::FreshIn(const Choice& choice) {
  return std::ranges::count_if(choice, [&](const Cell* cell) { return Fresh(*cell); });
}

// Where nodes by index are the candidates: the blocks of these cells.
Planner::Cells Planner::BlocksOf(std::span<const TaskId> chain, const std::vector<Cell>& cells) {
  std::vector<Cell> blocks;
  if (!policy_.in_blocks) return blocks;
  BlockWish wish;
  wish.kin = policy_.kin;
  for (const TaskId task : chain) ++wish.kinds[&PoolOf(task)];
  for (const TaskId id : cluster_.jobs()[round_.job].ranked)
    if (const NodeId node = InChain(id) ? cluster_.PlaceOf(id) : NodeId{}; node.valid())
      wish.members.insert(node);
  const int64_t before = capacities_.steps();
  uint32_t rank = 0;
  for (const Cell& cell : cells)
    std::ranges::move(actions::BlocksOf(session_, capacities_, wish, cell, rank),
                      std::back_inserter(blocks));
  budget_ -= capacities_.steps() - before;
  return blocks;
}

// The fewest zones that are new to the gang, then the fewest at all; with as many, cells of the
// first list before those of the next, and those where nobody has to leave.
void Planner::AddAttempts(int64_t n, int64_t more, std::span<const Cells* const> ranked,
                          std::vector<Attempt>& attempts) const {
  std::map<std::tuple<int64_t, size_t, size_t, bool>, std::vector<Choice>> by_span;
  for (size_t rank = 0; rank < ranked.size(); ++rank) {
    const Cells& cells = *ranked[rank];
    const auto add = [&](int64_t Cell::* room, bool evicts) {
      std::set<Choice> seen;
      for (Choice& choice : Choices(n, more, cells, room))
        if (seen.insert(choice).second)
          by_span[{FreshIn(choice), choice.size(), rank, evicts}].push_back(std::move(choice));
    };
    add(&Cell::capacity, false);
    if (session_.Evicts() &&
        std::ranges::any_of(cells, [](const Cell& cell) { return cell.evicting > cell.capacity; }))
      add(&Cell::evicting, true);
  }
  size_t group = attempts.empty() ? 0 : attempts.back().group + 1;
  for (auto& [span, choices] : by_span) {
    for (Choice& choice : choices)
      attempts.push_back({std::move(choice), std::get<3>(span), group});
    ++group;
  }
}

}  // namespace sky::actions
