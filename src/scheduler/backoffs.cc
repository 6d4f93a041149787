// SPDX-License-Identifier: Apache-2.0
#include "scheduler/backoffs.h"

#include <algorithm>

#include "base/natural.h"
#include "scheduler/waits.h"

namespace sky::scheduler {

void Backoffs::Failed(const cache::Round& round, model::Reason reason, const std::string& why) {
  Job& job = jobs_[round.job];
  for (const cache::RoundEntry& entry : round.entries) job.nodes.insert(entry.node_name);
  if (job.waits) {
    // Of several members the first by name speaks, whoever was answered first.
    if (!NaturalLess{}(why, job.why)) return;
    job.why = why;
    cache_.SetBackoff(round.job, reason, why);
    return;
  }
  job.waits = true;
  job.why = why;
  job.wait = NextWait(job.wait);
  job.failure = ++failures_;
  if (!cache_.SetBackoff(round.job, reason, why)) {
    jobs_.erase(round.job);
    return;
  }
  loop_.RunAfter(
      Stretched(job.wait, jitter_),
      alive_.Guard([this, key = round.job, failure = job.failure] { Over(key, failure); }));
}

void Backoffs::Over(const std::string& key, uint64_t failure) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end() || found->second.failure != failure || !found->second.waits) return;
  found->second.waits = false;
  found->second.nodes.clear();
  if (!cache_.SetBackoff(key, model::Reason::kNone, "")) jobs_.erase(found);
  replan_();
}

void Backoffs::Forget(const std::string& key) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end()) return;
  const bool waited = found->second.waits;
  jobs_.erase(found);
  cache_.SetBackoff(key, model::Reason::kNone, "");
  if (waited) replan_();
}

void Backoffs::NodeChanged(std::string_view node) {
  std::vector<std::string> concerned;
  for (const auto& [key, job] : jobs_)
    if (job.waits && job.nodes.contains(node)) concerned.push_back(key);
  for (const std::string& key : concerned) Forget(key);
}

}  // namespace sky::scheduler
