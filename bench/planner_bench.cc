// SPDX-License-Identifier: Apache-2.0
// What decisions cost on 10,000 nodes: one large gang, gangs that can't run, gangs that arrive.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "clusters.h"
#include "framework/engine.h"
#include "scheduler/known.h"

namespace sky {
namespace {

constexpr int kNodes = 10'000;

struct Bench {
  framework::Registry registry = scheduler::AllKnown();
  std::unique_ptr<framework::Engine> engine =
      *framework::Engine::Make(registry, framework::DefaultConfig(registry.Known()));
  std::shared_ptr<model::Names> names = std::make_shared<model::Names>();
  cache::Cache cache{names, framework::SettingsOf(engine->config())};
  model::Cluster snapshot{names};
  uint64_t cycle = 0;

  Bench() { bench::GiveMachines(cache, kNodes); }

  // Workers that run on the first `count` GPUs, through the quotas of the same numbers.
  void Fill(int count) {
    for (int i = 0; i < count; ++i)
      bench::Give(
          cache,
          testing::MakeWorker("", fmt::format("busy-{}", i),
                              bench::Say(fmt::format("gpu=1 hca=1 node=n{} quota=q{}", i / 8, i))),
          fmt::format("busy-{}", i));
  }
  framework::CycleResult Cycle() {
    cache.UpdateSnapshot(snapshot);
    return engine->Run(snapshot, Instant{}, ++cycle,
                       [&](cache::Round& round) { return cache.Assume(round, snapshot); });
  }
};

// A thousand workers over eight zones: found, charged, carried out and compared with the cache.
void PlanGangOf1000(benchmark::State& state) {
  Bench bench;
  bench::GiveGang(bench.cache, "large", 1000);
  bench.cache.UpdateSnapshot(bench.snapshot);
  uint64_t round = 0;
  for (auto _ : state) {
    const framework::CycleResult result = bench.engine->Run(
        bench.snapshot, Instant{}, ++bench.cycle,
        [&](cache::Round&) -> std::expected<uint64_t, cache::Refusal> { return ++round; });
    if (result.committed.size() != 1) state.SkipWithError("it was not placed");
    state.PauseTiming();
    bench.cache.UpdateSnapshot(bench.snapshot);  // as if it hadn't been
    state.ResumeTiming();
  }
}
BENCHMARK(PlanGangOf1000)->Unit(benchmark::kMillisecond);

// Once seen, a gang that can't run costs nothing until something changes.
void HopelessGangs1900(benchmark::State& state) {
  Bench bench;
  bench.Fill(kNodes * 8);
  for (int i = 0; i < 1900; ++i) bench::GiveGang(bench.cache, fmt::format("gang-{}", i), 8);
  for (int i = 0; i < 20; ++i) bench.Cycle();
  for (auto _ : state)
    if (bench.Cycle().asleep.size() != 1900) state.SkipWithError("not all of them sleep");
}
BENCHMARK(HopelessGangs1900)->Unit(benchmark::kMicrosecond);

// The 99th percentile of cycles in which 100 gangs of 8 arrive on a cluster that is nine tenths
// full.
void ArrivingGangsP99(benchmark::State& state) {
  Bench bench;
  bench.Fill(kNodes * 8 * 9 / 10);
  bench.Cycle();
  constexpr int kCycles = 100;
  const SystemClock clock;
  for (auto _ : state) {
    std::vector<double> seconds;
    for (int c = 0; c < kCycles; ++c) {
      for (int i = 0; i < 100; ++i)
        bench::GiveGang(bench.cache, fmt::format("gang-{}-{}", c, i), 8);
      const MonoTime began = clock.Mono();
      if (bench.Cycle().committed.size() != 100) state.SkipWithError("a gang was not placed");
      seconds.push_back(std::chrono::duration<double>(clock.Mono() - began).count());
      for (int i = 0; i < 100; ++i)
        for (int m = 0; m < 8; ++m) {
          api::Pod gone;
          gone.metadata.uid = fmt::format("gang-{}-{}-{}", c, i, m);
          bench.cache.Apply({api::Delta<api::Pod>::Type::kDelete,
                             std::make_shared<const api::Pod>(std::move(gone)), nullptr});
        }
    }
    std::sort(seconds.begin(), seconds.end());
    state.SetIterationTime(seconds[kCycles * 99 / 100]);
  }
}
BENCHMARK(ArrivingGangsP99)->Unit(benchmark::kMillisecond)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace sky
