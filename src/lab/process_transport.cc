// SPDX-License-Identifier: Apache-2.0
#include "lab/process_transport.h"

#include <charconv>
#include <utility>

#include "base/check.h"

namespace sky::lab {
namespace {

server::Request ToServer(const kube::Request& request) {
  server::Request out;
  out.method = kube::MethodName(request.method);
  std::string target = request.path;
  char separator = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    target += separator;
    target += server::Escape(name) + "=" + server::Escape(value);
    separator = '&';
  };
  for (const auto& [name, value] : request.query) add(name, value);
  if (request.timeout_to_server)
    add("timeout", FormatDuration(std::chrono::floor<std::chrono::milliseconds>(request.timeout)));
  auto parsed = server::ParseTarget(target);
  SKY_CHECK(parsed.has_value(), "target {}", target);
  out.target = std::move(*parsed);
  out.headers.push_back({"accept", "application/json"});
  if (!request.content_type.empty()) out.headers.push_back({"content-type", request.content_type});
  out.body = request.body;
  return out;
}

kube::Response ToClient(server::Response response) {
  kube::Response out;
  out.status = response.status;
  out.body = std::move(response.body);
  for (const server::Header& header : response.headers) {
    int64_t seconds = 0;
    if (header.name == "retry-after" &&
        std::from_chars(header.value.data(), header.value.data() + header.value.size(), seconds)
                .ec == std::errc{})
      out.retry_after = kube::BoundedRetryAfter(seconds);
  }
  return out;
}

}  // namespace

// One request under way; answered exactly once.
struct ProcessTransport::Exchange {
  kube::Done<kube::Response> done;
  kube::StreamCallbacks callbacks;
  kube::TimerId timer = 0;
  std::shared_ptr<Piece> stream;
};

// A stream's writing end: pieces become posted tasks, since they come while the server's lock is
// held.
class ProcessTransport::Piece final : public server::Stream {
 public:
  Piece(ProcessTransport& owner, kube::StreamId id) : owner_(owner), id_(id) {}
  bool Write(std::string piece) override {
    if (closed_ || owner_.dead_) return false;
    owner_.loop_.Post(owner_.alive_.Guard([&owner = owner_, id = id_, piece = std::move(piece)] {
      const auto found = owner.streams_.find(id);
      if (found == owner.streams_.end()) return;
      const auto exchange = found->second;
      exchange->callbacks.on_bytes(piece);
    }));
    return true;
  }
  void End() override { Finish(kube::Response{200, {}, {}}); }
  void Cut() override {
    Finish(std::unexpected(Error(Code::kUnknownOutcome, "the stream was cut")));
  }
  bool closed() const override { return closed_; }
  void OnClosed(std::function<void()> callback) override {
    if (closed_) return callback();
    on_closed_ = std::move(callback);
  }
  // Also after an end or a cut by the server: whoever feeds the stream hangs on it until it hears.
  void Closed() {
    closed_ = true;
    if (on_closed_) std::exchange(on_closed_, nullptr)();
  }

 private:
  void Finish(Result<kube::Response> end) {
    if (closed_ || owner_.dead_) return;
    closed_ = true;
    owner_.loop_.Post(
        owner_.alive_.Guard([&owner = owner_, id = id_, end = std::move(end)]() mutable {
          owner.End(id, std::move(end));
        }));
  }

  ProcessTransport& owner_;
  const kube::StreamId id_;
  bool closed_ = false;
  std::function<void()> on_closed_;
};

class ProcessTransport::Answer final : public server::Responder {
 public:
  Answer(ProcessTransport& owner, std::shared_ptr<Exchange> exchange, kube::StreamId id)
      : owner_(owner), exchange_(std::move(exchange)), id_(id) {}
  void Send(server::Response response) override { Finish(ToClient(std::move(response))); }
  void Drop() override {
    Finish(std::unexpected(
        Error(Code::kUnknownOutcome, "the connection was closed without an answer")));
  }
  std::shared_ptr<server::Stream> Start(server::Response) override {
    exchange_->stream = std::make_shared<Piece>(owner_, id_);
    return exchange_->stream;
  }

 private:
  void Finish(Result<kube::Response> answer) {
    if (owner_.dead_) return;
    owner_.loop_.Post(owner_.alive_.Guard(
        [&owner = owner_, exchange = exchange_, id = id_, answer = std::move(answer)]() mutable {
          if (id != 0) return owner.End(id, std::move(answer));
          if (exchange->timer != 0) owner.loop_.Cancel(exchange->timer);
          if (exchange->done) std::exchange(exchange->done, nullptr)(std::move(answer));
        }));
  }

  ProcessTransport& owner_;
  std::shared_ptr<Exchange> exchange_;
  const kube::StreamId id_;
};

ProcessTransport::~ProcessTransport() { Die(); }

void ProcessTransport::Die() {
  dead_ = true;
  alive_.Cut();
  for (const auto& [id, exchange] : std::exchange(streams_, {}))
    if (exchange->stream) exchange->stream->Closed();
}

void ProcessTransport::Send(kube::Request request, kube::Done<kube::Response> done) {
  if (dead_) return;
  auto exchange = std::make_shared<Exchange>();
  exchange->done = std::move(done);
  if (request.timeout <= Duration::zero())
    return loop_.Post(alive_.Guard([exchange] {
      exchange->done(std::unexpected(Error(Code::kCancelled, "there was no time to send it")));
    }));
  exchange->timer = loop_.RunAfter(request.timeout, alive_.Guard([exchange] {
    if (exchange->done)
      std::exchange(exchange->done,
                    nullptr)(std::unexpected(Error(Code::kUnknownOutcome, "no answer in time")));
  }));
  loop_.Post(alive_.Guard([this, exchange, request = std::move(request)] {
    front_.Serve(ToServer(request), std::make_shared<Answer>(*this, exchange, 0));
  }));
}

kube::StreamId ProcessTransport::Open(kube::Request request, kube::StreamCallbacks callbacks) {
  const kube::StreamId id = next_++;
  auto exchange = std::make_shared<Exchange>();
  exchange->callbacks = std::move(callbacks);
  streams_.emplace(id, exchange);
  loop_.Post(alive_.Guard([this, exchange, id, request = std::move(request)] {
    if (streams_.contains(id))
      front_.Serve(ToServer(request), std::make_shared<Answer>(*this, exchange, id));
  }));
  return id;
}

void ProcessTransport::End(kube::StreamId id, Result<kube::Response> end) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const auto exchange = found->second;
  streams_.erase(found);
  if (exchange->stream) exchange->stream->Closed();
  exchange->callbacks.on_end(std::move(end));
}

void ProcessTransport::Close(kube::StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const auto exchange = found->second;
  streams_.erase(found);
  if (exchange->stream) exchange->stream->Closed();
  loop_.Post(alive_.Guard([exchange] {
    exchange->callbacks.on_end(std::unexpected(Error(Code::kCancelled, "closed")));
  }));
}

void ProcessTransport::CutStreams() {
  std::vector<std::shared_ptr<Piece>> open;
  for (const auto& [id, exchange] : streams_)
    if (exchange->stream) open.push_back(exchange->stream);
  for (const auto& stream : open) stream->Cut();
}

}  // namespace sky::lab
