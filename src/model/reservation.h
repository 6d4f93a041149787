// SPDX-License-Identifier: Apache-2.0
// Room that a quota keeps for the successor of a member that its gang lost. A fact of ours, like a
// claim: the cache decides which there are, the ledgers follow. It has a place as long as its
// quota's `kept` node is valid; without one the quota is on no node and still nobody else's.
//
//   predecessor leaves ─► leaving ─gone─► kept ─successor seen─► pinned to it ─► bound: used up
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/resources.h"
#include "model/types.h"

namespace sky::model {

class Cluster;
struct Quota;

struct Reservation {
  std::string job, job_uid;  // "ns/group"; the UID is "" when it isn't known (after a restart)
  std::string role, pod, pod_uid, successor_uid;
  std::optional<int64_t> index;
  Resources request;     // without a pod slot
  WallTime expires;      // whole seconds, as the API holds it
  bool leaving = false;  // its pod still holds the room
  TaskId heir;           // the successor, while it is there
  bool operator==(const Reservation&) const = default;
};

// The one quota that the task must use: the demanded one, else the one that is kept for it; "":
// any.
std::string_view DemandOf(const Cluster& cluster, TaskId task);

// What is left of a quota's reservations, and its node, when a job gives up what it has there, or
// the place of it alone (F36).
struct LeftKept {
  std::vector<Reservation> reserved;
  NodeId kept;
};
LeftKept WithoutPlacesOf(const Quota& quota, std::string_view job, bool place_only);

// What the quota keeps for others than the task.
Resources KeptFromOthers(const Quota& quota, TaskId task);
Resources KeptFor(const Quota& quota, TaskId task);

}  // namespace sky::model
