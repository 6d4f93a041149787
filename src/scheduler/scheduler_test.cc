// SPDX-License-Identifier: Apache-2.0
// When cycles run (F51): at the first event that matters and a little later, at a plugin's moment,
// and at the latest after a period. Nothing here goes over a wire.
#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "scheduler/fake_writer_for_test.h"
#include "testing/words.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;

// Wants a cycle at the moment that the test sets.
class Clockwork final : public framework::ReconcilablePlugin {
 public:
  Clockwork(std::optional<WallTime>& next, std::vector<WallTime>& told)
      : next_(next), told_(told) {}
  std::string_view name() const override { return "clockwork"; }
  void OnSessionOpen(framework::Session&) override {}
  void Reconcile(WallTime now) override {
    told_.push_back(now);
    next_.reset();
  }
  std::optional<WallTime> NextReconcile() const override { return next_; }

 private:
  std::optional<WallTime>& next_;
  std::vector<WallTime>& told_;
};

struct SchedulerTest : ::testing::Test {
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter writer;
  AlwaysLeads leads;
  std::optional<WallTime> next;
  std::vector<WallTime> told;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<Duration> cycles;  // since the last Begin
  MonoTime began;
  framework::Registry registry;
  std::function<void()> during;  // a cycle, once

  SchedulerTest() {
    registry.plugins.emplace(
        "clockwork",
        framework::PluginKind{
            [this](const auto&, const auto&) -> Result<std::unique_ptr<framework::Plugin>> {
              return std::make_unique<Clockwork>(next, told);
            },
            {},
            {}});
    scheduler = std::make_unique<Scheduler>(loop, Engine(), writer, leads, [this](auto work) {
      work();
      if (during) std::exchange(during, nullptr)();
    });
    scheduler->after_cycle = [this](const framework::CycleResult&) {
      cycles.push_back(clock.Mono() - began);
    };
    Tell(testing::MakeNode("n0", *testing::ReadWords("gpu=8")));
    scheduler->OnSynced();
    scheduler->OnLeadership(true);
    loop.RunReady();
    Begin();
  }
  ~SchedulerTest() override { scheduler->Stop(); }

  // As the defaults say, but for its period.
  std::unique_ptr<framework::Engine> Engine(Duration period = 1s) const {
    framework::Config config = framework::DefaultConfig(registry.Known());
    config.period = period;
    auto engine = framework::Engine::Make(registry, config);
    SKY_CHECK(engine.has_value(), "{}", engine.error().message());
    return std::move(*engine);
  }
  // Time begins anew behind the last cycle.
  void Begin() {
    loop.Advance(1s);
    cycles.clear();
    began = clock.Mono();
  }
  template <class T>
  void Tell(T object) {
    object.metadata.uid = "uid-" + object.metadata.name;
    scheduler->OnDelta(api::Delta<T>{api::Delta<T>::Type::kUpdate,
                                     std::make_shared<const T>(std::move(object)), nullptr});
  }
  void NewPod(const std::string& name) {
    Tell(testing::MakeWorker("", name, *testing::ReadWords("gpu=1")));
  }
};
using Times = std::vector<Duration>;

TEST_F(SchedulerTest, WithoutEventsACycleRunsOnceAPeriod) {
  loop.Advance(3s);
  EXPECT_EQ(cycles, (Times{1s, 2s, 3s}));
}

TEST_F(SchedulerTest, ACycleRunsTwentyMillisecondsAfterTheFirstEventAndServesTheRest) {
  loop.Advance(100ms);
  for (int i = 0; i < 4; ++i) {
    NewPod(fmt::format("p{}", i));
    loop.Advance(4ms);
  }
  loop.Advance(500ms);
  EXPECT_EQ(cycles, Times{120ms});
  loop.Advance(600ms);
  EXPECT_EQ(cycles, (Times{120ms, 1120ms})) << "and then a period";
}

TEST_F(SchedulerTest, AStreamOfEventsPostponesNothing) {
  for (int i = 0; i < 20; ++i) {
    NewPod(fmt::format("p{}", i));
    loop.Advance(5ms);
  }
  ASSERT_GE(cycles.size(), 4u);
  EXPECT_EQ(cycles[0], 20ms);
  for (size_t i = 1; i < cycles.size(); ++i) EXPECT_LE(cycles[i] - cycles[i - 1], 25ms);
}

TEST_F(SchedulerTest, WhatChangesNothingForUsStartsNoCycle) {
  api::Node beat = testing::MakeNode("n0", *testing::ReadWords("gpu=8"));
  beat.status.conditions[0].last_heartbeat_time.at = clock.Wall();
  Tell(beat);
  api::Pod stranger = testing::MakeWorker("", "s", *testing::ReadWords("gpu=1 scheduler=another"));
  Tell(stranger);
  loop.Advance(900ms);
  EXPECT_EQ(cycles, Times{});
  stranger.spec.node_name = "n0";
  Tell(stranger);
  loop.Advance(50ms);
  EXPECT_EQ(cycles, Times{920ms}) << "it takes room";
}

TEST_F(SchedulerTest, APluginsMomentStartsACycleAndIsToldOnce) {
  next = clock.Wall() + 1300ms;
  loop.Advance(3s);
  EXPECT_EQ(cycles, (Times{1s, 1300ms, 2300ms}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0], WallTime(clock.Wall() - 1700ms));
}

TEST_F(SchedulerTest, AMomentThatHasPassedMakesNoBusyLoop) {
  next = clock.Wall() - 1h;
  loop.Advance(1s);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_LE(cycles.size(), 2u);
}

TEST_F(SchedulerTest, NothingRunsBeforeItLeadsOrAfterItHasStopped) {
  scheduler->OnLeadership(false);
  NewPod("p");
  loop.Advance(5s);
  EXPECT_EQ(cycles, Times{});
  scheduler->OnLeadership(true);
  loop.Advance(1ms);
  EXPECT_EQ(cycles, Times{5s}) << "at once";
  scheduler->Stop();
  NewPod("q");
  loop.Advance(5s);
  EXPECT_EQ(cycles.size(), 1u);
}

TEST_F(SchedulerTest, AnotherConfigurationIsInForceFromTheNextCycleOnWhichComesAtOnce) {
  scheduler->Use(Engine(2s));
  loop.Advance(5s);
  EXPECT_EQ(cycles, (Times{20ms, 2020ms, 4020ms}));
}

TEST_F(SchedulerTest, ACycleThatIsUnderWayEndsAsItBegan) {
  during = [&] { scheduler->Use(Engine(3s)); };
  loop.Advance(5s);
  EXPECT_EQ(cycles, (Times{1s, 1020ms, 4020ms}));
}

// Rows of what is gone are used again only after a snapshot without them.
TEST_F(SchedulerTest, WhoDoesntLeadKeepsNothingOfThePast) {
  scheduler->OnLeadership(false);
  for (int i = 0; i < 600; ++i) {
    api::Pod pod = testing::MakeWorker("", fmt::format("p{}", i), *testing::ReadWords("gpu=1"));
    pod.metadata.uid = "uid-" + pod.metadata.name;
    const auto object = std::make_shared<const api::Pod>(std::move(pod));
    using Delta = api::Delta<api::Pod>;
    scheduler->OnDelta(Delta{Delta::Type::kAdd, object, nullptr});
    scheduler->OnDelta(Delta{Delta::Type::kDelete, object, nullptr});
    loop.Advance(200ms);
  }
  EXPECT_EQ(cycles, Times{});
  EXPECT_LT(scheduler->cache().Copy().tasks().size(), 120u);
}

}  // namespace
}  // namespace sky::scheduler
