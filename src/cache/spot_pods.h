// SPDX-License-Identifier: Apache-2.0
// Which spot pods may be asked to leave now: exclusive ones of ours that have run for long enough,
// whose disruption budget has something left, and whose eviction wasn't refused a moment ago. Looks
// only at pods that changed, at those whose time has come, and at all of them when a budget
// changed. Guarded by the cache's lock.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/cluster.h"

namespace sky::cache {

class SpotPods {
 public:
  void Note(const model::Cluster& cluster, const std::vector<model::TaskId>& touched);
  void BudgetsChanged() { all_ = true; }
  // Its eviction was refused, by a webhook for example: not asked again for a minute, then for
  // twice as long each time, at most 16 minutes.
  void Stays(const std::string& uid, WallTime now);
  // Sets Task::evictable where it isn't right any more.
  void Judge(model::Cluster& cluster, WallTime now, Duration min_run_time);

 private:
  void JudgeOne(model::Cluster& cluster, const std::string& uid, WallTime now,
                Duration min_run_time);

  struct Refusal {
    WallTime until{};
    int times = 0;
  };
  std::set<std::string> known_, changed_;                 // UIDs
  std::map<std::string, Refusal> stay_;                   // by UID
  std::map<WallTime, std::vector<std::string>> not_yet_;  // by when to look again
  bool all_ = false;
};

}  // namespace sky::cache
