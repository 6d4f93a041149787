// SPDX-License-Identifier: Apache-2.0
#include "model/spot.h"

#include <gtest/gtest.h>

#include "api/keys.h"
#include "base/rng.h"

namespace sky::model {
namespace {

api::ObjectMeta With(std::string_view key, std::string text) {
  api::ObjectMeta meta;
  meta.annotations.emplace(std::string(key), std::move(text));
  return meta;
}

TEST(Spot, PoolsAreReadFromTheNodesNote) {
  std::string problem;
  const SpotPools pools = SpotPoolsOf(
      With(api::key::kSpotPools, R"({"shared": 2, "exclusive": 6, "sharesPerGPU": 4})"), &problem);
  EXPECT_EQ(pools, (SpotPools{true, 6, 2, 4}));
  EXPECT_EQ(SpotPoolsOf({}, &problem), SpotPools{});
  EXPECT_EQ(problem, "");
}

TEST(Spot, AMalformedSplitIsToldAndGivesNoCards) {
  for (const char* text :
       {"3/9", "a/b", "[1]", R"({"shared": -1})", R"({"sharesPerGPU": 0})", R"({"exclusive": 1.5})",
        R"({"exclusive": "6"})", R"({"exclusiv": 6})", R"({"exclusive": 1e30})", "{"}) {
    std::string problem;
    const SpotPools pools = SpotPoolsOf(With(api::key::kSpotPools, text), &problem);
    EXPECT_EQ(pools, (SpotPools{true, 0, 0, 1})) << text;
    EXPECT_NE(problem.find(text), std::string::npos) << problem;
  }
}

TEST(Spot, AModeThatNobodyKnowsIsExclusive) {
  std::string problem;
  EXPECT_EQ(SpotModeOf({}, &problem), SpotMode::kExclusive);
  EXPECT_EQ(SpotModeOf(With(api::key::kSpotMode, "shared"), &problem), SpotMode::kShared);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(SpotModeOf(With(api::key::kSpotMode, "idle"), &problem), SpotMode::kExclusive);
  EXPECT_NE(problem.find("idle"), std::string::npos);
}

TEST(Spot, ACardWithOneShareInUseIsInUse) {
  const SpotPools pools{true, 6, 2, 4};
  EXPECT_EQ(CardsOf(pools, {2000, 1000}), 3000);
  EXPECT_EQ(CardsOf(pools, {2000, 4000}), 3000);
  EXPECT_EQ(CardsOf(pools, {2000, 5000}), 4000);
  EXPECT_EQ(SpotRoom(pools, {0, 1000}, SpotMode::kShared, 0), 3000) << "of the open card";
  EXPECT_EQ(SpotRoom(pools, {0, 1000}, SpotMode::kShared, 8000), 7000) << "its pool has two";
  EXPECT_EQ(SpotRoom(pools, {5000, 0}, SpotMode::kExclusive, 8000), 1000);
  EXPECT_EQ(SpotRoom({}, {5000, 0}, SpotMode::kExclusive, 3000), 3000) << "undeclared";
  EXPECT_EQ(SpotRoom({}, {}, SpotMode::kShared, 3000), 0) << "undeclared: none is shared";
}

// What there is room for can be added, and takes no more cards than are free; one unit more can't.
TEST(SpotLaw, RoomIsExactlyWhatFits) {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Rng rng(seed);
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(rng.Below(static_cast<uint64_t>(n)));
    };
    const SpotPools pools{rng.Below(4) != 0, below(5), below(4), 1 + below(5)};
    const SpotUse use{1000 * below(5), 1000 * below(12)};
    const int64_t cards = 1000 * below(6);
    for (const SpotMode mode : {SpotMode::kExclusive, SpotMode::kShared}) {
      const int64_t room = SpotRoom(pools, use, mode, cards);
      const auto fits = [&](int64_t more) {
        SpotUse after = use;
        after.Add(mode, more);
        const int64_t pool =
            mode == SpotMode::kShared ? pools.shared * pools.shares_per_card : pools.exclusive;
        const int64_t asked = mode == SpotMode::kShared ? after.shared : after.exclusive;
        const bool unlimited = !pools.declared && mode == SpotMode::kExclusive;
        return CardsOf(pools, after) - CardsOf(pools, use) <= cards &&
               (unlimited || asked <= 1000 * pool);
      };
      EXPECT_TRUE(room == 0 || fits(room)) << "seed " << seed;
      EXPECT_FALSE(fits(room + 1000)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sky::model
