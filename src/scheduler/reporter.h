// SPDX-License-Identifier: Apache-2.0
// Says on the owners why they wait and that they started: conditions of PodGroups (of pods that
// have none), and events. A reason is written only after it stood for a second, only when it
// changed, and goes when it stops being true. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "cache/cache.h"
#include "cache/writer.h"
#include "framework/engine.h"
#include "kube/loop.h"

namespace sky::scheduler {

class Reporter {
 public:
  Reporter(kube::Loop& loop, cache::ClusterWriter& writer, const model::Names& names,
           std::function<bool()> may_write)
      : loop_(loop), writer_(writer), names_(names), may_write_(std::move(may_write)) {}

  // After each cycle, with the cluster that it ran on.
  void Cycle(const model::Cluster& cluster, const framework::CycleResult& result);
  void Bound(const cache::RoundEntry& entry, const cache::Round& round);
  void Complain(const cache::Complaint& complaint);
  void Refused(const cache::Round& round, model::Reason reason, const std::string& why);
  // Why a job waits now, as people read it; "" when it doesn't.
  std::string WhyWaits(const std::string& job) const;
  bool Idle() const { return in_flight_ == 0; }
  // Waiting jobs by main reason, for metrics.
  std::map<std::string, int> WaitingByReason() const;

 private:
  struct Owner {
    bool group = true;
    std::string namespace_, name, uid;
    std::vector<api::Condition> conditions;  // what its object says
  };
  struct Report {
    Owner owner;
    std::string reason, message;  // reason "": it has started
    MonoTime since{};
    bool written = false, due = false;
  };
  void NoteWhole(const model::Cluster& cluster, const std::set<std::string>& seen,
                 std::set<std::string>& placed);
  void Say(const std::string& key, Owner owner, std::string reason, std::string message);
  void WriteSoon(const std::string& key, Report& report);
  void Write(const std::string& key);
  bool StillSays(const std::string& key, const model::Job& job) const;
  bool AlreadySays(const Report& report) const;
  std::vector<api::Condition> Conditions(const Report& report) const;
  void Answered(const std::string& key, Result<cache::Written> answer);

  static constexpr Duration kStands = std::chrono::seconds(1);

  kube::Loop& loop_;
  cache::ClusterWriter& writer_;
  const model::Names& names_;
  std::function<bool()> may_write_;
  kube::Lifeline alive_;
  std::map<std::string, Report> reports_;  // by job key, or "pod ns/name" for a pod without a job
  std::set<std::string> placed_;           // jobs with a member bound since the last cycle
  bool began_ = false;                     // the words of an earlier life were looked at
  size_t in_flight_ = 0;
};

}  // namespace sky::scheduler
