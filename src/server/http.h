// SPDX-License-Identifier: Apache-2.0
// What a handler of HTTP requests sees: a request as a value, and a Responder that takes its one
// answer, whole or as a stream, now or later, from any thread. No socket and no library shows
// through, so the embedded API server answers the same types in process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/target.h"

namespace sky::server {

struct Header {
  std::string name, value;  // name in lower case
  bool operator==(const Header&) const = default;
};

struct Request {
  std::string method;  // "GET"
  Target target;
  std::vector<Header> headers;
  std::string body;

  // The first value; "" when absent. `name` in lower case.
  std::string_view HeaderOr(std::string_view name) const {
    for (const Header& header : headers)
      if (header.name == name) return header.value;
    return "";
  }
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<Header> headers = {};
  std::string body = {};
};

// A body that is sent piece by piece (chunked). Thread-safe; lives as long as somebody holds it.
// Letting go of the last reference ends the body.
class Stream {
 public:
  virtual ~Stream() = default;
  // Queues a piece; false once the peer is gone or its backlog too long: then nothing arrives any
  // more.
  virtual bool Write(std::string piece) = 0;
  // Ends the body properly; later writes are refused.
  virtual void End() = 0;
  // Closes the connection in the middle of the body, as a broken network does.
  virtual void Cut() = 0;
  virtual bool closed() const = 0;
  // Called once when the peer goes away or the stream ends, perhaps at once, on a server thread.
  virtual void OnClosed(std::function<void()> callback) = 0;
};

// Takes exactly one answer; letting go of it unanswered answers 500.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void Send(Response response) = 0;
  // The head goes out at once; its `body` must be empty.
  virtual std::shared_ptr<Stream> Start(Response head) = 0;
  // Closes the connection without an answer.
  virtual void Drop() = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

}  // namespace sky::server
