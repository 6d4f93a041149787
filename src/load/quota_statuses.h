// SPDX-License-Identifier: Apache-2.0
// Do the statuses of the quotas say what the bound pods say? A pod's annotation names its quota,
// its spec the node: the quota must be QuotaBound there and list the pod among its tasks. Kept as
// a count of those that are behind, so that each event costs one quota. Pure.
#pragma once

#include <map>
#include <set>
#include <string>

#include "api/crds.h"
#include "api/pod.h"

namespace sky::load {

class QuotaStatuses {
 public:
  // A bound pod; one that names no quota is counted apart.
  void Uses(const api::Pod& pod);
  void Shows(const api::Quota& quota);
  void Gone(const std::string& quota);

  bool CaughtUp() const { return behind_.empty() && without_quota_ == 0; }
  size_t behind() const { return behind_.size(); }
  size_t without_quota() const { return without_quota_; }
  size_t in_use() const { return in_use_.size(); }  // by their statuses
  // Quotas whose pods are more than `room`, or stand on several nodes.
  size_t Misused(int room) const;

 private:
  struct Picture {
    std::string phase, node;
    std::set<std::string> tasks;  // UIDs
  };
  struct Use {
    std::set<std::string> nodes, pods;  // UIDs
  };
  void Compare(const std::string& quota);

  std::map<std::string, Picture> shown_;
  std::map<std::string, Use> used_;
  std::set<std::string> behind_, in_use_;
  size_t without_quota_ = 0;
};

}  // namespace sky::load
