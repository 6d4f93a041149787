// SPDX-License-Identifier: Apache-2.0
#include "server/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "server/http_connection.h"

namespace sky::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Result<tcp::endpoint> ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  std::string host(text.substr(0, colon));
  uint16_t port = 0;
  const std::string_view digits = colon == text.npos ? "" : text.substr(colon + 1);
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (bad != std::errc{} || end != digits.data() + digits.size())
    return Fail(Code::kInvalid, "\"{}\" is not host:port, as in 127.0.0.1:8080", text);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  if (host.empty()) host = "0.0.0.0";
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (error) return Fail(Code::kInvalid, "\"{}\" is not an IP address to listen on", host);
  return tcp::endpoint(address, port);
}

}  // namespace

class HttpServer::Core final : public ConnectionHost, public std::enable_shared_from_this<Core> {
 public:
  Core(HttpServerOptions options, Handler handler)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        timer_strand_(asio::make_strand(context_)),
        acceptor_(asio::make_strand(context_)) {}

  Status Listen();
  void Run();
  void Stop(Duration grace);
  void RunAfter(Duration wait, std::function<void()> task);
  tcp::endpoint local() const { return local_; }

  const HttpServerOptions& options() const override { return options_; }
  const Handler& handler() const override { return handler_; }
  bool finishing() const override { return finishing_; }
  void Post(const asio::any_io_executor& strand, std::function<void()> task) override {
    const std::lock_guard lock(mutex_);
    if (!stopped_) asio::post(strand, std::move(task));
  }
  void Closed(const Connection* connection) override {
    const std::lock_guard lock(mutex_);
    connections_.erase(connection);
    empty_.notify_all();
  }

 private:
  struct Open {
    std::weak_ptr<Connection> connection;
    asio::any_io_executor strand;
  };
  void Accept();
  void OnAccepted(tcp::socket socket);
  void ForEachConnection(void (Connection::*step)());

  const HttpServerOptions options_;
  const Handler handler_;
  asio::io_context context_;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work_;
  asio::strand<asio::io_context::executor_type> timer_strand_;
  tcp::acceptor acceptor_;
  tcp::endpoint local_;
  std::vector<std::thread> threads_;
  std::set<std::shared_ptr<asio::steady_timer>> timers_;  // touched on timer_strand_ only
  std::atomic<bool> finishing_ = false;

  std::mutex mutex_;
  std::condition_variable empty_;
  std::map<const Connection*, Open> connections_;
  bool stopped_ = false;
};

Status HttpServer::Core::Listen() {
  const tcp::endpoint endpoint = TRY(ParseAddress(options_.address));
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) local_ = acceptor_.local_endpoint(error);
  if (error)
    return Fail(Code::kUnavailable, "cannot listen on {}: {}", options_.address, error.message());
  return {};
}

void HttpServer::Core::Run() {
  work_.emplace(context_.get_executor());
  Accept();
  for (int i = 0; i < std::max(1, options_.threads); ++i)
    threads_.emplace_back([this] { context_.run(); });
}

void HttpServer::Core::Accept() {
  acceptor_.async_accept(asio::make_strand(context_),
                         [self = shared_from_this()](error_code error, tcp::socket socket) {
                           if (error == asio::error::operation_aborted || self->finishing_) return;
                           if (!error) self->OnAccepted(std::move(socket));
                           self->Accept();
                         });
}

void HttpServer::Core::OnAccepted(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto strand = socket.get_executor();
  Post(strand,
       [self = shared_from_this(), strand, s = std::make_shared<tcp::socket>(std::move(socket))] {
         const auto connection = MakeConnection(std::move(*s), self);
         {
           const std::lock_guard lock(self->mutex_);
           self->connections_[connection.get()] = {connection, strand};
         }
         connection->Begin();
       });
}

void HttpServer::Core::RunAfter(Duration wait, std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  asio::post(timer_strand_, [self = shared_from_this(), wait, t = std::move(task)]() mutable {
    auto timer = std::make_shared<asio::steady_timer>(
        self->timer_strand_, std::chrono::duration_cast<asio::steady_timer::duration>(wait));
    self->timers_.insert(timer);
    timer->async_wait([self, timer, run = std::move(t)](error_code error) {
      self->timers_.erase(timer);
      if (!error && !self->finishing_) run();
    });
  });
}

void HttpServer::Core::ForEachConnection(void (Connection::*step)()) {
  for (const auto& [key, open] : connections_)
    if (const auto connection = open.connection.lock())
      asio::post(open.strand, [connection, step] { (connection.get()->*step)(); });
}

void HttpServer::Core::Stop(Duration grace) {
  if (finishing_.exchange(true)) return;
  asio::post(acceptor_.get_executor(), [self = shared_from_this()] {
    error_code ignored;
    self->acceptor_.close(ignored);
  });
  asio::post(timer_strand_, [self = shared_from_this()] {
    for (const auto& timer : self->timers_) timer->cancel();
  });
  {
    std::unique_lock lock(mutex_);
    ForEachConnection(&Connection::Finish);
    empty_.wait_for(lock, grace, [&] { return connections_.empty(); });
    ForEachConnection(&Connection::Abort);
    stopped_ = true;
  }
  work_.reset();
  // Every operation is cancelled or about to end, so the threads run out of work by themselves.
  for (std::thread& thread : threads_) thread.join();
}

HttpServer::HttpServer(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpServer::~HttpServer() { Stop(Duration::zero()); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options, Handler handler) {
  auto core = std::make_shared<Core>(std::move(options), std::move(handler));
  TRY(core->Listen());
  core->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(core)));
}

uint16_t HttpServer::port() const { return core_->local().port(); }
std::string HttpServer::address() const {
  const auto local = core_->local();
  const std::string host = local.address().to_string();
  return local.address().is_v6() ? fmt::format("[{}]:{}", host, local.port())
                                 : fmt::format("{}:{}", host, local.port());
}
void HttpServer::RunAfter(Duration wait, std::function<void()> task) {
  core_->RunAfter(wait, std::move(task));
}
void HttpServer::Stop(Duration grace) { core_->Stop(grace); }

}  // namespace sky::server
