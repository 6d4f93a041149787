// SPDX-License-Identifier: Apache-2.0
// Inside of the table: the cells of built-in kinds, in the order of their columns in resources.cc.
// Pure.
#pragma once

#include "base/clock.h"
#include "lab/document.h"
#include "lab/resources.h"

namespace sky::lab {

// A JSON list with one value a column.
Json BuiltInCells(const Resource& resource, const Json& object, WallTime now);

// The age of an RFC 3339 text: "<unknown>" when it isn't one.
std::string AgeOf(std::string_view time, WallTime now);

}  // namespace sky::lab
