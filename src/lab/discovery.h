// SPDX-License-Identifier: Apache-2.0
// What a client asks before it knows anything: /api, /apis (aggregated and classic), /version,
// /openapi/v3. Pure: the answers follow from the table of resources.
#pragma once

#include <optional>

#include "lab/resources.h"
#include "server/http.h"

namespace sky::lab {

// nullopt when the path is none of these.
std::optional<server::Response> Discover(const Resources& resources,
                                         const server::Request& request);

}  // namespace sky::lab
