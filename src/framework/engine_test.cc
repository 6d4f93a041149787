// SPDX-License-Identifier: Apache-2.0
// A cycle as a pure function: kept answers change nothing, nor do the order of input or the ids
// that rows happened to get.
#include "framework/engine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "actions/actions.h"
#include "plugins/all_plugins.h"
#include "testing/random_events.h"

namespace sky::framework {
namespace {

using testing::Cluster;
using testing::RandomEvents;

std::unique_ptr<Engine> NewEngine(const Config& config) {
  Registry registry;
  plugins::AddAllPlugins(registry);
  actions::AddAllActions(registry);
  return std::move(*Engine::Make(registry, config));
}

// What a cycle of `engine` decides over the cache's cluster, in names; nothing is kept.
std::string Decide(Engine& engine, cache::Cache& cache) {
  for (const auto& stale : cache.TakeStaleGroups()) {
    const model::Cluster copy = cache.Copy();
    cache.ConfirmGroup(stale, copy.jobs()[copy.jobs().Find(stale.key)].object);
  }
  model::Cluster rows = cache.Copy();
  uint64_t round = 0;
  const CycleResult result =
      engine.Run(rows, WallTime{}, 1,
                 [&](cache::Round&) -> std::expected<uint64_t, cache::Refusal> { return ++round; });
  std::vector<std::string> lines;
  for (const cache::Round& one : result.committed) {
    std::string line = one.job + ":";
    for (const cache::RoundEntry& entry : one.entries)
      line += fmt::format(" {}→{}→{}", entry.name, entry.quota_name, entry.node_name);
    lines.push_back(line);
  }
  const size_t committed = lines.size();
  for (const auto& [job, why] : result.refusals)
    lines.push_back(fmt::format("{} waits: {} {}", rows.jobs()[job].name,
                                model::ReasonName(why.main), why.detail));
  std::sort(lines.begin() + static_cast<ptrdiff_t>(committed), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

RC_GTEST_PROP(EngineLaw, KeptAnswersAreThoseOfAnEngineThatKeepsNone, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  std::string history;
  for (int i = 0; i < 4; ++i) {
    history += events.Next() + "\n";
    const std::string kept = Decide(cluster.engine(), cluster.cache());
    const std::string fresh = Decide(*NewEngine(cluster.engine().config()), cluster.cache());
    if (kept != fresh) RC_FAIL(history + "kept\n" + kept + "\nfresh\n" + fresh);
    cluster.Cycle();
  }
}

RC_GTEST_PROP(EngineLaw, TheOrderOfInputDecidesNothing, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  std::string history;
  for (int i = 0; i < 15; ++i) history += events.Next() + "\n";
  std::string first;
  for (uint64_t order = 0; order < 2; ++order) {
    const auto cache = cluster.Rebuilt(seed + order);
    const std::string decided = Decide(*NewEngine(cluster.engine().config()), *cache);
    if (order == 0) first = decided;
    if (decided != first) RC_FAIL(history + "one\n" + first + "\nother\n" + decided);
  }
}

RC_GTEST_PROP(EngineLaw, AQuietClusterStaysAsItIs, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  for (int i = 0; i < 12; ++i) events.Next();
  for (int i = 0; i < 12 && !cluster.Cycle().empty(); ++i) {
  }
  const std::string still = cluster.cache().Copy().Dump();
  for (int i = 0; i < 5; ++i) {
    RC_ASSERT(cluster.Cycle().empty());
    RC_ASSERT(!cluster.result().conflicted);
    RC_ASSERT(cluster.cache().Copy().Dump() == still);
  }
}

}  // namespace
}  // namespace sky::framework
