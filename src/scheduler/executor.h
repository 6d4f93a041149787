// SPDX-License-Identifier: Apache-2.0
// Carries rounds out: Placement → (quota statuses, when quotaFirst) → bindings, with bounded
// concurrency, each write's outcome read back rather than guessed (F10, F11). Lives on the loop;
// every call and every callback of the writer happens there. The cache keeps the claims; this keeps
// what is in flight.
//
//   Submit ─► Writing ─ack─► Claimed ─approved─► Starting ─► Settled
//               │ refused        │ ▲ ├─ quotaFirst: statuses first; one refused voids the round
//               │                │ │ └─ its volumes first; one that can't be had does the same
//               │                │ └──── something has changed before it was sent: asked again
//               │                └─ given up by the bind action, or not free within claimTimeout
//               └────────► claims dropped, job planned again
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "cache/cache.h"
#include "cache/writer.h"
#include "framework/config.h"
#include "kube/loop.h"
#include "scheduler/executor_events.h"
#include "scheduler/pace.h"
#include "scheduler/records.h"
#include "scheduler/volume_writes.h"

namespace sky::scheduler {

class Executor {
 public:
  struct Options {
    framework::CommitOrder order = framework::CommitOrder::kPlacementFirst;
    Duration claim_timeout = std::chrono::seconds(60);
  };
  Executor(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer, Options options,
           ExecutorEvents events);
  ~Executor();

  void Submit(cache::Round round);  // assumed
  void Adopt(cache::Round round);   // recovered: its Placement is already there
  void Approve(uint64_t round);     // its bindings may go
  // These places don't hold any more. Sent entries settle; the others' claims end.
  void GiveUp(const cache::GivenUp& places);
  // These pods give way to the round. Nobody is asked before its record is durable; who has been
  // asked isn't again. Or they move, for no round, and a refusal means nothing.
  void Evict(const cache::Eviction& eviction);
  // The group's life is `uid` now ("": it is gone): rounds of other lives end.
  void EndLives(const std::string& group, const std::string& uid);
  void PodChanged(const std::string& uid);  // gone, or another group's: what wasn't sent ends
  // Writes the record of the round's group anew with what is open now: entries whose claims ended
  // while their pods live must not come back at the next start.
  void Rewrite(const cache::Round& round);
  void VolumesChanged();     // rounds may have what they wait for
  void ClearStrayChoices();  // what ended decisions have left on claims; between cycles
  Records& records() { return records_; }
  void Resume() { Pump(); }  // the lease was renewed, or we lead again

  void Abandon();  // we don't lead: what wasn't sent is forgotten, whoever leads next reads the API
  bool Idle() const;                // nothing is in flight or waiting: what SIGTERM waits for
  void Stop() { stopped_ = true; }  // sends nothing more; what is in flight settles
  size_t queued() const { return queue_.size(); }
  size_t in_flight() const { return in_flight_; }

 private:
  struct Running;
  using RunningPtr = std::shared_ptr<Running>;
  enum class EntryState : uint8_t;

  RunningPtr Begin(cache::Round round);
  std::vector<const cache::RoundEntry*> Open(const std::string& job, const std::string& uid) const;
  void WriteRecord(const RunningPtr& running);
  void RecordDelayed(const std::string& job, const std::string& why);
  void RecordAnswered(const RunningPtr& running, const Status& status);
  void Acknowledged(const RunningPtr& running);
  void WritePictures(const RunningPtr& running, std::function<void()> next);
  void Start(const RunningPtr& running), End(const RunningPtr& running);
  void ArmTimeout(const RunningPtr& running), Expire(const RunningPtr& running);
  void EvictNow(const RunningPtr& running, const cache::Eviction& eviction);
  void AskDry(const RunningPtr& running, const cache::Eviction& eviction);
  void SendEvictions(const RunningPtr& running, const cache::Eviction& eviction);
  using Victim = cache::Eviction::Victim;
  void MayNotLeave(const RunningPtr& running, const Victim& victim, const Error& error);
  void Evicted(const RunningPtr& running, const Victim& victim, const std::string& why,
               const Result<cache::Written>& answer);
  bool Runs(const Running& running) const;
  void Forget(const Running& running);  // it is settled, or dropped
  // --- executor_volumes.cc ---
  bool HasVolumes(const RunningPtr& running);
  // --- executor_probe.cc ---
  static cache::BindRequest Request(const cache::RoundEntry& entry);
  bool Probe(const RunningPtr& running);
  void Probed(const RunningPtr& running, size_t index, const Result<cache::Written>& answer);
  // --- executor_bind.cc ---
  void Enqueue(const RunningPtr& running, size_t index);
  void EnqueueAll(const RunningPtr& running), Unqueue(const RunningPtr& running);
  void Pump();
  void Send(const RunningPtr& running, size_t index);
  void Withdraw(const RunningPtr& running, size_t index);
  void Answered(const RunningPtr& running, size_t index, Result<cache::Written> answer);
  void PushedBack(const RunningPtr& running, size_t index, Duration at_least,
                  const std::string& why);
  void Resume(const RunningPtr& running), GoOn(const RunningPtr& running);
  void ReadPod(const RunningPtr& running, size_t index, bool definite, const std::string& refusal);
  void PodRead(const RunningPtr& running, size_t index, bool definite, const std::string& refusal,
               const Result<api::Pod>& pod);
  void Settle(const RunningPtr& running, size_t index);
  void Refused(const RunningPtr& running, size_t index, const std::string& refusal);
  void GiveBack(const RunningPtr& running, size_t index);
  bool GiveBackUnsent(const RunningPtr& running, const std::set<std::string>* uids);
  void MarkDirty(const RunningPtr& running);
  void EntryDropped(const RunningPtr& running, size_t index);
  void FinishIfSettled(const RunningPtr& running);

  struct Waiting {
    bool started;
    int32_t priority;
    uint64_t acknowledged, sequence;
    RunningPtr running;
    size_t entry;
    bool operator<(const Waiting& other) const;
  };

  kube::Loop& loop_;
  cache::Cache& cache_;
  cache::ClusterWriter& writer_;
  const Options options_;
  ExecutorEvents events_;
  std::map<uint64_t, RunningPtr> running_;
  std::multimap<std::string, std::pair<uint64_t, size_t>> entries_;  // of those, by UID
  std::multiset<Waiting> queue_;
  std::map<std::string, std::set<std::string>> refused_;  // job → UIDs of members, until bound
  Pace pace_;
  kube::TimerId pace_timer_ = 0;
  Rng jitter_{5};
  uint64_t sequence_ = 0;
  size_t in_flight_ = 0, reads_ = 0;
  bool stopped_ = false, pumping_ = false, looking_ = false;
  kube::Lifeline alive_;
  Records records_;
  VolumeWrites volumes_;
  std::set<uint64_t> without_volumes_;  // rounds that wait for theirs
};

}  // namespace sky::scheduler
