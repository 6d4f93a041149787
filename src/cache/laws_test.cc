// SPDX-License-Identifier: Apache-2.0
// What must hold after any history: ledgers equal a recount, a snapshot brought up to date row by
// row equals a cluster made from nothing, and a gang is assumed whole or not at all.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <map>

#include "api/pod_requests.h"
#include "testing/random_events.h"
#include "testing/without_plugin.h"

namespace sky::cache {
namespace {

using testing::Cluster;
using testing::RandomEvents;

// Σ of a node's open claims and of what runs there never exceeds it at the moment of a commit:
// CheckRoom says so for the names that a round asks; here counted from nothing.
std::string Oversold(const model::Cluster& cluster, const Round& round) {
  for (const RoundEntry& entry : round.entries) {
    const model::Node& node = cluster.nodes()[cluster.nodes().Find(entry.node_name)];
    const model::Task& task = cluster.tasks()[cluster.tasks().Find(entry.uid)];
    for (const auto& [name, asked] : task.facts->request)
      if (asked > 0 && node.committed[name] > node.allocatable[name] + 9)
        return fmt::format("{} on {}", cluster.names().resources.Name(name), node.name);
  }
  return {};
}

RC_GTEST_PROP(CacheLaw, LedgersEqualARecountAfterEveryEvent, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  for (int i = 0; i < 8; ++i) {
    const std::string what = events.Next();
    const std::string difference = cluster.cache().Audit();
    if (!difference.empty()) RC_FAIL(what + "\n" + difference);
  }
}

// Σ ledger = Σ tasks, counted from the objects alone: no row, no ledger and no code of the model.
struct Sums {
  std::map<std::string, std::map<std::string, int64_t>> used, releasing, shares;  // node → name → Σ

  static void Add(std::map<std::string, int64_t>& sum, const api::ResourceList& list) {
    for (const auto& [name, amount] : list)
      sum[name] += model::ResourceNames::InBytes(name) ? amount.Value() : amount.MilliValue();
  }
  explicit Sums(const Cluster& cluster, const model::Cluster& rows) {
    for (const std::string& key : cluster.Keys<api::Pod>()) {
      const api::Pod& pod = cluster.Get<api::Pod>(key);
      if (pod.spec.node_name.empty() || pod.terminal()) continue;
      Add(used[pod.spec.node_name], api::PodRequests(pod));
      used[pod.spec.node_name]["pods"] += 1000;
      if (!pod.metadata.deleting()) continue;
      Add(releasing[pod.spec.node_name], api::PodRequests(pod));
      releasing[pod.spec.node_name]["pods"] += 1000;
    }
    for (const std::string& name : cluster.Keys<api::Quota>()) {
      const model::QuotaId id = rows.quotas().Find(name);
      if (const model::NodeId node = rows.quotas()[id].node; node.valid())
        Add(shares[rows.nodes()[node].name], cluster.Get<api::Quota>(name).spec.request);
    }
  }
};

std::string Differs(std::map<std::string, int64_t> sum, const model::Resources& ledger,
                    const model::Cluster& rows) {
  for (const auto& [id, value] : ledger) {
    const std::string name(rows.names().resources.Name(id));
    if (value != sum[name]) return fmt::format("{}: ledger {}, objects {}", name, value, sum[name]);
    sum.erase(name);
  }
  for (const auto& [name, amount] : sum)
    if (amount != 0) return fmt::format("{}: ledger 0, objects {}", name, amount);
  return {};
}

RC_GTEST_PROP(CacheLaw, ANodesLedgersAreTheSumsOfItsPodsAndQuotas, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  std::string history;
  for (int i = 0; i < 8; ++i) {
    history += events.Next() + "\n";
    if (i % 3 == 2) cluster.Cycle();
    const model::Cluster rows = cluster.cache().Copy();
    Sums sums(cluster, rows);
    for (size_t n = 0; n < rows.nodes().size(); ++n) {
      const model::Node& node = rows.nodes()[model::NodeId(n)];
      if (!node.live) continue;
      const auto check = [&](const char* what, auto& of, const model::Resources& ledger) {
        if (const std::string why = Differs(of[node.name], ledger, rows); !why.empty())
          RC_FAIL(fmt::format("{}{} of {}: {}", history, what, node.name, why));
      };
      check("used", sums.used, node.used);
      check("releasing", sums.releasing, node.releasing);
      check("quota requests", sums.shares, node.quota_requests);
      // Two ways to the same: what is left of either ledger is what the other has not taken.
      RC_ASSERT(node.Idle() + node.used == node.allocatable);
      RC_ASSERT(node.QuotaIdle() + node.quota_requests == node.allocatable);
      RC_ASSERT(model::Resources::Max(node.committed, node.used) == node.committed);
    }
  }
}

RC_GTEST_PROP(CacheLaw, ASnapshotByGenerationEqualsACacheMadeFromNothing, (uint64_t seed)) {
  Cluster cluster("zoneHoldDown: 0s");  // rebuilt ones have seen no loss
  RandomEvents events(cluster, seed);
  events.Begin();
  // In turns: one that wasn't the last to be brought up to date misses nothing either.
  model::Cluster usual(cluster.names()), another(cluster.names());
  std::string history;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 5; ++k) history += events.Next() + "\n";
    model::Cluster& snapshot = i == 2 ? another : usual;
    cluster.cache().UpdateSnapshot(snapshot);
    const auto rebuilt = cluster.Rebuilt(seed + static_cast<uint64_t>(i));
    const std::string have = snapshot.Dump(), want = rebuilt->Copy().Dump();
    if (have != want) RC_FAIL(history + "have\n" + have + "\nfrom nothing\n" + want);
  }
}

