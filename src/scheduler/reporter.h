// SPDX-License-Identifier: Apache-2.0
// Says on the owners why they wait, that they started and that they are not whole: conditions of
// PodGroups (of pods that have none), and events. A reason is written only after it stood for a
// second, only when it changed, and goes when it stops being true; that a gang has its places is
// said when enough members are bound, not when it is decided. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cache/cache.h"
#include "cache/writer.h"
#include "framework/engine.h"
#include "kube/loop.h"

namespace sky::scheduler {

class Reporter {
 public:
  // A gang that isn't whole `start_timeout` after its first member was bound is PartialStart.
  Reporter(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
           const model::Names& names, Duration start_timeout, std::function<bool()> may_write)
      : loop_(loop),
        cache_(cache),
        writer_(writer),
        names_(names),
        start_timeout_(start_timeout),
        may_write_(std::move(may_write)) {}

  // After each cycle, with the cluster that it ran on.
  void Cycle(const model::Cluster& cluster, const framework::CycleResult& result);
  void Bound(const cache::RoundEntry& entry, const cache::Round& round);
  void Evicted(const cache::Eviction::Victim& victim, const std::string& why);
  void Complain(const cache::Complaint& complaint);
  // A round failed; one member of it, unless `entry` is null.
  void Refused(const cache::Round& round, const cache::RoundEntry* entry, model::Reason reason,
               const std::string& why);
  // The server doesn't take its "record" or "bindings" now: it is asked again.
  void Delayed(const cache::Round& round, std::string_view what, const std::string& why);
  // Why a job waits now, in the condition's two fields and as one text; "" when it doesn't. By the
  // job's key, or "pod ns/name" of a pod whose group isn't there.
  struct Words {
    std::string reason, message;
  };
  Words WordsOf(const std::string& job) const;
  std::string WhyWaits(const std::string& job) const;
  bool Idle() const { return in_flight_ == 0; }
  // Waiting jobs by main reason, and gangs that aren't whole, for metrics.
  std::map<std::string, int> WaitingByReason() const;
  size_t partial() const;

 private:
  struct Owner {
    bool group = true;
    std::string namespace_, name, uid;
    std::vector<api::Condition> conditions = {};  // what its object says
    bool whole = false;                           // enough members are bound: only extras wait
  };
  struct Report {
    Owner owner;
    std::string reason, message;  // reason "": it has started; the message doesn't repeat it
    bool silent = false;          // nothing is known but what its object says
    bool admitted = false;        // its JobQueue let it in when it was last asked
    MonoTime since{};
    bool written = false, due = false, sending = false;
    std::string noted;  // the last event's words
  };
  // A gang of which some members run and others are missing.
  struct Partial {
    std::string uid, message;
    uint64_t spell = 0;  // which one the timer is about
    bool told = false;
  };
  void SayWaiting(const model::Cluster& cluster, const framework::CycleResult& result,
                  std::set<std::string>& seen);
  void Look();
  void Judge(const cache::Standing& standing);
  void JudgePartial(const cache::Standing& standing);
  static Owner GroupOf(const model::Job& job);
  static Owner OwnerOf(const cache::Standing& standing);
  void SetEarmarks(std::map<std::string, std::string> earmarks);
  void Say(const std::string& key, Owner owner, std::string reason, std::string message,
           std::optional<bool> admitted = std::nullopt);
  void Again(const cache::Standing& standing);
  void WriteSoon(const std::string& key, Report& report);
  void Write(const std::string& key);
  bool AlreadySays(const std::string& key, const Report& report) const;
  std::vector<api::Condition> Conditions(const std::string& key, const Report& report) const;
  void Answered(const std::string& key, Result<cache::Written> answer);
  void Note(const std::string& kind, const Owner& owner, bool warning, std::string reason,
            std::string action, std::string note);

  static constexpr Duration kStands = std::chrono::seconds(1), kSoon = std::chrono::milliseconds(5);

  kube::Loop& loop_;
  cache::Cache& cache_;
  cache::ClusterWriter& writer_;
  const model::Names& names_;
  const Duration start_timeout_;
  std::function<bool()> may_write_;
  kube::Lifeline alive_;
  std::map<std::string, Report> reports_;    // by job key, or "pod ns/name" for a pod without a job
  std::map<std::string, Partial> partials_;  // by group
  std::set<std::string> waiting_;            // of reports: what the last cycle refused
  std::map<std::string, std::string> earmarks_;     // by group: which places are kept for it
  std::map<std::string, cache::Standing> changed_;  // groups that are still to be judged
  std::map<std::string, std::map<std::string, std::string>> told_;  // job → UID → last refusal
  uint64_t spells_ = 0;
  bool looking_ = false;
  size_t in_flight_ = 0;
};

}  // namespace sky::scheduler
