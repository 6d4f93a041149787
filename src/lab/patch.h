// SPDX-License-Identifier: Apache-2.0
// The three patches that don't know who owns what: JSON Patch (RFC 6902), merge patch (RFC 7386),
// and Kubernetes' strategic merge for built-in kinds. Pure. Server-side apply is in apply.h.
#pragma once

#include "lab/failure.h"
#include "lab/resources.h"

namespace sky::lab {

Answered<Json> ApplyJsonPatch(const Json& document, const Json& patch);
Json ApplyMergePatch(Json document, const Json& patch);
Answered<Json> ApplyStrategicPatch(const Resource& resource, Json document, const Json& patch);

}  // namespace sky::lab
