// SPDX-License-Identifier: Apache-2.0
#include "kube/curl_transfer.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace sky::kube {
namespace {

constexpr size_t kMaxErrorBody = size_t{1} << 20;

long Milliseconds(Duration duration) {
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(duration);
  return static_cast<long>(std::max<int64_t>(1, rounded.count()));
}

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string Escape(std::string_view text, std::string_view also_kept) {
  std::string escaped;
  for (const char c : text) {
    if (IsUnreserved(c) || also_kept.find(c) != std::string_view::npos)
      escaped += c;
    else
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

class UrlParts {
 public:
  explicit UrlParts(const std::string& url) : url_(curl_url()) {
    ok_ = curl_url_set(url_, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  }
  ~UrlParts() { curl_url_cleanup(url_); }
  UrlParts(const UrlParts&) = delete;
  UrlParts& operator=(const UrlParts&) = delete;

  bool ok() const { return ok_; }
  std::string Get(CURLUPart part) const {
    char* text = nullptr;
    if (curl_url_get(url_, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
    std::string copy = text;
    curl_free(text);
    return copy;
  }

 private:
  CURLU* url_;
  bool ok_;
};

// Whether anything of the request left us.
bool Sent(void* easy) {
  long bytes = 0;
  curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &bytes);
  return bytes > 0;
}

// A dead peer is noticed within a minute even where nothing is sent, as on a quiet watch.
int OnSocketOpened(void*, curl_socket_t fd, curlsocktype) {
  const int probes = 2;
  const unsigned unacknowledged_ms = 45'000;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof(unacknowledged_ms));
  return CURL_SOCKOPT_OK;
}

void SetBlob(void* easy, CURLoption option, const std::string& text) {
  // Not copied: Transfer::tls_ keeps it.
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &blob);
}

}  // namespace

Result<Endpoint> Endpoint::Of(const Access& access) {
  const UrlParts url(access.server);
  const std::string scheme = url.ok() ? url.Get(CURLUPART_SCHEME) : "";
  const std::string host = url.ok() ? url.Get(CURLUPART_HOST) : "";
  const std::string port = url.ok() ? url.Get(CURLUPART_PORT) : "";
  if ((scheme != "http" && scheme != "https") || host.empty() || !access.server.starts_with(scheme))
    return Fail(Code::kInvalid, "{}: the server \"{}\" must be a URL such as https://10.0.0.1:6443",
                access.origin, access.server);
  Endpoint endpoint;
  endpoint.base_url = access.server;
  while (endpoint.base_url.ends_with('/')) endpoint.base_url.pop_back();
  endpoint.proxy_url = access.proxy_url;
  endpoint.insecure_skip_tls_verify = access.insecure_skip_tls_verify;
  endpoint.loopback = host == "localhost" || host.starts_with("127.") || host == "[::1]";
  endpoint.send_token = scheme == "https" || endpoint.loopback;
  if (!access.tls_server_name.empty() && scheme == "https" && access.tls_server_name != host) {
    // libcurl checks the certificate against the host of the URL; so that becomes the certificate's
    // name, and the connection goes where the server is.
    std::string path = url.Get(CURLUPART_PATH);
    while (path.ends_with('/')) path.pop_back();
    endpoint.base_url = fmt::format("https://{}:{}{}", access.tls_server_name, port, path);
    endpoint.connect_to = fmt::format("{}:{}:{}:{}", access.tls_server_name, port, host, port);
    endpoint.host = fmt::format("{}:{}", host, port);
  }
  return endpoint;
}

std::string EscapePath(std::string_view path) { return Escape(path, "/:@%"); }
std::string EscapeQuery(std::string_view text) { return Escape(text, ""); }

Error ErrorOfCurl(int curl_code, bool sent, std::string_view detail) {
  const auto code = static_cast<CURLcode>(curl_code);
  const std::string_view text = detail.empty() ? curl_easy_strerror(code) : detail;
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
      code == CURLE_OUT_OF_MEMORY || code == CURLE_FAILED_INIT ||
      code == CURLE_BAD_FUNCTION_ARGUMENT)
    return {Code::kInternal, fmt::format("libcurl: {}", text)};
  if (!sent) return {Code::kUnavailable, fmt::format("no connection: {}", text)};
  return {Code::kUnknownOutcome, fmt::format("the connection broke: {}", text)};
}

void Transfer::CloseEasy::operator()(void* easy) const { curl_easy_cleanup(easy); }
void Transfer::FreeList::operator()(void* list) const {
  curl_slist_free_all(static_cast<curl_slist*>(list));
}

Transfer::Transfer(Request request, Done<Response> done, MonoTime deadline)
    : request_(std::move(request)), done_(std::move(done)), deadline_(deadline) {}

Transfer::Transfer(Request request, StreamCallbacks callbacks, StreamId id)
    : request_(std::move(request)),
      done_(std::move(callbacks.on_end)),
      on_bytes_(std::move(callbacks.on_bytes)),
      stream_id_(id) {}

Transfer::~Transfer() { Finish(sky::Fail(Code::kCancelled, "the client was shut down")); }

void Transfer::Finish(Result<Response> result) {
  muted_ = true;
  if (auto done = std::exchange(done_, nullptr)) done(std::move(result));
}

void* Transfer::Prepare(const Endpoint& endpoint, std::string token,
                        std::shared_ptr<const TlsMaterial> tls, Duration left) {
  easy_.reset(curl_easy_init());
  SKY_CHECK(easy_ != nullptr, "curl_easy_init");
  tls_ = std::move(tls);
  token_ = std::move(token);
  response_ = {};
  uploaded_ = 0;
  error_text_.assign(CURL_ERROR_SIZE, '\0');
  max_response_bytes_ = endpoint.max_response_bytes;
  void* easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  curl_easy_setopt(easy, CURLOPT_URL, Url(endpoint, left).c_str());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  SetMethod();
  SetHeaders(endpoint);
  SetTls(endpoint);
  SetNetwork(endpoint);
  return easy;
}

std::string Transfer::Url(const Endpoint& endpoint, Duration left) const {
  std::string url = endpoint.base_url + EscapePath(request_.path);
  char separator = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    url += fmt::format("{}{}={}", separator, EscapeQuery(name), EscapeQuery(value));
    separator = '&';
  };
  for (const auto& [name, value] : request_.query) add(name, value);
  if (request_.timeout_to_server && !is_stream())
    add("timeout", fmt::format("{}ms", Milliseconds(left)));
  return url;
}

// The body goes through a callback that can't be rewound: libcurl would otherwise send a request
// again, on a fresh connection, when a kept one breaks before the answer, and a write could be
// carried out twice.
void Transfer::SetMethod() {
  void* easy = easy_.get();
  const bool has_body = !request_.body.empty() || request_.method == Method::kPost;
  if (has_body) {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, &Transfer::OnUpload);
    curl_easy_setopt(easy, CURLOPT_READDATA, this);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, &Transfer::OnRewind);
    curl_easy_setopt(easy, CURLOPT_SEEKDATA, this);
  }
  const std::string_view plain = has_body ? "POST" : "GET";
  const std::string method(MethodName(request_.method));
  if (method != plain) curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
}

