// SPDX-License-Identifier: Apache-2.0
// A TLS server on 127.0.0.1 that speaks just enough HTTP/2 to hold watches and to say GOAWAY. What
// a request asks stays unread (it is compressed); requests are told apart by their order. One
// thread a connection reads; the test writes.
#pragma once

#include <openssl/ssl.h>

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sky::kube::testing {

class Http2Server {
 public:
  // Which stream of which connection, both counted as they came.
  struct Asked {
    int connection = 0;  // from 1
    uint32_t stream = 0;
  };

  explicit Http2Server(SSL_CTX* tls);
  ~Http2Server();

  std::string url() const;
  // The n-th request from 0; a stream of 0 when it hasn't come after ten seconds.
  Asked WaitForRequest(size_t n);
  size_t requests() const;

  void Head(Asked asked);  // 200
  void Data(Asked asked, std::string_view bytes, bool end = false);
  // No stream after `last` is or will be worked on; those up to it go on.
  void GoAway(int connection, uint32_t last);
  void Close(int connection);  // as a server that dies

 private:
  struct Link;
  void Accept();
  void Serve(Link& link);
  void OnFrame(Link& link, uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload);
  Link& LinkOf(int connection);

  SSL_CTX* tls_;
  int listener_ = -1, port_ = 0;
  std::thread acceptor_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Link> links_;
  std::vector<Asked> asked_;
  bool stopped_ = false;
};

}  // namespace sky::kube::testing
