// SPDX-License-Identifier: Apache-2.0
// The rules of metadata, the same for every kind: names, labels, owners, finalizers, and which
// members belong to the server. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/rng.h"
#include "lab/call.h"
#include "lab/failure.h"

namespace sky::lab {

// Members of metadata that nobody knows ("metadata.labls"); they are removed.
std::vector<std::string> PruneMetadata(Json& document);
// `old` is null for a create.
std::vector<Cause> CheckMetadata(const Resource& resource, const Json& document, const Json* old);

// A random UUID (version 4) of the seeded generator.
std::string MakeUid(Rng& rng);
// The prefix, shortened where needed, and five random characters.
std::string MakeName(std::string_view prefix, Rng& rng);

// The object's own apiVersion, kind, name and namespace against what the request is about: filled
// in where missing, refused (400) where they differ.
Done TakeIdentity(const Call& call, Json& document);
// Members that only the server may change are taken from `old`; a foreign uid or a stale
// resourceVersion is a conflict (409).
Done TakeServerFields(const Call& call, const Json& old, Json& document);

}  // namespace sky::lab
