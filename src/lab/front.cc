// SPDX-License-Identifier: Apache-2.0
#include "lab/front.h"

#include <mutex>

namespace sky::lab {
namespace {

// Carries events from a watch, which may push before the stream has begun, to the stream.
class Pipe {
 public:
  bool Push(const WatchEvent* event) {
    const std::lock_guard lock(mutex_);
    if (event == nullptr) {
      ended_ = true;
      if (stream_ != nullptr) stream_->End();
      return false;
    }
    if (stream_ != nullptr) return stream_->Write(event->Line());
    early_ += event->Line();
    return true;
  }
  void Attach(std::shared_ptr<server::Stream> stream) {
    const std::lock_guard lock(mutex_);
    stream_ = std::move(stream);
    if (!early_.empty()) stream_->Write(std::move(early_));
    if (ended_) stream_->End();
  }
  void Detach() {
    const std::lock_guard lock(mutex_);
    stream_.reset();
    ended_ = true;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<server::Stream> stream_;
  std::string early_;
  bool ended_ = false;
};

}  // namespace

void Front::ServeWatch(const server::Request& request, server::Responder& responder) {
  const auto pipe = std::make_shared<Pipe>();
  const auto id =
      api_.StartWatch(request, [pipe](const WatchEvent* event) { return pipe->Push(event); });
  if (!id) return responder.Send(ToResponse(id.error()));
  const auto stream = responder.Start({200, "application/json", {}, ""});
  pipe->Attach(stream);
  stream->OnClosed([this, id = *id, pipe] {
    api_.Unwatch(id);
    pipe->Detach();
  });
}

void Front::Serve(server::Request request, std::shared_ptr<server::Responder> responder) {
  if (api_.IsWatch(request)) return ServeWatch(request, *responder);
  responder->Send(api_.Handle(request, clock_.Mono()));
}

}  // namespace sky::lab
