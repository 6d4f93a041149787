// SPDX-License-Identifier: Apache-2.0
#include "api/static_bind.h"

#include <fmt/format.h>

#include <algorithm>

namespace sky::api {
namespace {

// Compared as text, so made of canonical forms alone; what the quota doesn't ask is no matter.
std::string Words(const Quota& quota, const Node& node) {
  std::vector<std::string> offers;
  for (const auto& [name, asked] : quota.spec.request) {
    const auto offered = node.status.allocatable.find(name);
    offers.push_back(fmt::format(
        "{} {}", name,
        offered == node.status.allocatable.end() ? std::string("0") : offered->second.ToString()));
  }
  return fmt::format(
      "node {} is bound beyond what it offers ({}); it isn't bound there again "
      "before the quota's spec or the node's allocatable changes",
      node.metadata.name, fmt::join(offers, ", "));
}

}  // namespace

Condition StaticRefusal(const Quota& quota, const Node& node, WallTime at) {
  Condition condition;
  condition.type = kStaticRefused;
  condition.status = "True";
  condition.reason = "NodeOverbound";
  condition.message = Words(quota, node);
  condition.observed_generation = quota.metadata.generation;
  condition.last_transition_time.at = at;
  return condition;
}

const Condition* FindStaticRefusal(const Quota& quota) {
  const auto found = std::ranges::find(quota.status.conditions, kStaticRefused, &Condition::type);
  return found == quota.status.conditions.end() ? nullptr : &*found;
}

bool StaticRefused(const Quota& quota, const Node& node) {
  const Condition* condition = FindStaticRefusal(quota);
  return condition != nullptr && condition->status == "True" &&
         condition->observed_generation == quota.metadata.generation &&
         condition->message == Words(quota, node);
}

}  // namespace sky::api
