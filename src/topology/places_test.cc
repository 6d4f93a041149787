// SPDX-License-Identifier: Apache-2.0
// The search for places against brute force, and against its own promises.
#include "topology/places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.h"

namespace sky::topology {
namespace {

using model::ResourceId;
using model::Resources;

constexpr int64_t kBudget = 200'000;

struct Random {
  explicit Random(uint64_t seed) : rng(seed) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(rng.Next() % static_cast<uint64_t>(n)); }
  bool OneIn(int64_t n) { return Below(n) == 0; }
  Rng rng;
};

Resources Two(int64_t a, int64_t b) {
  Resources both;
  both.Set(ResourceId(0u), a);
  both.Set(ResourceId(1u), b);
  return both;
}

Share ShareOf(int64_t a, int64_t b) {
  return {Two(a, b), Two(a, b), {ResourceId(0u), ResourceId(1u)}};
}

std::vector<bool> Some(Random& random, size_t size, int64_t one_in) {
  std::vector<bool> bits(size);
  for (size_t i = 0; i < size; ++i) bits[i] = !random.OneIn(one_in);
  return bits;
}

Question Draw(Random& random, bool uniform) {
  Question q;
  const auto spots = static_cast<size_t>(1 + random.Below(5));
  for (size_t i = 0; i < spots; ++i)
    q.spots.push_back({Two(random.Below(9), random.Below(9)), Two(random.Below(9) + 3, 12), 0});
  const auto kinds = static_cast<size_t>(uniform ? 1 : 1 + random.Below(2));
  const auto shelves = static_cast<size_t>(1 + random.Below(uniform ? 2 : 3));
  const Resources base = Two(1 + random.Below(3), random.Below(3));
  for (size_t i = 0; i < shelves; ++i) {
    Shelf shelf;
    const int64_t more = uniform ? 0 : random.Below(3);
    shelf.share = ShareOf(base[ResourceId(0u)] + more, base[ResourceId(1u)] + (more + 1) / 2);
    shelf.left = random.Below(5);
    shelf.admits = Some(random, spots, 4);
    q.shelves.push_back(shelf);
  }
  const auto held = static_cast<size_t>(random.OneIn(3) ? 1 + random.Below(2) : 0);
  for (size_t i = 0; i < held; ++i)
    q.held.push_back({ShareOf(base[ResourceId(0u)], base[ResourceId(1u)]),
                      static_cast<size_t>(random.Below(static_cast<int64_t>(spots))),
                      {}});
  for (size_t i = 0; i < kinds; ++i) {
    Kind kind;
    kind.request = i == 0 ? base : Two(1 + random.Below(2), random.Below(2));
    kind.admits = Some(random, spots, 5);
    for (size_t s = 0; s < shelves; ++s)
      if (!random.OneIn(6)) kind.shelves.push_back(s);
    kind.held = Some(random, held, 6);
    if (random.OneIn(6)) kind.per_spot = 1 + random.Below(2);
    q.kinds.push_back(kind);
  }
  const auto tasks = static_cast<size_t>(1 + random.Below(6));
  for (size_t i = 0; i < tasks; ++i)
    q.tasks.push_back(
        {static_cast<size_t>(random.Below(static_cast<int64_t>(kinds))), 0, INT64_MAX, false});
  // A placed sibling between two ranks.
  if (random.OneIn(3)) {
    const auto cut = static_cast<size_t>(random.Below(static_cast<int64_t>(tasks) + 1));
    const auto spot = random.Below(static_cast<int64_t>(spots));
    q.spots[static_cast<size_t>(spot)].members = 1;
    for (size_t i = 0; i < tasks; ++i) (i < cut ? q.tasks[i].highest : q.tasks[i].lowest) = spot;
  }
  q.chain = random.OneIn(3) ? static_cast<size_t>(random.Below(static_cast<int64_t>(tasks) + 1))
                            : (random.OneIn(3) ? 0 : tasks);
  q.fill = random.OneIn(2) ? Fill::kSpread : Fill::kPack;
  // Others use what is charged to nobody, and tasks may go to nodes without a quota.
  for (Kind& kind : q.kinds) kind.uses = kind.request;
  if (random.OneIn(2)) return q;
  for (Spot& spot : q.spots)
    if (random.OneIn(2)) spot.idle = Two(random.Below(7), random.Below(7));
  if (random.OneIn(2)) {
    q.shelves.back().direct = true;
    q.shelves.back().share = {};
    q.shelves.back().left = static_cast<int64_t>(tasks);
  }
  return q;
}

// Every quota by itself, every assignment, nothing clever.
struct BruteForce {
  struct Single {
    const Share* share;
    size_t shelf;  // or the held quota
    bool held;
    size_t spot;  // SIZE_MAX: on none yet
    Resources used;
  };
  const Question& q;
  const model::ResourceNames& names;
  int64_t cap;
  std::vector<Single> quotas;
  std::vector<Resources> room, quota_room, idle;
  std::vector<int64_t> load;
  std::map<std::pair<size_t, size_t>, int64_t> of_kind;

