// SPDX-License-Identifier: Apache-2.0
// What tests on a simulated cluster begin with: the cluster itself, objects in it, and both commit
// orders as a parameter.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/check.h"
#include "lab/simulation.h"
#include "scheduler/known.h"

namespace sky::lab {

// Without kubelets, whose heartbeats never end: every write is the scheduler's own.
inline std::unique_ptr<Simulation> MakeQuietLab(
    framework::CommitOrder order = framework::CommitOrder::kPlacementFirst, uint64_t seed = 1,
    Duration reservation_ttl = std::chrono::minutes(10)) {
  SimulationOptions options;
  options.config = framework::DefaultConfig(scheduler::AllKnown().Known());
  options.config.commit_order = order;
  options.config.reservation_ttl = reservation_ttl;
  options.seed = seed;
  options.kubelets = false;
  auto lab = Simulation::Create(std::move(options));
  SKY_CHECK(lab.has_value(), "{}", lab.error().message());
  return std::move(*lab);
}

// With its status.
template <class T>
void MakeIn(Simulation& lab, const T& object) {
  const Status made = lab.Apply(api::Encode(object));
  SKY_CHECK(made.has_value(), "{}", made.error().message());
}

inline const auto kBothOrders =
    ::testing::Values(framework::CommitOrder::kPlacementFirst, framework::CommitOrder::kQuotaFirst);
inline std::string OrderName(const ::testing::TestParamInfo<framework::CommitOrder>& order) {
  return order.param == framework::CommitOrder::kQuotaFirst ? "QuotaFirst" : "PlacementFirst";
}

}  // namespace sky::lab
