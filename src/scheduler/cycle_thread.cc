// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cycle_thread.h"

#include <utility>

#include "base/check.h"

namespace sky::scheduler {

CycleThread::CycleThread()
    : thread_([this] {
        std::unique_lock lock(mutex_);
        while (true) {
          changed_.wait(lock, [this] { return stopping_ || work_; });
          if (!work_) return;
          const std::function<void()> work = std::exchange(work_, nullptr);
          lock.unlock();
          work();
          lock.lock();
        }
      }) {}

CycleThread::~CycleThread() { Stop(); }

void CycleThread::Run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  SKY_CHECK(!work_, "a cycle while another waits");
  work_ = std::move(work);
  changed_.notify_all();
}

void CycleThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void CycleThread::Pause(Duration how_long) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, how_long, [this] { return stopping_; });
}

}  // namespace sky::scheduler
