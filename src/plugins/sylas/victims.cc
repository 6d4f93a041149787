// SPDX-License-Identifier: Apache-2.0
#include "plugins/sylas/victims.h"

#include <algorithm>
#include <tuple>

#include "base/natural.h"

namespace sky::plugins {
namespace {

using model::Resources;
using Set = std::vector<const Candidate*>;

// Up to so many candidates every set of them is looked at.
constexpr size_t kFew = 12;
constexpr int64_t kFull = 100;

int64_t ClassCost(const Strategies& strategies, int32_t priority) {
  return priority <= strategies.low ? 0 : priority >= strategies.high ? kFull : kFull / 2;
}

Resources Given(const Set& set) {
  Resources sum;
  for (const Candidate* one : set) sum += one->gives;
  return sum;
}

bool Gives(const Set& set, const Resources& missing) {
  const Resources sum = Given(set);
  return std::ranges::all_of(missing, [&](const auto& one) { return sum[one.name] >= one.value; });
}

// Groups that would fall below their minimum.
int64_t Broken(const Set& set, std::vector<int64_t> spare) {
  int64_t broken = 0;
  for (const Candidate* one : set) broken += --spare[one->group] == -1 ? 1 : 0;
  return broken;
}

bool Allowed(const Set& set, std::vector<int64_t> budgets) {
  for (const Candidate* one : set)
    for (const size_t budget : one->budget)
      if (--budgets[budget] < 0) return false;
  return true;
}

// Drops whoever isn't needed, the dearest first; the order of the set is kept.
void DropNeedless(Set& set, const Resources& missing) {
  for (size_t i = set.size(); i-- > 0;) {
    Set without = set;
    without.erase(without.begin() + static_cast<ptrdiff_t>(i));
    if (Gives(without, missing)) set = std::move(without);
  }
}

// Equal for nobody: what costs as much is decided by the highest priority, then by names.
auto KeyOf(const Strategies& strategies, const Set& set, const Resources& missing,
           const Limits& limits) {
  int32_t highest = INT32_MIN;
  std::vector<std::string> names;
  for (const Candidate* one : set) {
    highest = std::max(highest, one->priority);
    names.push_back(one->name);
  }
  std::ranges::sort(names);
  return std::tuple(Broken(set, limits.spare), CostOf(strategies, set, missing), highest,
                    set.size(), std::move(names));
}

}  // namespace

int64_t CostOf(const Strategies& strategies, const Set& set, const Resources& missing) {
  const int64_t weights =
      strategies.priority + strategies.tasks + strategies.resources + strategies.run_time;
  if (set.empty() || weights == 0) return 0;
  int64_t dearest = 0, ran = 0;
  for (const Candidate* one : set) {
    dearest = std::max(dearest, ClassCost(strategies, one->priority));
    // An hour of work lost weighs half as much as anything can; more of it comes closer to all.
    const int64_t part = kFull * one->seconds / (one->seconds + 3600);
    ran = std::max(ran, strategies.longest_first ? kFull - part : part);
  }
  const auto count = static_cast<int64_t>(set.size());
  const Resources given = Given(set);
  int64_t beyond = 0;
  for (const auto& [name, value] : missing)
    if (given[name] > 0)
      beyond = std::max(beyond, kFull * std::max<int64_t>(given[name] - value, 0) / given[name]);
  const int64_t sum = strategies.priority * dearest + strategies.resources * beyond +
                      strategies.run_time * ran + strategies.tasks * (kFull * (count - 1) / count);
  return sum * (kMostCost / kFull) / weights;
}

std::optional<Set> ChooseVictims(const Strategies& strategies,
                                 const std::vector<Candidate>& candidates, const Resources& missing,
                                 const Limits& limits) {
  Set all;
  for (const Candidate& one : candidates)
    if (std::ranges::any_of(missing, [&](const auto& some) { return one.gives[some.name] > 0; }))
      all.push_back(&one);
  // The cheapest alone comes first, members that a group can do without before all.
  std::ranges::sort(all, [&](const Candidate* a, const Candidate* b) {
    const bool spare_a = limits.spare[a->group] > 0, spare_b = limits.spare[b->group] > 0;
    if (spare_a != spare_b) return spare_a;
    const auto x = CostOf(strategies, {a}, missing), y = CostOf(strategies, {b}, missing);
    if (x != y) return x < y;
    if (a->priority != b->priority) return a->priority < b->priority;
    return NaturalLess{}(a->name, b->name);
  });
  std::optional<Set> best;
  std::optional<decltype(KeyOf(strategies, all, missing, limits))> least;
  const auto consider = [&](Set set) {
    if (!Gives(set, missing) || !Allowed(set, limits.budgets)) return;
    DropNeedless(set, missing);
    auto key = KeyOf(strategies, set, missing, limits);
    if (least && !(key < *least)) return;
    least = std::move(key), best = std::move(set);
  };
  if (all.size() <= kFew) {
    for (unsigned bits = 0; bits < 1u << all.size(); ++bits) {
      Set set;
      for (size_t i = 0; i < all.size(); ++i)
        if ((bits >> i & 1) != 0) set.push_back(all[i]);
      consider(std::move(set));
    }
    return best;
  }
  // One after the other until it is enough, who may not leave beside those being passed over.
  Set set;
  for (const Candidate* one : all) {
    if (Gives(set, missing)) break;
    set.push_back(one);
    if (!Allowed(set, limits.budgets)) set.pop_back();
  }
  consider(std::move(set));
  return best;
}

}  // namespace sky::plugins
