// SPDX-License-Identifier: Apache-2.0
// What the cache tells the scheduler: how much a delta matters, which quota's status is out of
// date, and how groups stand.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "api/crds.h"
#include "model/types.h"

namespace sky::cache {

// What a delta means to the scheduling loop.
enum class Effect {
  kNothing,   // nothing that we keep changed (a heartbeat, an echo of our own write)
  kQuiet,     // kept, but nobody can start because of it
  kRelevant,  // start a cycle
};

// How a group's members stand, for what is said on it.
struct Standing {
  std::string key, namespace_, name, uid;
  std::vector<api::Condition> conditions;   // what its object says
  int32_t needed = 1, bound = 0, live = 0;  // bound ones may have succeeded, live ones have not
  int32_t could = 0;                        // have a place or may get one
  bool whole = false;                       // enough members are bound, in each role too
  bool waits = false;                       // a member has no place
  bool completed = false;                   // its phase says that it has ended
  bool leaving = false;                     // a member is on its way out
};

// The most that deploy/crds/quotas.yaml takes: what is more isn't shown. As many tasks as that are
// a megabyte, near the most that etcd stores in one object.
inline constexpr size_t kMostShownTasks = 4096;    // the first by namespace and name
inline constexpr size_t kMostShownResources = 64;  // of one task's request, the first by name

// What a quota's status should say and doesn't yet.
struct Picture {
  model::QuotaId quota;
  std::string name, uid, resource_version;
  api::QuotaStatus status;  // phase, nodeName, allocated, tasks: the members that we own
  api::ResourceList observed_allocated;
  std::string observed_node;
  // All of its conditions, where one of ours comes or goes.
  std::optional<std::vector<api::Condition>> conditions;
  bool heals = false;  // the node that the status names is contradicted by live pods
};

// The same of a queue: what its quotas add up to, by spec code.
struct QueuePicture {
  std::string name, uid;
  api::FlatMap<api::SpecAllocated> want, have;
};

// Puts the tasks in order and leaves out what is more than can be shown.
void ArrangeTasks(api::QuotaStatus& status);

}  // namespace sky::cache
