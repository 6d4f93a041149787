// SPDX-License-Identifier: Apache-2.0
#include "load/batch.h"

#include <utility>

namespace sky::load {

std::shared_ptr<Batch> Batch::Start(kube::Loop& loop, Size size, Send send) {
  const std::shared_ptr<Batch> batch(new Batch(loop, size, std::move(send)));
  loop.Post([batch] { batch->Step(); });
  return batch;
}

void Batch::Step() {
  while (!over_ && sent_ < size_.count && waiting_ < size_.in_flight) {
    const MonoTime due = began_ + size_.interval * static_cast<int64_t>(sent_);
    if (due > loop_.Now()) {
      if (!std::exchange(timer_set_, true))
        loop_.RunAt(due, [self = shared_from_this()] {
          self->timer_set_ = false;
          self->Step();
        });
      return;
    }
    ++waiting_;
    send_(sent_++,
          [self = shared_from_this()](Status status) { self->OnAnswer(std::move(status)); });
  }
  if (waiting_ == 0 && (over_ || sent_ == size_.count)) Finish();
}

void Batch::OnAnswer(Status status) {
  --waiting_;
  ++answered_;
  if (!status && first_error_) {
    first_error_ = std::move(status);
    over_ = true;
  }
  Step();
}

void Batch::Abandon() {
  loop_.Post([self = shared_from_this()] {
    if (self->first_error_) self->first_error_ = Fail(Code::kCancelled, "given up");
    self->over_ = true;
    self->Step();
  });
}

void Batch::Finish() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

bool Batch::WaitFor(Duration most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [this] { return done_; });
}

Status Batch::result() const {
  const std::lock_guard lock(mutex_);
  return first_error_;
}

}  // namespace sky::load
