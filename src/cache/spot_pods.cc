// SPDX-License-Identifier: Apache-2.0
#include "cache/spot_pods.h"

#include <algorithm>

#include "model/budgets.h"

namespace sky::cache {

using model::TaskId;

void SpotPods::Note(const model::Cluster& cluster, const std::vector<TaskId>& touched) {
  for (const TaskId id : touched)
    if (cluster.tasks().Live(id) &&
        (cluster.tasks()[id].bound() || cluster.tasks()[id].evictable) &&
        cluster.tasks()[id].facts->spot != model::SpotMode::kNone)
      changed_.insert(cluster.tasks()[id].name);
}

void SpotPods::Stays(const std::string& uid, WallTime now) {
  constexpr Duration kFirst = std::chrono::minutes(1);
  constexpr int kMostDoublings = 4;
  Refusal& refusal = stay_[uid];
  refusal.until = now + kFirst * (1 << std::min(refusal.times++, kMostDoublings));
  changed_.insert(uid);
}

void SpotPods::Judge(model::Cluster& cluster, WallTime now, Duration min_run_time) {
  if (std::exchange(all_, false)) changed_.insert(known_.begin(), known_.end());
  while (!not_yet_.empty() && not_yet_.begin()->first <= now) {
    const auto& [when, uids] = *not_yet_.begin();
    changed_.insert(uids.begin(), uids.end());
    not_yet_.erase(not_yet_.begin());
  }
  for (const std::string& uid : std::exchange(changed_, {}))
    JudgeOne(cluster, uid, now, min_run_time);
}

void SpotPods::JudgeOne(model::Cluster& cluster, const std::string& uid, WallTime now,
                        Duration min_run_time) {
  const TaskId id = cluster.tasks().Find(uid);
  const bool there = id.valid() && cluster.tasks()[id].holds_room();
  if (!there) {
    known_.erase(uid);
    stay_.erase(uid);
    if (id.valid()) cluster.SetEvictable(id, false);
    return;
  }
  known_.insert(uid);
  const model::PodFacts& facts = *cluster.tasks()[id].facts;
  // Shared ones give nothing back that a quota could use, strangers' are none of ours.
  if (!facts.direct() || facts.spot != model::SpotMode::kExclusive || facts.deleting)
    return cluster.SetEvictable(id, false);
  const WallTime since = facts.since(WallTime{});
  if (now - since < min_run_time) {
    not_yet_[since + min_run_time].push_back(uid);
    return cluster.SetEvictable(id, false);
  }
  if (const auto refusal = stay_.find(uid); refusal != stay_.end() && now < refusal->second.until) {
    not_yet_[refusal->second.until].push_back(uid);
    return cluster.SetEvictable(id, false);
  }
  cluster.SetEvictable(id, model::DisruptionsLeft(cluster, facts).value_or(1) > 0);
}

}  // namespace sky::cache
