// SPDX-License-Identifier: Apache-2.0
// Carries rounds out: Placement → (quota statuses, when quotaFirst) → bindings, with bounded
// concurrency, each write's outcome read back rather than guessed (F10, F11). Lives on the loop;
// every call and every callback of the writer happens there. The cache keeps the claims; this keeps
// what is in flight.
//
//   Submit ─► Writing ─ack─► Claimed ─approved─► Starting ─► Settled
//               │ refused        └─ quotaFirst: statuses first; one refused voids the round
//               └──────► claims dropped, job planned again
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "cache/writer.h"
#include "framework/config.h"
#include "kube/loop.h"

namespace sky::scheduler {

// What the rest of the scheduler is told.
struct ExecutorEvents {
  std::function<void(const cache::RoundEntry&, const cache::Round&)> bound;
  // A round, or one member, was refused for good; the job backs off.
  std::function<void(const cache::Round&, model::Reason, const std::string& why)> refused;
  std::function<void()> replan;     // claims were dropped: another cycle is worthwhile
  std::function<bool()> may_write;  // leading, and the lease's deadline is far enough
  std::function<int64_t()> epoch;   // of our leadership
  // quotaFirst: writes the round's quota statuses now; done(true) when all are acknowledged.
  std::function<void(const cache::Round&, std::function<void(Status)>)> write_pictures;
};

class Executor {
 public:
  Executor(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
           framework::CommitOrder order, ExecutorEvents events);
  ~Executor();

  void Submit(cache::Round round);  // assumed
  void Adopt(cache::Round round);   // recovered: its Placement is already there
  void Approve(uint64_t round);     // its bindings may go
  // Writes the record of the round's group anew with what is open now: entries whose claims ended
  // while their pods live must not come back at the next start.
  void Void(const cache::Round& round);
  // The record is gone from the API.
  void ForgetRecord(const api::Placement& placement);
  // Did this executor write, or is it writing, this content?
  bool Knows(const api::Placement& placement) const;
  // The lease was renewed, or we lead again.
  void Resume() { Pump(); }

  // Leadership is lost: what was not sent is forgotten; whoever leads next reads it from the API.
  void Abandon();

  // Nothing is in flight or waiting: what SIGTERM waits for.
  bool Idle() const;
  // Sends nothing more; what is in flight settles.
  void Stop() { stopped_ = true; }
  size_t queued() const { return queue_.size(); }
  size_t in_flight() const { return in_flight_; }
  static constexpr size_t kMaxInFlight = 32;

 private:
  struct Running;
  using RunningPtr = std::shared_ptr<Running>;

  api::Placement Record(const Running& running) const;
  void WritePlacement(const RunningPtr& running);
  void PlacementAnswered(const RunningPtr& running, Result<api::Placement> answer);
  void ReadPlacement(const RunningPtr& running);
  void WriteAnew(const RunningPtr& running);
  void Forget(const RunningPtr& running);
  void Forsake(const RunningPtr& running);
  void Acknowledged(const RunningPtr& running);
  void Retry(const RunningPtr& running, Duration wait, std::function<void()> again);
  void GiveUp(const RunningPtr& running, model::Reason reason, const std::string& why);
  void Enqueue(const RunningPtr& running);
  void Pump();
  void SendBinding(const RunningPtr& running, size_t entry);
  void BindingAnswered(const RunningPtr& running, size_t entry, Result<cache::Written> answer);
  void ReadPod(const RunningPtr& running, size_t entry, bool definite, std::string refusal);
  void Settle(const RunningPtr& running, size_t entry);
  void StopSending(const RunningPtr& running);
  void GiveBack(const RunningPtr& running, size_t entry);
  void EntryDropped(const RunningPtr& running, size_t entry);
  void FinishIfSettled(const RunningPtr& running);

  kube::Loop& loop_;
  cache::Cache& cache_;
  cache::ClusterWriter& writer_;
  const framework::CommitOrder order_;
  ExecutorEvents events_;
  kube::Lifeline alive_;
  std::map<uint64_t, RunningPtr> running_;
  std::vector<RunningPtr> voids_;      // void writes under way
  std::set<uint64_t> approved_early_;  // approved before the submission arrived here
  std::map<std::string, std::shared_ptr<const api::Placement>>
      last_written_;  // by key: newer than the watch
  struct Waiting {
    bool started;
    int32_t priority;
    uint64_t acknowledged, sequence;
    RunningPtr running;
    size_t entry;
    bool operator<(const Waiting& other) const;
  };
  std::multiset<Waiting> queue_;
  uint64_t sequence_ = 0;
  size_t in_flight_ = 0, pending_writes_ = 0;
  bool stopped_ = false, pumping_ = false;
};

}  // namespace sky::scheduler
