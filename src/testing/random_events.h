// SPDX-License-Identifier: Apache-2.0
// Whatever may happen to a cluster, one event at a time, from a seed: pods come, run, finish, are
// deleted, gated, taken by strangers and bound by hand; nodes are cordoned, lost and made anew;
// quotas, queues, lines, groups and topologies change. For law tests over testing::Cluster.
#pragma once

#include <string>

#include "base/rng.h"
#include "testing/cluster.h"

namespace sky::testing {

class RandomEvents {
 public:
  RandomEvents(Cluster& cluster, uint64_t seed) : cluster_(cluster), rng_(seed) {}

  // Six nodes under two switches, quotas, three gangs.
  void Begin();
  // One more thing happens; says what, for the reader of a failure.
  std::string Next();
  // Time passes, and nothing else: nodes are lost, a job is held back and let go again.
  std::string PassTime();

 private:
  std::string Any(const std::vector<std::string>& keys) { return keys[rng_.Below(keys.size())]; }
  bool Chance(uint64_t in) { return rng_.Below(in) == 0; }
  std::string PodEvent();
  std::string NewPod();
  std::string NodeEvent();
  std::string QuotaEvent();
  std::string QueueEvent();
  std::string GroupEvent();
  std::string ComesOrGoes();

  Cluster& cluster_;
  Rng rng_;
  int made_ = 0;
};

}  // namespace sky::testing
