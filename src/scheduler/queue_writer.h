// SPDX-License-Identifier: Apache-2.0
// Writes Queue.status.specAllocated, whatever differs from the ledgers: a queue at most once a
// second, one write in flight each, so that a queue of thousands of quotas isn't summed up for each
// of them. What was refused is tried again later, and people are told once. Lives on the loop.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/rng.h"
#include "cache/cache.h"
#include "cache/writer.h"
#include "kube/loop.h"

namespace sky::scheduler {

class QueueWriter {
 public:
  QueueWriter(kube::Loop& loop, cache::Cache& cache, cache::ClusterWriter& writer,
              std::function<bool()> may_write, std::function<bool()> busy);

  // Something may have changed: looks soon, once for many calls.
  void Poke();
  size_t in_flight() const { return in_flight_.size(); }
  uint64_t written() const { return written_; }

 private:
  struct Refusal {
    std::string words;
    Duration wait{};
    MonoTime again;
  };
  void Look();
  void Write(const cache::QueuePicture& picture);
  void Answered(const std::string& name, const Result<cache::Written>& answer);
  void AgainAt(MonoTime at, const std::string& name);

  static constexpr Duration kEvery = std::chrono::seconds(1);

  kube::Loop& loop_;
  cache::Cache& cache_;
  cache::ClusterWriter& writer_;
  std::function<bool()> may_write_, busy_;
  kube::Lifeline alive_;
  std::set<std::string> in_flight_;          // queues
  std::map<std::string, Refusal> refusals_;  // by queue
  Rng jitter_{1};
  bool timer_ = false;
  uint64_t written_ = 0;
};

// The merge patch that makes `have` say what is wanted.
std::string QueuePatch(const cache::QueuePicture& picture);

}  // namespace sky::scheduler
