// SPDX-License-Identifier: Apache-2.0
// meta.k8s.io/v1 Table: what kubectl get prints, for lists and for each event of a watch. Custom
// kinds by the printer columns of their CRD, built-in ones by the columns that kubectl users know.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "lab/document.h"
#include "lab/resources.h"

namespace sky::lab {

// What each row carries besides its cells (query includeObject; metadata by default).
enum class RowObject : uint8_t { kNone, kMetadata, kWhole };
RowObject RowObjectOf(std::string_view query);

// {"columnDefinitions": …, "rows": […]} without list metadata. `now` is what ages are counted to.
Json MakeTable(const Resource& resource, const std::vector<Json>& objects, RowObject row_object,
               WallTime now);

// {"kind": "PartialObjectMetadata", …}
Json PartialMetadata(const Json& object);

// "5m", "2d3h": an age as kubectl writes it.
std::string HumanAge(Duration age);

}  // namespace sky::lab
