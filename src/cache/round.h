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
#include <utility>
#include <vector>

#include "api/crds.h"
#include "base/clock.h"
#include "model/types.h"
#include "model/verdict.h"

namespace sky::model {
class Cluster;
}

namespace sky::cache {

struct RoundEntry {
  model::TaskId task;
  std::string uid, namespace_, name, role;
  std::optional<int64_t> rank;
  model::QuotaId quota;    // invalid and
  std::string quota_name;  // "": it goes to the node without one
  model::NodeId node;
  std::string node_name;
  std::string zone;  // as people read it; "" outside of any
  bool direct() const { return quota_name.empty(); }
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
  // Quotas that keep nothing for the job any more, or (true) on no node of their own.
  std::vector<std::pair<std::string, bool>> lifted;
};

// What the predicates read of an entry when they approved it, but for amounts.
struct Basis {
  uint64_t node_generation = 0;
  model::ClassId task_class, quota_class;
  bool operator==(const Basis&) const = default;
};

// The last approval of an entry that is still open.
struct Approval {
  Basis basis;
  bool complete = true;  // the gang had its minimum; else it may begin without
};

// Members of a round whose places don't hold any more: the claims of those that weren't sent end.
struct GivenUp {
  uint64_t round = 0;
  std::vector<std::string> uids;
  std::string why;  // for people
  // Nodes where it waited for room, or for a volume: the last ones next time.
  std::vector<std::string> in_vain;
};

// Spot pods that have to leave before a round's members can start on their node. The round's record
// is durable: nobody leaves for a decision that a crash could lose. Or, of no round, spot pods that
// are better off elsewhere: their controllers make them anew.
struct Eviction {
  struct Victim {
    std::string namespace_, name, uid, node;
    Duration grace{};  // that it may take to end
  };
  uint64_t round = 0;  // 0: none
  std::string why;     // for people: "gives way to job default/train"
  std::vector<Victim> victims;
};

// May a binding be sent now?
enum class Send : uint8_t {
  kNow,
  kAskAgain,  // something has changed since it was approved: the bind action must say it again
  kGone,      // the pod, its group, or our claim on it is no more
};

Eviction::Victim VictimOf(const model::Cluster& cluster, model::TaskId task);  // bound

// What still holds of a Placement that this process didn't write.
struct Adoption {
  Round round;                            // entries that hold
  std::vector<std::string> void_entries;  // "task: why"
  bool any_bound = false;                 // a member of the gang already runs
  bool spent = false;                     // nothing open is left: bound, gone, or not this group's
  bool disputed = false;                  // it says something else of a member than our own claim
  std::vector<api::PlacementEntry> unseen;  // their pods weren't seen: gone, or not here yet
};

// A group to be read again before it is planned: a member came after it was last heard of. Its turn
// comes when it has its members, or when somebody would plan it as it is.
struct StaleGroup {
  std::string key, namespace_, name;
  uint64_t sequence = 0;  // pass back to ConfirmGroup
};

// Why a whole gang was refused at the last moment (F6): the job is planned again next cycle.
struct Refusal {
  model::Reason reason = model::Reason::kPlacementConflict;
  std::string what;  // names the object that changed: "node n3 is no longer ready"
};

}  // namespace sky::cache
