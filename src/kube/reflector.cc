// SPDX-License-Identifier: Apache-2.0
#include "kube/reflector.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "api/version.h"

namespace sky::kube {
namespace {

constexpr Duration kShortStream = std::chrono::seconds(1);
constexpr int kShortStreamsToRelist = 3;
constexpr int kSilentStreamsToRelist = 2;
// The server ends a watch by itself after 5 to 10 minutes, spread so that they don't all end
// together.
constexpr uint64_t kWatchSeconds = 300;

// Of one process's reflectors each has its own jitter.
uint64_t SeedOf(uint64_t seed, const api::Kind& kind) {
  for (const char c : kind.plural) seed = seed * 31 + static_cast<unsigned char>(c);
  return seed;
}

bool IsExpired(const ApiStatus& status) { return CodeOf(status) == Code::kExpired; }

bool WentBack(std::string_view from, std::string_view to) {
  return api::CompareVersions(to, from) < 0;
}

// Refusals that say nothing against the resourceVersion.
bool IsPassing(const ApiStatus& status) {
  return status.code == 429 || status.code == 401 || status.code == 403 || status.code == 408 ||
         status.code >= 500;
}

}  // namespace

Reflector::Reflector(RawClient& client, const api::Kind& kind, ReflectorOptions options,
                     ReflectorSink& sink)
    : client_(client),
      kind_(kind),
      options_(std::move(options)),
      sink_(sink),
      backoff_(SeedOf(options_.seed, kind)),
      rng_(SeedOf(options_.seed, kind) + 1),
      streaming_ok_(options_.streaming_list) {}

Reflector::~Reflector() { Stop(); }

void Reflector::Start() {
  client_.loop().Post(lifeline_.Guard([this] { List(); }));
}

void Reflector::Stop() {
  lifeline_.Cut();
  CloseStream();
  client_.loop().Cancel(timer_);
  mode_ = Mode::kStopped;
}

void Reflector::List() {
  ++stats_.lists;
  if (streaming_ok_ && !pages_next_)
    StreamList();
  else
    ListPages();
}

void Reflector::StreamList() {
  mode_ = Mode::kStreamingList;
  sink_.BeginReplace();
  Pairs query = WatchQuery();
  query.emplace_back("sendInitialEvents", "true");
  query.emplace_back("resourceVersionMatch", "NotOlderThan");
  OpenStream(std::move(query));
}

void Reflector::ListPages() {
  mode_ = Mode::kPages;
  pages_next_ = false;
  RawListCallbacks callbacks;
  callbacks.begin = lifeline_.Guard([this] { sink_.BeginReplace(); });
  callbacks.item = lifeline_.Guard([this](std::string_view object) { sink_.Upsert(object); });
  callbacks.done =
      lifeline_.Guard([this](Result<std::string> version) { OnPagesEnd(std::move(version)); });
  client_.List(kind_,
               {.ns = options_.ns,
                .label_selector = options_.label_selector,
                .field_selector = options_.field_selector,
                .page_size = options_.page_size},
               {.timeout = options_.page_timeout}, std::move(callbacks));
}

void Reflector::OnPagesEnd(Result<std::string> version) {
  if (!version) {
    Note(version.error().message());
    return Wait(version.error().retry_after(), &Reflector::List);
  }
  EndList(std::move(*version));
  if (mode_ == Mode::kPages) Watch();
}

void Reflector::EndList(std::string version) {
  const bool restarted = WentBack(version_, version);
  if (restarted)
    spdlog::warn("watch {}: the server's versions began anew: {} after {}", kind_.plural, version,
                 version_);
  version_ = std::move(version);
  sink_.EndReplace(restarted);
}

void Reflector::Watch() {
  ++stats_.watches;
  mode_ = Mode::kWatch;
  Pairs query = WatchQuery();
  query.emplace_back("resourceVersion", version_);
  OpenStream(std::move(query));
}

Pairs Reflector::Selection() const {
  Pairs query;
  if (!options_.label_selector.empty())
    query.emplace_back("labelSelector", options_.label_selector);
  if (!options_.field_selector.empty())
    query.emplace_back("fieldSelector", options_.field_selector);
  return query;
}

Pairs Reflector::WatchQuery() {
  Pairs query = Selection();
  query.emplace_back("watch", "1");
  query.emplace_back("allowWatchBookmarks", "true");
  query.emplace_back("timeoutSeconds",
                     fmt::format("{}", kWatchSeconds + rng_.Below(kWatchSeconds + 1)));
  return query;
}

void Reflector::OpenStream(Pairs query) {
  const uint64_t number = ++stream_count_;
  lines_.Reset();
  stream_began_ = last_bytes_ = client_.loop().Now();
  stream_progress_ = false;
  stream_silent_ = true;
  StreamCallbacks callbacks;
  callbacks.on_bytes = lifeline_.Guard([this, number](std::string_view bytes) {
    if (number == stream_count_ && stream_ != 0) OnBytes(bytes);
  });
  callbacks.on_end = lifeline_.Guard([this, number](Result<Response> end) {
    if (number == stream_count_ && stream_ != 0) OnStreamEnd(std::move(end));
  });
  Request request;
  request.path = kind_.Path(options_.ns, "");
  request.query = std::move(query);
  stream_ = client_.transport().Open(std::move(request), std::move(callbacks));
  CheckSilence(number);
}

void Reflector::CloseStream() {
  if (stream_ != 0) client_.transport().Close(std::exchange(stream_, 0));
  client_.loop().Cancel(silence_timer_);
}

void Reflector::OnBytes(std::string_view bytes) {
  last_bytes_ = client_.loop().Now();
  stream_silent_ = false;
  silent_streams_ = 0;
  const Status fed = lines_.Feed(bytes, [this](std::string_view line) { return OnLine(line); });
  if (!fed) {
    CloseStream();
    Relist(fed.error().message());
  }
}

bool Reflector::OnLine(std::string_view line) {
  const Result<WatchEvent> event = ParseWatchLine(line);
  if (!event) {
    // Nobody knows what was lost with it, so the position isn't to be trusted.
    CloseStream();
    Relist(event.error().message());
    return false;
  }
  ++stats_.events;
  switch (event->type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
    case WatchEvent::Type::kDeleted:
      OnChange(*event);
      break;
    case WatchEvent::Type::kBookmark:
      OnBookmark(*event);
      break;
    case WatchEvent::Type::kError:
      CloseStream();
      OnRefusal(ParseApiStatusObject(event->object));
      break;
    case WatchEvent::Type::kUnknown:
      spdlog::warn("watch {}: an event of the unknown type \"{}\" is skipped", kind_.plural,
                   event->type_text);
  }
  return stream_ != 0;
}

void Reflector::OnChange(const WatchEvent& event) {
  std::string version = event.type == WatchEvent::Type::kDeleted ? sink_.Remove(event.object)
                                                                 : sink_.Upsert(event.object);
  // The initial events of a streaming list come in no order: their versions are no position.
  if (mode_ == Mode::kWatch && !version.empty()) MoveTo(std::move(version));
}

void Reflector::MoveTo(std::string version) {
  if (WentBack(version_, version)) {
    // A watch tells the changes in their order, so this is another life of the server (a restored
    // backup, another server under the address): nobody knows what it did before.
    CloseStream();
    return Relist(fmt::format("version {} after {}", version, version_));
  }
  stream_progress_ = stream_progress_ || version != version_;
  version_ = std::move(version);
}

void Reflector::OnBookmark(const WatchEvent& event) {
  const Result<api::ObjectMeta> meta = ParseMeta(event.object);
  if (!meta || meta->resource_version.empty())
    return Note("a bookmark without resourceVersion is skipped");
  const bool ends_list =
      mode_ == Mode::kStreamingList && meta->Annotation(kInitialEventsEnd) == "true";
  if (mode_ == Mode::kWatch) {
    MoveTo(meta->resource_version);
  } else if (ends_list) {
    stream_progress_ = true;
    mode_ = Mode::kWatch;
    EndList(meta->resource_version);
  }
}

void Reflector::OnStreamEnd(Result<Response> end) {
  stream_ = 0;
  client_.loop().Cancel(silence_timer_);
  if (end && !end->ok()) {
    ApiStatus status = ParseApiStatus(end->status, end->body);
    status.retry_after = std::max(status.retry_after, end->retry_after);
    return OnRefusal(status);
  }
  if (!end && end.error().code() == Code::kCancelled) return Stop();  // the client was shut down
  if (end || !stream_silent_) return OnEndOfStream();  // cut or complete: the same to a watch
  Note(end.error().message());
  if (mode_ == Mode::kWatch) return Wait(end.error().retry_after(), &Reflector::Watch);
  pages_next_ = end.error().code() != Code::kUnavailable;
  Wait(end.error().retry_after(), &Reflector::List);
}

void Reflector::OnEndOfStream() {
  if (mode_ == Mode::kStreamingList) {
    Note("the streaming list broke off");
    pages_next_ = true;
    return Wait({}, &Reflector::List);
  }
  if (stream_progress_ || client_.loop().Now() - stream_began_ >= kShortStream) {
    short_streams_ = 0;
    return Watch();
  }
  if (++short_streams_ >= kShortStreamsToRelist) {
    short_streams_ = 0;
    return Relist("streams end at once");
  }
  Note("the stream ended at once");
  Wait({}, &Reflector::Watch);
}

// One timer a stream, which looks how long ago the last byte came.
void Reflector::CheckSilence(uint64_t stream) {
  if (stream != stream_count_ || stream_ == 0) return;
  const bool listing = mode_ == Mode::kStreamingList;
  const MonoTime limit = last_bytes_ + (listing ? options_.list_silence : options_.silence);
  if (client_.loop().Now() < limit) {
    silence_timer_ =
        client_.loop().RunAt(limit, lifeline_.Guard([this, stream] { CheckSilence(stream); }));
    return;
  }
  CloseStream();
  if (listing) {
    Note("no end of the initial events comes: lists by pages from now on");
    streaming_ok_ = false;
    return List();
  }
  // A server that went back in time (a restored backup) is silent about a version it hasn't reached
  // yet.
  if (stream_silent_ && ++silent_streams_ >= kSilentStreamsToRelist) {
    silent_streams_ = 0;
    return Relist("streams stay silent");
  }
  Watch();
}

void Reflector::OnRefusal(const ApiStatus& status) {
  const Error error = ToError(status);
  if (mode_ == Mode::kWatch) {
    if (IsExpired(status) || !IsPassing(status) || status.Has("ResourceVersionTooLarge"))
      return Relist(error.message());
    Note(error.message());
    return Wait(status.retry_after, &Reflector::Watch);
  }
  Note(error.message());
  if (options_.on_refused && (status.code == 403 || status.code == 404))
    options_.on_refused(error.message());
  if (!IsExpired(status) && !IsPassing(status) && status.code != 404) {
    streaming_ok_ = false;  // it doesn't know what was asked
    return List();
  }
  pages_next_ = status.code >= 500;
  Wait(status.retry_after, &Reflector::List);
}

void Reflector::Relist(std::string_view why) {
  ++stats_.relists;
  Note(why);
  Wait({}, &Reflector::List);
}

void Reflector::Wait(Duration at_least, Step next) {
  mode_ = Mode::kWaiting;
  const Duration wait = std::max(backoff_.Next(client_.loop().Now()), at_least);
  timer_ = client_.loop().RunAfter(wait, lifeline_.Guard([this, next] { (this->*next)(); }));
}

void Reflector::Note(std::string_view what) {
  ++stats_.errors;
  spdlog::warn("watch {}: {}", kind_.plural, what);
}

}  // namespace sky::kube
