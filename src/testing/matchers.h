// SPDX-License-Identifier: Apache-2.0
// What a cycle bound, as matchers over Cluster::Cycle(). For tests only: needs GoogleMock.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "base/natural.h"
#include "testing/cluster.h"

namespace sky::testing {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// "q[0-3]" and "n[0-3]" as pairs; one name on the right stands for every name on the left.
inline Pairs Paired(const std::string& left, const std::string& right) {
  const auto lefts = ExpandNames(left), rights = ExpandNames(right);
  Pairs pairs;
  if (!lefts || !rights) return pairs;
  for (size_t i = 0; i < lefts->size(); ++i)
    pairs.emplace_back((*lefts)[i], rights->size() == 1 ? (*rights)[0] : rights->at(i));
  return pairs;
}

// Exactly these tasks went to these nodes.
inline auto BindsTasks(const std::string& tasks, const std::string& nodes) {
  return ::testing::ResultOf(
      "tasks by node",
      [](const std::vector<Bound>& all) {
        Pairs pairs;
        for (const Bound& one : all) pairs.emplace_back(one.pod, one.node);
        return pairs;
      },
      ::testing::UnorderedElementsAreArray(Paired(tasks, nodes)));
}

// Exactly these quotas carry tasks on these nodes.
inline auto BindsQuotas(const std::string& quotas, const std::string& nodes) {
  return ::testing::ResultOf(
      "quotas by node",
      [](const std::vector<Bound>& all) {
        std::map<std::string, std::string, NaturalLess> by_quota;
        for (const Bound& one : all) by_quota.emplace(one.quota, one.node);
        return Pairs(by_quota.begin(), by_quota.end());
      },
      ::testing::UnorderedElementsAreArray(Paired(quotas, nodes)));
}

inline auto BindsNothing() { return ::testing::IsEmpty(); }

}  // namespace sky::testing
