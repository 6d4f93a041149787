// SPDX-License-Identifier: Apache-2.0
#include "lab/watch_pipe.h"

#include <ranges>

namespace sky::lab {

bool WatchPipe::Write(std::string line) {
  if (gone_) return false;
  if (stream_ != nullptr) return stream_->Write(std::move(line));
  early_ += line;
  return true;
}

bool WatchPipe::Push(const WatchEvent* event) {
  const std::lock_guard lock(mutex_);
  if (gone_) return false;
  if (event == nullptr) {
    ended_ = true;
    if (!holding_ && stream_ != nullptr) stream_->End();
    return false;
  }
  if (holding_) {
    held_.push_back(event->Line());
    return true;
  }
  const auto fault = faults_.ForEvent(facts_);
  if (!fault) return Write(event->Line());
  if (fault->cut_watch) {
    gone_ = true;
    if (stream_ != nullptr) stream_->Cut();
    return false;
  }
  if (fault->hold) {
    held_.push_back(event->Line());
    Hold(*fault->hold);
    return true;
  }
  batch_.push_back(event->Line());
  if (batch_.size() < static_cast<size_t>(fault->reverse)) return true;
  bool heard = true;
  for (std::string& line : std::ranges::reverse_view(batch_)) heard = Write(std::move(line));
  batch_.clear();
  return heard;
}

void WatchPipe::Hold(Duration wait) {
  holding_ = true;
  if (wait == Duration::zero()) return;
  run_after_(wait, [self = weak_from_this()] {
    if (const auto pipe = self.lock()) pipe->Release();
  });
}

void WatchPipe::Release() {
  const std::lock_guard lock(mutex_);
  for (std::string& line : std::ranges::reverse_view(batch_)) Write(std::move(line));
  batch_.clear();
  for (std::string& line : held_) Write(std::move(line));
  held_.clear();
  holding_ = false;
  if (ended_ && stream_ != nullptr) stream_->End();
}

void WatchPipe::Attach(std::shared_ptr<server::Stream> stream) {
  const std::lock_guard lock(mutex_);
  stream_ = std::move(stream);
  if (gone_) return stream_->Cut();
  if (!early_.empty()) stream_->Write(std::exchange(early_, {}));
  if (ended_ && !holding_) stream_->End();
}

void WatchPipe::Detach() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  stream_.reset();
}

void WatchPipe::Cut() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  if (stream_ != nullptr) stream_->Cut();
}

}  // namespace sky::lab
