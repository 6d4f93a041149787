// SPDX-License-Identifier: Apache-2.0
// Where one job stands and why: what /diagnose answers. JobFacts are copied from the cluster when a
// cycle is over and never change afterwards, so that an answer needs nobody's lock; the words are
// those that stand on the PodGroup. An answer is bounded: 256 tasks that wait and 256 that have a
// place are listed, of longer jobs the first by rank, and it says how many were left out. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plan.h"
#include "model/cluster.h"

namespace sky::diagnose {

inline constexpr size_t kMostTasks = 256;

struct TaskPlace {
  std::shared_ptr<const model::PodFacts> facts;
  model::TaskState state = model::TaskState::kPending;
  std::string quota, node;  // that it uses or is to use
};

struct JobFacts {
  std::string key, queue;  // "ns/group", or "pod:ns/name"
  bool group = true;       // a PodGroup; else a pod without one
  bool whole = false;
  int32_t needed = 1;
  // Of its members: without a place (gated ones are `gated`), decided and not bound yet, bound,
  // leaving, ended.
  int32_t waiting = 0, gated = 0, decided = 0, bound = 0, leaving = 0, ended = 0;
  std::vector<TaskPlace> waits, places;  // by rank, kMostTasks of each at most
};
JobFacts FactsOf(const model::Cluster& cluster, model::JobId id);

// Why it waits as of the last cycle; a reason that the facts have overtaken is left out.
struct Standing {
  std::string reason, message;                     // "" when nothing is said of it
  std::shared_ptr<const framework::Refusals> why;  // with what the planner said; may be null
  uint64_t cycle = 0;                              // the number of the last one
};

// One JSON object; docs/diagnose.md lists its members.
std::string ToJson(const JobFacts& job, const Standing& standing, const model::Names& names);

}  // namespace sky::diagnose
