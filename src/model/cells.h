// SPDX-License-Identifier: Apache-2.0
// What stands beside the rows of a cluster: names shared by all its copies, nodes by zone and spec
// code, and the list of rows that somebody must look at again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/interner.h"
#include "model/resources.h"
#include "model/types.h"

namespace sky::model {

// Shared by all copies of a cluster: ids mean the same everywhere.
struct Names {
  ResourceNames resources;
  Interner<SpecTag> specs;
  Interner<ZoneTag> zones;
  Interner<ClassTag> classes;
};

// Nodes of one zone and one spec code, in physical order. An invalid zone: all nodes of that spec
// code.
struct CellKey {
  ZoneId zone;
  SpecId spec;
  auto operator<=>(const CellKey&) const = default;
};
using Cells = std::map<CellKey, std::vector<NodeId>>;

// Rows that changed since somebody last asked, by kind, unsorted and possibly repeated.
struct Touched {
  std::vector<TaskId> tasks;
  std::vector<JobId> jobs;
  std::vector<QueueId> queues;
  std::vector<QuotaId> quotas;
  std::vector<NodeId> nodes;
  bool empty() const {
    return tasks.empty() && jobs.empty() && queues.empty() && quotas.empty() && nodes.empty();
  }
};

struct PriorityClasses {
  std::map<std::string, int32_t, std::less<>> values;
  std::map<std::string, int32_t, std::less<>>
      global_defaults;  // the greatest name wins, as the API has one
};

}  // namespace sky::model
