// SPDX-License-Identifier: Apache-2.0
// Passes and searches over a Board. A pass that keeps to the order of ranks is exact as long as
// quotas don't decide: what stands furthest left leaves the most to those that follow.
#include "topology/places.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "topology/board.h"

namespace sky::topology {

using model::Resources;

namespace {

constexpr size_t kNowhere = SIZE_MAX;

class Search {
 public:
  Search(const Question& question, const model::ResourceNames& names, int64_t budget)
      : question_(question), board_(question, names), budget_(budget) {}

  Answer Run();

 private:
  using Places = std::vector<size_t>;  // spot by task

  size_t Tasks() const { return question_.tasks.size(); }
  size_t Spots() const { return question_.spots.size(); }
  size_t Chain() const { return question_.chain; }
  bool InChain(size_t task) const { return task < Chain(); }
  // Tasks that a cap is about.
  int64_t Counted() const {
    return std::count_if(question_.tasks.begin(), question_.tasks.end(),
                         [](const Chained& task) { return !task.beside; });
  }
  // The part of the spots where `task` may go, given where its neighbours in rank are.
  std::pair<size_t, size_t> Range(size_t task, size_t lowest, size_t highest) const;

  // Each returns true with all tasks on the board.
  bool Leftmost(bool leave_for_held);
  bool Mirror(Places& latest);
  bool Balanced();
  bool HeldAlone();
  bool Spread();
  bool Loose();
  size_t HeldUsed() const;
  template <class Pass>
  bool WithLoose(Pass pass);
  bool Try(size_t depth, const std::vector<size_t>& order, Places& at);
  bool Exhaust();
  std::vector<size_t> Order() const;
  std::vector<Seat> Flatter();
  bool ExactByPasses() const;
  template <class Works>
  bool SetLeastCap(Works works);

