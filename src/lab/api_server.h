// SPDX-License-Identifier: Apache-2.0
// The embedded Kubernetes API server: everything behind HTTP, in process and synchronous. The HTTP
// front and the virtual-clock driver both call it with the same requests. Thread-safe by one lock;
// sinks of watches are called while it is held. Deterministic: time comes from the clock, uids and
// names from the seed.
//
//   Request → Understand → Reader | Writer | Pods | Watch → Store → listeners → sinks
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/rng.h"
#include "lab/collector.h"
#include "lab/pods.h"
#include "lab/reader.h"
#include "lab/resources.h"
#include "lab/store.h"
#include "lab/watch.h"
#include "lab/writer.h"
#include "server/http.h"

namespace sky::lab {

struct ApiServerOptions {
  uint64_t seed = 1;
  size_t history_limit = 100'000;  // events that watches can still be told
  // A server that clients may know from an earlier life must begin above all that it had then.
  Revision first_revision = 1;
  Duration bookmark_every = std::chrono::seconds(60);
  bool garbage_collector =
      false;  // deletes what lost its owners, and the content of deleted namespaces
  bool disruption_controller = false;  // counts disruption budgets
};

class ApiServer {
 public:
  // Starts with the namespaces and priority classes that every cluster has. EmbeddedKinds() are
  // ours.
  ApiServer(ApiServerOptions options, const Clock& clock, const CustomKinds& kinds);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  bool IsWatch(const server::Request& request) const;
  // Anything but a watch. `received`: when the request arrived, if not now; its `timeout` counts
  // from there.
  server::Response Handle(const server::Request& request);
  server::Response Handle(const server::Request& request, MonoTime received);

  // A watch lives until its id is given to Unwatch() or the sink was told the end.
  using WatchId = uint64_t;
  Answered<WatchId> StartWatch(const server::Request& request, WatchSink sink);
  void Unwatch(WatchId id);

  // Does what is due: bookmarks, ends of watches, the controllers that were asked for. Call it when
  // time has passed; next_due() says by when at the latest.
  void Tick();
  MonoTime next_due() const;

  Revision revision() const;
  // Forgets all history: older watches and lists get 410.
  void Compact();
  // Ends every watch properly, as a server does that restarts.
  void CloseWatches();
  // Safe without the lock: never changes.
  const Resources& resources() const { return resources_; }

 private:
  void Populate(const CustomKinds& kinds);
  Answered<server::Response> Serve(const server::Request& request, MonoTime received);
  Answered<server::Response> Dispatch(const Call& call);
  void DropClosedWatches();

  const ApiServerOptions options_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  Rng rng_;
  Store store_;
  const Resources resources_;
  Reader reader_;
  Writer writer_;
  Pods pods_;
  Collector collector_;
  std::map<WatchId, std::unique_ptr<Watch>> watches_;
  WatchId next_watch_ = 1;
  Revision counted_at_ = 0;  // the budgets
};

}  // namespace sky::lab
