// SPDX-License-Identifier: Apache-2.0
// Keeps one collection of the API server in view: list, then watch, for ever. Knows no types: it
// hands raw objects to a ReflectorSink (kube/object_store.h decodes and compares them) and owns
// every rule about resourceVersions, bookmarks, cut streams, 410, 429 and back-off. Lives on the
// transport's loop.
//
//              not done here, or it broke off
//   Start ─► streaming list ─────────────► pages of 500 ─┐
//    ▲          │ initial-events-end                     │ last page
//    │          ▼                                        │
//    │       watching ◄──────────────────────────────────┘
//    │        │   └─► end of stream, 429, 5xx, refused, 401, 403: the same resourceVersion again,
//    at once │        │       after a stream that brought something or lasted a second, else after
//    back-off └────────┘ 410, other 4xx, too large a version, a lower version than the last one,
//                        long silence, short streams in a row: after back-off
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "api/kinds.h"
#include "base/rng.h"
#include "kube/backoff.h"
#include "kube/raw_client.h"
#include "kube/transport.h"
#include "kube/watch_decoder.h"

namespace sky::kube {

class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // A whole new set begins; what was collected of an unfinished one is dropped.
  virtual void BeginReplace() = 0;
  // The new set is complete: what isn't in it is gone. `restarted`: the server's versions began
  // anew, so that even an object with a version that is known may be another one.
  virtual void EndReplace(bool restarted) = 0;
  // Between Begin and End: of the new set; else a change of the present one. Returns the object's
  // resourceVersion, "" when it can't be read.
  virtual std::string Upsert(std::string_view object) = 0;
  virtual std::string Remove(std::string_view object) = 0;
};

struct ReflectorOptions {
  std::string ns = {};  // empty: all
  std::string label_selector = {}, field_selector = {};
  bool streaming_list = true;
  int64_t page_size = 500;
  Duration page_timeout = std::chrono::seconds(60);
  // A stream without a byte for so long is begun again (bookmarks come every minute); within a
  // streaming list it means that the server doesn't do those.
  Duration silence = std::chrono::minutes(3);
  Duration list_silence = std::chrono::seconds(10);
  uint64_t seed = 1;  // of the jitter
  // A list was refused with 403 or 404: we may not read it, or it isn't served. It is tried again.
  std::function<void(const std::string& why)> on_refused = {};
};

// Readable from any thread.
struct ReflectorStats {
  std::atomic<uint64_t> lists{0}, watches{0}, relists{0}, events{0}, errors{0};
};

class Reflector {
 public:
  Reflector(RawClient& client, const api::Kind& kind, ReflectorOptions options,
            ReflectorSink& sink);
  ~Reflector();  // on the loop and not inside the sink, or when the loop has ended
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void Start();  // from any thread, once
  void Stop();   // on the loop, also inside the sink, which isn't called any more afterwards

  const ReflectorStats& stats() const { return stats_; }

 private:
  enum class Mode { kStopped, kStreamingList, kPages, kWatch, kWaiting };
  using Step = void (Reflector::*)();

  void List();
  void StreamList();
  void ListPages();
  void OnPagesEnd(Result<std::string> version);
  void EndList(std::string version);
  void Watch();

  void OpenStream(Pairs query);
  void CloseStream();
  void OnBytes(std::string_view bytes);
  bool OnLine(std::string_view line);  // false: the stream was given up
  void OnChange(const WatchEvent& event);
  void OnBookmark(const WatchEvent& event);
  void MoveTo(std::string version);  // may give the stream up
  void OnStreamEnd(Result<Response> end);
  void OnEndOfStream();
  void CheckSilence(uint64_t stream);

  void OnRefusal(const ApiStatus& status);
  void Relist(std::string_view why);
  void Wait(Duration at_least, Step next);
  void Note(std::string_view what);  // counts and logs a failure

  Pairs Selection() const;
  Pairs WatchQuery();

  RawClient& client_;
  const api::Kind& kind_;
  const ReflectorOptions options_;
  ReflectorSink& sink_;
  ReflectorStats stats_;
  Lifeline lifeline_;
  Backoff backoff_;
  Rng rng_;

  Mode mode_ = Mode::kStopped;
  std::string version_;        // the position in the collection's history: opaque
  bool streaming_ok_;          // false once the server showed that it doesn't do streaming lists
  bool pages_next_ = false;    // the last streaming list broke off: not again for the next try
  StreamId stream_ = 0;        // 0: none
  uint64_t stream_count_ = 0;  // tells the callbacks of a stream that was given up
  LineSplitter lines_;
  MonoTime stream_began_, last_bytes_;
  bool stream_progress_ = false;  // it moved version_
  bool stream_silent_ = true;
  int short_streams_ = 0, silent_streams_ = 0;  // in a row
  TimerId timer_ = 0, silence_timer_ = 0;
};

}  // namespace sky::kube
