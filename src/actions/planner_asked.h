// SPDX-License-Identifier: Apache-2.0
// What the planner tries, and a question of its with what the numbers mean. For its own sources.
#pragma once

#include <unordered_map>
#include <vector>

#include "actions/planner.h"

namespace sky::actions {

struct Planner::Attempt {
  Choice cells;
  bool evicts;   // room that spot pods have to give back counts
  size_t group;  // of attempts that are as good as each other
};

struct Planner::Asked {
  topology::Question question;
  std::vector<model::TaskId> tasks;
  std::vector<model::NodeId> nodes;            // by spot
  size_t inside = 0;                           // so many of them, from the left, have an order
  std::unordered_map<size_t, size_t> spot_of;  // by node
  std::vector<const Pool*> kinds;
  std::vector<FreeShelf> shelves;
  std::vector<model::QuotaId> held;
};

}  // namespace sky::actions
