// SPDX-License-Identifier: Apache-2.0
// A small HTTP/1.1 server: the embedded API server's front, and /healthz, /readyz, /metrics of the
// programs. Handlers run on the server's own threads (one by default) and must not block; an answer
// may come later from any thread. Stop() or the destructor ends everything; do so before what
// handlers use dies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "server/http.h"

namespace sky::server {

struct HttpServerOptions {
  std::string address = "127.0.0.1:0";  // port 0: any free one, see port()
  int threads = 1;
  size_t max_body_bytes = 3u << 20;     // more is answered with 413
  size_t max_header_bytes = 64u << 10;  // more is answered with 431
  size_t max_backlog_bytes =
      64u << 20;  // of a stream whose reader is slow: beyond it the stream is cut
  Duration idle_timeout = std::chrono::minutes(2);  // between requests, and while one is being read
  Duration write_timeout = std::chrono::seconds(60);  // for a peer that takes nothing
};

class HttpServer {
 public:
  // Listens and serves from now on.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  std::string address() const;  // "127.0.0.1:43121"

  // Runs `task` on a server thread after `wait`; never after Stop().
  void RunAfter(Duration wait, std::function<void()> task);

  // Takes no new connection, ends streams, lets answers in the making finish for up to `grace`,
  // then closes. Not to be called on a server thread. Calling it again does nothing.
  void Stop(Duration grace = std::chrono::seconds(1));

 private:
  class Core;
  explicit HttpServer(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace sky::server
