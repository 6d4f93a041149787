// SPDX-License-Identifier: Apache-2.0
// Bytes of a watch, cut anywhere, down to the objects of an informer; the same bytes as a list, as
// a Status. Whatever comes: no crash, the same lines however they are cut, and a store that adds
// up.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.h"
#include "base/check.h"
#include "kube/api_status.h"
#include "kube/object_store.h"
#include "kube/watch_decoder.h"

namespace {

using namespace sky::kube;

std::vector<std::string> Lines(std::string_view bytes, size_t chunk) {
  std::vector<std::string> lines;
  LineSplitter splitter;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(chunk, bytes.size()))) {
    const sky::Status fed = splitter.Feed(bytes.substr(0, chunk), [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    SKY_CHECK(fed.has_value());
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<std::string> lines = Lines(bytes, 1 + data[0] % 64);
  SKY_CHECK(lines == Lines(bytes, bytes.size() + 1));

  int64_t objects = 0;
  InformerCallbacks<sky::api::Queue> callbacks;
  callbacks.on_delta = [&](const sky::api::Delta<sky::api::Queue>& delta) {
    using Type = sky::api::Delta<sky::api::Queue>::Type;
    objects += delta.type == Type::kAdd ? 1 : delta.type == Type::kDelete ? -1 : 0;
  };
  ObjectStore<sky::api::Queue> store(std::move(callbacks));
  for (const std::string& line : lines) {
    const auto event = ParseWatchLine(line);
    if (!event) continue;
    SKY_CHECK(event->object.data() >= line.data() &&
              event->object.data() + event->object.size() <= line.data() + line.size());
    (void)ParseMeta(event->object);
    (void)ToError(ParseApiStatusObject(event->object));
    switch (event->type) {
      case WatchEvent::Type::kAdded:
      case WatchEvent::Type::kModified:
        store.Upsert(event->object);
        break;
      case WatchEvent::Type::kDeleted:
        store.Remove(event->object);
        break;
      case WatchEvent::Type::kBookmark:
        store.BeginReplace();
        break;
      case WatchEvent::Type::kError:
      case WatchEvent::Type::kUnknown:
        break;
    }
  }
  SKY_CHECK(objects == static_cast<int64_t>(store.objects().size()));
  if (const auto page = ParseListPage(bytes))
    for (const std::string_view item : page->items) (void)sky::api::Decode<sky::api::Queue>(item);
  (void)ToError(Response{500, {}, std::string(bytes)});
  return 0;
}