  const Question& question_;
  Board board_;
  const int64_t budget_;
  int64_t end_ = 0;  // steps at which an exhaustive search stops
  bool cut_ = false;
};

std::pair<size_t, size_t> Search::Range(size_t task, size_t lowest, size_t highest) const {
  const Chained& chained = question_.tasks[task];
  const auto first = static_cast<size_t>(std::max<int64_t>(chained.lowest, 0));
  const auto last = static_cast<size_t>(
      std::min<int64_t>(chained.highest, static_cast<int64_t>(Spots()) - 1) + 1);
  return {std::max(first, lowest), std::min(last, highest)};
}

// Ranks from the left, each to the first spot that takes it. `leave_for_held`: a spot offers only
// what it holds already when the tasks that are left are just enough for the idle quotas beyond.
bool Search::Leftmost(bool leave_for_held) {
  const size_t mark = board_.Mark();
  size_t at = 0;
  // Idle quotas by spot, and how many there are beyond each.
  std::vector<int64_t> idle(Spots() + 1, 0), beyond(Spots() + 1, 0);
  for (const Held& held : question_.held) idle[held.spot] += held.used.IsZero() ? 1 : 0;
  for (size_t spot = Spots(); spot-- > 0;) beyond[spot] = beyond[spot + 1] + idle[spot + 1];
  const auto still_idle = [&](size_t spot) {
    const int64_t taken = board_.load(spot) - question_.spots[spot].members;
    return std::max<int64_t>(idle[spot] - taken, 0) + beyond[spot];
  };
  for (size_t task = 0; task < Chain(); ++task) {
    const auto left = static_cast<int64_t>(Tasks() - task - 1);
    bool placed = false;
    const auto [first, last] = Range(task, at, Spots());
    for (size_t spot = first; spot < last && !placed; ++spot) {
      if (leave_for_held) board_.SetHeldOnly(still_idle(spot) > left);
      placed = board_.Put(task, spot);
      if (placed) at = spot;
    }
    if (leave_for_held) board_.SetHeldOnly(false);
    if (placed) continue;
    board_.BackTo(mark);
    return false;
  }
  return true;
}

// The same from the right: gives for each rank the furthest spot it can stand on, and leaves the
// board as it was.
bool Search::Mirror(Places& latest) {
  const size_t mark = board_.Mark();
  latest.assign(Chain(), kNowhere);
  size_t at = Spots();
  for (size_t task = Chain(); task-- > 0;) {
    const auto [first, last] = Range(task, 0, at);
    for (size_t spot = last; spot-- > first && latest[task] == kNowhere;)
      if (board_.Put(task, spot)) latest[task] = spot;
    if (latest[task] == kNowhere) break;
    at = latest[task] + 1;
  }
  board_.BackTo(mark);
  return Chain() == 0 || latest[0] != kNowhere;
}

// Each rank goes one spot further than its predecessor where those after it still find a place,
// else it stays with it.
bool Search::Balanced() {
  Places latest;
  if (!Mirror(latest)) return false;
  const size_t mark = board_.Mark();
  // Those that the mirror put where `task` would go still fit there together with it.
  const auto together = [&](size_t task) {
    const size_t before = board_.Mark();
    size_t next = task;
    while (next < Chain() && latest[next] == latest[task] && board_.Put(next, latest[task])) ++next;
    const bool fits = next == Chain() || latest[next] != latest[task];
    board_.BackTo(before);
    return fits;
  };
  size_t at = kNowhere;  // of the predecessor
  for (size_t task = 0; task < Chain(); ++task) {
    const auto [first, last] = Range(task, at == kNowhere ? 0 : at + 1, latest[task] + 1);
    bool placed = false;
    for (size_t spot = first; spot < last && !placed; ++spot) {
      if (spot == latest[task] && !together(task)) break;
      placed = board_.Put(task, spot);
      if (placed) at = spot;
    }
    if (!placed && at != kNowhere && Range(task, at, at + 1) == std::pair(at, at + 1))
      placed = board_.Put(task, at);
    if (placed) continue;
    // Quotas decided otherwise than room: what the mirror found is a whole answer.
    board_.BackTo(mark);
    for (size_t again = Chain(); again-- > 0;)
      if (!board_.Put(again, latest[again])) return board_.BackTo(mark), false;
    return true;
  }
  return true;
}

// Quotas that are on spots already are enough: nothing new is bound.
bool Search::HeldAlone() {
  if (question_.held.empty()) return false;
  board_.SetCap(INT64_MAX);
  board_.SetHeldOnly(true);
  const bool found = WithLoose([&] { return Leftmost(false); });
  board_.SetHeldOnly(false);
  return found;
}

// The chain by `pass`, then the others; the board is as it was when they don't fit together.
template <class Pass>
bool Search::WithLoose(Pass pass) {
  const size_t mark = board_.Mark();
  if (pass() && Loose()) return true;
  board_.BackTo(mark);
  return false;
}

// The least number of tasks a spot with which `works`: by doubling, then by halving, since what
// works with a lower one works with a higher one too. False when nothing does.
template <class Works>
bool Search::SetLeastCap(Works works) {
  const auto tasks = static_cast<int64_t>(Tasks()), spots = static_cast<int64_t>(Spots());
  if (spots == 0) return false;
  int64_t most = tasks;
  for (const Spot& spot : question_.spots) most = std::max(most, spot.members + tasks);
  const auto with = [&](int64_t cap) {
    board_.SetCap(cap);
    return works();
  };
  int64_t low = std::max<int64_t>((Counted() + spots - 1) / spots, 1), high = low;
  while (!with(high)) {
    if (high >= most) return false;
    low = high + 1;
    high = std::min(high * 2, most);
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    with(middle) ? high = middle : low = middle + 1;
  }
  board_.SetCap(high);
  return true;
}

bool Search::Spread() {
  Places latest;
  const auto balanced = [&] { return Balanced(); };
  const auto works = [&] {
    if (Chain() == Tasks()) return Mirror(latest);
    const size_t mark = board_.Mark();
    const bool fits = WithLoose(balanced);
    board_.BackTo(mark);
    return fits;
  };
  if (!SetLeastCap(works) || !WithLoose(balanced)) return false;
  // Quotas that are on spots come before free ones: another pass goes out of its way for them.
  const auto idle =
      static_cast<size_t>(std::count_if(question_.held.begin(), question_.held.end(),
                                        [](const Held& held) { return held.used.IsZero(); }));
  const size_t used = HeldUsed();
  if (used >= std::min(idle, Tasks())) return true;
  board_.BackTo(0);
  if (WithLoose([&] { return Leftmost(true); }) && HeldUsed() > used) return true;
  board_.BackTo(0);
  return WithLoose(balanced);
}

// How many held quotas have a task.
size_t Search::HeldUsed() const {
  std::set<size_t> used;
  for (const Seat& seat : board_.Seats())
    if (seat.held) used.insert(seat.quota);
  return used.size();
}

// Those without an order: the largest first, each to the first spot that takes it.
bool Search::Loose() {
  if (Chain() == Tasks()) return true;
  Resources most;
  for (const Kind& kind : question_.kinds) most = Resources::Max(most, kind.request);
  // In thousandths of the largest request of the question, name by name.
  const auto size = [&](size_t task, bool sum) {
    const Resources& request = question_.kinds[question_.tasks[task].kind].request;
    int64_t whole = 0;
    for (const auto& [name, asked] : request) {
      if (asked <= 0) continue;
      // Amounts may be near the end of int64.
      const int64_t share =
          most[name] > INT64_MAX / 1000 ? asked / (most[name] / 1000) : asked * 1000 / most[name];
      whole = sum ? whole + share : std::max(whole, share);
    }
    return whole;
  };
  const auto admitted = [&](size_t task) {
    const auto& admits = question_.kinds[question_.tasks[task].kind].admits;
    return std::count(admits.begin(), admits.end(), true);
  };
  const size_t mark = board_.Mark();
  for (const int by : {0, 1, 2, 3}) {
    std::vector<std::pair<int64_t, size_t>> keyed;
    for (size_t task = Chain(); task < Tasks(); ++task)
      keyed.emplace_back(by == 0   ? -size(task, false)
                         : by == 1 ? -size(task, true)
                         : by == 2 ? admitted(task)
                                   : static_cast<int64_t>(task),
                         task);
    std::sort(keyed.begin(), keyed.end());
    bool all = true;
    for (const auto& [key, task] : keyed) {
      bool placed = false;
      for (size_t spot = 0; spot < Spots() && !placed; ++spot) placed = board_.Put(task, spot);
      if (!(all = placed)) break;
    }
    if (all) return true;
    board_.BackTo(mark);
  }
  return false;
}

bool Search::Try(size_t depth, const std::vector<size_t>& order, Places& at) {
  if (depth == order.size()) return true;
  const size_t task = order[depth];
  size_t lowest = 0;
  // Equal tasks stand in one order only: the others would be the same answer again.
  const size_t before = depth > 0 ? order[depth - 1] : task;
  const bool alike = question_.tasks[before].kind == question_.tasks[task].kind;
  if (depth > 0 && (InChain(task) || (alike && !InChain(before)))) lowest = at[before];
  const auto [first, last] =
      InChain(task) ? Range(task, lowest, Spots()) : std::pair(lowest, Spots());
  for (size_t spot = first; spot < last; ++spot)
    for (const Board::Way& way : board_.Ways(task, spot)) {
      if (board_.steps() >= end_) return cut_ = true, false;
      const size_t mark = board_.Mark();
      board_.Take(task, spot, way);
      at[task] = spot;
      if (Try(depth + 1, order, at)) return true;
      board_.BackTo(mark);
    }
  return false;
}

// The chain, then the others kind by kind.
std::vector<size_t> Search::Order() const {
  std::vector<size_t> order(Tasks());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin() + static_cast<ptrdiff_t>(Chain()), order.end(), [&](size_t a, size_t b) {
    const size_t x = question_.tasks[a].kind, y = question_.tasks[b].kind;
    return x != y ? x < y : a < b;
  });
  return order;
}

// Every way there is, within the budget, the least cap first.
bool Search::Exhaust() {
  const std::vector<size_t> order = Order();
  Places at(Tasks(), 0);
  const auto within = [&](int64_t steps) {
    end_ = std::min(board_.steps() + steps, budget_);
    return Try(0, order, at);
  };
  if (question_.fill == Fill::kSpread && SetLeastCap([&] {
        const size_t mark = board_.Mark();
        const bool works = within(budget_ / 16);
        board_.BackTo(mark);
        return works;
      }))
    return within(budget_);
  board_.SetCap(INT64_MAX);
  return within(budget_);
}

// Where quotas decide, the passes may have stopped at too many tasks a spot: tries the ways there
// are with fewer, and gives the best seats. What quotas on spots decided stays: they come first.
std::vector<Seat> Search::Flatter() {
  const auto spots = static_cast<int64_t>(Spots());
  const std::vector<size_t> order = Order();
  const int64_t stop = std::min(board_.steps() + budget_ / 16, budget_);
  std::vector<Seat> best = board_.Seats();
  while (HeldUsed() == 0) {
    int64_t highest = 0;
    for (const Seat& seat : best) highest = std::max(highest, board_.load(seat.spot));
    if (highest <= std::max<int64_t>((Counted() + spots - 1) / spots, 1)) break;
    board_.BackTo(0);
    board_.SetCap(highest - 1);
    end_ = stop;
    Places at(Tasks(), 0);
    if (!Try(0, order, at)) break;
    best = board_.Seats();
  }
  return best;
}

// A quota takes tasks of both kinds at once.
bool Together(const Share& share, const Kind& one, const Kind& other) {
  return std::all_of(share.listed.begin(), share.listed.end(), [&](model::ResourceId name) {
    return one.request[name] <= share.limit[name] - other.request[name];
  });
}

// One shelf with enough quotas, each for one task, decides nothing: room does.
bool Search::ExactByPasses() const {
  if (Chain() < Tasks() && question_.kinds.size() > 1) return false;
  if (question_.shelves.size() > 1) return false;
  if (!question_.held.empty()) {
    const int64_t left = question_.shelves.empty() ? 0 : question_.shelves[0].left;
    if (question_.kinds.size() > 1 || left < static_cast<int64_t>(Tasks())) return false;
  }
  for (const Shelf& shelf : question_.shelves)
    for (const Kind& one : question_.kinds)
      for (const Kind& other : question_.kinds)
        if (!shelf.direct && Together(shelf.share, one, other)) return false;
  return true;
}

Answer Search::Run() {
  bool found = HeldAlone();
  if (!found && question_.fill == Fill::kSpread) found = Spread();
  for (const bool leave_for_held : {true, false}) {
    if (found || question_.fill == Fill::kSpread) break;
    found = WithLoose([&] { return Leftmost(leave_for_held); });
  }
  if (!found && !ExactByPasses()) found = Exhaust();
  Answer answer;
  answer.exact = found || !cut_;
  if (found) answer.seats = board_.Seats();
  if (found && question_.fill == Fill::kSpread && !ExactByPasses()) answer.seats = Flatter();
  answer.steps = board_.steps();
  return answer;
}

// All spots together have less of something than the tasks ask for: no need to try. Quotas that are
// on spots already are paid for; tolerances add up.
bool TooLittle(const Question& question, const model::ResourceNames& names) {
  Resources asked, used, room, idle;
  bool all_idle = true;
  std::vector<bool> direct(question.kinds.size());
  for (size_t k = 0; k < direct.size(); ++k)
    direct[k] = std::ranges::any_of(question.kinds[k].shelves,
                                    [&](size_t shelf) { return question.shelves[shelf].direct; });
  for (const Chained& task : question.tasks) {
    if (!direct[task.kind]) asked += question.kinds[task.kind].request;
    used += question.kinds[task.kind].uses;
  }
  const auto add = [](Resources& sum, const Resources& some) {
    for (const auto& [name, value] : some)
      if (value > 0) sum.Set(name, sum[name] > INT64_MAX - value ? INT64_MAX : sum[name] + value);
  };
  for (const Spot& spot : question.spots) {
    add(room, spot.room);
    if (spot.idle) add(idle, *spot.idle);
    all_idle = all_idle && spot.idle;
  }
  for (const Held& held : question.held) add(room, held.share.request);
  const auto less = [&](const Resources& wanted, const Resources& have) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const model::Amount& one) {
      const int64_t slack =
          names.IsScalar(one.name) ? 10 * static_cast<int64_t>(question.tasks.size()) : 0;
      return one.value > 0 && one.value - slack > have[one.name];
    });
  };
  return less(asked, room) || (all_idle && less(used, idle));
}

}  // namespace

Answer FindPlaces(const Question& question, const model::ResourceNames& names, int64_t budget) {
  if (question.tasks.empty()) return {};
  if (TooLittle(question, names)) {
    Answer none;
    none.steps = static_cast<int64_t>(question.tasks.size() + question.spots.size());
    return none;
  }
  return Search(question, names, budget).Run();
}

}  // namespace sky::topology
