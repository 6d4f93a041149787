// SPDX-License-Identifier: Apache-2.0
// Jobs whose last round failed wait before they are planned again: 1 s, doubled up to 60 s, with
// jitter. It ends early when a member is bound, or when the job or a node of that round changes. A
// hint: losing it in a restart costs time, never truth. Measured by monotonic time alone, so a
// corrected clock changes nothing. Where a job waited for room in vain is kept beside it, until a
// member is bound, the job or that node changes, or a pod leaves there. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "cache/cache.h"
#include "kube/loop.h"

namespace sky::scheduler {

class Backoffs {
 public:
  // `replan`: a job may be planned again.
  Backoffs(kube::Loop& loop, cache::Cache& cache, std::function<void()> replan)
      : loop_(loop), cache_(cache), replan_(std::move(replan)) {}

  // Several members of one round count as one failure.
  void Failed(const cache::Round& round, model::Reason reason, const std::string& why);
  // On these nodes: they are the last ones that it tries from its next failure on.
  void WaitedInVain(const std::string& job, const std::vector<std::string>& nodes);
  // A member was bound, or the job changed: from the beginning again.
  void Forget(const std::string& job);
  void NodeChanged(std::string_view node), PodLeft(std::string_view node);
  bool empty() const { return jobs_.empty(); }

 private:
  struct Job {
    Duration wait{};
    uint64_t failure = 0;  // which one the timer is about
    bool waits = false;
    model::Reason reason = model::Reason::kNone;
    std::string why;
    std::set<std::string, std::less<>> nodes, last;
  };
  bool Tell(const std::string& key, const Job& job);
  void Over(const std::string& job, uint64_t failure);

  kube::Loop& loop_;
  cache::Cache& cache_;
  std::function<void()> replan_;
  std::map<std::string, Job> jobs_;
  Rng jitter_{1};
  uint64_t failures_ = 0;
  kube::Lifeline alive_;
};

}  // namespace sky::scheduler
