// SPDX-License-Identifier: Apache-2.0
// Gangs that fill a cluster, planned and assumed with nothing else around: what a decision costs.
#include <benchmark/benchmark.h>

#include "cache/cache.h"
#include "framework/engine.h"
#include "scheduler/known.h"
#include "testing/words.h"

namespace sky {
namespace {

template <class T>
void Give(cache::Cache& cache, T object, const std::string& uid) {
  object.metadata.uid = uid;
  cache.Apply(api::Delta<T>{api::Delta<T>::Type::kAdd, std::make_shared<const T>(std::move(object)),
                            nullptr});
}

testing::Words Say(std::string_view words) { return *testing::ReadWords(words); }

// `nodes` of 8 GPUs, 16 under each switch; a quota for each GPU; gangs of 32 that fill all of it.
void Fill(cache::Cache& cache, int nodes) {
  const testing::Words machine = Say("gpu=8 hca=8 spec=a100"), share = Say("gpu=1 hca=1");
  api::Queue queue;
  queue.metadata.name = "default";
  Give(cache, queue, "queue");
  for (int i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    Give(cache, testing::MakeNode(name, machine), name);
    Give(cache, testing::MakeTopology(name, "roce", {fmt::format("S{}", i / 16)}), "t" + name);
  }
  for (int i = 0; i < nodes * 8; ++i)
    Give(cache, testing::MakeQuota(fmt::format("q{}", i), share), fmt::format("q{}", i));
  for (int g = 0; g < nodes / 4; ++g) {
    const std::string name = fmt::format("gang-{}", g);
    for (int m = 0; m < 32; ++m)
      Give(cache, testing::MakeWorker(name, fmt::format("{}-{}", name, m), share),
           fmt::format("{}-{}", name, m));
    Give(cache, testing::MakeGroup(name, 32, share), name);
  }
}

void BM_FillClusterWithGangs(benchmark::State& state) {
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
    const framework::CycleResult result =
        (*engine)->Run(snapshot, WallTime{}, 1,
                       [&](cache::Round& round) { return cache.Assume(round, snapshot); });
    for (const cache::Round& round : result.committed)
      placed += static_cast<int64_t>(round.entries.size());
  }
  if (placed == 0) state.SkipWithError("nothing was placed");
  state.SetItemsProcessed(placed);
}
BENCHMARK(BM_FillClusterWithGangs)
    ->Arg(100)
    ->Arg(1000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace sky