// Objects go in any order, under whoever still names them.
RC_GTEST_PROP(CacheLaw, NothingOfADeletedObjectOutlivesIt, (uint64_t seed)) {
  Cluster cluster("zoneHoldDown: 0s");
  RandomEvents events(cluster, seed);
  events.Begin();
  for (int i = 0; i < 10; ++i) events.Next();
  std::vector<std::pair<std::string, std::function<void()>>> ends;
  const auto all = [&]<class T>(const char* kind, const T&) {
    for (const std::string& key : cluster.Keys<T>())
      ends.emplace_back(fmt::format("{} {}", kind, key), [&, key] { cluster.Remove<T>(key); });
  };
  all("pod", api::Pod{}), all("node", api::Node{}), all("group", api::PodGroup{});
  all("queue", api::Queue{}), all("quota", api::Quota{}), all("topology", api::NodeTopology{});
  all("class", api::PriorityClass{});
  Rng rng(seed);
  std::string history;
  for (size_t left = ends.size(); left > 0; --left) {
    std::swap(ends[left - 1], ends[rng.Below(left)]);
    history += ends[left - 1].first + " goes\n";
    ends[left - 1].second();
    if (left > 12 && left % 4 != 0) continue;
    cluster.cache().UpdateSnapshot(cluster.snapshot());
    const std::string have = cluster.snapshot().Dump(), want = cluster.Rebuilt(seed)->Copy().Dump();
    if (have != want) RC_FAIL(history + "have\n" + have + "\nfrom nothing\n" + want);
  }
}

RC_GTEST_PROP(CacheLaw, WhatASessionLeftBehindIsGoneWithTheNextSnapshot, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  for (int i = 0; i < 3; ++i) {
    events.Next();
    // The gang's claims are refused at the last moment, or taken: both leave a used session.
    if (i % 2 == 0) cluster.BeforeCommit([&] { events.Next(); });
    cluster.Cycle();
    cluster.cache().UpdateSnapshot(cluster.snapshot());
    RC_ASSERT(cluster.snapshot().Dump() == cluster.cache().Copy().Dump());
  }
}

RC_GTEST_PROP(CacheLaw, AGangIsAssumedWholeOrNotAtAllWhateverHappensInBetween, (uint64_t seed)) {
  Cluster cluster;
  RandomEvents events(cluster, seed);
  events.Begin();
  for (int i = 0; i < 4; ++i) {
    events.Next();
    std::string surprise;
    cluster.BeforeCommit([&] { surprise = events.Next(); });
    cluster.Cycle();
    const model::Cluster after = cluster.cache().Copy();
    for (const Round& round : cluster.result().committed) {
      size_t placed = 0;
      for (const RoundEntry& entry : round.entries) {
        const auto task = after.tasks().Find(entry.uid);
        if (task.valid() && (after.tasks()[task].bound() || after.tasks()[task].claim.open()))
          ++placed;
      }
      if (placed != round.entries.size())
        RC_FAIL(
            fmt::format("{}: {} of {} of {}", surprise, placed, round.entries.size(), round.job));
      const model::Job& job = after.jobs()[after.jobs().Find(round.job)];
      RC_ASSERT(job.ready >= job.needed);
      RC_ASSERT(Oversold(after, round) == "");
    }
  }
}

// The planner and the commit ask the same questions: what nothing has changed is never refused, or
// the scheduler would plan the same again at once, for ever.
std::string RefusedThough(Cluster& cluster, uint64_t seed) {
  RandomEvents events(cluster, seed);
  events.Begin();
  std::string history;
  for (int i = 0; i < 4; ++i) {
    history += events.Next() + "\n";
    cluster.Cycle();
    for (const auto& [job, why] : cluster.result().refusals)
      if (why.main == model::Reason::kPlacementConflict) return history + why.detail;
  }
  return "";
}

RC_GTEST_PROP(CacheLaw, WhatIsPlannedOnAnUnchangedClusterIsNeverRefused, (uint64_t seed)) {
  Cluster cluster;
  if (const std::string wrong = RefusedThough(cluster, seed); !wrong.empty()) RC_FAIL(wrong);
}

// What a plugin looks after is not checked any more; it isn't found out at the commit instead.
RC_GTEST_PROP(CacheLaw, NorIsItWithoutAnyOneOfThePlugins, (uint64_t seed)) {
  const framework::Config whole = Cluster().engine().config();
  const std::string left_out = whole.plugins[seed % whole.plugins.size()].name;
  Cluster cluster(framework::PrintConfig(testing::WithoutPlugin(whole, left_out)));
  if (const std::string wrong = RefusedThough(cluster, seed); !wrong.empty())
    RC_FAIL("without " + left_out + "\n" + wrong);
}

}  // namespace
}  // namespace sky::cache
