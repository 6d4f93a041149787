// SPDX-License-Identifier: Apache-2.0
#include "kube/loop.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

#include "kube/backoff.h"
#include "kube/io_loop.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;

TEST(ManualLoopTest, TimersRunAtTheirTimeInOrderAndTasksInBetween) {
  ManualClock clock;
  ManualLoop loop(clock);
  const MonoTime start = clock.Mono();
  std::vector<std::pair<int, Duration>> ran;
  const auto note = [&](int what) {
    return [&, what] { ran.emplace_back(what, clock.Mono() - start); };
  };
  loop.RunAfter(2s, note(2));
  loop.RunAfter(1s, [&] {
    note(1)();
    loop.Post(note(10));
    loop.RunAfter(500ms, note(11));
  });
  loop.RunAfter(2s, note(3));
  loop.Cancel(loop.RunAfter(1s, note(99)));
  loop.Post(note(0));
  EXPECT_EQ(loop.NextDue(), start);
  loop.Advance(3s);
  EXPECT_EQ(ran, (std::vector<std::pair<int, Duration>>{
                     {0, 0s}, {1, 1s}, {10, 1s}, {11, 1500ms}, {2, 2s}, {3, 2s}}));
  EXPECT_EQ(clock.Mono() - start, 3s);
  EXPECT_EQ(loop.NextDue(), std::nullopt);
}

// One step of the order that RunReady takes: what was posted, then what is due, and time stands.
TEST(ManualLoopTest, RunOneTakesExactlyOneStepAtThisInstant) {
  ManualClock clock;
  ManualLoop loop(clock);
  std::vector<int> ran;
  const auto note = [&](int what) { return [&ran, what] { ran.push_back(what); }; };
  EXPECT_FALSE(loop.RunOne()) << "nothing is there";
  loop.RunAfter(0s, note(3));
  loop.RunAfter(1s, note(5));
  loop.Post([&] {
    note(1)();
    loop.Post(note(2));
    loop.RunAfter(0s, note(4));
  });
  for (const int step : {1, 2, 3, 4}) {
    EXPECT_TRUE(loop.RunOne());
    EXPECT_EQ(ran.size(), static_cast<size_t>(step)) << "no more than one";
    EXPECT_EQ(ran.back(), step);
  }
  const MonoTime now = clock.Mono();
  EXPECT_FALSE(loop.RunOne()) << "the last timer isn't due yet";
  EXPECT_EQ(clock.Mono(), now);
  EXPECT_EQ(loop.NextDue(), now + 1s);
  clock.Advance(1s);
  EXPECT_TRUE(loop.RunOne());
  EXPECT_EQ(ran.back(), 5);
  EXPECT_FALSE(loop.RunOne());
}

TEST(ManualLoopTest, ATaskMayCancelWhatWouldRunNext) {
  ManualClock clock;
  ManualLoop loop(clock);
  int ran = 0;
  const TimerId second = loop.RunAfter(1s, [&] { ran += 10; });
  loop.Post([&] {
    ++ran;
    loop.Cancel(second);
  });
  loop.Advance(2s);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(loop.NextDue(), std::nullopt);
}

TEST(LifelineTest, GuardedCallbacksDieWithTheirOwner) {
  int calls = 0;
  auto lifeline = std::make_unique<Lifeline>();
  auto first = lifeline->Guard([&] { ++calls; });
  first();
  lifeline->Cut();
  first();
  auto second = lifeline->Guard([&](int by) { calls += by; });
  second(10);
  lifeline.reset();
  second(10);
  EXPECT_EQ(calls, 11);
}

TEST(BackoffTest, WaitsDoubleUpToTheMostWithAFactorBelowTwoAndStartAgainAfterQuiet) {
  ManualClock clock;
  Backoff backoff(7);
  Duration step = 800ms;
  for (int i = 0; i < 20; ++i) {
    const Duration wait = backoff.Next(clock.Mono());
    EXPECT_GE(wait, step);
    EXPECT_LT(wait, 2 * step);
    clock.Advance(wait);
    step = std::min<Duration>(step * 2, 30s);
  }
  clock.Advance(2min + 1s);
  EXPECT_LT(backoff.Next(clock.Mono()), 1600ms);
}

TEST(IoLoopTest, TasksAndTimersOfAllThreadsRunOnItsThread) {
  const SystemClock clock;
  auto loop = IoLoop::Create(clock);
  ASSERT_TRUE(loop);
  std::promise<bool> posted, timed;
  (*loop)->Post([&] { posted.set_value((*loop)->OnLoop()); });
  EXPECT_TRUE(posted.get_future().get());
  EXPECT_FALSE((*loop)->OnLoop());
  (*loop)->RunAfter(1h, [&] { timed.set_value(false); });
  (*loop)->RunAfter(5ms, [&] { timed.set_value((*loop)->OnLoop()); });
  EXPECT_TRUE(timed.get_future().get());
  (*loop)->Stop();
}

TEST(IoLoopTest, StopRunsWhatIsPostedAndDropsTheTimers) {
  const SystemClock clock;
  auto loop = IoLoop::Create(clock);
  ASSERT_TRUE(loop);
  int ran = 0;
  auto held = std::make_shared<int>(0);
  (*loop)->RunAfter(1h, [held] {});
  (*loop)->Post([&] { (*loop)->Post([&] { ++ran; }); });
  (*loop)->Stop();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(held.use_count(), 1);
  (*loop)->Post([held] {});
  (*loop)->RunAfter(0s, [held] {});
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace sky::kube
