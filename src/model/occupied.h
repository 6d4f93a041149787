// SPDX-License-Identifier: Apache-2.0
// What some tasks occupy on one node. A spot pod occupies cards under another name than it asks
// for, and how many depends on the others of its pool: so they are summed together.
#pragma once

#include "model/spot.h"
#include "model/task.h"

namespace sky::model {

class Occupied {
 public:
  explicit Occupied(const SpotPools& pools) : pools_(pools) {}
  void Add(const PodFacts& facts) {
    amounts_ += facts.request;
    if (facts.spot == SpotMode::kNone) return;
    spot_.Add(facts.spot, facts.spot_asked());
    device_ = facts.spot_device;
  }
  const SpotUse& spot() const { return spot_; }
  // `others`: the same pool's tasks that stay whatever these do.
  Resources Sum(const SpotUse& others = {}) const {
    if (!device_.valid()) return amounts_;
    SpotUse all = others;
    all.exclusive += spot_.exclusive;
    all.shared += spot_.shared;
    Resources cards;
    cards.Set(device_, CardsOf(pools_, all) - CardsOf(pools_, others));
    return amounts_ + cards;
  }

 private:
  const SpotPools& pools_;
  Resources amounts_;
  SpotUse spot_;
  ResourceId device_;
};

}  // namespace sky::model
