// SPDX-License-Identifier: Apache-2.0
// A scheduler without an API server: objects in words go straight into a cache, Cycle() runs the
// engine over its snapshot, and whatever the cycle lets go becomes bound pods at once. Tests of
// the framework, plugins and actions say their cluster with it and look at what was bound.
//   Cluster c;
//   c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=1 hca=1");
//   c.Job("train", 4, "gpu=1 hca=1");
//   EXPECT_THAT(c.Cycle(), BindsQuotas("q[0-3]", "n[0-3]"));   // matchers.h
// After each cycle and each change the ledgers are audited; a wrong word or ledger ends the test.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cache/cache.h"
#include "framework/engine.h"
#include "testing/words.h"

namespace sky::testing {

struct Bound {
  std::string pod, quota, node;
  bool operator==(const Bound&) const = default;
  // For the reader of a failure.
  friend std::ostream& operator<<(std::ostream& out, const Bound& one) {
    return out << one.pod << "→" << one.quota << "→" << one.node;
  }
};

// The least members of a gang, and more words for its PodGroup: Gang{3, "strict pack zones=2"}.
struct Gang {
  int least = 0;  // 0: all
  std::string words;
};

class Cluster {
 public:
  // `config` is YAML; the defaults fill what it leaves out.
  explicit Cluster(std::string_view config = "");
  ~Cluster();

  // --- objects in words (see words.h) ---
  // Nodes whose RoCE NICs hang on these switches ("S1" or "S1,S2"); "ib" in the words: IB ones.
  Cluster& Leaf(std::string_view switches, std::string_view nodes, std::string_view words);
  Cluster& Nodes(std::string_view names, std::string_view words);
  Cluster& Quotas(std::string_view names, std::string_view words);
  Cluster& Queue(std::string_view name);
  // PodGroup `name` and its pods name-0 …
  Cluster& Job(const std::string& name, int members, std::string_view words, const Gang& gang = {});
  // Members `first` … `last` of a group; no group is made.
  Cluster& Workers(const std::string& group, int first, int last, std::string_view words);
  Cluster& Pod(const std::string& name, std::string_view words);  // a job of one

  // --- objects as the API has them; uid, version and creation are filled in ---
  template <class T>
  void Put(T object);
  // By "ns/name", or "name" without a namespace.
  template <class T>
  void Edit(const std::string& key, const std::function<void(T&)>& change);
  template <class T>
  void Remove(const std::string& key);
  template <class T>
  const T& Get(const std::string& key) const;
  template <class T>
  std::vector<std::string> Keys() const;
  void Finish(const std::string& pod);  // it succeeded

  // --- cycles ---
  std::vector<Bound> Cycle();
  // The first half of it: the rounds that were assumed, nothing of them carried out yet.
  std::vector<cache::Round> Decide();
  // Time passes: nodes that were away too long are lost, as the scheduler's own timer says.
  void Tick(Duration by);
  Instant now() const { return {now_, MonoTime(now_.time_since_epoch())}; }
  // Runs between the snapshot and the commit of the next cycle, once.
  void BeforeCommit(std::function<void()> surprise) { surprise_ = std::move(surprise); }
  const framework::CycleResult& result() const { return result_; }
  // The main reason of a job's last refusal ("default/train"), "" when it isn't refused.
  std::string Why(const std::string& job) const;
  std::string Detail(const std::string& job) const;
  std::string Who(const std::string& job) const;

  cache::Cache& cache() { return *cache_; }
  framework::Engine& engine() { return *engine_; }
  // As the last cycle left it.
  const model::Cluster& snapshot() const { return snapshot_; }
  model::Cluster& snapshot() { return snapshot_; }
  std::shared_ptr<model::Names> names() { return names_; }
  const model::Settings& settings() const { return settings_; }
  // A cache that is told the present objects, in an order that `seed` shuffles, and nothing else.
  std::unique_ptr<cache::Cache> Rebuilt(uint64_t seed) const;
  void Audit() const;

 private:
  template <class T>
  using Kept = std::map<std::string, std::shared_ptr<const T>>;
  template <class T>
  void Tell(std::shared_ptr<const T> object, std::shared_ptr<const T> old, bool gone);
  void Bind(const cache::Round& round);

  std::shared_ptr<model::Names> names_ = std::make_shared<model::Names>();
  model::Settings settings_;
  std::unique_ptr<framework::Engine> engine_;
  std::unique_ptr<cache::Cache> cache_;
  model::Cluster snapshot_;
  std::tuple<Kept<api::Pod>, Kept<api::Node>, Kept<api::PodGroup>, Kept<api::Queue>,
             Kept<api::Quota>, Kept<api::NodeTopology>, Kept<api::PriorityClass>,
             Kept<api::JobQueue>, Kept<api::PodDisruptionBudget>>
      objects_;
  std::map<uint64_t, cache::Round> rounds_;  // assumed, not yet bound
  framework::CycleResult result_;
  std::function<void()> surprise_;
  WallTime now_;
  uint64_t made_ = 0, cycle_ = 0;
};

}  // namespace sky::testing
