// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace sky {
namespace {

// The generator's published first values for the seed 1234567: a change of them would change every
// recorded run.
TEST(Rng, IsSplitMix64) {
  Rng rng(1234567);
  for (const uint64_t value : {6457827717110365317ull, 3203168211198807973ull,
                               9817491932198370423ull, 4593380528125082431ull})
    EXPECT_EQ(rng.Next(), value);
}

RC_GTEST_PROP(Rng, TheSameSeedGivesTheSameRunWithinItsBounds, (uint64_t seed)) {
  const auto bound = *rc::gen::inRange<uint64_t>(1, uint64_t{1} << 40);
  Rng a(seed), b(seed);
  for (int i = 0; i < 20; ++i) {
    const uint64_t value = a.Below(bound);
    RC_ASSERT(value == b.Below(bound));
    RC_ASSERT(value < bound);
    const double unit = a.Unit();
    RC_ASSERT(unit == b.Unit());
    RC_ASSERT(unit >= 0 && unit < 1);
  }
}

TEST(Rng, EveryValueBelowASmallBoundComesUp) {
  Rng rng(1);
  std::set<uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.Below(7));
  EXPECT_EQ(seen.size(), 7u);
}

}  // namespace
}  // namespace sky
