// SPDX-License-Identifier: Apache-2.0
// The order of resourceVersions, for clients that must know whether a server went back or whether
// their own write has come round. Pure.
#pragma once

#include <compare>
#include <string_view>

namespace sky::api {

// Of two resourceVersions of one collection, which came first, as Kubernetes defines it: decimal
// numbers of any length. Unordered when they differ and one is no such number.
std::partial_ordering CompareVersions(std::string_view a, std::string_view b);

}  // namespace sky::api
