// SPDX-License-Identifier: Apache-2.0
// The way of one watch's events to its stream, with the faults that stand on it. Events may come
// before the stream has begun. Thread-safe; held by the watch's sink and by the front.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lab/faults.h"
#include "lab/watch.h"
#include "server/http.h"

namespace sky::lab {

class WatchPipe : public std::enable_shared_from_this<WatchPipe> {
 public:
  using RunAfter = std::function<void(Duration, std::function<void()>)>;
  WatchPipe(FaultFacts facts, Faults& faults, RunAfter run_after)
      : facts_(std::move(facts)), faults_(faults), run_after_(std::move(run_after)) {}

  // The sink: null is the end. False once nobody listens.
  bool Push(const WatchEvent* event);
  void Attach(std::shared_ptr<server::Stream> stream);
  // The peer is gone.
  void Detach();
  // Tells what was held back.
  void Release();
  void Cut();
  const std::string& resource() const { return facts_.resource; }

 private:
  bool Write(std::string line);  // under the lock
  void Hold(Duration wait);

  const FaultFacts facts_;
  Faults& faults_;
  const RunAfter run_after_;
  std::mutex mutex_;
  std::shared_ptr<server::Stream> stream_;
  std::string early_;               // before the stream has begun
  std::vector<std::string> held_;   // behind a hold, in order
  std::vector<std::string> batch_;  // of events to be told in reverse
  bool holding_ = false, ended_ = false, gone_ = false;
};

}  // namespace sky::lab
