// SPDX-License-Identifier: Apache-2.0
#include "server/http_connection.h"

#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <sys/socket.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

namespace sky::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

// The queue between a Stream's writers and the strand that sends it.
struct StreamState {
  std::mutex mutex;
  std::string pending;
  bool flush_posted = false, ended = false, closed = false;
  std::function<void()> on_closed;

  void Close() {
    std::function<void()> callback;
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      closed = true;
      callback = std::move(on_closed);
      on_closed = nullptr;
    }
    if (callback) callback();
  }
};

Request ToRequest(const http::request<http::string_body>& message, Target target) {
  Request request;
  request.method = message.method_string();
  request.target = std::move(target);
  for (const auto& field : message) {
    std::string name = field.name_string();
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers.push_back({std::move(name), std::string(field.value())});
  }
  request.body = message.body();
  return request;
}

class BeastConnection final : public Connection,
                              public std::enable_shared_from_this<BeastConnection> {
 public:
  BeastConnection(asio::ip::tcp::socket socket, std::shared_ptr<ConnectionHost> host)
      : host_(std::move(host)), stream_(std::move(socket)), strand_(stream_.get_executor()) {}

  void Begin() override { Read(); }
  void Read();
  void Finish() override;
  void Abort() override;

  // Called by Responder and Stream from any thread.
  void Post(void (BeastConnection::*step)()) {
    host_->Post(strand_, [self = shared_from_this(), step] { (self.get()->*step)(); });
  }
  void PostSend(Response response);
  void PostStart(Response head, std::shared_ptr<StreamState> state);
  size_t max_backlog() const { return host_->options().max_backlog_bytes; }
  void FlushStream();

 private:
  void OnHeader(error_code error);
  void OnRequest(error_code error);
  void Refuse(int status, std::string_view why);
  void Send(Response response, bool keep_alive);
  void OnSent(error_code error, bool keep_alive);
  void StartStream(const Response& head, std::shared_ptr<StreamState> state);
  void WatchPeer();
  void OnChunkSent(error_code error);
  void EndStream();
  void LingerThenClose();
  void Discard();

  std::shared_ptr<ConnectionHost> host_;
  beast::tcp_stream stream_;
  asio::any_io_executor strand_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<StreamState> body_;  // of the answer that is being streamed
  std::string chunk_;                  // what is on its way
  bool idle_ = false, writing_ = false, aborted_ = false, is_head_ = false, keep_alive_ = false;
  size_t discarded_ = 0;
};

class BodyStream final : public Stream {
 public:
  BodyStream(std::shared_ptr<BeastConnection> connection, std::shared_ptr<StreamState> state)
      : connection_(std::move(connection)), state_(std::move(state)) {}
  ~BodyStream() override { End(); }

  bool Write(std::string piece) override {
    bool too_slow = false;
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->closed || state_->ended) return false;
      if (state_->pending.empty())
        state_->pending = std::move(piece);
      else
        state_->pending += piece;
      too_slow = state_->pending.size() > connection_->max_backlog();
      if (!too_slow && std::exchange(state_->flush_posted, true)) return true;
    }
    connection_->Post(too_slow ? &BeastConnection::Abort : &BeastConnection::FlushStream);
    return !too_slow;
  }
  void End() override {
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->closed || std::exchange(state_->ended, true)) return;
    }
    connection_->Post(&BeastConnection::FlushStream);
  }
  void Cut() override { connection_->Post(&BeastConnection::Abort); }
  bool closed() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->closed;
  }
  void OnClosed(std::function<void()> callback) override {
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->closed) {
        state_->on_closed = std::move(callback);
        return;
      }
    }
    callback();
  }

 private:
  std::shared_ptr<BeastConnection> connection_;
  std::shared_ptr<StreamState> state_;
};

