// SPDX-License-Identifier: Apache-2.0
// Task: a pod as scheduling sees it. What the pod object says (PodFacts) is immutable and shared;
// what we decided about it (Claim) is ours; its state follows from both.
//
//   Gated ─► Pending ─► AllocatedToQuota ─► Allocated ─► Binding ─► Bound ─► Running ─► Succeeded |
//   Failed
//              ▲              │                │            │                   │
//              └── Discard ───┴── void ────────┴─ refused ──┘                   └─► Releasing ─►
//              (gone)
//
// AllocatedToQuota lives inside one cycle only: it owns a share that has no machine yet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/pod.h"
#include "model/resources.h"
#include "model/spot.h"
#include "model/types.h"
#include "model/verdict.h"

namespace sky::model {

enum class TaskState : uint8_t {
  kPending,
  kGated,
  kAllocatedToQuota,
  kAllocated,
  kPipelined,
  kBinding,
  kBound,
  kRunning,
  kReleasing,
  kSucceeded,
  kFailed,
  kUnknown,
};
std::string_view TaskStateName(TaskState state);
// The arrows above (and those that an event from outside can make); anything else is a bug.
bool LegalTransition(TaskState from, TaskState to);

enum class Grouping : uint8_t {
  kForeign,     // another scheduler's pod, or a mirror pod: counted, never placed
  kGroup,       // names a PodGroup
  kSingle,      // a job of one
  kAwaitsGroup  // its owner's kind is grouped by the controller-manager: waits with NoPodGroup
};

struct PodClaim {
  std::string key;     // "ns/name" of a PersistentVolumeClaim
  bool owned = false;  // of an ephemeral volume: it must be the pod's own
  bool operator==(const PodClaim&) const = default;
};

struct PodFacts {
  std::shared_ptr<const api::Pod> pod;
  Grouping grouping = Grouping::kForeign;
  std::string job_key;  // "ns/group", "pod:ns/name" for a job of one, "" otherwise
  Resources request;    // with one pod slot
  int32_t priority = 0;
  std::string role;
  std::optional<int64_t> index;  // rank; absent when nothing usable names one
  bool gated = false, terminal = false, deleting = false;
  bool tolerates_cordon = false;
  bool quota_terms = false;               // asks to be near or away from quotas
  SpotMode spot = SpotMode::kNone;        // asks the spot resource, whoever schedules it
  ResourceId spot_resource, spot_device;  // of a spot pod: its name, and its cards'
  bool needs_rdma = false;                // asks a RoCE or IB device
  Network network = Network::kRoce;
  std::string quota_name;      // the record; only meaningful on a bound pod
  std::string required_quota;  // the demand
  std::string node_name;       // spec.nodeName
  ClassId task_class;
  ClassId node_class;            // without its claims: what a node says about itself
  std::vector<PodClaim> claims;  // of its volumes, each once
  std::string problem;  // what is malformed in its notes, for its owner; "" when nothing is

  // It goes to a node without a quota.
  bool direct() const { return spot != SpotMode::kNone && grouping != Grouping::kForeign; }
  int64_t spot_asked() const { return spot == SpotMode::kNone ? 0 : request[spot_resource]; }
  // Of what is idle on its node: with a spot pod's cards, where they are its own.
  Resources uses() const;
  const api::ObjectMeta& meta() const { return pod->metadata; }
  // When it began to run, as the kubelet or else the API server has it.
  WallTime since(WallTime unknown) const {
    return pod->status.start_time.at.value_or(meta().creation_timestamp.at.value_or(unknown));
  }
  // Its controller makes it for this very node: a DaemonSet's, or the node's own.
  bool tied_to_node() const {
    const api::OwnerReference* controller = meta().Controller();
    return controller != nullptr && (controller->kind == "DaemonSet" || controller->kind == "Node");
  }
};

// What we decided and the API server may or may not know yet.
struct Claim {
  enum class Phase : uint8_t {
    kNone,
    kToQuota,  // session: hop 1 chose the quota
    kWriting,  // assumed; the Placement (or a single task's binding) is on its way
    kClaimed,  // acknowledged, durable
    kSending,  // a binding is open: sent, or its outcome unknown
  };
  Phase phase = Phase::kNone;
  QuotaId quota;
  NodeId node;
  uint64_t round = 0;     // the cache's number of the gang's round
  bool approved = false;  // the bind action let it go: it may be sent
  bool open() const { return phase != Phase::kNone; }
  bool operator==(const Claim&) const = default;
};

struct Task {
  std::string name;  // the pod's UID: the table's key
  bool live = false;
  std::shared_ptr<const PodFacts> facts;
  JobId job;      // invalid for foreign pods and those that await a group
  NodeId node;    // where it is bound
  QuotaId quota;  // whose record it carries: bound pods only
  Claim claim;
  QuotaId heir_of;  // that keeps room for it
  TaskState state = TaskState::kPending;
  bool evictable = false;  // a spot pod that may be asked to leave now
  bool counted = false;    // its request is part of what its job and the queues above it use

  bool bound() const { return node.valid(); }
  // Counts at its node: bound and not terminal (terminating pods still hold their room).
  bool holds_room() const { return node.valid() && !facts->terminal; }
  // May be placed by a new decision.
  bool placeable() const {
    return !node.valid() && !claim.open() && !facts->gated && !facts->deleting &&
           !facts->terminal && job.valid();
  }
  // The quota that it uses or claims.
  QuotaId used_quota() const { return node.valid() ? quota : claim.quota; }
};

}  // namespace sky::model
