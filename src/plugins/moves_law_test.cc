// SPDX-License-Identifier: Apache-2.0
// Laws of the plan on random clusters: nobody is asked for nothing, no node becomes worse, and the
// story ends when pods come back wherever the scheduler puts them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "plugins/conformance/conformance.h"
#include "plugins/gang/gang.h"
#include "plugins/predicates/predicates.h"
#include "plugins/quotapredicates/quotapredicates.h"
#include "plugins/rescheduling/strategies.h"
#include "plugins/sylas/sylas.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using namespace std::chrono_literals;
using testing::Cluster;
using testing::OpenSession;

struct SpotPod {
  std::string name, owner;  // owner "": it has no controller
  int cards = 1, node = 0;
};

struct World {
  int nodes = 2, cards = 8, low = 30, target = 75;
  std::vector<int> quotas;  // cards that pods with quotas have, by node
  std::vector<SpotPod> pods;
};

World AnyWorld() {
  World world;
  world.nodes = *rc::gen::inRange(2, 5);
  world.cards = *rc::gen::element(4, 8);
  world.low = *rc::gen::inRange(20, 60);
  world.target = *rc::gen::inRange(world.low, 90);
  for (int node = 0; node < world.nodes; ++node) {
    int left = world.cards;
    world.quotas.push_back(*rc::gen::inRange(0, 3));
    left -= world.quotas.back();
    const bool crowded = *rc::gen::arbitrary<bool>();
    while (left > 0 && *rc::gen::inRange(0, 5) > (crowded ? 0 : 3)) {
      const int cards = *rc::gen::inRange(1, left + 1);
      world.pods.push_back({fmt::format("s-{}", world.pods.size()),
                            *rc::gen::element<std::string>("", "a", "b", "c"), cards, node});
      left -= cards;
    }
  }
  return world;
}

std::string WordsOf(const SpotPod& pod) {
  return fmt::format("spot={}{}", pod.cards, pod.owner.empty() ? "" : " owner=" + pod.owner);
}

void Tell(const World& world, Cluster& c) {
  for (int node = 0; node < world.nodes; ++node) {
    c.Nodes(fmt::format("n{}", node), fmt::format("gpu={0} spot={0}", world.cards));
    if (world.quotas[static_cast<size_t>(node)] == 0) continue;
    c.Quotas(fmt::format("q{}", node),
             fmt::format("gpu={}", world.quotas[static_cast<size_t>(node)]));
    c.Pod(fmt::format("used-{}", node), fmt::format("gpu={0} node=n{1} quota=q{1}",
                                                    world.quotas[static_cast<size_t>(node)], node));
  }
  for (const SpotPod& pod : world.pods)
    c.Pod(pod.name, fmt::format("{} node=n{}", WordsOf(pod), pod.node));
  c.Tick(10s);
}

RC_GTEST_PROP(MovesLaw, NoNodeBecomesWorseAndNobodyMovesForNothing, ()) {
  const World world = AnyWorld();
  Cluster c("minRunTime: 0s");
  Tell(world, c);
  OpenSession open(c, std::make_unique<Gang>(), std::make_unique<Conformance>(),
                   std::make_unique<Predicates>(), std::make_unique<QuotaPredicates>(),
                   std::make_unique<Sylas>(Strategies{}));
  const model::ResourceId gpu = open.Resource("nvidia.com/gpu");
  const Levels levels = {{gpu, world.low, world.target}};
  Moves moves(*open, levels, [](model::TaskId) { return false; });
  Balance(*open, levels, moves);
  RC_CLASSIFY(!moves.planned().empty(), "somebody moves");
  std::map<model::NodeId, int64_t> before, after;
  for (int node = 0; node < world.nodes; ++node) {
    const model::NodeId id = open.Node(fmt::format("n{}", node));
    before[id] = after[id] = open.rows().nodes()[id].used[gpu];
  }
  const auto too_much = [&](int64_t used) {
    return used * 100 > int64_t{world.target} * world.cards * 1000;
  };
  for (const Move& move : moves.planned()) {
    const model::PodFacts& facts = *open.rows().tasks()[move.task].facts;
    RC_ASSERT(facts.direct());
    RC_ASSERT(facts.meta().Controller() != nullptr);
    RC_ASSERT(too_much(before.at(move.from)));
    RC_ASSERT(before.at(move.to) * 100 < int64_t{world.low} * world.cards * 1000);
    after.at(move.from) -= facts.uses()[gpu];
    after.at(move.to) += facts.uses()[gpu];
  }
  for (const auto& [node, used] : after) {
    if (too_much(used)) RC_ASSERT(too_much(before.at(node)) && used <= before.at(node));
    RC_ASSERT(moves.PresentOn(node)[gpu] == used);
  }
  for (const Move& move : moves.planned())
    if (!too_much(after.at(move.from)))
      RC_ASSERT(too_much(after.at(move.from) + open.rows().tasks()[move.task].facts->uses()[gpu]));
}

// Evicted pods come back, and are placed by the scheduler itself: after a few looks it is quiet.
RC_GTEST_PROP(MovesLaw, ItEnds, ()) {
  World world = AnyWorld();
  std::string config = "minRunTime: 0s\nplugins:\n";
  for (const char* name :
       {"priority", "gang", "conformance", "drf", "topology", "binpack", "jobqueue", "backoff",
        "predicates", "quotapredicates", "quotaaffinity", "nodeorder", "storage", "sylas"})
    config += fmt::format("- name: {}\n", name);
  Cluster c(config +
            fmt::format("- {{name: rescheduling, args: {{interval: 1m, strategies: [{{name: "
                        "lowNodeUtilization, params: {{thresholds: {{nvidia.com/gpu: {}}}, "
                        "targetThresholds: {{nvidia.com/gpu: {}}}}}}}]}}}}\n",
                        world.low, world.target));
  Tell(world, c);
  c.Cycle();
  size_t made = world.pods.size(), moved = 0, last = 0;
  for (int look = 0; look < 6; ++look) {
    c.Tick(61s);
    c.Cycle();
    last = 0;
    std::vector<SpotPod> anew;
    for (const cache::Eviction& eviction : c.result().evictions)
      for (const auto& victim : eviction.victims) {
        const auto pod = std::ranges::find(world.pods, victim.name, &SpotPod::name);
        RC_ASSERT(pod != world.pods.end());
        ++last;
        c.Remove<api::Pod>("default/" + victim.name);
        pod->name = fmt::format("s-{}", made++);
        anew.push_back(*pod);
      }
    moved += last;
    for (const SpotPod& pod : anew) c.Pod(pod.name, WordsOf(pod));
    while (!c.Cycle().empty()) {
    }
  }
  RC_ASSERT(last == 0u);
  RC_ASSERT(moved <= world.pods.size());
}

}  // namespace
}  // namespace sky::plugins
