// SPDX-License-Identifier: Apache-2.0
#include "plugins/sylas/victims.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "base/rng.h"

namespace sky::plugins {
namespace {

using Texts = std::vector<std::string>;
constexpr int64_t kMany = 1000;

struct Shop {
  model::ResourceId gpu = model::ResourceNames().Intern("nvidia.com/gpu");
  std::vector<Candidate> candidates;
  Limits limits;

  model::Resources Gpus(int64_t count) const {
    model::Resources some;
    some.Set(gpu, count * 1000);
    return some;
  }
  // A pod of a group of its own that nobody needs to spare.
  Candidate& Add(const std::string& name, int64_t gpus, int32_t priority = 0, int64_t ran = 0) {
    Candidate one;
    one.task = model::TaskId(static_cast<uint32_t>(candidates.size()));
    one.name = name, one.gives = Gpus(gpus), one.priority = priority, one.seconds = ran;
    one.group = limits.spare.size();
    limits.spare.push_back(kMany);
    candidates.push_back(one);
    return candidates.back();
  }
  Texts Choose(int64_t gpus, const Strategies& strategies = {}) const {
    const auto chosen = ChooseVictims(strategies, candidates, Gpus(gpus), limits);
    if (!chosen) return {"none"};
    Texts victims;
    for (const Candidate* one : *chosen) victims.push_back(one->name);
    std::ranges::sort(victims);
    return victims;
  }
};

Strategies Only(int64_t Strategies::* weight, bool longest_first = false) {
  Strategies one{0, 0, 0, 0, longest_first, 0, 1000};
  one.*weight = 1;
  return one;
}

TEST(SpotVictims, NobodyLeavesForNothing) {
  Shop shop;
  shop.Add("a", 4), shop.Add("b", 4);
  EXPECT_EQ(shop.Choose(0), Texts{});
  EXPECT_EQ(shop.Choose(4), Texts{"a"});
  EXPECT_EQ(shop.Choose(5), (Texts{"a", "b"}));
  EXPECT_EQ(shop.Choose(9), Texts{"none"}) << "half the room would help nobody";
}

TEST(SpotVictims, EachStrategyHasItsOwnChoice) {
  Shop shop;
  shop.Add("high", 4, 1000, 60);
  shop.Add("low-a", 2, 0, 7200);
  shop.Add("low-b", 2, 0, 7200);
  shop.Add("mid", 8, 100, 3600);
  EXPECT_EQ(shop.Choose(4, Only(&Strategies::priority)), (Texts{"low-a", "low-b"}));
  EXPECT_EQ(shop.Choose(4, Only(&Strategies::tasks)), Texts{"mid"}) << "one, the lowest of those";
  EXPECT_EQ(shop.Choose(4, Only(&Strategies::resources)), (Texts{"low-a", "low-b"}));
  EXPECT_EQ(shop.Choose(4, Only(&Strategies::run_time)), Texts{"high"}) << "the youngest";
  EXPECT_EQ(shop.Choose(4, Only(&Strategies::run_time, true)), (Texts{"low-a", "low-b"}))
      << "the oldest";
}

TEST(SpotVictims, AGroupIsBrokenOnlyWhereNothingElseDoes) {
  Shop shop;
  shop.Add("gang-0", 4);
  shop.limits.spare[0] = 0;
  shop.Add("single", 4, 5000);
  shop.limits.spare[1] = 1;
  EXPECT_EQ(shop.Choose(4), Texts{"single"}) << "whatever its priority";
  EXPECT_EQ(shop.Choose(8), (Texts{"gang-0", "single"}));
}

TEST(SpotVictims, OneBrokenGroupIsEnough) {
  Shop shop;
  for (const auto& [name, group] : {std::pair("a-0", 0), {"a-1", 0}, {"b-0", 1}, {"b-1", 1}})
    shop.Add(name, 2).group = static_cast<size_t>(group);
  shop.limits.spare = {0, 0};
  EXPECT_EQ(shop.Choose(4), (Texts{"a-0", "a-1"}));
}

TEST(SpotVictims, ADisruptionBudgetCountsThoseWhoLeaveTogether) {
  Shop shop;
  for (const char* name : {"a", "b", "c"}) shop.Add(name, 1).budget = {0};
  shop.limits.budgets = {1};
  EXPECT_EQ(shop.Choose(1), Texts{"a"});
  EXPECT_EQ(shop.Choose(2), Texts{"none"});
  shop.Add("z", 1);
  EXPECT_EQ(shop.Choose(2), (Texts{"a", "z"}));
}

TEST(SpotVictims, WhoGivesNothingThatIsMissingStays) {
  Shop shop;
  shop.Add("no-cards", 0);
  shop.Add("cards", 1);
  EXPECT_EQ(shop.Choose(1), Texts{"cards"});
}

Shop AnyShop(size_t most) {
  Shop shop;
  const auto count = *rc::gen::inRange<size_t>(0, most + 1);
  for (size_t i = 0; i < count; ++i) {
    Candidate& one = shop.Add("pod-" + std::to_string(i), *rc::gen::inRange(0, 9),
                              *rc::gen::element(0, 1, 500, 1000, 2000),
                              *rc::gen::element<int64_t>(0, 60, 3600, 86400));
    one.group = *rc::gen::inRange<size_t>(0, i + 1);
    if (*rc::gen::inRange(0, 3) == 0) one.budget = {*rc::gen::inRange<size_t>(0, 2)};
  }
  for (int64_t& spare : shop.limits.spare) spare = *rc::gen::inRange<int64_t>(0, 4);
  shop.limits.budgets = {*rc::gen::inRange<int64_t>(0, 3), *rc::gen::inRange<int64_t>(0, 3)};
  return shop;
}

bool Enough(const Shop& shop, const std::vector<const Candidate*>& set, int64_t gpus) {
  model::Resources sum;
  for (const Candidate* one : set) sum += one->gives;
  return sum[shop.gpu] >= gpus * 1000;
}

bool InBudget(const Shop& shop, const std::vector<const Candidate*>& set) {
  std::vector<int64_t> left = shop.limits.budgets;
  for (const Candidate* one : set)
    for (const size_t budget : one->budget)
      if (--left[budget] < 0) return false;
  return true;
}

RC_GTEST_PROP(SpotVictimsLaw, EnoughLeaveNobodyNeedlesslyAndBudgetsHold, ()) {
  const Shop shop = AnyShop(20);
  const int64_t gpus = *rc::gen::inRange<int64_t>(1, 30);
  const auto chosen = ChooseVictims({}, shop.candidates, shop.Gpus(gpus), shop.limits);
  if (!chosen) {
    std::vector<const Candidate*> all;
    for (const Candidate& one : shop.candidates)
      if (one.budget.empty()) all.push_back(&one);
    RC_ASSERT(!Enough(shop, all, gpus));
    return;
  }
  RC_ASSERT(Enough(shop, *chosen, gpus));
  RC_ASSERT(InBudget(shop, *chosen));
  for (size_t i = 0; i < chosen->size(); ++i) {
    std::vector<const Candidate*> without = *chosen;
    without.erase(without.begin() + static_cast<ptrdiff_t>(i));
    RC_ASSERT(!Enough(shop, without, gpus));
  }
}

RC_GTEST_PROP(SpotVictimsLaw, TheOrderOfTheCandidatesDecidesNothing, ()) {
  Shop shop = AnyShop(20);
  const int64_t gpus = *rc::gen::inRange<int64_t>(1, 30);
  const Strategies strategies{*rc::gen::inRange(0, 3), *rc::gen::inRange(0, 3),
                              *rc::gen::inRange(0, 3), *rc::gen::inRange(0, 3),
                              *rc::gen::arbitrary<bool>()};
  const Texts first = shop.Choose(gpus, strategies);
  Rng rng(*rc::gen::arbitrary<uint64_t>());
  for (size_t i = shop.candidates.size(); i > 1; --i)
    std::swap(shop.candidates[i - 1], shop.candidates[rng.Below(i)]);
  RC_ASSERT(shop.Choose(gpus, strategies) == first);
}

// Nobody of a higher class leaves where lower ones give enough.
RC_GTEST_PROP(SpotVictimsLaw, ByPriorityTheHighestClassIsAsLowAsItCanBe, ()) {
  Shop shop = AnyShop(20);
  shop.limits.spare.assign(shop.limits.spare.size(), kMany);
  for (Candidate& one : shop.candidates) one.budget.clear();
  const int64_t gpus = *rc::gen::inRange<int64_t>(1, 30);
  const auto chosen =
      ChooseVictims(Only(&Strategies::priority), shop.candidates, shop.Gpus(gpus), shop.limits);
  RC_PRE(chosen.has_value());
  const auto class_of = [](int32_t priority) {
    return priority <= 0 ? 0 : priority < 1000 ? 1 : 2;
  };
  int highest = 0;
  for (const Candidate* one : *chosen) highest = std::max(highest, class_of(one->priority));
  std::vector<const Candidate*> lower;
  for (const Candidate& one : shop.candidates)
    if (class_of(one.priority) < highest) lower.push_back(&one);
  RC_ASSERT(!Enough(shop, lower, gpus));
}

}  // namespace
}  // namespace sky::plugins
