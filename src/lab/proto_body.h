// SPDX-License-Identifier: Apache-2.0
// Request bodies in Kubernetes' protobuf, as Go programs (kubectl create namespace) send them for
// built-in kinds: the few kinds that people make by hand, turned into the JSON that they stand for.
// Answers are always JSON, which those programs accept. Pure.
#pragma once

#include <string_view>

#include "lab/document.h"

namespace sky::lab {

inline constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

// Refuses kinds that aren't in the table, and bytes that aren't such a message. Members that the
// table doesn't have are left out.
Result<Json> ParseProtobuf(std::string_view body);

}  // namespace sky::lab
