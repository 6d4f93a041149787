// SPDX-License-Identifier: Apache-2.0
// A Transport without sockets for tests: requests wait in a list until the test answers them,
// streams are written and ended by hand, and time is a ManualClock's.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kube/transport.h"

namespace sky::kube::testing {

class FakeTransport final : public Transport {
 public:
  struct Call {
    Request request;
    Done<Response> done;
    MonoTime deadline;
  };
  struct Stream {
    Request request;
    StreamCallbacks callbacks;
  };

  explicit FakeTransport(ManualClock& clock) : loop_(clock) {}

  ManualLoop& loop() override { return loop_; }

  void Send(Request request, Done<Response> done) override {
    const MonoTime deadline = loop_.Now() + request.timeout;
    calls_.push_back({std::move(request), std::move(done), deadline});
  }
  StreamId Open(Request request, StreamCallbacks callbacks) override {
    streams_.emplace(++last_stream_, Stream{std::move(request), std::move(callbacks)});
    return last_stream_;
  }
  void Close(StreamId id) override {
    const auto found = streams_.find(id);
    if (found == streams_.end()) return;
    auto end = std::move(found->second.callbacks.on_end);
    streams_.erase(found);
    loop_.Post([end = std::move(end)]() mutable { end(Fail(Code::kCancelled, "closed")); });
  }

  // Unary requests that wait for an answer, oldest first.
  std::deque<Call>& calls() { return calls_; }
  const Request& next() {
    SKY_CHECK(!calls_.empty(), "no request waits");
    return calls_.front().request;
  }
  void Answer(Result<Response> answer) {
    SKY_CHECK(!calls_.empty(), "no request waits");
    Call call = std::move(calls_.front());
    calls_.pop_front();
    call.done(std::move(answer));
    loop_.RunReady();
  }
  void Answer(int status, std::string body, Duration retry_after = {}) {
    Response response{status, std::chrono::duration_cast<std::chrono::milliseconds>(retry_after),
                      std::move(body)};
    Answer(Result<Response>(std::move(response)));
  }
  void Break(Code code) { Answer(Fail(code, "broken")); }

  // Open streams by id; the tests mostly have one.
  std::map<StreamId, Stream>& streams() { return streams_; }
  const Request& stream() {
    SKY_CHECK(streams_.size() == 1, "{} streams", streams_.size());
    return streams_.begin()->second.request;
  }
  void Write(std::string_view bytes) {
    stream();
    // The stream may be closed by what it is told.
    auto on_bytes = std::move(streams_.begin()->second.callbacks.on_bytes);
    const StreamId id = streams_.begin()->first;
    on_bytes(bytes);
    if (const auto found = streams_.find(id); found != streams_.end())
      found->second.callbacks.on_bytes = std::move(on_bytes);
    loop_.RunReady();
  }
  void End(Result<Response> end = Response{200, {}, ""}) {
    stream();
    auto on_end = std::move(streams_.begin()->second.callbacks.on_end);
    streams_.erase(streams_.begin());
    on_end(std::move(end));
    loop_.RunReady();
  }

  // "a=b&c=d" in the order given; "" for a value stands as "c=".
  static std::string Query(const Request& request) {
    std::string text;
    for (const auto& [name, value] : request.query)
      text += (text.empty() ? "" : "&") + name + "=" + value;
    return text;
  }
  static std::string QueryValue(const Request& request, std::string_view name) {
    for (const auto& [key, value] : request.query)
      if (key == name) return value;
    return "";
  }

 private:
  ManualLoop loop_;
  std::deque<Call> calls_;
  std::map<StreamId, Stream> streams_;
  StreamId last_stream_ = 0;
};

}  // namespace sky::kube::testing
