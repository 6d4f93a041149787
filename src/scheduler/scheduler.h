// SPDX-License-Identifier: Apache-2.0
// The scheduler put together: deltas in, cycles at the right moments, rounds out. Lives on a Loop
// (the client's I/O thread, or a manual one under a virtual clock); cycles run through a Worker, so
// that reading and writing go on meanwhile. The same object serves the real cluster and the lab.
//
//   deltas ─► Cache ─► (first relevant event + batchDelay) ─► cycle on the worker ─► Assume ─►
//   Executor
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "cache/cache.h"
#include "cache/writer.h"
#include "framework/engine.h"
#include "kube/loop.h"
#include "scheduler/backoffs.h"
#include "scheduler/diagnoses.h"
#include "scheduler/executor.h"
#include "scheduler/leadership.h"
#include "scheduler/member_words.h"
#include "scheduler/picture_writer.h"
#include "scheduler/queue_writer.h"
#include "scheduler/reporter.h"

namespace sky::scheduler {

// Runs one function at a time: inline, or on a thread of its own.
using Worker = std::function<void(std::function<void()>)>;
inline void RunInline(std::function<void()> work) { work(); }

struct SchedulerStats {
  uint64_t cycles = 0, bound = 0, refused = 0, committed = 0, evicted = 0;
  Duration last_cycle{}, longest_cycle{};
};

class Scheduler {
 public:
  Scheduler(kube::Loop& loop, std::unique_ptr<framework::Engine> engine,
            cache::ClusterWriter& writer, const Leadership& leadership, Worker worker);
  ~Scheduler();

  // --- on the loop ---
  template <class T>
  void OnDelta(const api::Delta<T>& delta) {
    cache_.SetNow(loop_.clock().Now());
    const cache::Effect effect = cache_.Apply(delta);
    Noticed(effect);
    AfterDelta(delta, effect);
  }
  void OnVolumes(const model::VolumeChange& change);
  void OnSynced();                  // the first whole state of every kind is in the cache
  void OnLeadership(bool leading);  // taken, or lost
  void Stop();                      // no new cycles, no new writes
  bool Idle() const;                // nothing is in flight
  bool ready() const { return synced_; }

  cache::Cache& cache() { return cache_; }
  const framework::Config& config() const { return engine_->config(); }
  const Executor& executor() const { return executor_; }
  const PictureWriter& pictures() const { return pictures_; }
  const Reporter& reporter() const { return reporter_; }
  const Diagnoses& diagnoses() const { return diagnoses_; }
  const SchedulerStats& stats() const { return stats_; }
  uint64_t cycle() const { return cycle_; }
  // From the next cycle on: another configuration, with plugins and actions made for it.
  void Use(std::unique_ptr<framework::Engine> engine);
  // Runs a cycle now unless one is under way: for tests that count cycles.
  void CycleNow();
  // Called after each cycle, on the loop.
  std::function<void(const framework::CycleResult&)> after_cycle;

 private:
  void Noticed(cache::Effect effect);
  template <class T>
  void AfterDelta(const api::Delta<T>&, cache::Effect) {
    if constexpr (model::IsOfVolumes<T>) executor_.VolumesChanged();
  }
  void AfterDelta(const api::Delta<api::Pod>& delta, cache::Effect effect);
  void AfterDelta(const api::Delta<api::Node>& delta, cache::Effect effect);
  void AfterDelta(const api::Delta<api::Placement>& delta, cache::Effect effect);
  void AfterDelta(const api::Delta<api::PodGroup>& delta, cache::Effect effect);
  void AfterDelta(const api::Delta<api::Queue>& delta, cache::Effect effect);
  bool MayWrite() const;
  bool Active() const { return synced_ && leading_ && !stopped_; }
  void Begin();  // synced and leading: recover, then cycles
  void ScheduleCycle(Duration wait);
  void RunCycle();
  framework::CycleResult Work(uint64_t cycle, Instant now);
  void FinishCycle(const framework::CycleResult& result, Duration took);
  void KeepUp();
  void ReadStaleGroups();
  void AskForGroups(bool first, const std::vector<std::string>& also = {});
  void ReadAgain(const cache::StaleGroup& group, const Error& error);
  void GroupsRead(size_t groups);
  void AdoptAll();
  void AdoptOne(const api::Placement& placement);
  void AskForPods(const api::Placement& placement, const std::vector<api::PlacementEntry>& unseen);
  void PodsAsked(const std::string& key);
  void DeleteDead(const api::Placement& placement);
  void WatchLosses();
  void WatchReservations();
  void MakeDefaultQueue();
  ExecutorEvents MakeEvents();

  kube::Loop& loop_;
  std::unique_ptr<framework::Engine> engine_, next_engine_;
  cache::ClusterWriter& writer_;
  const Leadership& leadership_;
  Worker worker_;
  std::shared_ptr<model::Names> names_;
  cache::Cache cache_;
  model::Cluster snapshot_;  // the worker's while a cycle runs
  kube::Lifeline alive_;
  Executor executor_;
  PictureWriter pictures_;
  QueueWriter queue_pictures_;
  Backoffs backoffs_;
  Reporter reporter_;
  MemberWords member_words_;
  Diagnoses diagnoses_;
  std::optional<std::vector<model::JobId>> renewed_;  // by the snapshot; as that one
  SchedulerStats stats_;
  std::set<std::string> deleting_;  // Placements on their way out
  static constexpr Duration kDeleteAgain = std::chrono::seconds(10);
  struct Asking {
    size_t open = 0;     // answers to come
    bool again = false;  // not every pod is known to be gone
  };
  std::map<std::string, Asking> asking_;  // Placements whose pods are asked for
  std::set<std::string> gone_;            // UIDs of pods of which a quorum read said so
  uint64_t cycle_ = 0;
  size_t unread_ = 0;  // groups that the first cycle waits for
  kube::TimerId timer_ = 0, loss_timer_ = 0, kept_timer_ = 0;
  MonoTime timer_at_{}, loss_at_{}, kept_timer_at_{};
  bool synced_ = false, leading_ = false, stopped_ = false, running_ = false, again_ = false,
       reading_ = false;
};

}  // namespace sky::scheduler