  BruteForce(const Question& question, const model::ResourceNames& n, int64_t c)
      : q(question), names(n), cap(c) {
    for (size_t s = 0; s < q.shelves.size(); ++s)
      for (int64_t i = 0; i < q.shelves[s].left; ++i)
        quotas.push_back({&q.shelves[s].share, s, false, SIZE_MAX, {}});
    for (size_t h = 0; h < q.held.size(); ++h)
      quotas.push_back({&q.held[h].share, h, true, q.held[h].spot, q.held[h].used});
    for (const Spot& spot : q.spots) {
      room.push_back(spot.room);
      quota_room.push_back(spot.quota_room);
      idle.push_back(spot.idle.value_or(Two(1000, 1000)));
      load.push_back(spot.members);
    }
  }

  bool Works(size_t task, size_t lowest) {
    if (task == q.tasks.size()) return true;
    const Chained& chained = q.tasks[task];
    const Kind& kind = q.kinds[chained.kind];
    for (size_t spot = 0; spot < room.size(); ++spot) {
      const auto at = static_cast<int64_t>(spot);
      if (task < q.chain && (spot < lowest || at < chained.lowest || at > chained.highest))
        continue;
      if (!kind.admits[spot] || load[spot] >= cap || of_kind[{chained.kind, spot}] >= kind.per_spot)
        continue;
      bool tried_new[8] = {};
      for (Single& quota : quotas) {
        const bool fresh = quota.spot == SIZE_MAX;
        const bool direct = !quota.held && q.shelves[quota.shelf].direct;
        if (!fresh && (direct || quota.spot != spot)) continue;
        if (fresh && tried_new[quota.shelf]) continue;  // alike
        if (quota.held ? !kind.held[quota.shelf]
                       : std::find(kind.shelves.begin(), kind.shelves.end(), quota.shelf) ==
                             kind.shelves.end())
          continue;
        bool holds = true;
        for (const ResourceId name : quota.share->listed)
          holds = holds && quota.used[name] + kind.request[name] <= quota.share->limit[name];
        if (!holds) continue;
        Resources growth = Resources::Max(quota.share->request, quota.used + kind.request);
        if (fresh) {
          tried_new[quota.shelf] = true;
          if (!q.shelves[quota.shelf].admits[spot] ||
              !Fits(quota.share->request, quota_room[spot], names))
            continue;
        } else {
          growth -= Resources::Max(quota.share->request, quota.used);
        }
        if (direct) growth = {};
        if (!Fits(growth, room[spot], names) || !Fits(kind.uses, idle[spot], names)) continue;
        const Single before = quota;
        quota.spot = spot;
        quota.used += kind.request;
        room[spot] -= growth;
        idle[spot] -= kind.uses;
        if (fresh) quota_room[spot] -= quota.share->request;
        ++load[spot], ++of_kind[{chained.kind, spot}];
        const bool works = Works(task + 1, task < q.chain ? spot : lowest);
        --load[spot], --of_kind[{chained.kind, spot}];
        if (fresh) quota_room[spot] += quota.share->request;
        room[spot] += growth;
        idle[spot] += kind.uses;
        quota = before;
        if (works) return true;
      }
    }
    return false;
  }
};

bool Possible(const Question& q, const model::ResourceNames& names, int64_t cap = INT64_MAX) {
  return BruteForce(q, names, cap).Works(0, 0);
}

// What an answer claims, checked from nothing.
std::string Wrong(const Question& q, const Answer& answer) {
  if (answer.seats.size() != q.tasks.size()) return "not every task has a seat";
  std::map<size_t, std::vector<size_t>> by_quota;
  std::vector<int64_t> shelf_used(q.shelves.size(), 0);
  for (size_t i = 0; i < answer.seats.size(); ++i) {
    const Seat& seat = answer.seats[i];
    const Chained& chained = q.tasks[i];
    const auto at = static_cast<int64_t>(seat.spot);
    if (!q.kinds[chained.kind].admits[seat.spot]) return "a spot that doesn't admit it";
    if (i < q.chain) {
      if (at < chained.lowest || at > chained.highest) return "beyond a placed neighbour";
      if (i > 0 && answer.seats[i - 1].spot > seat.spot) return "ranks turn back";
    }
    by_quota[seat.opened].push_back(i);
  }
  std::vector<Resources> room, quota_room;
  std::vector<Resources> idle;
  for (const Spot& spot : q.spots) {
    room.push_back(spot.room);
    quota_room.push_back(spot.quota_room);
    idle.push_back(spot.idle.value_or(Two(1000, 1000)));
  }
  for (const auto& [opened, tasks] : by_quota) {
    const Seat& seat = answer.seats[tasks.front()];
    const Share& share = seat.held ? q.held[seat.quota].share : q.shelves[seat.quota].share;
    Resources used = seat.held ? q.held[seat.quota].used : Resources{};
    const Resources before = seat.held ? Resources::Max(share.request, used) : Resources{};
    for (const size_t task : tasks) {
      const Kind& kind = q.kinds[q.tasks[task].kind];
      if (answer.seats[task].spot != seat.spot || answer.seats[task].quota != seat.quota)
        return "one quota in two places";
      if (seat.held ? !kind.held[seat.quota]
                    : std::find(kind.shelves.begin(), kind.shelves.end(), seat.quota) ==
                          kind.shelves.end())
        return "a quota that it may not use";
      used += kind.request;
      idle[seat.spot] -= kind.uses;
    }
    if (!seat.held && q.shelves[seat.quota].direct) {
      if (tasks.size() > 1) return "one place without a quota for two";
      if (!q.shelves[seat.quota].admits[seat.spot]) return "a node where it may not go";
      continue;
    }
    for (const ResourceId name : share.listed)
      if (used[name] > share.limit[name]) return "a quota overfull";
    if (!seat.held) {
      ++shelf_used[seat.quota];
      if (!q.shelves[seat.quota].admits[seat.spot]) return "a quota where it may not be";
      quota_room[seat.spot] -= share.request;
    } else if (q.held[seat.quota].spot != seat.spot) {
      return "a held quota elsewhere";
    }
    room[seat.spot] -= Resources::Max(share.request, used) - before;
  }
  for (size_t s = 0; s < room.size(); ++s)
    for (const unsigned name : {0u, 1u})
      if (room[s][ResourceId(name)] < 0 || quota_room[s][ResourceId(name)] < 0 ||
          idle[s][ResourceId(name)] < 0)
        return "a spot overfull";
  for (size_t s = 0; s < shelf_used.size(); ++s)
    if (shelf_used[s] > q.shelves[s].left) return "more quotas than there are";
  return "";
}

int64_t Highest(const Question& q, const Answer& answer) {
  std::vector<int64_t> load;
  for (const Spot& spot : q.spots) load.push_back(spot.members);
  int64_t highest = 0;
  for (const Seat& seat : answer.seats) highest = std::max(highest, ++load[seat.spot]);
  return highest;
}

// The same cases each time; others with --gtest_shuffle and another seed, so that --gtest_repeat=20
// sees 100,000.
constexpr int kCases = 5000;
uint64_t First() {
  if (!GTEST_FLAG_GET(shuffle)) return 0;
  return static_cast<uint64_t>(::testing::UnitTest::GetInstance()->random_seed()) * kCases;
}

TEST(Places, AreFoundExactlyWhenBruteForceFindsSome) {
  const model::ResourceNames names;
  int found = 0;
  for (int i = 0; i < kCases; ++i) {
    Random random(First() + static_cast<uint64_t>(i));
    const Question q = Draw(random, i % 2 == 0);
    const Answer answer = FindPlaces(q, names, kBudget);
    ASSERT_TRUE(answer.exact) << "case " << i;
    ASSERT_EQ(answer.found(), Possible(q, names)) << "case " << i;
    if (!answer.found()) continue;
    ++found;
    ASSERT_EQ(Wrong(q, answer), "") << "case " << i;
  }
  EXPECT_GT(found, kCases / 5);
  EXPECT_LT(found, kCases * 4 / 5);
}

TEST(Places, SpreadPutsTheLeastTasksOnASpot) {
  const model::ResourceNames names;
  int seen = 0;
  for (int i = 0; i < kCases; ++i) {
    Random random(First() + static_cast<uint64_t>(i) + (1ull << 40));
    Question q = Draw(random, i % 2 == 0);
    q.fill = Fill::kSpread;
    q.held.clear();
    for (Kind& kind : q.kinds) kind.held.clear();
    const Answer answer = FindPlaces(q, names, kBudget);
    if (!answer.found()) continue;
    ++seen;
    const int64_t highest = Highest(q, answer);
    if (highest > 1) {
      ASSERT_FALSE(Possible(q, names, highest - 1)) << "case " << i;
    }
  }
  EXPECT_GT(seen, 500);
}

}  // namespace
}  // namespace sky::topology
