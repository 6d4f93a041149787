// SPDX-License-Identifier: Apache-2.0
// A random life of a small cluster as a scenario script: jobs of all kinds come, end, lose members
// and are deleted; nodes fail and are cordoned, links are lost; quotas change; the API server
// errs; the scheduler is killed. The same seed gives the same script, so what breaks in a soak is
// a file that can be run, read and cut down.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/rng.h"

namespace sky::lab {

class SoakScript {
 public:
  explicit SoakScript(uint64_t seed) : rng_(seed) {}

  // The cluster, then `steps` events; after each some time passes. The scheduler runs at the end.
  std::string Events(int steps);
  // Everything that is broken is mended and there is time for all that was still to happen.
  std::string Mend() const;
  // All jobs go.
  std::string Empty() const;

 private:
  struct Job {
    std::string amounts;
    int members = 0;
  };
  std::string Any(const std::vector<std::string>& words) { return words[rng_.Below(words.size())]; }
  bool Chance(uint64_t in) { return rng_.Below(in) == 0; }
  std::string AnyJob();
  std::string AnyMember(const std::string& job);
  std::string Event();
  std::string Submit();
  std::string ChangeJob();
  std::string ChangeNode();
  std::string ChangeQuota();
  std::string ChangeBudget();
  std::string Fault();
  std::string Life();

  Rng rng_;
  std::map<std::string, Job> jobs_;
  int made_ = 0;
  bool killed_ = false;
};

}  // namespace sky::lab
