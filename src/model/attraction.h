// SPDX-License-Identifier: Apache-2.0
// Jobs by the key with which they attract each other into zones (annotation
// topology-affinity-key). A cluster keeps it as its jobs change; jobs without a key cost nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "model/types.h"

namespace sky::model {

class Attraction {
 public:
  // `key` "": it has none, or is gone.
  void Note(JobId job, std::string_view key) {
    const auto known = keys_.find(job);
    if (known == keys_.end() ? key.empty() : known->second == key) return;
    if (known != keys_.end()) {
      const auto before = jobs_.find(known->second);
      before->second.erase(job);
      if (before->second.empty()) jobs_.erase(before);
      keys_.erase(known);
    }
    if (key.empty()) return;
    keys_.emplace(job, key);
    jobs_[std::string(key)].insert(job);
  }
  const std::set<JobId>& Of(std::string_view key) const {
    static const std::set<JobId> kNobody;
    const auto known = jobs_.find(key);
    return known == jobs_.end() ? kNobody : known->second;
  }

 private:
  std::map<JobId, std::string> keys_;
  std::map<std::string, std::set<JobId>, std::less<>> jobs_;
};

}  // namespace sky::model
