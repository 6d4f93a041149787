// SPDX-License-Identifier: Apache-2.0
// The thread on which cycles run, so that the loop goes on reading and writing meanwhile. One
// function at a time; the next is handed over only when the last has posted its result.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"

namespace sky::scheduler {

class CycleThread {
 public:
  CycleThread();
  ~CycleThread();
  void Run(std::function<void()> work);
  // Ends after the function that runs now.
  void Stop();
  // Waits on the caller's thread, or until Stop.
  void Pause(Duration how_long);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sky::scheduler
