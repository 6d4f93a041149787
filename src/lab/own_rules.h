// SPDX-License-Identifier: Apache-2.0
// What CEL rules say on a real API server about the kinds of scheduling.infini-ai.com:
// api::Validate. Pure.
#pragma once

#include <vector>

#include "lab/failure.h"
#include "lab/resources.h"

namespace sky::lab {

// Adds what is wrong; nothing for other kinds. The document has passed its schema.
void CheckOwnKind(const Resource& resource, const Json& document, std::vector<Cause>& out);

}  // namespace sky::lab
