// SPDX-License-Identifier: Apache-2.0
#include "kube/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "kube/credentials.h"
#include "kube/curl_multi.h"
#include "kube/curl_transfer.h"
#include "kube/io_loop.h"

namespace sky::kube {
namespace {

#if defined(__aarch64__)
constexpr std::string_view kArchitecture = "arm64";
#else
constexpr std::string_view kArchitecture = "amd64";
#endif

void InitCurlOnce() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

// Everything below Submit runs on the loop.
class HttpClient::Engine {
 public:
  Engine(Endpoint endpoint, Credentials credentials, std::unique_ptr<IoLoop> loop,
         HttpOptions options)
      : endpoint_(std::move(endpoint)),
        credentials_(std::move(credentials)),
        options_(std::move(options)),
        loop_(std::move(loop)) {
    const auto on_done = [this](void* easy, int code) { OnDone(easy, code); };
    unary_.emplace(*loop_, static_cast<long>(options_.max_in_flight) + 4, on_done);
    streams_.emplace(*loop_, 0, on_done);
  }

  IoLoop& loop() { return *loop_; }

  void Submit(std::unique_ptr<Transfer> transfer) {
    loop_->Post([this, transfer = std::move(transfer)]() mutable { Take(std::move(transfer)); });
  }
  StreamId NextStreamId() { return ++last_stream_id_; }
  void Close(StreamId id);
  void Shutdown(Duration drain);

 private:
  void Take(std::unique_ptr<Transfer> transfer);
  void GiveUp(Transfer& transfer);
  void Start(std::unique_ptr<Transfer> transfer);
  std::unique_ptr<Transfer> TakeOff(void* easy);
  void OnDone(void* easy, int curl_code);
  void StartQueued();
  void CloseStream(StreamId id);
  void CancelAll();
  void CheckDrained();

  const Endpoint endpoint_;
  Credentials credentials_;
  const HttpOptions options_;
  std::atomic<StreamId> last_stream_id_{0};

