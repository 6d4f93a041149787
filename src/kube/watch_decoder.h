// SPDX-License-Identifier: Apache-2.0
// The bytes of a watch and of a list, taken apart: lines out of chunks, events out of lines, items
// out of a list. Pure: no object is decoded here, each stays the JSON that it came as. Fuzzed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta.h"
#include "base/result.h"

namespace sky::kube {

// Cuts a stream into lines at '\n', however it is split into chunks. Empty lines and a '\r' before
// the end are dropped; a line that never ended is never handed out.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line = size_t{64} << 20) : max_line_(max_line) {}

  // Calls on_line(std::string_view) for each line that is complete now; it returns false to stop,
  // and what follows is dropped. A longer line than allowed is an error, and the stream is then of
  // no use.
  template <class F>
  Status Feed(std::string_view bytes, F&& on_line) {
    while (!bytes.empty()) {
      const size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      if (rest_.size() + part.size() > max_line_)
        return Fail(Code::kInvalid, "a line of the watch is longer than {} bytes", max_line_);
      if (end == std::string_view::npos) {
        rest_ += part;
        return {};
      }
      bytes.remove_prefix(end + 1);
      if (!Emit(part, on_line)) return {};
    }
    return {};
  }

  // Bytes of a line whose end hasn't come.
  size_t pending() const { return rest_.size(); }
  void Reset() { rest_.clear(); }

 private:
  template <class F>
  bool Emit(std::string_view part, F&& on_line) {
    std::string whole;
    if (!rest_.empty()) {
      whole = std::exchange(rest_, {}).append(part);
      part = whole;
    }
    if (part.ends_with('\r')) part.remove_suffix(1);
    return part.empty() || on_line(part);
  }

  size_t max_line_;
  std::string rest_;
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError, kUnknown };
  Type type = Type::kUnknown;
  std::string type_text;
  std::string_view object;  // JSON, inside the line
};

// {"type": …, "object": {…}}, members in any order, others ignored. An error: not such a thing.
Result<WatchEvent> ParseWatchLine(std::string_view line);

// metadata of any object; that of a bookmark has only a resourceVersion.
Result<api::ObjectMeta> ParseMeta(std::string_view object);
// The annotation on the bookmark that ends a streaming list.
inline constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

struct ListPage {
  std::vector<std::string_view> items;  // JSON, inside the text
  std::string resource_version;
  std::string continue_token;  // empty on the last page
};
Result<ListPage> ParseListPage(std::string_view text);

}  // namespace sky::kube
