// SPDX-License-Identifier: Apache-2.0
// What a run measures, from outside: when each pod's creation was sent, when the watch first showed
// it bound, and whether it stands where it may. Knows no clock, no network: the instants come in
// with the events. Not thread-safe (load/live.h guards it); lives as long as one run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/crds.h"
#include "api/pod.h"
#include "load/percentile.h"
#include "load/plan.h"
#include "load/quota_statuses.h"

namespace sky::load {

// Counts and spans of one run; what can't be said is absent.
struct Reading {
  size_t pods = 0, bound = 0, gangs = 0, gangs_bound = 0;
  std::optional<Duration> first_bind, last_bind, quotas_caught_up;  // since the start
  std::optional<double> bindings_per_second, creations_per_second;  // first to last
  std::optional<Spread> pod_latency, gang_latency;  // from the (first) creation to the (last) bind
  std::optional<size_t> gangs_across_leaves;        // whose pods stand under more than one
  std::vector<std::string> problems;                // pods where they may not be
};

// What its condition PodScheduled says against it; "" when nothing does.
std::string_view WhyUnscheduled(const api::Pod& pod);

class Meter {
 public:
  explicit Meter(Layout layout);
  Meter(const Meter&) = delete;  // it points into itself
  Meter& operator=(const Meter&) = delete;

  void Creating(size_t pod, MonoTime at);  // its request leaves now
  void Seen(const api::Pod& pod, MonoTime at);
  void Gone(const api::Pod& pod);
  void Seen(const api::Quota& quota, MonoTime at);
  void Gone(const api::Quota& quota, MonoTime at);

  size_t seen() const { return seen_; }
  size_t bound() const { return bound_; }
  bool AllSeen() const { return seen_ == pods_.size(); }
  bool AllBound() const { return bound_ == pods_.size(); }
  // All bound, and every quota in question says so; without quotas the same as AllBound.
  bool Finished() const { return finished_at_.has_value(); }
  const QuotaStatuses& quotas() const { return quotas_; }
  const Layout& layout() const { return layout_; }
  const std::string& UidOf(size_t pod) const { return pods_[pod].uid; }

  Reading Read(MonoTime start) const;
  // What the pods that aren't bound say, counted; `groups`: what the gangs say of theirs, by name.
  std::map<std::string, size_t> Unbound(const std::map<std::string, std::string>& groups) const;

 private:
  struct Pod {
    std::optional<MonoTime> created, bound;
    std::string uid, node, message;
  };
  void Bind(Pod& entry, const api::Pod& pod, MonoTime at);
  void CheckFinished(MonoTime at);
  void ReadGangs(Reading& reading) const;
  std::vector<std::string> Problems() const;

  const Layout layout_;
  std::unordered_map<std::string, size_t> index_;  // pod → its place in pods_
  std::unordered_map<std::string, const NodeRoom*> nodes_;
  std::vector<Pod> pods_;
  QuotaStatuses quotas_;
  size_t seen_ = 0, bound_ = 0, gone_ = 0;
  std::optional<MonoTime> finished_at_;
};

}  // namespace sky::load