class OneAnswer final : public Responder {
 public:
  explicit OneAnswer(std::shared_ptr<BeastConnection> connection)
      : connection_(std::move(connection)) {}
  ~OneAnswer() override {
    if (!answered_.exchange(true))
      connection_->PostSend({500, "text/plain", {}, "the handler gave no answer\n"});
  }
  void Send(Response response) override {
    if (!answered_.exchange(true)) connection_->PostSend(std::move(response));
  }
  std::shared_ptr<Stream> Start(Response head) override {
    auto state = std::make_shared<StreamState>();
    if (answered_.exchange(true))
      state->closed = true;
    else
      connection_->PostStart(std::move(head), state);
    return std::make_shared<BodyStream>(connection_, std::move(state));
  }
  void Drop() override {
    if (!answered_.exchange(true)) connection_->Post(&BeastConnection::Abort);
  }

 private:
  std::shared_ptr<BeastConnection> connection_;
  std::atomic<bool> answered_ = false;
};

void BeastConnection::Read() {
  if (aborted_) return;
  if (host_->finishing()) return Abort();
  idle_ = true;
  parser_.emplace();
  parser_->body_limit(host_->options().max_body_bytes);
  parser_->header_limit(static_cast<uint32_t>(host_->options().max_header_bytes));
  stream_.expires_after(host_->options().idle_timeout);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](error_code error, size_t) { self->OnHeader(error); });
}

void BeastConnection::OnHeader(error_code error) {
  if (error) return OnRequest(error);
  idle_ = false;
  auto read_body = [self = shared_from_this()](error_code failed, size_t) {
    if (failed) return self->Abort();
    http::async_read(self->stream_, self->buffer_, *self->parser_,
                     [self](error_code result, size_t) { self->OnRequest(result); });
  };
  if (beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue), std::move(read_body));
  } else {
    read_body({}, 0);
  }
}

void BeastConnection::OnRequest(error_code error) {
  idle_ = false;
  if (error == http::error::body_limit) return Refuse(413, "the request body is too large");
  if (error == http::error::header_limit) return Refuse(431, "the request header is too large");
  if (error == http::error::end_of_stream || error == http::error::partial_message) return Abort();
  if (error.category() == http::make_error_code(http::error::bad_method).category() && error)
    return Refuse(400, "not an HTTP/1.1 request: " + error.message());
  if (error) return Abort();
  const auto& message = parser_->get();
  is_head_ = message.method() == http::verb::head;
  keep_alive_ = message.keep_alive();
  auto target = ParseTarget(std::string(message.target()));
  if (!target) return Refuse(400, target.error().message());
  stream_.expires_never();
  host_->handler()(ToRequest(message, std::move(*target)),
                   std::make_shared<OneAnswer>(shared_from_this()));
}

void BeastConnection::Refuse(int status, std::string_view why) {
  Send({status, "text/plain", {}, std::string(why) + "\n"}, false);
}

void BeastConnection::PostSend(Response response) {
  host_->Post(strand_, [self = shared_from_this(), r = std::move(response)]() mutable {
    self->Send(std::move(r), self->keep_alive_ && !self->host_->finishing());
  });
}

void BeastConnection::Send(Response response, bool keep_alive) {
  if (aborted_) return;
  auto message = std::make_shared<http::response<http::string_body>>();
  message->result(static_cast<unsigned>(response.status));
  message->version(11);
  message->keep_alive(keep_alive);
  if (!response.content_type.empty())
    message->set(http::field::content_type, response.content_type);
  for (const Header& header : response.headers) message->insert(header.name, header.value);
  message->content_length(response.body.size());
  if (!is_head_) message->body() = std::move(response.body);
  stream_.expires_after(host_->options().write_timeout);
  http::async_write(stream_, *message,
                    [self = shared_from_this(), message, keep_alive](error_code error, size_t) {
                      self->OnSent(error, keep_alive);
                    });
}

void BeastConnection::OnSent(error_code error, bool keep_alive) {
  if (error) return Abort();
  if (keep_alive)
    Read();
  else
    LingerThenClose();
}

void BeastConnection::PostStart(Response head, std::shared_ptr<StreamState> state) {
  host_->Post(strand_, [self = shared_from_this(), h = std::move(head), s = std::move(state)] {
    self->StartStream(h, s);
  });
}

