// SPDX-License-Identifier: Apache-2.0
// What the cache tells the scheduler: how much a delta matters, and which quota's status is out of
// date.
#pragma once

#include <string>

#include "api/crds.h"
#include "model/types.h"

namespace sky::cache {

// What a delta means to the scheduling loop.
enum class Effect {
  kNothing,   // nothing that we keep changed (a heartbeat, an echo of our own write)
  kQuiet,     // kept, but nobody can start because of it
  kRelevant,  // start a cycle
};

// What a quota's status should say and doesn't yet.
struct Picture {
  model::QuotaId quota;
  std::string name, uid, resource_version;
  api::QuotaStatus status;  // phase, nodeName, allocated, tasks: the members that we own
  api::ResourceList observed_allocated;
  std::string observed_node;
  bool heals = false;  // the node that the status names is contradicted by live pods
};

}  // namespace sky::cache
