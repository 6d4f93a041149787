// SPDX-License-Identifier: Apache-2.0
// Which spot pods leave a node so that somebody else's task can start: the cheapest set that gives
// back what is missing, by four weighted strategies. Pure: the same candidates give the same set in
// whatever order they are handed over.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/resources.h"
#include "model/types.h"

namespace sky::plugins {

struct Candidate {
  model::TaskId task;
  std::string name;  // "ns/pod": what decides among equals
  int32_t priority = 0;
  size_t group = 0;            // index
  int64_t seconds = 0;         // that it has run
  model::Resources gives;      // its cards with it
  std::vector<size_t> budget;  // disruption budgets that count it, by index
};

struct Strategies {
  // Weights of: the highest priority class of those who leave, how many leave, how much more than
  // needed they give back, how long they ran.
  int64_t priority = 4, tasks = 2, resources = 1, run_time = 1;
  bool longest_first = false;    // of run time: who has run for longest leaves first
  int32_t low = 0, high = 1000;  // up to `low`: low; from `high`: high; between them: mid
};

constexpr int64_t kMostCost = 100'000;

// What a set of them costs, 0 (nothing) to kMostCost.
int64_t CostOf(const Strategies& strategies, const std::vector<const Candidate*>& set,
               const model::Resources& missing);

struct Limits {
  std::vector<int64_t> budgets;  // how many each disruption budget lets go
  std::vector<int64_t> spare;    // how many members each group can do without
};

// The cheapest set that gives back `missing`, of those that break as few groups as possible.
// Absent: no set does. Nobody is in it who isn't needed.
std::optional<std::vector<const Candidate*>> ChooseVictims(const Strategies& strategies,
                                                           const std::vector<Candidate>& candidates,
                                                           const model::Resources& missing,
                                                           const Limits& limits);

}  // namespace sky::plugins
