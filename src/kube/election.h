// SPDX-License-Identifier: Apache-2.0
// Who of several processes may write: the holder of a Lease (coordination.k8s.io/v1). Another's
// lease counts as expired when we ourselves saw it unchanged for its duration: no clock but our own
// monotonic one is asked. A leader that can't renew within renew_deadline stops leading in place
// and stands again. State machine on the transport's loop; what writers ask (IsLeader, Epoch,
// WriteTimeout) is for any thread.
//
//   standing ──lease free, released or expired: PUT──► leading ──renewed every retry_period──┐
//      ▲                                               │  ▲                                  │
//      │                                               │  └──────────────────────────────────┘
//      └── another holder, or no renewal in time ──────┘ ──Release()──► holder "" ──► ended
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "api/core.h"
#include "base/rng.h"
#include "kube/client.h"

namespace sky::kube {

struct ElectionOptions {
  std::string ns, name;
  std::string identity;  // unique per process: host name and a random part
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  uint64_t seed = 1;  // of the jitter
};
// Names that the API server takes. renew_deadline + 5 s ≤ lease_duration: the writes of a leader
// that stopped have ended before another starts. 1.2 × retry_period < renew_deadline. Whole
// seconds, since the Lease has no finer ones.
Status CheckElectionOptions(const ElectionOptions& options);

struct ElectionCallbacks {
  // On the loop. epoch: the lease's leaseTransitions, higher in each term.
  std::function<void(int64_t epoch)> on_started;
  // No write may be sent any more; WriteTimeout has said so before the callback. `why` is empty
  // when the lease is given up on purpose.
  std::function<void(const std::string& why)> on_stopped;
};

class Election {
 public:
  // The options must have been checked.
  Election(Client& client, ElectionOptions options, ElectionCallbacks callbacks);
  ~Election();  // on the loop, or when it has ended; releases nothing
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  void Start();  // from any thread, once
  // Steps down for good and gives the lease back, so that the next holder needn't wait. Writes must
  // have ended by now. From any thread, once; `done` on the loop.
  void Release(DoneStatus done);

  bool IsLeader(MonoTime now) const { return WriteTimeout(now).has_value(); }
  std::optional<int64_t> Epoch() const;  // of the present term
  // Until when nobody else can hold the lease, counted from the sending of the last renewal.
  std::optional<MonoTime> LeaseDeadline() const;
  // The timeout of a write that is sent now: min(4 s, lease deadline − 1 s − now). nullopt: it must
  // not be sent, also when the loop hasn't noticed yet that the renew deadline has passed.
  std::optional<Duration> WriteTimeout(MonoTime now) const;

 private:
  struct Term {
    int64_t epoch;
    MonoTime renewed_at;
  };

  void Attempt();
  void Read();
  void OnRead(Result<api::Lease> lease);
  void OnMissing();
  void Decide();
  void Write(api::Lease lease, bool new_term);
  void OnWritten(MonoTime sent_at, bool new_term, Result<api::Lease> written);
  void EndAttempt(bool at_once = false, Duration at_least = Duration::zero());

  void Observe(api::Lease lease);
  bool HeldByOther() const;
  api::Lease Claim(bool new_term) const;
  void StartTerm(int64_t epoch, MonoTime renewed_at);
  void StopTerm(const std::string& why);  // "": on purpose
  void ArmDeadline(MonoTime renewed_at);

  void ReleaseNow();
  void WriteRelease(Result<api::Lease> lease);

  CallOptions Call() const;
  MonoTime Now() const { return client_.loop().Now(); }
  bool leading() const { return Epoch().has_value(); }

  Client& client_;
  const ElectionOptions options_;
  const ElectionCallbacks callbacks_;
  Rng rng_;
  Lifeline lifeline_;

  std::optional<api::Lease> observed_;     // what the API server last showed or accepted
  MonoTime observed_at_;                   // when it last changed
  int32_t transitions_ = 0;                // the most that was ever observed
  std::optional<MonoTime> missing_since_;  // of reads in a row that found none
  bool must_read_ = true;                  // observed_ may be stale: read before writing
  bool from_memory_ = false;               // this attempt wrote without reading
  bool attempting_ = false;
  MonoTime attempt_began_;
  TimerId attempt_timer_ = 0, deadline_timer_ = 0;
  DoneStatus release_;
  bool releasing_ = false;

  mutable std::mutex mutex_;
  std::optional<Term> term_;
};

}  // namespace sky::kube
