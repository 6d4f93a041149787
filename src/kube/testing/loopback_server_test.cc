// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/loopback_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/check.h"

namespace sky::kube::testing {
namespace {

bool Fill(Conn& conn, std::string& buffer) {
  char bytes[4096];
  const size_t got = conn.Read(bytes, sizeof(bytes));
  buffer.append(bytes, got);
  return got > 0;
}

bool ReadRequest(Conn& conn, std::string& buffer, Seen& request) {
  constexpr std::string_view kLength = "Content-Length: ";
  size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
    if (!Fill(conn, buffer)) return false;
  request = {};
  request.connection = conn.number();
  request.head = buffer.substr(0, end + 2);
  buffer.erase(0, end + 4);
  const size_t space = request.head.find(' ');
  request.method = request.head.substr(0, space);
  request.target = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
  const size_t at = request.head.find(kLength);
  const size_t length =
      at == std::string::npos ? 0 : std::stoul(request.head.substr(at + kLength.size()));
  while (buffer.size() < length)
    if (!Fill(conn, buffer)) return false;
  request.body = buffer.substr(0, length);
  buffer.erase(0, length);
  return true;
}

std::string NameOfPeer(SSL* ssl) {
  X509* certificate = ssl != nullptr ? SSL_get_peer_certificate(ssl) : nullptr;
  if (certificate == nullptr) return {};
  char name[128] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  X509_free(certificate);
  return name;
}

}  // namespace

void Conn::Write(std::string_view bytes) {
  if (ssl_ != nullptr)
    SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  else
    send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

size_t Conn::Read(char* buffer, size_t size) {
  const ssize_t got =
      ssl_ != nullptr ? SSL_read(ssl_, buffer, static_cast<int>(size)) : recv(fd_, buffer, size, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

void Conn::WaitForClose() {
  char byte = 0;
  while (Read(&byte, 1) != 0) {
  }
}

std::string Answer(int status, std::string_view body, std::string_view headers) {
  return fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     headers, body);
}
std::string ChunkedHead() { return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"; }
std::string Chunk(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}

LoopbackServer::LoopbackServer(Handler handler, SSL_CTX* tls)
    : handler_(std::move(handler)), tls_(tls) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  SKY_CHECK(bind(listener_, generic, size) == 0 && listen(listener_, 128) == 0);
  SKY_CHECK(getsockname(listener_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

void LoopbackServer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
  }
  changed_.notify_all();
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
}

std::string LoopbackServer::url() const {
  return fmt::format("{}://127.0.0.1:{}", tls_ != nullptr ? "https" : "http", port_);
}

std::vector<Seen> LoopbackServer::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

int LoopbackServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

bool LoopbackServer::WaitForRequests(size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return seen_.size() >= count; });
}

bool LoopbackServer::WaitUntilUnconnected() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return open_.empty(); });
}

void LoopbackServer::Hold() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return released_ || stopped_; });
}

void LoopbackServer::Release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

void LoopbackServer::Accept() {
  while (true) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (stopped_ || fd < 0) {
      if (fd >= 0) close(fd);
      return;
    }
    open_.push_back(fd);
    const int number = ++connections_;
    threads_.emplace_back([this, fd, number] { Serve(fd, number); });
  }
}

void LoopbackServer::Serve(int fd, int number) {
  sigset_t pipe;  // OpenSSL writes to connections that the client has closed
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  SSL* ssl = tls_ != nullptr ? SSL_new(tls_) : nullptr;
  if (ssl != nullptr) SSL_set_fd(ssl, fd);
  if (ssl == nullptr || SSL_accept(ssl) == 1) {
    Conn conn(fd, ssl, number);
    std::string buffer;
    Seen request;
    const std::string peer = NameOfPeer(ssl);
    while (ReadRequest(conn, buffer, request)) {
      request.peer = peer;
      {
        const std::lock_guard lock(mutex_);
        seen_.push_back(request);
      }
      changed_.notify_all();
      if (!handler_(request, conn)) break;
    }
  }
  SSL_free(ssl);
  const std::lock_guard lock(mutex_);
  open_.remove(fd);
  close(fd);
  changed_.notify_all();
}

}  // namespace sky::kube::testing
