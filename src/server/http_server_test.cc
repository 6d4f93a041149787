// SPDX-License-Identifier: Apache-2.0
#include "server/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace sky::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A client that sees bytes: what the server does on the wire is what is tested.
class Wire {
 public:
  explicit Wire(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Wire() { Close(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void Send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Reads until `mark` has been seen, or to the end of the connection.
  std::string ReadUntil(std::string_view mark) {
    while (seen_.find(mark) == std::string::npos && Receive()) {
    }
    const size_t at = seen_.find(mark);
    const size_t end = at == std::string::npos ? seen_.size() : at + mark.size();
    std::string out = seen_.substr(0, end);
    seen_.erase(0, end);
    return out;
  }
  std::string ReadToEnd() {
    while (Receive()) {
    }
    return std::exchange(seen_, {});
  }

 private:
  bool Receive() {
    char buffer[4096];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got > 0) seen_.append(buffer, static_cast<size_t>(got));
    return got > 0;
  }
  int fd_;
  bool connected_ = false;
  std::string seen_;
};

class Signal {
 public:
  void Set() {
    const std::lock_guard lock(mutex_);
    set_ = true;
    changed_.notify_all();
  }
  bool Wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), [&] { return set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

std::unique_ptr<HttpServer> Serve(Handler handler, HttpServerOptions options = {}) {
  auto server = HttpServer::Start(std::move(options), std::move(handler));
  EXPECT_TRUE(server.has_value());
  return std::move(*server);
}

void Echo(Request request, std::shared_ptr<Responder> responder) {
  responder->Send({200,
                   "text/plain",
                   {{"x-agent", std::string(request.HeaderOr("user-agent"))}},
                   request.method + " " + request.target.path + " " + request.body});
}

TEST(HttpServer, AnswersSeveralRequestsOnOneConnection) {
  const auto server = Serve(Echo);
  Wire wire(server->port());
  for (const char* body : {"one", "two"}) {
    wire.Send(fmt::format(
        "POST /a?x=1 HTTP/1.1\r\nHost: h\r\nUser-Agent: me/1\r\nContent-Length: 3\r\n\r\n{}",
        body));
    const std::string head = wire.ReadUntil("\r\n\r\n");
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
    EXPECT_NE(head.find("x-agent: me/1\r\n"), head.npos) << head;
    EXPECT_EQ(wire.ReadUntil(body), fmt::format("POST /a {}", body));
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = Serve(Echo);
  Wire wire(server->port());
  wire.Send(
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string all = wire.ReadToEnd();
  EXPECT_LT(all.find("GET /1"), all.find("GET /2"));
  EXPECT_NE(all.find("GET /2"), all.npos);
}

TEST(HttpServer, AnswersHeadWithALengthAndNoBody) {
  const auto server = Serve(Echo);
  Wire wire(server->port());
  wire.Send("HEAD /abc HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string all = wire.ReadToEnd();
  EXPECT_NE(all.find("Content-Length: 10\r\n"), all.npos) << all;
  EXPECT_TRUE(all.ends_with("\r\n\r\n")) << all;
}

TEST(HttpServer, AsksForTheBodyThatAClientHoldsBack) {
  const auto server = Serve(Echo);
  Wire wire(server->port());
  wire.Send("PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(wire.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  wire.Send("ok");
  EXPECT_TRUE(wire.ReadUntil("PUT /a ok").ends_with("PUT /a ok"));
}

TEST(HttpServer, RefusesTooLargeBodiesAndHeadersAndNonsense) {
  const auto server = Serve(Echo, {.max_body_bytes = 1000, .max_header_bytes = 2000});
  struct Case {
    std::string sent;
    int status;
  };
  const std::vector<Case> cases = {
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x'), 413},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
           std::string(2000, 'x') + "\r\n0\r\n\r\n",
       413},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(3000, 'x') + "\r\n\r\n", 431},
      {"hello there\r\n\r\n", 400},
      {"GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400}};
  for (const Case& c : cases) {
    Wire wire(server->port());
    wire.Send(c.sent);
    const std::string all = wire.ReadToEnd();
    EXPECT_TRUE(all.starts_with(fmt::format("HTTP/1.1 {} ", c.status)))
        << c.sent.substr(0, 60) << "\n"
        << all;
  }
}

TEST(HttpServer, SendsThePiecesOfAStreamAsTheyAreWritten) {
  std::shared_ptr<Stream> stream;
  Signal started;
  const auto server = Serve([&](Request, std::shared_ptr<Responder> responder) {
    stream = responder->Start({200, "application/json", {}, ""});
    started.Set();
  });
  Wire wire(server->port());
  wire.Send("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(started.Wait());
  EXPECT_NE(wire.ReadUntil("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_TRUE(stream->Write("one\n"));
  EXPECT_EQ(wire.ReadUntil("one\n\r\n"), "4\r\none\n\r\n");
  EXPECT_TRUE(stream->Write("three\n"));
  EXPECT_EQ(wire.ReadUntil("three\n\r\n"), "6\r\nthree\n\r\n");
  stream->End();
  EXPECT_EQ(wire.ReadUntil("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_FALSE(stream->Write("late"));
  // The connection serves on.
  wire.Send("GET /again HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(wire.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200"));
  stream.reset();
}

TEST(HttpServer, TellsTheWriterThatThePeerHasLeft) {
  std::shared_ptr<Stream> stream;
  Signal started, closed;
  const auto server = Serve([&](Request, std::shared_ptr<Responder> responder) {
    stream = responder->Start({200, "application/json", {}, ""});
    stream->OnClosed([&] { closed.Set(); });
    started.Set();
  });
  Wire wire(server->port());
  wire.Send("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(started.Wait());
  wire.ReadUntil("\r\n\r\n");
  wire.Close();
  EXPECT_TRUE(closed.Wait());
  EXPECT_FALSE(stream->Write("x"));
  stream.reset();
}

TEST(HttpServer, CutsAStreamInTheMiddle) {
  Signal closed;
  const auto server = Serve([&](Request, std::shared_ptr<Responder> responder) {
    const auto stream = responder->Start({200, "application/json", {}, ""});
    stream->OnClosed([&] { closed.Set(); });
    stream->Cut();
    EXPECT_TRUE(stream->Write("never seen") || stream->closed());
  });
  Wire wire(server->port());
  wire.Send("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(wire.ReadToEnd().find("0\r\n\r\n"), std::string::npos);
  EXPECT_TRUE(closed.Wait());
}

TEST(HttpServer, CutsAReaderThatFallsTooFarBehind) {
  Signal closed;
  std::shared_ptr<Stream> stream;
  Signal started;
  const auto server = Serve(
      [&](Request, std::shared_ptr<Responder> responder) {
        stream = responder->Start({200, "application/json", {}, ""});
        stream->OnClosed([&] { closed.Set(); });
        started.Set();
      },
      {.max_backlog_bytes = 1u << 20});
  Wire wire(server->port());
  wire.Send("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(started.Wait());
  // The socket buffers take some megabytes, then the backlog grows.
  for (int i = 0; i < 4000 && stream->Write(std::string(64u << 10, 'x')); ++i) {
  }
  EXPECT_TRUE(closed.Wait());
  stream.reset();
}

TEST(HttpServer, ClosesTheConnectionOfADroppedAnswer) {
  const auto server =
      Serve([](Request, std::shared_ptr<Responder> responder) { responder->Drop(); });
  Wire wire(server->port());
  wire.Send("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(wire.ReadToEnd(), "");
}

TEST(HttpServer, Answers500ForAHandlerThatForgets) {
  const auto server = Serve([](Request, std::shared_ptr<Responder>) {});
  Wire wire(server->port());
  wire.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(wire.ReadToEnd().starts_with("HTTP/1.1 500 "));
}

TEST(HttpServer, TakesALaterAnswerFromATimer) {
  std::unique_ptr<HttpServer> server;
  server = Serve([&](Request, std::shared_ptr<Responder> responder) {
    server->RunAfter(milliseconds(5),
                     [responder] { responder->Send({200, "text/plain", {}, "late"}); });
  });
  Wire wire(server->port());
  wire.Send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(wire.ReadToEnd().ends_with("late"));
}

TEST(HttpServer, ServesManyClientsOnSeveralThreads) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Stream>> streams;
  const auto server = Serve(
      [&](Request request, std::shared_ptr<Responder> responder) {
        if (request.method == "GET") return Echo(std::move(request), std::move(responder));
        const std::lock_guard lock(mutex);
        streams.push_back(responder->Start({200, "text/plain", {}, ""}));
      },
      {.threads = 4});
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&, i] {
      Wire watching(server->port()), asking(server->port());
      watching.Send("POST /watch HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
      EXPECT_TRUE(watching.ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 200"));
      for (int j = 0; j < 20; ++j) {
        asking.Send(fmt::format("GET /{}-{} HTTP/1.1\r\nHost: h\r\n\r\n", i, j));
        const std::string wanted = fmt::format("GET /{}-{} ", i, j);
        EXPECT_TRUE(asking.ReadUntil(wanted).ends_with(wanted));
        const std::lock_guard lock(mutex);
        for (const auto& stream : streams) stream->Write("tick\n");
      }
      EXPECT_TRUE(watching.ReadUntil("tick\n").ends_with("tick\n"));
    });
  for (std::thread& client : clients) client.join();
  server->Stop(seconds(10));
  for (const auto& stream : streams) EXPECT_FALSE(stream->Write("late"));
}

TEST(HttpServer, ClosesAConnectionThatIsIdleTooLong) {
  const auto server = Serve(Echo, {.idle_timeout = milliseconds(20)});
  Wire wire(server->port());
  EXPECT_EQ(wire.ReadToEnd(), "");
}

TEST(HttpServer, EndsStreamsProperlyWhenItStops) {
  std::shared_ptr<Stream> stream;
  Signal started;
  const auto server = Serve([&](Request, std::shared_ptr<Responder> responder) {
    stream = responder->Start({200, "application/json", {}, ""});
    stream->Write("one\n");
    started.Set();
  });
  Wire watching(server->port()), idle(server->port());
  watching.Send("GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(started.Wait());
  server->Stop(seconds(10));
  EXPECT_TRUE(watching.ReadToEnd().ends_with("one\n\r\n0\r\n\r\n"));
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_FALSE(Wire(server->port()).connected());
  EXPECT_FALSE(stream->Write("late"));
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const auto first = Serve(Echo);
  const auto second = HttpServer::Start({.address = first->address()}, Echo);
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message().find(first->address()), std::string::npos);
  for (const char* bad : {"127.0.0.1", "host.example:80", "127.0.0.1:99999", ""})
    EXPECT_FALSE(HttpServer::Start({.address = bad}, Echo).has_value()) << bad;
}

}  // namespace
}  // namespace sky::server
