// SPDX-License-Identifier: Apache-2.0
#include "lab/watch.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "lab/events_view.h"
#include "lab/reader.h"

namespace sky::lab {
namespace {

// A bookmark this long before the end spares the client a relist.
constexpr Duration kLastBookmark = std::chrono::seconds(2);

Failure WrongOptions(std::string field, std::string_view why) {
  return Invalid({"meta.k8s.io", "", "ListOptions", ""}, {ForbiddenField(std::move(field), why)});
}

}  // namespace

std::string WatchEvent::Line() const {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

Answered<WatchOptions> ReadWatchOptions(const Call& call, Revision current, Rng& rng) {
  WatchOptions options;
  const auto flag = [&](std::string_view name) {
    return call.Query(name) == "true" || call.Query(name) == "1";
  };
  options.bookmarks = flag("allowWatchBookmarks");
  options.initial_events = flag("sendInitialEvents");
  options.from = TRY(ParseRevision(call.Query("resourceVersion")));
  options.from_now = options.from == 0 || options.initial_events;
  const std::string_view match = call.Query("resourceVersionMatch");
  const bool asked = call.request->target.HasQuery("sendInitialEvents");
  if (!asked && !match.empty())
    return std::unexpected(WrongOptions(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  if (asked && match != "NotOlderThan")
    return std::unexpected(
        WrongOptions("resourceVersionMatch",
                     "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  if (asked && !options.initial_events && options.from == 0) {
    options.from = current;  // what is there isn't wanted
    options.from_now = false;
  }
  // A real server lets a plain watch hang until it is there, which makes a client blind that knows
  // another life of this server: it is better told.
  if (options.from > current) return std::unexpected(TooLargeVersion(options.from, current));
  const std::string_view seconds = call.Query("timeoutSeconds");
  int64_t count = 0;
  if (!seconds.empty()) {
    const char* end = seconds.data() + seconds.size();
    if (const auto [at, bad] = std::from_chars(seconds.data(), end, count);
        bad != std::errc{} || at != end || count < 0 || count > 1'000'000)
      return std::unexpected(
          BadRequest(fmt::format("timeoutSeconds: Invalid value: \"{}\"", seconds)));
  }
  if (count == 0) count = 1800 + static_cast<int64_t>(rng.Below(1800));
  options.timeout = std::chrono::seconds(count);
  return options;
}

Watch::Watch(Call call, Selection selection, WatchOptions options, Store& store, const Clock& clock,
             Duration bookmark_every, WatchSink sink)
    : request_(*call.request),
      call_(std::move(call)),
      selection_(std::move(selection)),
      options_(options),
      store_(store),
      clock_(clock),
      bookmark_every_(bookmark_every),
      sink_(std::move(sink)),
      ends_(clock.Mono() + options.timeout),
      next_bookmark_(clock.Mono() + bookmark_every) {
  call_.request = &request_;
  Begin();
}

Watch::~Watch() {
  if (listener_ != 0) store_.Unlisten(listener_);
}

void Watch::Begin() {
  const KindId kind = call_.resource->stored_as;
  if (options_.from_now) {
    const auto present = store_.ListNow(kind, selection_.ns());
    for (const ObjectPtr& object : present)
      if (selection_.Matches(*object)) Send("ADDED", *object, object->revision);
    if (options_.initial_events && options_.bookmarks) SendBookmark(true);
  } else {
    const auto missed = store_.EventsAfter(kind, options_.from);
    if (!missed) return SendError(Expired(missed.error().message()));
    for (const StoreEvent& event : *missed) OnEvent(event);
  }
  listener_ = store_.Listen(kind, [this](const StoreEvent& event) { OnEvent(event); });
}

void Watch::OnEvent(const StoreEvent& event) {
  if (closed_ || (!options_.from_now && event.revision <= options_.from)) return;
  const bool is = event.type != StoreEvent::Type::kDeleted && selection_.Matches(*event.object);
  const bool was = event.old != nullptr && selection_.Matches(*event.old);
  if (is) return Send(was ? "MODIFIED" : "ADDED", *event.object, event.revision);
  if (!was) return;
  if (event.type == StoreEvent::Type::kDeleted)
    return Send("DELETED", *event.object, event.revision);
  // Gone only for this selection: the last state that it matched, stamped with when it left.
  auto document = ParseJson(event.old->text);
  MapAt(*document, {"metadata"})["resourceVersion"] = std::to_string(event.revision);
  Object left = *event.old;
  left.text = Dump(*document);
  Send("DELETED", left, event.revision);
}

void Watch::Send(std::string_view type, const Object& object, Revision revision) {
  Push({std::string(type), Render(call_, object, clock_.Wall()), revision});
}

void Watch::SendBookmark(bool initial_events_end) {
  Json metadata = {{"resourceVersion", std::to_string(store_.revision())},
                   {"creationTimestamp", nullptr}};
  if (initial_events_end) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  Push({"BOOKMARK",
        Dump({{"kind", call_.resource->kind},
              {"apiVersion", call_.resource->ApiVersion()},
              {"metadata", std::move(metadata)}}),
        store_.revision()});
}

void Watch::SendError(const Failure& failure) {
  Push({"ERROR", Dump(ToStatus(failure)), 0});
  Close();
}

void Watch::Push(const WatchEvent& event) {
  if (!closed_ && !sink_(&event)) closed_ = true;
}

void Watch::Close() {
  if (std::exchange(closed_, true)) return;
  sink_(nullptr);
}

MonoTime Watch::next_due() const {
  if (closed_ || !options_.bookmarks) return ends_;
  return std::min({ends_, next_bookmark_, last_bookmark_sent_ ? ends_ : ends_ - kLastBookmark});
}

void Watch::Tick() {
  const MonoTime now = clock_.Mono();
  if (closed_) return;
  const bool last = !last_bookmark_sent_ && now >= ends_ - kLastBookmark;
  if (options_.bookmarks && (last || now >= next_bookmark_)) {
    SendBookmark(false);
    last_bookmark_sent_ = last_bookmark_sent_ || last;
    next_bookmark_ = now + bookmark_every_;
  }
  if (now >= ends_) Close();
}

}  // namespace sky::lab