void Transfer::SetHeaders(const Endpoint& endpoint) {
  curl_slist* list = nullptr;
  const auto add = [&](const std::string& line) { list = curl_slist_append(list, line.c_str()); };
  add("Accept: application/json");
  add("User-Agent: " + endpoint.user_agent);
  add("Expect:");  // libcurl would ask and wait before it sends a large body
  if (!request_.content_type.empty()) add("Content-Type: " + request_.content_type);
  if (!endpoint.host.empty()) add("Host: " + endpoint.host);
  if (!token_.empty() && endpoint.send_token) add("Authorization: Bearer " + token_);
  headers_.reset(list);
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, list);
}

void Transfer::SetTls(const Endpoint& endpoint) {
  void* easy = easy_.get();
  if (!tls_->ca.empty()) {
    // The given authority alone, not the system's beside it.
    curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    SetBlob(easy, CURLOPT_CAINFO_BLOB, tls_->ca);
  }
  if (!tls_->certificate.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
    SetBlob(easy, CURLOPT_SSLCERT_BLOB, tls_->certificate);
    SetBlob(easy, CURLOPT_SSLKEY_BLOB, tls_->key);
  }
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!endpoint.insecure_skip_tls_verify) return;
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
}

void Transfer::SetNetwork(const Endpoint& endpoint) {
  void* easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   static_cast<long>(is_stream() ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  if (is_stream())
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(endpoint.connect_timeout));
  curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, 60L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &OnSocketOpened);
  if (!endpoint.connect_to.empty()) {
    connect_to_.reset(curl_slist_append(nullptr, endpoint.connect_to.c_str()));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, static_cast<curl_slist*>(connect_to_.get()));
  }
  if (!endpoint.proxy_url.empty()) {
    curl_easy_setopt(easy, CURLOPT_PROXY, endpoint.proxy_url.c_str());
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  } else if (endpoint.loopback) {
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");  // whatever the environment says
  }
}

size_t Transfer::OnBody(char* bytes, size_t size, size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const size_t length = size * count;
  if (transfer->muted_) return 0;  // ends the transfer
  long status = 0;
  curl_easy_getinfo(transfer->easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (transfer->is_stream() && status >= 200 && status < 300) {
    transfer->on_bytes_({bytes, length});
    return transfer->muted_ ? 0 : length;
  }
  std::string& body = transfer->response_.body;
  const size_t most = transfer->is_stream() ? kMaxErrorBody : transfer->max_response_bytes_;
  if (body.size() + length > most) return 0;
  body.append(bytes, length);
  return length;
}

size_t Transfer::OnUpload(char* buffer, size_t size, size_t count, void* self) {
  auto* transfer = static_cast<Transfer*>(self);
  const size_t length =
      std::min(size * count, transfer->request_.body.size() - transfer->uploaded_);
  std::memcpy(buffer, transfer->request_.body.data() + transfer->uploaded_, length);
  transfer->uploaded_ += length;
  return length;
}

int Transfer::OnRewind(void*, long long, int) { return CURL_SEEKFUNC_FAIL; }

Result<Response> Transfer::Outcome(int curl_code) {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (curl_code == CURLE_OK && status > 0) {
    curl_off_t seconds = 0;  // a date is counted from now; what is neither says nothing
    curl_easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &seconds);
    response_.retry_after = BoundedRetryAfter(seconds);
    response_.status = static_cast<int>(status);
    return std::move(response_);
  }
  if (muted_) return sky::Fail(Code::kCancelled, "the stream was closed");
  if (curl_code == CURLE_WRITE_ERROR)
    return std::unexpected(
        Error(Code::kUnknownOutcome,
              fmt::format("the answer is longer than {} bytes", max_response_bytes_)));
  return std::unexpected(ErrorOfCurl(curl_code, Sent(easy_.get()), error_text_.c_str()));
}

Result<Response> Transfer::TimedOut() const {
  if (Sent(easy_.get())) return sky::Fail(Code::kUnknownOutcome, "no answer in time");
  return sky::Fail(Code::kUnavailable, "no connection in time");
}

}  // namespace sky::kube
