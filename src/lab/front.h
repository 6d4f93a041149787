// SPDX-License-Identifier: Apache-2.0
// What stands between a server of requests (HTTP, or the virtual-clock driver) and the ApiServer:
// streams of watches, faults on request, the log of requests, the /lab paths. Thread-safe. The
// ApiServer must outlive it, and it every stream that it has begun.
#pragma once

#include <functional>
#include <memory>

#include "lab/api_server.h"
#include "server/http.h"

namespace sky::lab {

class Front {
 public:
  // Runs a task after a while, on whatever thread answers requests.
  using RunAfter = std::function<void(Duration, std::function<void()>)>;

  Front(ApiServer& api, const Clock& clock, RunAfter run_after)
      : api_(api), clock_(clock), run_after_(std::move(run_after)) {}

  void Serve(server::Request request, std::shared_ptr<server::Responder> responder);

 private:
  void ServeWatch(const server::Request& request, server::Responder& responder);

  ApiServer& api_;
  const Clock& clock_;
  const RunAfter run_after_;
};

}  // namespace sky::lab
