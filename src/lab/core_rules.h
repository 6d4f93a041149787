// SPDX-License-Identifier: Apache-2.0
// What the API server does to objects of the built-in kinds on their way in: defaults, what a
// client may not set or change, validation. Custom kinds have their schema and api::Validate. Pure,
// but for looking up other objects in the store.
#pragma once

#include <vector>

#include "lab/call.h"
#include "lab/failure.h"
#include "lab/resources.h"
#include "lab/store.h"

namespace sky::lab {

struct Surroundings {
  const Store& store;
  const Resources& resources;
  WallTime now;
};

// Drops what a create may not set (status) and fills in defaults. Refuses what admission refuses
// (403).
Done PrepareCreate(const Call& call, const Surroundings& around, Json& document);
// Keeps from `old` what this call may not change: status, or all but status.
void PrepareUpdate(const Call& call, const Json& old, Json& document);
// Every kind, custom ones too. `old` is null for a create.
std::vector<Cause> Check(const Resource& resource, const Json& document, const Json* old);

// An update without resourceVersion is taken for some kinds and refused (422) for others.
bool MayUpdateUnconditionally(const Resource& resource);

}  // namespace sky::lab
