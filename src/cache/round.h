// SPDX-License-Identifier: Apache-2.0
// A round: the part of a gang that one decision places, whole or not at all. A session makes it,
// Assume checks and applies it, the Placement records it, the bindings carry it out.
//
//   Planned (session) ─► Writing (assumed) ─► Claimed (Placement acknowledged) ─► Starting ─►
//   Settled
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/types.h"
#include "model/verdict.h"

namespace sky::cache {

struct RoundEntry {
  model::TaskId task;
  std::string uid, namespace_, name, role;
  std::optional<int64_t> rank;
  model::QuotaId quota;
  std::string quota_name;
  model::NodeId node;
  std::string node_name;
  std::string zone;  // as people read it; "" outside of any
};

struct Round {
  uint64_t number = 0;    // given by Assume; unique in this process
  std::string job;        // the job's key
  std::string group_uid;  // "" for a job of one
  std::string namespace_, group;
  int32_t priority = 0;
  bool started = false;  // the gang already runs: its repairs and extras go first
  // A single task, or extras beyond the minimum, need no record: each binding says it all (F16).
  bool recorded = false;
  std::vector<RoundEntry> entries;
};

// Why a whole gang was refused at the last moment (F6): the job is planned again next cycle.
struct Refusal {
  model::Reason reason = model::Reason::kPlacementConflict;
  std::string what;  // names the object that changed: "node n3 is no longer ready"
};

}  // namespace sky::cache
