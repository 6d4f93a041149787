// SPDX-License-Identifier: Apache-2.0
// Gangs that fill a cluster, planned and assumed with nothing else around: what a decision costs.
#include <benchmark/benchmark.h>

#include "clusters.h"
#include "framework/engine.h"
#include "scheduler/known.h"

namespace sky {
namespace {

// Gangs of 32 that fill all of it.
void Fill(cache::Cache& cache, int nodes) {
  bench::GiveMachines(cache, nodes);
  for (int g = 0; g < nodes / 4; ++g) bench::GiveGang(cache, fmt::format("gang-{}", g), 32);
}

void FillClusterWithGangs(benchmark::State& state) {
  const framework::Registry registry = scheduler::AllKnown();
  const auto nodes = static_cast<int>(state.range(0));
  int64_t placed = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto engine = framework::Engine::Make(registry, framework::DefaultConfig(registry.Known()));
    const auto names = std::make_shared<model::Names>();
    cache::Cache cache(names, framework::SettingsOf((*engine)->config()));
    Fill(cache, nodes);
    model::Cluster snapshot(names);
    state.ResumeTiming();
    cache.UpdateSnapshot(snapshot);
    const framework::CycleResult result = (*engine)->Run(
        snapshot, Instant{}, 1, [&](cache::Round& round) { return cache.Assume(round, snapshot); });
    for (const cache::Round& round : result.committed)
      placed += static_cast<int64_t>(round.entries.size());
  }
  if (placed == 0) state.SkipWithError("nothing was placed");
  state.SetItemsProcessed(placed);
}
BENCHMARK(FillClusterWithGangs)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace sky
