// SPDX-License-Identifier: Apache-2.0
// One HTTP request out, one answer back, without a word of HTTP's machinery: the floor on which
// client, reflector, election and events stand. Real: HttpClient (kube/http.h). Tests and the
// in-process cluster have their own, so that the same state machines run without sockets under a
// virtual clock. Send, Open and Close may be called from any thread; every callback runs on loop(),
// never inside the call.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/loop.h"

namespace sky::kube {

template <class T>
using Done = std::move_only_function<void(Result<T>)>;
using DoneStatus = std::move_only_function<void(Status)>;

enum class Method { kGet, kPost, kPut, kPatch, kDelete };
std::string_view MethodName(Method method);

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Who goes first when all connections are busy.
enum class Urgency : uint8_t {
  kOrdinary,
  kDecision,  // passes what is ordinary
  kLease,     // doesn't wait: whoever loses the lease has nothing to decide
};

struct Request {
  Method method = Method::kGet;
  std::string path;          // "/api/v1/nodes/n1": escaped (api::Kind::Path), no query
  Pairs query;               // unescaped; escaped when it is sent
  std::string content_type;  // of the body
  std::string body;
  // The local bound, from Send to the last byte, waiting for a free connection included. A stream
  // has none.
  Duration timeout = std::chrono::seconds(30);
  // What is left of `timeout` also goes out as ?timeout=, so that the server gives up no later than
  // we do.
  bool timeout_to_server = false;
  Urgency urgency = Urgency::kOrdinary;
  // Not the first try of its call.
  bool repeated = false;
};

// What a server may ask us to wait. More counts as this much: one absurd number from a proxy must
// not blind us for a day.
inline constexpr std::chrono::seconds kMostRetryAfter = std::chrono::minutes(5);
inline std::chrono::seconds BoundedRetryAfter(int64_t seconds) {
  return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kMostRetryAfter.count()));
}

struct Response {
  int status = 0;                            // whatever the server said, errors included
  std::chrono::milliseconds retry_after{0};  // from the header, bounded
  std::string body;                          // of a stream: only unless ok()
  bool ok() const { return status >= 200 && status < 300; }
};

using StreamId = uint64_t;

struct StreamCallbacks {
  std::move_only_function<void(std::string_view)> on_bytes;  // of a 2xx answer, as they come
  Done<Response>
      on_end;  // once: the end of the body (2xx), another status with its body, or what cut it
};

// Without an answer the Error says what is known:
//   kCancelled       given up before a byte was sent     kUnavailable  no connection came about
//   kUnknownOutcome  it may have been carried out
class Transport {
 public:
  virtual ~Transport() = default;

  virtual Loop& loop() = 0;
  virtual void Send(Request request, Done<Response> done) = 0;
  virtual StreamId Open(Request request, StreamCallbacks callbacks) = 0;
  // on_end follows with kCancelled, unless the stream had ended. Called on the loop, no byte comes
  // after it.
  virtual void Close(StreamId id) = 0;
};

}  // namespace sky::kube
