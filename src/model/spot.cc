// SPDX-License-Identifier: Apache-2.0
#include "model/spot.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/keys.h"
#include "model/complain.h"

namespace sky::model {
namespace {

constexpr int64_t kUnit = 1000;
constexpr int64_t kMost = 1'000'000;  // cards, or shares of one

int64_t WholeCards(int64_t shares, int64_t shares_per_card) {
  const int64_t card = shares_per_card * kUnit;
  return (std::max<int64_t>(shares, 0) + card - 1) / card;
}

// A whole number of the object from `least` on; absent: `least`.
bool Read(const nlohmann::json& object, const char* name, int64_t least, int64_t& value) {
  value = least;
  const auto found = object.find(name);
  if (found == object.end()) return true;
  if (!found->is_number_integer() || *found < least || *found > kMost) return false;
  value = found->get<int64_t>();
  return true;
}

}  // namespace

SpotPools SpotPoolsOf(const api::ObjectMeta& node, std::string* problem) {
  const std::string_view text = node.Annotation(api::key::kSpotPools);
  if (text.empty()) return {};
  const auto json = nlohmann::json::parse(text, nullptr, false);
  SpotPools pools;
  pools.declared = true;
  bool good = json.is_object() && Read(json, "exclusive", 0, pools.exclusive) &&
              Read(json, "shared", 0, pools.shared) &&
              Read(json, "sharesPerGPU", 1, pools.shares_per_card);
  if (good)
    for (const auto& [name, value] : json.items())
      good = good && (name == "exclusive" || name == "shared" || name == "sharesPerGPU");
  if (good) return pools;
  Complain(
      problem, api::key::kSpotPools, text,
      R"(it must be like {"exclusive": 6, "shared": 2, "sharesPerGPU": 4}, whole numbers from )"
      "0, sharesPerGPU from 1; spot pods get no cards here until it is");
  pools = {};
  pools.declared = true;
  return pools;
}

int64_t CardsOf(const SpotPools& pools, const SpotUse& use) {
  return use.exclusive + kUnit * WholeCards(use.shared, pools.shares_per_card);
}

int64_t SpotRoom(const SpotPools& pools, const SpotUse& use, SpotMode mode, int64_t cards) {
  cards = std::max<int64_t>(cards, 0);
  switch (mode) {
    case SpotMode::kNone:
      return 0;
    case SpotMode::kExclusive:
      if (!pools.declared) return cards;
      return std::clamp<int64_t>(pools.exclusive * kUnit - use.exclusive, 0, cards);
    case SpotMode::kShared: {
      const int64_t open = WholeCards(use.shared, pools.shares_per_card);
      const int64_t most = std::min(pools.shared, open + cards / kUnit);
      return std::max<int64_t>(most * pools.shares_per_card * kUnit - use.shared, 0);
    }
  }
  return 0;
}

bool PoolsHold(const SpotPools& pools, const SpotUse& use) {
  if (!pools.declared) return use.shared == 0;
  return use.exclusive <= pools.exclusive * kUnit &&
         WholeCards(use.shared, pools.shares_per_card) <= pools.shared;
}

SpotMode SpotModeOf(const api::ObjectMeta& pod, std::string* problem) {
  const std::string_view mode = pod.Annotation(api::key::kSpotMode);
  if (mode == "shared") return SpotMode::kShared;
  if (!mode.empty() && mode != "exclusive")
    Complain(problem, api::key::kSpotMode, mode,
             R"(it is "exclusive" or "shared"; exclusive is taken)");
  return SpotMode::kExclusive;
}

}  // namespace sky::model
