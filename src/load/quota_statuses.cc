// SPDX-License-Identifier: Apache-2.0
#include "load/quota_statuses.h"

#include <algorithm>

#include "api/keys.h"

namespace sky::load {

void QuotaStatuses::Uses(const api::Pod& pod) {
  const std::string quota(pod.metadata.Annotation(api::key::kQuotaName));
  if (quota.empty()) {
    ++without_quota_;
    return;
  }
  Use& use = used_[quota];
  use.nodes.insert(pod.spec.node_name);
  use.pods.insert(pod.metadata.uid);
  Compare(quota);
}

void QuotaStatuses::Shows(const api::Quota& quota) {
  const api::QuotaStatus& status = quota.status;
  Picture picture{status.phase, status.node_name, {}};
  for (const api::QuotaTask& task : status.tasks) picture.tasks.insert(task.uid);
  if (status.node_name.empty() && picture.tasks.empty())
    in_use_.erase(quota.metadata.name);
  else
    in_use_.insert(quota.metadata.name);
  shown_[quota.metadata.name] = std::move(picture);
  Compare(quota.metadata.name);
}

void QuotaStatuses::Gone(const std::string& quota) {
  shown_.erase(quota);
  in_use_.erase(quota);
  Compare(quota);
}

void QuotaStatuses::Compare(const std::string& quota) {
  const auto used = used_.find(quota);
  if (used == used_.end()) return;
  const auto shown = shown_.find(quota);
  const bool right = shown != shown_.end() && shown->second.phase == "QuotaBound" &&
                     used->second.nodes == std::set<std::string>{shown->second.node} &&
                     std::ranges::includes(shown->second.tasks, used->second.pods);
  if (right)
    behind_.erase(quota);
  else
    behind_.insert(quota);
}

size_t QuotaStatuses::Misused(int room) const {
  return static_cast<size_t>(std::ranges::count_if(used_, [&](const auto& entry) {
    const Use& use = entry.second;
    return use.nodes.size() > 1 || use.pods.size() > static_cast<size_t>(room);
  }));
}

}  // namespace sky::load
