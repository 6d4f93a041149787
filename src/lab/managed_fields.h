// SPDX-License-Identifier: Apache-2.0
// metadata.managedFields: which manager owns which fields of an object. Every write leaves its mark
// here; server-side apply decides by it what conflicts and what goes. Pure.
#pragma once

#include <string>
#include <vector>

#include "lab/call.h"
#include "lab/field_set.h"

namespace sky::lab {

struct FieldOwner {
  std::string name, operation, api_version, subresource, time;  // operation: Apply or Update
  FieldSet fields;
  bool SameAs(const FieldOwner& other) const {
    return name == other.name && operation == other.operation && api_version == other.api_version &&
           subresource == other.subresource;
  }
};

std::vector<FieldOwner> ReadOwners(const Json& document);
// None at all removes the member.
void WriteOwners(const std::vector<FieldOwner>& owners, Json& document);

// After a create, an update or one of the other patches: what changed from `old` (null for a
// create) to `document` belongs to the caller, and to nobody else any more.
void TrackUpdate(const Call& call, const Json* old, WallTime now, Json& document);

// Server-side apply of `config` (identity filled in) to `live` (null when it must be created): the
// merged document with its managers. 409 with a cause for each field that another manager owns,
// unless forced.
Answered<Json> Apply(const Call& call, const Json* live, Json config, WallTime now);

}  // namespace sky::lab
