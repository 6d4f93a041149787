// SPDX-License-Identifier: Apache-2.0
// Spot pods: they take what quotas' pods leave of a node's cards, under a resource name of their
// own, and give it back when somebody needs it. An exclusive one has cards for itself; shared ones
// divide a card among them. One card has two names then, so whoever counts one counts the other.
// Pure arithmetic; amounts are thousandths, of cards and of the spot resource.
#pragma once

#include <cstdint>
#include <string>

#include "api/meta.h"

namespace sky::model {

enum class SpotMode : uint8_t { kNone, kExclusive, kShared };

// How many cards of a node spot pods of each kind may have (annotation spot-pools). Undeclared: as
// many as the node offers, all exclusive.
struct SpotPools {
  bool declared = false;
  int64_t exclusive = 0, shared = 0;  // cards
  int64_t shares_per_card = 1;        // of the shared pool
  bool operator==(const SpotPools&) const = default;
};
SpotPools SpotPoolsOf(const api::ObjectMeta& node, std::string* problem);

// What spot pods ask of one node together.
struct SpotUse {
  int64_t exclusive = 0, shared = 0;
  void Add(SpotMode mode, int64_t asked) {
    (mode == SpotMode::kShared ? shared : exclusive) += mode == SpotMode::kNone ? 0 : asked;
  }
  bool operator==(const SpotUse&) const = default;
};

// The cards that they occupy: a card with one share in use is in use.
int64_t CardsOf(const SpotPools& pools, const SpotUse& use);

// How much more a pod of `mode` may ask beside `use`: what its pool has left, and what `cards` free
// ones give. Never below 0.
int64_t SpotRoom(const SpotPools& pools, const SpotUse& use, SpotMode mode, int64_t cards);

// No pool has given out more than it has.
bool PoolsHold(const SpotPools& pools, const SpotUse& use);

// "exclusive" (or nothing) and "shared", by the annotation spot-mode.
SpotMode SpotModeOf(const api::ObjectMeta& pod, std::string* problem);

}  // namespace sky::model
