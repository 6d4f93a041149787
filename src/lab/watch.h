// SPDX-License-Identifier: Apache-2.0
// One watch: from a list of what is there (or from a revision on) every change of the selected
// objects, as the API server words it. Events are pushed into the sink while the server's lock is
// held, so the sink must only queue. Ends by its timeout, by Close(), or when the sink refuses.
#pragma once

#include <functional>
#include <string>

#include "base/rng.h"
#include "lab/call.h"
#include "lab/selection.h"
#include "lab/store.h"

namespace sky::lab {

struct WatchEvent {
  std::string type;    // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
  std::string object;  // its JSON, in the form that was asked for
  Revision revision = 0;

  // {"type":…,"object":…} and a newline
  std::string Line() const;
};

// False: take this watch away, nobody listens. A null event is the end of the watch.
using WatchSink = std::function<bool(const WatchEvent*)>;

struct WatchOptions {
  bool bookmarks = false;       // allowWatchBookmarks
  bool initial_events = false;  // sendInitialEvents: what is there, then a bookmark that says so
  bool from_now = false;        // no revision: what is there, then changes
  Revision from = 0;
  Duration timeout = Duration::zero();
};
// Refuses combinations that the API server refuses (422). Without timeoutSeconds the watch ends
// after 30 to 60 minutes.
Answered<WatchOptions> ReadWatchOptions(const Call& call, Revision current, Rng& rng);

class Watch {
 public:
  // `bookmark_every`: about a minute on a real server.
  Watch(Call call, Selection selection, WatchOptions options, Store& store, const Clock& clock,
        Duration bookmark_every, WatchSink sink);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Sends what is due by now: bookmarks, the end.
  void Tick();
  // When Tick() has something to do.
  MonoTime next_due() const;
  // Tells the sink that this is the end.
  void Close();
  bool closed() const { return closed_; }
  const Resource& resource() const { return *call_.resource; }

 private:
  void Begin();
  void OnEvent(const StoreEvent& event);
  void Send(std::string_view type, const Object& object, Revision revision);
  void SendBookmark(bool initial_events_end);
  void SendError(const Failure& failure);
  void Push(const WatchEvent& event);

  const server::Request request_;  // what call_ points to
  Call call_;
  const Selection selection_;
  const WatchOptions options_;
  Store& store_;
  const Clock& clock_;
  const Duration bookmark_every_;
  WatchSink sink_;
  Store::ListenerId listener_ = 0;
  MonoTime ends_, next_bookmark_;
  bool last_bookmark_sent_ = false;
  bool closed_ = false;
};

}  // namespace sky::lab
