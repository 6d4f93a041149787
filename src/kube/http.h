// SPDX-License-Identifier: Apache-2.0
// The Transport over sockets: libcurl on one I/O thread of its own. Unary requests share a bounded
// pool of HTTP/1.1 keep-alive connections; what exceeds it waits in order. Streams (watches) have a
// pool of their own and ask for HTTP/2 where there is TLS. Adds User-Agent and credentials; after a
// 401 the token is read again and the request sent once more. Nothing else is ever sent twice: a
// write that libcurl would repeat on a fresh connection fails with kUnknownOutcome instead.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kube/kubeconfig.h"
#include "kube/transport.h"

namespace sky::kube {

struct HttpOptions {
  std::string program = "sky-scheduler";  // begins the User-Agent
  size_t max_in_flight = 32;              // unary requests on the wire; more wait
  Duration connect_timeout = std::chrono::seconds(10);
  size_t max_response_bytes = size_t{512} << 20;
};

class HttpClient final : public Transport {
 public:
  static Result<std::unique_ptr<HttpClient>> Create(const Access& access, const Clock& clock,
                                                    HttpOptions options = {});
  ~HttpClient() override;  // Shutdown(0)

  Loop& loop() override;
  void Send(Request request, Done<Response> done) override;
  StreamId Open(Request request, StreamCallbacks callbacks) override;
  void Close(StreamId id) override;

  // Takes nothing new (kCancelled), lets what is on the wire and in the queue go on for at most
  // `drain`, then ends it: sent requests with kUnknownOutcome, queued ones and streams with
  // kCancelled. Afterwards no callback runs any more, and what lives on the loop may be destroyed.
  // Not from the loop.
  void Shutdown(Duration drain = Duration::zero());

 private:
  class Engine;
  explicit HttpClient(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
  std::atomic<bool> shut_down_{false};
};

}  // namespace sky::kube
