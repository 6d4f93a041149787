// SPDX-License-Identifier: Apache-2.0
// One request on its way through libcurl: sets up an easy handle, collects the answer, says what
// became of it. Shared by unary requests and streams; kube/http.cc decides when it runs. libcurl
// stays out of headers. Loop thread only; whatever happens to it, its callback runs exactly once
// (at the latest when it dies).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/credentials.h"
#include "kube/transport.h"

namespace sky::kube {

// What all requests to one server share.
struct Endpoint {
  std::string base_url;  // scheme, host, port, path prefix; the host is the name in the certificate
  std::string connect_to;  // libcurl's host:port:host:port when the certificate has another name
  std::string host;        // of the Host header; empty: that of the URL
  std::string proxy_url, user_agent;
  bool loopback = false;
  bool send_token = true;  // never in the clear, but on loopback
  bool insecure_skip_tls_verify = false;
  Duration connect_timeout = std::chrono::seconds(10);
  size_t max_response_bytes = size_t{512} << 20;

  static Result<Endpoint> Of(const Access& access);
};

// What a URL can't hold is escaped; what is escaped already stays.
std::string EscapePath(std::string_view path);
std::string EscapeQuery(std::string_view text);

// What a transfer without an answer tells. `sent`: bytes of the request left us.
Error ErrorOfCurl(int curl_code, bool sent, std::string_view detail);

class Transfer {
 public:
  Transfer(Request request, Done<Response> done, MonoTime deadline);
  Transfer(Request request, StreamCallbacks callbacks, StreamId id);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // A fresh easy handle, whose CURLOPT_PRIVATE is this. `left`: the time left, of a unary request.
  void* Prepare(const Endpoint& endpoint, std::string token, std::shared_ptr<const TlsMaterial> tls,
                Duration left);
  Result<Response> Outcome(int curl_code);
  Result<Response> TimedOut() const;
  void Finish(Result<Response> result);  // runs the callback; the second time does nothing
  void Mute() { muted_ = true; }  // no more bytes, and the transfer ends when the next ones come

  void* easy() const { return easy_.get(); }
  const Request& request() const { return request_; }
  const std::string& token() const { return token_; }  // that it was last prepared with
  MonoTime deadline() const { return deadline_; }
  StreamId stream_id() const { return stream_id_; }
  bool is_stream() const { return stream_id_ != 0; }

  bool token_renewed = false;  // it has been sent again after a 401
  TimerId deadline_timer = 0;

 private:
  struct CloseEasy {
    void operator()(void* easy) const;
  };
  struct FreeList {
    void operator()(void* list) const;
  };
  static size_t OnBody(char* bytes, size_t size, size_t count, void* self);
  static size_t OnUpload(char* buffer, size_t size, size_t count, void* self);
  static int OnRewind(void* self, long long offset, int origin);

  void SetMethod();
  void SetHeaders(const Endpoint& endpoint);
  void SetTls(const Endpoint& endpoint);
  void SetNetwork(const Endpoint& endpoint);
  std::string Url(const Endpoint& endpoint, Duration left) const;

  Request request_;
  Done<Response> done_;
  std::move_only_function<void(std::string_view)> on_bytes_;
  MonoTime deadline_{};
  StreamId stream_id_ = 0;
  bool muted_ = false;
  std::string token_;

  size_t uploaded_ = 0;
  size_t max_response_bytes_ = 0;
  Response response_;
  // libcurl holds pointers into these, so the handle goes first.
  std::string error_text_;
  std::shared_ptr<const TlsMaterial> tls_;
  std::unique_ptr<void, FreeList> headers_, connect_to_;
  std::unique_ptr<void, CloseEasy> easy_;
};

}  // namespace sky::kube
