// SPDX-License-Identifier: Apache-2.0
// An HTTP/1.1 server on 127.0.0.1 that answers as a test scripts it, byte by byte if need be: for
// tests of the wire only. One thread a connection; the handler runs there and may block.
#pragma once

#include <openssl/ssl.h>

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sky::kube::testing {

struct Seen {
  std::string method, target, head, body;  // head: request line and headers
  std::string peer;                        // the name in the client's certificate
  int connection = 0;                      // counted from 1
  bool Has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

class Conn {
 public:
  Conn(int fd, SSL* ssl, int number) : fd_(fd), ssl_(ssl), number_(number) {}
  int number() const { return number_; }
  void Write(std::string_view bytes);
  size_t Read(char* buffer, size_t size);  // 0: the other side has gone
  void WaitForClose();

 private:
  int fd_;
  SSL* ssl_;
  int number_;
};

std::string Answer(int status, std::string_view body, std::string_view headers = "");
std::string ChunkedHead();
std::string Chunk(std::string_view text);  // "": the last one

class LoopbackServer {
 public:
  // False: the connection is closed.
  using Handler = std::function<bool(const Seen&, Conn&)>;

  explicit LoopbackServer(Handler handler, SSL_CTX* tls = nullptr);
  ~LoopbackServer() { Stop(); }
  void Stop();

  int port() const { return port_; }
  std::string url() const;
  std::vector<Seen> seen() const;
  int connections() const;
  // False when fewer have come after ten seconds.
  bool WaitForRequests(size_t count);
  // Until the last connection is closed; false after ten seconds.
  bool WaitUntilUnconnected();

  // For handlers: blocks until Release() or Stop().
  void Hold();
  void Release();

 private:
  void Accept();
  void Serve(int fd, int number);

  Handler handler_;
  SSL_CTX* tls_;
  int listener_ = -1, port_ = 0;
  std::thread acceptor_;
  std::vector<std::thread> threads_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<int> open_;
  std::vector<Seen> seen_;
  int connections_ = 0;
  bool stopped_ = false, released_ = false;
};

}  // namespace sky::kube::testing
