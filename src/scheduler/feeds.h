// SPDX-License-Identifier: Apache-2.0
// The informers of everything the scheduler reads, wired into it; it begins when all have their
// first whole set. Where the kinds that volumes hang on can't be read (no right, not served) it
// begins without them, and pods with claims wait. Lives on the client's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kube/client.h"
#include "kube/informer.h"
#include "scheduler/scheduler.h"

namespace sky::scheduler {

class Feeds {
 public:
  Feeds(kube::Client& client, Scheduler& scheduler);
  void Start();
  void Stop();
  size_t synced() const { return synced_; }
  size_t kinds() const { return kinds_; }
  // By resource ("pods"); they don't change, their numbers may be read by any thread.
  const std::map<std::string, const kube::ReflectorStats*>& stats() const { return stats_; }
  // "Pod ns/name": why it can't be read. Objects that don't decode are left out, the rest goes on.
  const std::map<std::string, std::string>& bad() const { return bad_; }

 private:
  template <class T>
  void Add(kube::Client& client, bool optional = false);
  void Synced(const std::string& kind);
  void Unreadable(const std::string& kind, const std::string& why);

  struct Feed {
    std::function<void()> start, stop;
    std::shared_ptr<void> informer;
  };
  Scheduler& scheduler_;
  std::vector<Feed> feeds_;
  std::map<std::string, const kube::ReflectorStats*> stats_;
  std::map<std::string, std::string> bad_;
  std::set<std::string> done_;                     // kinds that nobody waits for any more
  std::map<std::string, std::string> unreadable_;  // optional kinds: why
  size_t kinds_ = 0, synced_ = 0;
};

}  // namespace sky::scheduler
