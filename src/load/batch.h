// SPDX-License-Identifier: Apache-2.0
// Many requests, so many unanswered at a time, and if wanted no faster than a pace: request i
// leaves no sooner than i × interval after the first. The first failure, or Abandon(), ends it:
// nothing new is sent, and it is done when all that was sent has been answered. Lives on the loop;
// what waits for it may do so on any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "kube/loop.h"
#include "kube/transport.h"

namespace sky::load {

class Batch : public std::enable_shared_from_this<Batch> {
 public:
  struct Size {
    size_t count = 0, in_flight = 1;
    Duration interval{0};
  };
  using Send = std::function<void(size_t index, kube::DoneStatus done)>;

  static std::shared_ptr<Batch> Start(kube::Loop& loop, Size size, Send send);

  // From any thread but the loop's.
  bool WaitFor(Duration most);  // true: it is done
  void Abandon();
  size_t answered() const { return answered_; }
  Status result() const;  // of one that is done

 private:
  Batch(kube::Loop& loop, Size size, Send send)
      : loop_(loop), size_(size), send_(std::move(send)), began_(loop.Now()) {}
  void Step();
  void OnAnswer(Status status);
  void Finish();

  kube::Loop& loop_;
  const Size size_;
  Send send_;
  const MonoTime began_;
  size_t sent_ = 0, waiting_ = 0;  // the loop's
  bool over_ = false, timer_set_ = false;
  Status first_error_;
  std::atomic<size_t> answered_{0};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

}  // namespace sky::load
