// SPDX-License-Identifier: Apache-2.0
#include "api/version.h"

namespace sky::api {
namespace {

bool IsNumber(std::string_view version) {
  return !version.empty() && (version.front() != '0' || version == "0") &&
         version.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::partial_ordering CompareVersions(std::string_view a, std::string_view b) {
  if (a == b) return std::partial_ordering::equivalent;
  if (!IsNumber(a) || !IsNumber(b)) return std::partial_ordering::unordered;
  return a.size() != b.size() ? a.size() <=> b.size() : a <=> b;
}

}  // namespace sky::api