void BeastConnection::StartStream(const Response& head, std::shared_ptr<StreamState> state) {
  if (aborted_) return state->Close();
  body_ = std::move(state);
  auto message = std::make_shared<http::response<http::empty_body>>();
  message->result(static_cast<unsigned>(head.status));
  message->version(11);
  message->keep_alive(keep_alive_ && !host_->finishing());
  message->set(http::field::content_type, head.content_type);
  for (const Header& header : head.headers) message->insert(header.name, header.value);
  message->chunked(true);
  auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*message);
  writing_ = true;
  stream_.expires_after(host_->options().write_timeout);
  http::async_write_header(stream_, *serializer,
                           [self = shared_from_this(), message, serializer](
                               error_code error, size_t) { self->OnChunkSent(error); });
  WatchPeer();
}

// Nothing is read while a stream runs, so a peer that leaves shows up as a readable socket without
// bytes. The wait may also end for bytes that another thread has read since: only a look at the
// socket tells.
void BeastConnection::WatchPeer() {
  stream_.socket().async_wait(
      asio::ip::tcp::socket::wait_read,
      [self = shared_from_this(), watched = std::weak_ptr(body_)](error_code error) {
        if (error || self->body_ == nullptr || watched.lock() != self->body_) return;
        char next = 0;
        const ssize_t seen = ::recv(self->stream_.socket().native_handle(), &next, sizeof next,
                                    MSG_PEEK | MSG_DONTWAIT);
        if (seen > 0) return;  // the next request waits its turn
        if (seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
          return self->WatchPeer();
        self->Abort();
      });
}

void BeastConnection::FlushStream() {
  if (aborted_ || writing_ || body_ == nullptr) return;
  bool ended = false;
  {
    const std::lock_guard lock(body_->mutex);
    body_->flush_posted = false;
    chunk_.clear();
    chunk_.swap(body_->pending);
    ended = body_->ended;
  }
  if (chunk_.empty()) {
    if (ended) EndStream();
    return;
  }
  writing_ = true;
  stream_.expires_after(host_->options().write_timeout);
  auto done = [self = shared_from_this()](error_code error, size_t) { self->OnChunkSent(error); };
  asio::async_write(stream_, http::make_chunk(asio::buffer(chunk_)), std::move(done));
}

void BeastConnection::OnChunkSent(error_code error) {
  writing_ = false;
  if (error) return Abort();
  stream_.expires_never();
  FlushStream();
}

void BeastConnection::EndStream() {
  writing_ = true;
  asio::async_write(stream_, http::make_chunk_last(),
                    [self = shared_from_this()](error_code error, size_t) {
                      self->writing_ = false;
                      const auto body = std::exchange(self->body_, nullptr);
                      if (body != nullptr) body->Close();
                      self->OnSent(error, self->keep_alive_ && !self->host_->finishing());
                    });
}

// Closing with unread bytes resets the connection, and the peer may lose the answer: read them away
// first.
void BeastConnection::LingerThenClose() {
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(std::chrono::seconds(2));
  Discard();
}

void BeastConnection::Discard() {
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(64u << 10),
                          [self = shared_from_this()](error_code error, size_t bytes) {
                            self->discarded_ += bytes;
                            if (error || self->discarded_ > (16u << 20)) return self->Abort();
                            self->Discard();
                          });
}

void BeastConnection::Finish() {
  if (idle_) return Abort();
  if (body_ == nullptr) return;
  {
    const std::lock_guard lock(body_->mutex);
    body_->ended = true;
  }
  FlushStream();
}

void BeastConnection::Abort() {
  if (std::exchange(aborted_, true)) return;
  error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  if (const auto body = std::exchange(body_, nullptr)) body->Close();
  host_->Closed(this);
}

}  // namespace

std::shared_ptr<Connection> MakeConnection(asio::ip::tcp::socket socket,
                                           std::shared_ptr<ConnectionHost> host) {
  return std::make_shared<BeastConnection>(std::move(socket), std::move(host));
}

}  // namespace sky::server
