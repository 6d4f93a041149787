// SPDX-License-Identifier: Apache-2.0
// Inside of server-side apply: a document's next level, by the names that field sets use. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/document.h"
#include "lab/merge_types.h"

namespace sky::lab {

// Whether the value is owned piece by piece: a granular map, a keyed list or a set.
bool IsGranular(const Json& value, const MergeType& type);

struct Element {
  std::string name;  // "f:spec", "k:{…}", "v:…"
  const Json* value = nullptr;
};
// Of a granular value. An item of a set has no value of its own.
std::vector<Element> Elements(const Json& value, const MergeType& type);
// The type below the element of that name.
MergeType Below(const MergeType& type, const std::string& element);

}  // namespace sky::lab
