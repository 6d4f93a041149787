// SPDX-License-Identifier: Apache-2.0
// The Loop over epoll: one thread that waits for sockets, timers and posted tasks. It starts with
// the object and ends with Stop(), which runs what is posted by then and drops the timers. Knows
// nothing of HTTP.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "kube/loop.h"

namespace sky::kube {

class IoLoop final : public Loop {
 public:
  // The thread also runs by `clock`: with one that stands still, timers stand still too.
  static Result<std::unique_ptr<IoLoop>> Create(const Clock& clock);
  ~IoLoop() override;  // Stop()

  const Clock& clock() const override { return clock_; }
  void Post(Task task) override;
  TimerId RunAt(MonoTime at, Task task) override;
  void Cancel(TimerId id) override;

  void Stop();  // not from the loop
  bool OnLoop() const { return std::this_thread::get_id() == thread_id_; }

  // On the loop. `events` and what on_events gets are epoll's bits; a second Watch of a descriptor
  // replaces the first.
  using OnEvents = std::function<void(uint32_t events)>;
  void Watch(int fd, uint32_t events, OnEvents on_events);
  void Unwatch(int fd);

 private:
  IoLoop(const Clock& clock, int epoll_fd, int wake_fd);
  void Run();
  void RunPosted();
  void RunTimers();
  bool DropAll();
  void WaitForEvents();
  int WaitMilliseconds();
  void Wake();

  const Clock& clock_;
  const int epoll_fd_, wake_fd_;
  std::unordered_map<int, std::shared_ptr<OnEvents>> watched_;  // the loop's alone

  std::mutex mutex_;
  std::vector<Task> posted_;
  TimerQueue timers_;
  bool stop_ = false, ended_ = false;

  std::thread thread_;
  std::thread::id thread_id_;
};

}  // namespace sky::kube
