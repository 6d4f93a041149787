// SPDX-License-Identifier: Apache-2.0
// The request target of HTTP ("/apis/g/v1/things/a%2Fb?watch=1") taken apart and decoded. Pure: no
// socket, no state. The server reads every target with it, and so does a fuzzer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sky::server {

struct Target {
  std::string path;  // as sent, without the query
  std::vector<std::string>
      segments;  // decoded, empty ones left out: a decoded "/" stays in its segment
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order

  // The first value of that name; nullopt when the query doesn't have it.
  std::optional<std::string_view> Query(std::string_view name) const;
  // The same, "" when absent.
  std::string_view QueryOr(std::string_view name) const { return Query(name).value_or(""); }
  bool HasQuery(std::string_view name) const { return Query(name).has_value(); }
};

// Refuses what no honest client sends: a target that doesn't begin with "/", a broken %-escape, a
// control character (plain or escaped), "." and ".." as segments.
Result<Target> ParseTarget(std::string_view text);

// The text with everything but unreserved characters escaped: what may stand in a segment or a
// query value.
std::string Escape(std::string_view text);

}  // namespace sky::server
