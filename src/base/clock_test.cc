// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sky {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsGoDurations) {
  EXPECT_EQ(*ParseDuration("20ms"), 20ms);
  EXPECT_EQ(*ParseDuration("1m30s"), 90s);
  EXPECT_EQ(*ParseDuration("1.5s"), 1500ms);
  EXPECT_EQ(*ParseDuration("0"), 0s);
  EXPECT_EQ(*ParseDuration("2h"), 2h);
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text :
       {"", "5", "s", "-1s", "1x", "1s ", "nan s", "inf", "1e9h", "99999999999h"})
    EXPECT_FALSE(ParseDuration(text).has_value()) << text;
}

RC_GTEST_PROP(Duration, PrintThenParseIsTheSame, ()) {
  const Duration duration(*rc::gen::inRange<int64_t>(0, int64_t{1} << 50));
  RC_ASSERT(*ParseDuration(FormatDuration(duration)) == duration);
}

TEST(Time, ReadsRfc3339WithFractionAndOffset) {
  const WallTime noon = *ParseTime("2026-11-29T12:00:00Z");
  EXPECT_EQ(*ParseTime("2026-11-29T13:00:00+01:00"), noon);
  EXPECT_EQ(*ParseTime("2026-11-29T12:00:00.250000Z"), noon + 250ms);
  EXPECT_EQ(FormatTime(noon), "2026-11-29T12:00:00Z");
  EXPECT_EQ(FormatMicroTime(noon + 7us), "2026-11-29T12:00:00.000007Z");
}

TEST(Time, RefusesWhatIsNone) {
  for (const char* text : {"", "2026-11-29", "2026-13-01T00:00:00Z", "2026-11-29T12:00:00", "x",
                           "9999-01-01T00:00:00Z"})
    EXPECT_FALSE(ParseTime(text).has_value()) << text;
}

TEST(ManualClock, WallCanStepWithoutMonotonicTime) {
  ManualClock clock;
  const MonoTime before = clock.Mono();
  clock.StepWall(1h);
  EXPECT_EQ(clock.Mono(), before);
  clock.Advance(5s);
  EXPECT_EQ(clock.Mono(), before + 5s);
}

}  // namespace
}  // namespace sky
