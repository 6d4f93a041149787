// SPDX-License-Identifier: Apache-2.0
// What a cycle costs before it decides anything: 10,000 nodes that run 100,000 pods, 80,000 of ours
// in quotas and 20,000 of other schedulers.
#include <benchmark/benchmark.h>

#include "clusters.h"
#include "framework/engine.h"
#include "scheduler/known.h"

namespace sky {
namespace {

constexpr int kManyNodes = 10'000;

struct Busy {
  framework::Registry registry = scheduler::AllKnown();
  std::unique_ptr<framework::Engine> engine =
      *framework::Engine::Make(registry, framework::DefaultConfig(registry.Known()));
  std::shared_ptr<model::Names> names = std::make_shared<model::Names>();
  cache::Cache cache{names, framework::SettingsOf(engine->config())};
  std::vector<std::shared_ptr<const api::Pod>> workers;

  Busy() {
    bench::GiveMachines(cache, kManyNodes);
    for (int i = 0; i < kManyNodes * 8; ++i) GiveWorker(i);
    for (int i = 0; i < kManyNodes * 2; ++i) {
      const std::string name = fmt::format("other-{}", i);
      bench::Give(cache,
                  testing::MakeWorker(
                      "", name, bench::Say(fmt::format("cpu=1 scheduler=other node=n{}", i / 2))),
                  name);
    }
  }

  void GiveWorker(int i) {
    const std::string group = fmt::format("gang-{}", i / 32), name = fmt::format("{}-{}", group, i);
    api::Pod pod = testing::MakeWorker(
        group, name, bench::Say(fmt::format("gpu=1 hca=1 node=n{} quota=q{}", i / 8, i)));
    pod.metadata.uid = name;
    workers.push_back(std::make_shared<const api::Pod>(std::move(pod)));
    cache.Apply(api::Delta<api::Pod>{api::Delta<api::Pod>::Type::kAdd, workers.back(), nullptr});
    if (i % 32 == 31)
      bench::Give(cache, testing::MakeGroup(group, 32, bench::Say("gpu=1 hca=1")), group);
  }
};

// Made once: half a minute of parsing would drown what is measured.
Busy& TheBusyCluster() {
  static Busy busy;
  return busy;
}

void SnapshotFromScratch(benchmark::State& state) {
  Busy& busy = TheBusyCluster();
  for (auto _ : state) {
    model::Cluster snapshot(busy.names);
    busy.cache.UpdateSnapshot(snapshot);
    benchmark::DoNotOptimize(snapshot.nodes().size());
  }
}
BENCHMARK(SnapshotFromScratch)->Unit(benchmark::kMillisecond);

// A pod ends and another starts in its place: the change and the snapshot that learns of it.
void SnapshotAfterOneChange(benchmark::State& state) {
  Busy& busy = TheBusyCluster();
  model::Cluster snapshot(busy.names);
  busy.cache.UpdateSnapshot(snapshot);
  size_t at = 0;
  using Type = api::Delta<api::Pod>::Type;
  for (auto _ : state) {
    state.PauseTiming();
    const auto& pod = busy.workers[(at += 7919) % busy.workers.size()];
    busy.cache.Apply({Type::kDelete, pod, nullptr});
    state.ResumeTiming();
    busy.cache.UpdateSnapshot(snapshot);
    state.PauseTiming();
    if (snapshot.tasks().Find(pod->metadata.uid).valid()) state.SkipWithError("the pod stayed");
    busy.cache.Apply({Type::kAdd, pod, nullptr});
    busy.cache.UpdateSnapshot(snapshot);
    state.ResumeTiming();
  }
}
BENCHMARK(SnapshotAfterOneChange)->Unit(benchmark::kMicrosecond);

// Nothing waits and nothing changed: snapshot, session, all actions.
void IdleCycle(benchmark::State& state) {
  Busy& busy = TheBusyCluster();
  model::Cluster snapshot(busy.names);
  busy.cache.UpdateSnapshot(snapshot);
  uint64_t cycle = 0;
  for (auto _ : state) {
    busy.cache.UpdateSnapshot(snapshot);
    const framework::CycleResult result =
        busy.engine->Run(snapshot, Instant{}, ++cycle,
                         [&](cache::Round& round) { return busy.cache.Assume(round, snapshot); });
    if (!result.committed.empty()) state.SkipWithError("something was placed");
  }
}
BENCHMARK(IdleCycle)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sky
