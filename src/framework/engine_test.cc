// SPDX-License-Identifier: Apache-2.0
// A cycle as a pure function: kept answers change nothing, nor do the order of input or the ids
// that rows happened to get.
#include "framework/engine.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "actions/actions.h"
#include "base/rng.h"
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

// What a cycle decided, in names. Of jobs in `unsaid` it only says that they wait.
std::string Said(const model::Cluster& rows, const CycleResult& result,
                 const std::set<std::string>& unsaid = {}) {
  std::vector<std::string> lines;
  for (const cache::Round& one : result.committed) {
    std::string line = one.job + ":";
    for (const cache::RoundEntry& entry : one.entries)
      line += fmt::format(" {}→{}→{}", entry.name, entry.quota_name, entry.node_name);
    lines.push_back(line);
  }
  const size_t committed = lines.size();
  const auto waits = [&](const std::string& job, const std::string& why) {
    lines.push_back(fmt::format("{} waits: {}", job, unsaid.contains(job) ? "" : why));
  };
  for (const auto& [job, why] : result.refusals)
    waits(rows.jobs()[job].name, fmt::format("{} {}", model::ReasonName(why.main), why.detail));
  for (const model::JobId job : result.asleep) waits(rows.jobs()[job].name, "asleep");
  std::sort(lines.begin() + static_cast<ptrdiff_t>(committed), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void ConfirmGroups(cache::Cache& cache) {
  for (const auto& stale : cache.TakeStaleGroups()) {
    const model::Cluster copy = cache.Copy();
    cache.ConfirmGroup(stale, copy.jobs()[copy.jobs().Find(stale.key)].object);
  }
}

// What a new engine decides over the cache's cluster; nothing is kept.
std::string Decide(Engine& engine, cache::Cache& cache, Instant now = {}) {
  ConfirmGroups(cache);
  model::Cluster rows = cache.Copy();
  uint64_t round = 0;
  const CycleResult result =
      engine.Run(rows, now, 1,
                 [&](cache::Round&) -> std::expected<uint64_t, cache::Refusal> { return ++round; });
  return Said(rows, result);
}

RC_GTEST_PROP(EngineLaw, KeptAnswersAreThoseOfAnEngineThatKeepsNone, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  std::string history;
  for (int i = 0; i < 8; ++i) {
    // Every other event is that time passes, and nothing else.
    history += (i % 2 == 0 ? events.Next() : events.PassTime()) + "\n";
    ConfirmGroups(cluster.cache());
    const model::Cluster before = cluster.cache().Copy();
    cluster.Cycle();
    std::set<std::string> asleep;
    for (const model::JobId job : cluster.result().asleep)
      asleep.insert(cluster.snapshot().jobs()[job].name);
    model::Cluster rows = before;
    uint64_t round = 0;
    const auto engine = NewEngine(cluster.engine().config());
    const CycleResult result = engine->Run(
        rows, cluster.now(), 1,
        [&](cache::Round&) -> std::expected<uint64_t, cache::Refusal> { return ++round; });
    const std::string kept = Said(cluster.snapshot(), cluster.result(), asleep);
    const std::string fresh = Said(rows, result, asleep);
    if (kept != fresh) RC_FAIL(history + "kept\n" + kept + "\nfresh\n" + fresh);
  }
}

// The same expression with its arguments in another order, where the operator doesn't care.
expr::Expression Permuted(expr::Expression one, Rng& rng) {
  for (expr::Expression& argument : one.arguments) argument = Permuted(std::move(argument), rng);
  const bool free =
      one.op != expr::Op::kOr && one.op != expr::Op::kFirst && one.op != expr::Op::kFirstNotPass;
  for (size_t i = one.arguments.size(); free && i > 1; --i)
    std::swap(one.arguments[i - 1], one.arguments[rng.Below(i)]);
  return one;
}

RC_GTEST_PROP(EngineLaw, PermutingJointSumAndAndDecidesNothing, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  std::string history;
  for (int i = 0; i < 10; ++i) history += events.Next() + "\n";
  Rng rng(seed);
  Config permuted = cluster.engine().config();
  for (auto& [callback, expression] : permuted.expressions)
    expression = Permuted(std::move(expression), rng);
  const std::string plain = Decide(*NewEngine(cluster.engine().config()), cluster.cache());
  const std::string other = Decide(*NewEngine(permuted), cluster.cache());
  if (plain != other) RC_FAIL(history + "plain\n" + plain + "\npermuted\n" + other);
}

// What is said twice is said once; a name in parentheses of its own operator is itself.
RC_GTEST_PROP(EngineLaw, NestingAnOperatorInItselfDecidesNothing, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  for (int i = 0; i < 10; ++i) events.Next();
  Config nested = cluster.engine().config();
  for (auto& [callback, expression] : nested.expressions)
    if (expression.kind == expr::Expression::Kind::kCall)
      expression = expr::Expression::Call(expression.op, {expression});
  RC_ASSERT(Decide(*NewEngine(cluster.engine().config()), cluster.cache()) ==
            Decide(*NewEngine(nested), cluster.cache()));
}

RC_GTEST_PROP(EngineLaw, TheOrderOfInputDecidesNothing, (uint64_t seed)) {
  Cluster cluster("zoneHoldDown: 0s");  // rebuilt ones have seen no loss
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

// Through every deadline, and then for ever: nothing that was decided moves by itself.
RC_GTEST_PROP(EngineLaw, AQuietClusterStaysAsItIs, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  for (int i = 0; i < 12; ++i) events.Next();
  events.PassTime();
  const Duration longest = std::max(cluster.engine().config().node_lost_after,
                                    Duration(std::chrono::seconds(60)));  // of any back-off
  const auto until_quiet = [&] {
    int cycles = 0;
    while (!cluster.Cycle().empty() && ++cycles < 12) {
    }
    return cycles < 12;
  };
  RC_ASSERT(until_quiet());
  cluster.Tick(longest);
  RC_ASSERT(until_quiet());
  const std::string still = cluster.cache().Copy().Dump();
  for (int i = 0; i < 5; ++i) {
    cluster.Tick(longest);
    RC_ASSERT(cluster.Cycle().empty());
    RC_ASSERT(!cluster.result().conflicted);
    RC_ASSERT(cluster.cache().Copy().Dump() == still);
  }
}

}  // namespace
}  // namespace sky::framework
