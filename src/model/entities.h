// SPDX-License-Identifier: Apache-2.0
// Job and Quota; nodes stand in node.h, queues in queues.h. A row exists as soon as anything names
// it (a pod may come before its PodGroup, a quota before its node); `object` is null until the
// thing itself is seen. Members under "derived" are recounted from the facts by Cluster::Flush and
// never edited in place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/crds.h"
#include "base/clock.h"
#include "model/reservation.h"
#include "model/resources.h"
#include "model/types.h"
#include "model/verdict.h"

namespace sky::model {

enum class TopologyMode : uint8_t { kAuto, kStrict, kOff };  // auto: on when a task asks RDMA

// What a PodGroup's annotations (a job of one: its pod's) say.
struct JobNotes {
  TopologyMode topology = TopologyMode::kAuto;
  bool pack = false;
  std::optional<int64_t> max_zones;
  std::vector<std::string> task_order;
  std::string affinity_key;
  std::optional<Duration> reservation_ttl;
  std::string problem;
};

struct Job {
  std::string name;  // "ns/group", or "pod:ns/name" for a job of one
  bool live = false;
  uint64_t tick = 0;  // of its last change
  bool single = false;
  std::shared_ptr<const api::PodGroup> object;  // null: not seen, or a job of one
  std::string invalid;     // what Validate says of the object; "" when it is well formed
  std::string queue_name;  // "" while its PodGroup isn't there
  QueueId queue;
  JobNotes notes;
  bool unconfirmed = false;     // a member came after the group's last word: to be read again (F6)
  std::vector<TaskId> members;  // by id

  // Its last round failed: not planned until this is kNone again, and then on these nodes, where it
  // waited in vain, only if no others take it. By name, sorted.
  Reason backoff = Reason::kNone;
  std::string backoff_why;
  std::vector<std::string> last_nodes;

  // derived
  std::vector<TaskId> ranked;  // neither terminal nor leaving, by role order, rank, natural name
  int32_t priority = 0;
  bool priority_class_missing = false;
  int32_t needed = 1;                    // max(minMember, Σ role minima)
  int32_t ready = 0;                     // bound and live, or claimed, or succeeded
  int32_t bound = 0;                     // of those, without the claimed ones
  bool whole = false, complete = false;  // enough bound ones, of each role; with claimed ones too
  int32_t placeable = 0;
  int32_t waiting = 0;       // members without a place that aren't leaving, gated ones too
  std::string affinity_key;  // its note, else its first member's; "": none
  bool spot = false;         // a member goes to a node without a quota
  bool needs_rdma = false,
       started = false;  // started: a member is bound or claimed or has succeeded

  // Kept at once, between the operations of a statement too.
  JobQueueId line;      // in which it stands; invalid: in none
  int32_t holding = 0;  // members that hold a place or a claim, leaving ones too
  Resources used;       // Σ their requests

  bool exists() const { return single || object != nullptr; }
  std::string uid() const { return object ? object->metadata.uid : std::string(); }
};

struct Quota {
  std::string name;
  bool live = false;
  std::shared_ptr<const api::Quota> object;
  std::string invalid;
  Resources request, shadow;
  std::vector<ResourceId> listed;  // the names that it limits, sorted
  SpecId spec;                     // from its nodeSelector; invalid: may go to any
  ClassId quota_class;
  std::vector<QueueId> queues;  // that may use it, sorted
  std::vector<TaskId> users;    // bound pods that name it and open claims on it, by id
  NodeId status_node;           // what its status says
  NodeId static_node;           // where it is asked to be; invalid: anywhere
  // Since when its status doesn't count: its node was bound beyond what it has (F20).
  std::optional<WallTime> refused;
  NodeId planned;                     // session: where the plan puts it, before hop 2 does
  NodeId chosen;                      // session: where hop 2 put it
  std::vector<Reservation> reserved;  // for successors of members that were lost
  NodeId kept;                        // where these stay; invalid: on no node of their own

  // derived
  NodeId node;                // where it is bound: live pods, else claims, `kept`, its status
  bool split = false;         // live pods on several nodes: an error that is left alone
  Resources task_sum;         // Σ requests of the tasks counted by it
  Resources reserved_sum;     // Σ requests of the reservations that nobody uses yet
  Resources charge;           // max(request, task_sum + reserved_sum), name by name (F21)
  std::vector<TaskId> tasks;  // the users that count: on its node or claimed, by id

  // Where it is, or a plan puts it.
  NodeId place() const { return node.valid() ? node : planned; }
  bool exists() const { return object != nullptr; }
  bool deleting() const { return object != nullptr && object->metadata.deleting(); }
  bool usable() const { return exists() && !deleting() && invalid.empty() && !split; }
  // What its tasks may ask for together, and which part of a request that is about: a name that it
  // doesn't list is the node's matter.
  Resources limit() const { return request + shadow; }
  Resources Limited(const Resources& amounts) const {
    Resources limited;
    for (const ResourceId id : listed) limited.Set(id, amounts[id]);
    return limited;
  }
};

}  // namespace sky::model
