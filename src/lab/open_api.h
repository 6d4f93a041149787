// SPDX-License-Identifier: Apache-2.0
// OpenAPI v3 as far as kubectl reads it: apply asks whether a kind takes fieldValidation, explain
// reads the schemas of the CRDs. Built-in kinds have a stub each. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/resources.h"

namespace sky::lab {

Json OpenApiIndex(const Resources& resources);
// `path` is what follows /openapi/v3/: {"api", "v1"} or {"apis", group, version}.
std::optional<Json> OpenApiDocument(const Resources& resources,
                                    const std::vector<std::string>& path);

}  // namespace sky::lab
