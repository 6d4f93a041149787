// SPDX-License-Identifier: Apache-2.0
#include "scheduler/pace.h"

#include <gtest/gtest.h>

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;

constexpr MonoTime kNow{1h};

TEST(PaceTest, TheWindowHalvesWithEachRefusalAndGrowsByOneWithEachBinding) {
  Pace pace;
  EXPECT_EQ(pace.window(), 32u);
  pace.PushedBack(kNow);
  pace.PushedBack(kNow);
  EXPECT_EQ(pace.window(), 8u);
  for (int i = 0; i < 10; ++i) pace.PushedBack(kNow);
  EXPECT_EQ(pace.window(), 1u) << "one is always tried";
  for (int i = 0; i < 100; ++i) pace.Taken();
  EXPECT_EQ(pace.window(), 32u);
}

TEST(PaceTest, OneGangsTroubleStopsNobodyElse) {
  Pace pace;
  for (int i = 0; i < 1000; ++i) {
    pace.PushedBack(kNow);
    if (i % 30 == 0) pace.Taken();
    EXPECT_LE(pace.next(), kNow);
  }
}

TEST(PaceTest, AServerThatTakesNothingIsAskedEverMoreSeldomAtLastOnceASecond) {
  Pace pace;
  MonoTime now = kNow;
  int sent = 0;
  for (; now < kNow + 60s; now = std::max(now + 1ms, pace.next())) {
    pace.Sent(now);
    pace.PushedBack(now);
    ++sent;
  }
  EXPECT_LT(sent, 110);
  EXPECT_EQ(pace.next() - now, Duration::zero());
  const MonoTime before = pace.next();
  pace.PushedBack(now);
  EXPECT_EQ(pace.next() - now, 1s);
  EXPECT_GT(pace.next(), before);
  pace.Taken();
  EXPECT_LE(pace.next(), now) << "and it goes on at once";
}

}  // namespace
}  // namespace sky::scheduler
