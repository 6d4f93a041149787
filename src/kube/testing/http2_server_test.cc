// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/http2_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>

#include "base/check.h"

namespace sky::kube::testing {
namespace {

enum Type : uint8_t { kData = 0, kHeaders = 1, kSettings = 4, kPing = 6, kGoAway = 7 };
constexpr uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;
constexpr size_t kPreface = 24, kFrameHead = 9;

std::string Number(uint32_t value, int bytes = 4) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    text += static_cast<char>((value >> shift) & 0xff);
  return text;
}

uint32_t NumberAt(std::string_view text, size_t at, size_t bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<uint8_t>(text[at + i]);
  return value;
}

std::string Frame(Type type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string frame = Number(static_cast<uint32_t>(payload.size()), 3);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  return frame + Number(stream) + std::string(payload);
}

int SelectHttp2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                unsigned offered_size, void*) {
  static const unsigned char kOurs[] = {2, 'h', '2'};
  auto** chosen = const_cast<unsigned char**>(out);
  return SSL_select_next_proto(chosen, size, kOurs, sizeof kOurs, offered, offered_size) ==
                 OPENSSL_NPN_NEGOTIATED
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void Wait(int fd, short events) {
  pollfd poll_fd{fd, events, 0};
  poll(&poll_fd, 1, -1);
}

}  // namespace

// The lock is for `ssl`, which two threads use.
struct Http2Server::Link {
  int fd, number;
  std::thread thread;
  std::mutex mutex;
  SSL* ssl = nullptr;

  // Empty at the end.
  std::string Read() {
    char bytes[4096];
    while (true) {
      Wait(fd, POLLIN);
      const std::lock_guard lock(mutex);
      const int got = SSL_read(ssl, bytes, sizeof bytes);
      if (got > 0) return {bytes, static_cast<size_t>(got)};
      if (SSL_get_error(ssl, got) != SSL_ERROR_WANT_READ) return {};
    }
  }
  void Write(const std::string& bytes) {
    const std::lock_guard lock(mutex);
    if (ssl == nullptr) return;
    while (true) {
      const int sent = SSL_write(ssl, bytes.data(), static_cast<int>(bytes.size()));
      if (sent > 0 || SSL_get_error(ssl, sent) != SSL_ERROR_WANT_WRITE) return;
      Wait(fd, POLLOUT);
    }
  }
};

Http2Server::Http2Server(SSL_CTX* tls) : tls_(tls) {
  SSL_CTX_set_alpn_select_cb(tls, &SelectHttp2, nullptr);
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  SKY_CHECK(bind(listener_, generic, size) == 0 && listen(listener_, 16) == 0);
  SKY_CHECK(getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

Http2Server::~Http2Server() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Link& link : links_) shutdown(link.fd, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (Link& link : links_) link.thread.join();
  for (Link& link : links_) close(link.fd);
  close(listener_);
}

std::string Http2Server::url() const { return fmt::format("https://127.0.0.1:{}", port_); }

void Http2Server::Accept() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (stopped_ || fd < 0) {
      if (fd >= 0) close(fd);
      return;
    }
    Link& link = links_.emplace_back();
    link.fd = fd;
    link.number = static_cast<int>(links_.size());
    link.thread = std::thread([this, &link] { Serve(link); });
  }
}

void Http2Server::Serve(Link& link) {
  sigset_t pipe;  // OpenSSL writes to connections that the client has closed
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  SSL* ssl = SSL_new(tls_);
  SSL_set_fd(ssl, link.fd);
  if (SSL_accept(ssl) == 1) {
    fcntl(link.fd, F_SETFL, fcntl(link.fd, F_GETFL) | O_NONBLOCK);
    {
      const std::lock_guard lock(link.mutex);
      link.ssl = ssl;
    }
    link.Write(Frame(kSettings, 0, 0, ""));
    std::string buffer;
    bool greeted = false;
    for (std::string got = link.Read(); !got.empty(); got = link.Read()) {
      buffer += got;
      if (!greeted && buffer.size() >= kPreface) {
        buffer.erase(0, kPreface);
        greeted = true;
      }
      while (greeted && buffer.size() >= kFrameHead) {
        const size_t whole = kFrameHead + NumberAt(buffer, 0, 3);
        if (buffer.size() < whole) break;
        OnFrame(link, static_cast<uint8_t>(buffer[3]), static_cast<uint8_t>(buffer[4]),
                NumberAt(buffer, 5, 4),
                std::string_view(buffer).substr(kFrameHead, whole - kFrameHead));
        buffer.erase(0, whole);
      }
    }
  }
  const std::lock_guard lock(link.mutex);
  link.ssl = nullptr;
  SSL_free(ssl);
}

void Http2Server::OnFrame(Link& link, uint8_t type, uint8_t flags, uint32_t stream,
                          std::string_view payload) {
  if (type == kSettings && (flags & kAck) == 0) link.Write(Frame(kSettings, kAck, 0, ""));
  if (type == kPing && (flags & kAck) == 0) link.Write(Frame(kPing, kAck, 0, payload));
  if (type != kHeaders) return;
  const std::lock_guard lock(mutex_);
  asked_.push_back({link.number, stream});
  changed_.notify_all();
}

Http2Server::Asked Http2Server::WaitForRequest(size_t n) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::seconds(10), [&] { return asked_.size() > n; }))
    return {};
  return asked_[n];
}

size_t Http2Server::requests() const {
  const std::lock_guard lock(mutex_);
  return asked_.size();
}

Http2Server::Link& Http2Server::LinkOf(int connection) {
  const std::lock_guard lock(mutex_);
  for (Link& link : links_)
    if (link.number == connection) return link;
  SKY_CHECK(false, "there is no connection {}", connection);
  std::abort();
}

void Http2Server::Head(Asked asked) {
  // 0x88 is ":status: 200" of the static table.
  LinkOf(asked.connection).Write(Frame(kHeaders, kEndHeaders, asked.stream, "\x88"));
}

void Http2Server::Data(Asked asked, std::string_view bytes, bool end) {
  LinkOf(asked.connection).Write(Frame(kData, end ? kEndStream : 0, asked.stream, bytes));
}

void Http2Server::GoAway(int connection, uint32_t last) {
  LinkOf(connection).Write(Frame(kGoAway, 0, 0, Number(last) + Number(0)));
}

void Http2Server::Close(int connection) { shutdown(LinkOf(connection).fd, SHUT_RDWR); }

}  // namespace sky::kube::testing