  std::unique_ptr<IoLoop> loop_;
  std::optional<CurlMulti> unary_, streams_;
  std::deque<std::unique_ptr<Transfer>> queue_;
  std::unordered_map<void*, std::unique_ptr<Transfer>> running_;  // by easy handle
  std::unordered_map<StreamId, Transfer*> open_streams_;
  size_t unary_running_ = 0;
  bool closing_ = false;
  std::promise<void> drained_;
  bool drained_told_ = false;
};

void HttpClient::Engine::Take(std::unique_ptr<Transfer> transfer) {
  if (closing_) return;  // its end says kCancelled
  // Not libcurl's own timeout: 7.88 can miss it, when its two clocks differ by less than a
  // millisecond.
  if (!transfer->is_stream())
    transfer->deadline_timer =
        loop_->RunAt(transfer->deadline(), [this, late = transfer.get()] { GiveUp(*late); });
  const bool full = !transfer->is_stream() && unary_running_ >= options_.max_in_flight;
  const Urgency urgency = transfer->request().urgency;
  if (!full || urgency == Urgency::kLease) return Start(std::move(transfer));
  const auto behind = std::ranges::find_if(
      queue_, [&](const auto& waiting) { return waiting->request().urgency < urgency; });
  queue_.insert(behind, std::move(transfer));
}

// The deadline has come: of one on the wire, the connection is closed with it.
void HttpClient::Engine::GiveUp(Transfer& transfer) {
  const auto queued =
      std::ranges::find_if(queue_, [&](const auto& waiting) { return waiting.get() == &transfer; });
  if (queued != queue_.end()) {
    const std::unique_ptr<Transfer> late = std::move(*queued);
    queue_.erase(queued);
    late->Finish(Fail(Code::kCancelled, "its time passed while it waited for a connection"));
  } else {
    const auto late = TakeOff(transfer.easy());
    late->Finish(late->TimedOut());
    StartQueued();
  }
  CheckDrained();
}

void HttpClient::Engine::Start(std::unique_ptr<Transfer> transfer) {
  const Duration left = transfer->deadline() - loop_->Now();
  if (!transfer->is_stream() && left <= Duration::zero()) {
    loop_->Cancel(transfer->deadline_timer);
    transfer->Finish(Fail(Code::kCancelled, "no time left to send it"));
    return;
  }
  void* easy = transfer->Prepare(endpoint_, credentials_.Token(), credentials_.Tls(), left);
  if (transfer->is_stream())
    open_streams_[transfer->stream_id()] = transfer.get();
  else
    ++unary_running_;
  CurlMulti& pool = transfer->is_stream() ? *streams_ : *unary_;
  running_.emplace(easy, std::move(transfer));
  pool.Add(easy);
}

// Ends the running transfer's part in libcurl, and all that points to it.
std::unique_ptr<Transfer> HttpClient::Engine::TakeOff(void* easy) {
  std::unique_ptr<Transfer> transfer = std::move(running_.extract(easy).mapped());
  loop_->Cancel(transfer->deadline_timer);
  if (transfer->is_stream()) {
    open_streams_.erase(transfer->stream_id());
    streams_->Remove(easy);
  } else {
    --unary_running_;
    unary_->Remove(easy);
  }
  return transfer;
}

void HttpClient::Engine::OnDone(void* easy, int curl_code) {
  std::unique_ptr<Transfer> transfer = TakeOff(easy);
  Result<Response> outcome = transfer->Outcome(curl_code);
  if (outcome && outcome->status == 401 && !transfer->token_renewed &&
      credentials_.RenewToken(transfer->token())) {
    transfer->token_renewed = true;
    Take(std::move(transfer));
  } else {
    transfer->Finish(std::move(outcome));
  }
  StartQueued();
  CheckDrained();
}

void HttpClient::Engine::StartQueued() {
  while (!queue_.empty() && unary_running_ < options_.max_in_flight) {
    std::unique_ptr<Transfer> next = std::move(queue_.front());
    queue_.pop_front();
    Start(std::move(next));
  }
}

void HttpClient::Engine::Close(StreamId id) {
  if (loop_->OnLoop()) {
    const auto found = open_streams_.find(id);
    if (found != open_streams_.end()) found->second->Mute();
  }
  loop_->Post([this, id] { CloseStream(id); });
}

void HttpClient::Engine::CloseStream(StreamId id) {
  const auto found = open_streams_.find(id);
  if (found == open_streams_.end()) return;
  TakeOff(found->second->easy())->Finish(Fail(Code::kCancelled, "the stream was closed"));
}

void HttpClient::Engine::Shutdown(Duration drain) {
  loop_->Post([this, drain] {
    closing_ = true;
    while (!open_streams_.empty()) CloseStream(open_streams_.begin()->first);
    loop_->RunAfter(drain, [this] { CancelAll(); });
    CheckDrained();
  });
  drained_.get_future().wait();
  loop_->Post([this] {
    // Here, where SIGPIPE is blocked: closing a TLS connection writes.
    unary_.reset();
    streams_.reset();
  });
  loop_->Stop();
}

void HttpClient::Engine::CancelAll() {
  queue_.clear();  // their end says kCancelled
  while (!running_.empty()) {
    TakeOff(running_.begin()->first)
        ->Finish(Fail(Code::kUnknownOutcome, "the client was shut down before the answer came"));
  }
  CheckDrained();
}

void HttpClient::Engine::CheckDrained() {
  if (!closing_ || drained_told_ || !queue_.empty() || !running_.empty()) return;
  drained_told_ = true;
  drained_.set_value();
}

HttpClient::HttpClient(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
HttpClient::~HttpClient() { Shutdown(); }

Result<std::unique_ptr<HttpClient>> HttpClient::Create(const Access& access, const Clock& clock,
                                                       HttpOptions options) {
  InitCurlOnce();
  Endpoint endpoint = TRY(Endpoint::Of(access));
  Credentials credentials = TRY(Credentials::Load(access, clock));
  endpoint.user_agent =
      fmt::format("{}/{} (linux/{})", options.program, SKY_VERSION, kArchitecture);
  endpoint.connect_timeout = options.connect_timeout;
  endpoint.max_response_bytes = options.max_response_bytes;
  auto loop = TRY(IoLoop::Create(clock));
  return std::unique_ptr<HttpClient>(new HttpClient(std::make_unique<Engine>(
      std::move(endpoint), std::move(credentials), std::move(loop), std::move(options))));
}

Loop& HttpClient::loop() { return engine_->loop(); }

void HttpClient::Send(Request request, Done<Response> done) {
  const MonoTime deadline = engine_->loop().Now() + request.timeout;
  engine_->Submit(std::make_unique<Transfer>(std::move(request), std::move(done), deadline));
}

StreamId HttpClient::Open(Request request, StreamCallbacks callbacks) {
  const StreamId id = engine_->NextStreamId();
  engine_->Submit(std::make_unique<Transfer>(std::move(request), std::move(callbacks), id));
  return id;
}

void HttpClient::Close(StreamId id) { engine_->Close(id); }

void HttpClient::Shutdown(Duration drain) {
  if (shut_down_.exchange(true)) return;
  engine_->Shutdown(drain);
}

}  // namespace sky::kube
