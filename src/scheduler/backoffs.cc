// SPDX-License-Identifier: Apache-2.0
#include "scheduler/backoffs.h"

#include <algorithm>

#include "base/natural.h"
#include "scheduler/waits.h"

namespace sky::scheduler {

// False: the job is gone.
bool Backoffs::Tell(const std::string& key, const Job& job) {
  return cache_.SetBackoff(key, job.waits ? job.reason : model::Reason::kNone,
                           job.waits ? job.why : "", {job.last.begin(), job.last.end()});
}

void Backoffs::Failed(const cache::Round& round, model::Reason reason, const std::string& why) {
  Job& job = jobs_[round.job];
  for (const cache::RoundEntry& entry : round.entries) job.nodes.insert(entry.node_name);
  if (job.waits) {
    // Of several members the first by name speaks, whoever was answered first.
    if (!NaturalLess{}(why, job.why)) return;
    job.reason = reason;
    job.why = why;
    Tell(round.job, job);
    return;
  }
  job.waits = true;
  job.reason = reason;
  job.why = why;
  job.wait = NextWait(job.wait);
  job.failure = ++failures_;
  if (!Tell(round.job, job)) {
    jobs_.erase(round.job);
    return;
  }
  loop_.RunAfter(
      Stretched(job.wait, jitter_),
      alive_.Guard([this, key = round.job, failure = job.failure] { Over(key, failure); }));
}

void Backoffs::WaitedInVain(const std::string& key, const std::vector<std::string>& nodes) {
  if (!nodes.empty()) jobs_[key].last.insert(nodes.begin(), nodes.end());
}

void Backoffs::Over(const std::string& key, uint64_t failure) {
  const auto found = jobs_.find(key);
  if (found == jobs_.end() || found->second.failure != failure || !found->second.waits) return;
  found->second.waits = false;
  found->second.nodes.clear();
  if (!Tell(key, found->second)) jobs_.erase(found);
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

// A pause that was about the node ends; where else the job waited in vain still counts.
void Backoffs::NodeChanged(std::string_view node) {
  PodLeft(node);
  std::vector<std::string> concerned;
  for (const auto& [key, job] : jobs_)
    if (job.waits && job.nodes.contains(node)) concerned.push_back(key);
  for (const std::string& key : concerned) {
    Job kept;
    kept.last = std::move(jobs_[key].last);
    jobs_.erase(key);
    if (Tell(key, kept) && !kept.last.empty()) jobs_[key] = std::move(kept);
    replan_();
  }
}

// Room came there, whoever used it.
void Backoffs::PodLeft(std::string_view node) {
  for (auto& [key, job] : jobs_)
    if (const auto found = job.last.find(node); found != job.last.end()) {
      job.last.erase(found);
      Tell(key, job);
    }
}

}  // namespace sky::scheduler
