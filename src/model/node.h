// SPDX-License-Identifier: Apache-2.0
// Node with its two ledgers: what its quotas are charged, and what pods use. A row exists as soon
// as anything names it; see entities.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "base/natural.h"
#include "model/cells.h"
#include "model/resources.h"
#include "model/spot.h"
#include "model/types.h"
#include "model/wiring.h"

namespace sky::model {

struct Node {
  std::string name;
  bool live = false;
  std::shared_ptr<const api::Node> object;
  Resources allocatable;
  bool ready = false, unschedulable = false;
  bool lost = false;  // not Ready, or gone, for longer than nodeLostAfter
  // Not usable (cordoned nodes aren't either) for longer than staticGrace: nobody waits for it.
  bool forsaken = false;
  std::string problem;  // a malformed note
  int64_t index = 0;    // physical order; kNoIndex last
  SpecId spec;
  NodeZones zones;
  uint64_t static_generation = 0;  // moves when anything that a NodeStatic predicate reads changes
  int refs = 0;                    // quota statuses and topologies that name it
  SpotPools pools;
  std::vector<std::string> mounts;      // ids of storage that is ready there, sorted
  std::vector<TaskId> tasks;            // pods on it, finished ones not, by id
  std::vector<TaskId> direct;           // claims on it that have no quota, by id
  std::vector<QuotaId> quotas;          // bound here, by id
  std::vector<QuotaId> planned_quotas;  // session: planned here, by id
  std::vector<ClassId> avoided;         // whose pods its kubelet refused, sorted
  std::vector<QuotaId> static_quotas;   // asked to be here, by id

  // derived: the two ledgers. Where amounts are what pods occupy, a spot pod occupies its cards too
  Resources used;            // by pods on it, all schedulers' (Idle = Allocatable − Used)
  Resources releasing;       // of those that are terminating
  Resources pledged;         // by tasks that are to come here: claims, and the session's plans
  Resources evictable;       // of `used`: by spot pods that may be asked to leave now
  SpotUse spot;              // what spot pods ask, those that are to come too
  Resources quota_requests;  // Σ requests of quotas bound here (QuotaIdle = Allocatable − that)
  Resources committed;       // Σ charges (planned ones too) + foreign pods + orphans

  static constexpr int64_t kNoIndex = INT64_MAX;

  bool exists() const { return object != nullptr; }
  bool usable() const {
    return exists() && ready && !unschedulable && !object->metadata.deleting();
  }
  Resources Idle() const { return allocatable - used; }
  Resources QuotaIdle() const { return allocatable - quota_requests; }
  Resources FutureIdle() const { return allocatable - used + releasing; }
  // What nobody uses or will.
  Resources Free() const { return allocatable - used - pledged; }
  // Spot pods use what is charged to nobody: what charges leave isn't all that counts.
  bool has_spot() const { return spot != SpotUse{}; }
  // What may really be placed here.
  Resources Room() const { return allocatable - committed; }
  ZoneId zone(Network network) const { return zones.of(network); }
  CellKey cell(Network network) const {
    return {network, zones.of(network), spec, zones.rails(network).has_value()};
  }
};

// Physical order: by index, then by name.
inline bool StandsBefore(const Node& one, const Node& other) {
  return one.index != other.index ? one.index < other.index : NaturalLess{}(one.name, other.name);
}

}  // namespace sky::model
