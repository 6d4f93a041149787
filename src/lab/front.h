// SPDX-License-Identifier: Apache-2.0
// What stands between a server of requests (HTTP, or the virtual-clock driver) and the ApiServer:
// streams of watches, faults on request, the log of requests, and the /lab paths that steer both:
//
//   GET, POST, DELETE /lab/faults          list, add (YAML or JSON), clear and let held events go
//   POST /lab/compact                      forgets history: older watches and lists get 410
//   POST /lab/cut-watches?resource=pods    closes their connections; all of them without a resource
//   GET  /lab/requests?after=12            what was asked, by whom, and the answer's code
//
// Thread-safe. The ApiServer must outlive it, and it every stream that it has begun.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "lab/api_server.h"
#include "lab/faults.h"
#include "lab/watch_pipe.h"
#include "server/http.h"

namespace sky::lab {

class Front {
 public:
  // Runs a task after a while, on whatever thread answers requests.
  using RunAfter = WatchPipe::RunAfter;
  // What a fault with `exit` does.
  using Exit = std::function<void(int code)>;

  Front(ApiServer& api, const Clock& clock, RunAfter run_after, Exit exit);

  void Serve(server::Request request, std::shared_ptr<server::Responder> responder);
  Faults& faults() { return faults_; }
  // Ends faults, and tells what watches held back.
  void ClearFaults();
  void CutWatches(std::string_view resource);
  // What GET /lab/requests answers.
  std::string Log(int64_t after) const;

 private:
  using ResponderPtr = std::shared_ptr<server::Responder>;
  struct Seen {
    int64_t number = 0;
    WallTime at;
    FaultFacts facts;
    int code = 0;  // 0: not answered, or a watch that has begun
  };
  void Carry(const server::Request& request, const FaultFacts& facts, const Fault& fault,
             MonoTime received, const ResponderPtr& responder);
  void ServeWatch(const server::Request& request, const FaultFacts& facts,
                  server::Responder& responder);
  server::Response Steer(const server::Request& request);
  void Note(const FaultFacts& facts, int code);

  ApiServer& api_;
  const Clock& clock_;
  const RunAfter run_after_;
  const Exit exit_;
  Faults faults_;
  mutable std::mutex mutex_;
  std::list<std::weak_ptr<WatchPipe>> pipes_;
  std::deque<Seen> seen_;
  int64_t next_number_ = 1;
};

}  // namespace sky::lab
