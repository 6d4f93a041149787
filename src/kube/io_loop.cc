// SPDX-License-Identifier: Apache-2.0
#include "kube/io_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace sky::kube {

Result<std::unique_ptr<IoLoop>> IoLoop::Create(const Clock& clock) {
  const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd < 0) return Fail(Code::kInternal, "epoll_create1: {}", std::strerror(errno));
  const int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd < 0) {
    const int error = errno;
    close(epoll_fd);
    return Fail(Code::kInternal, "eventfd: {}", std::strerror(error));
  }
  return std::unique_ptr<IoLoop>(new IoLoop(clock, epoll_fd, wake_fd));
}

IoLoop::IoLoop(const Clock& clock, int epoll_fd, int wake_fd)
    : clock_(clock), epoll_fd_(epoll_fd), wake_fd_(wake_fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_fd;
  SKY_CHECK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, wake_fd, &event) == 0, "{}", std::strerror(errno));
  // The mutex holds the thread back until its id is known, which OnLoop reads.
  const std::lock_guard lock(mutex_);
  thread_ = std::thread([this] { Run(); });
  thread_id_ = thread_.get_id();
}

IoLoop::~IoLoop() {
  Stop();
  close(wake_fd_);
  close(epoll_fd_);
}

void IoLoop::Post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    posted_.push_back(std::move(task));
    if (posted_.size() > 1) return;  // woken already
  }
  Wake();
}

TimerId IoLoop::RunAt(MonoTime at, Task task) {
  TimerId id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return 0;
    const bool first = timers_.empty() || at < timers_.next();
    id = timers_.Add(at, std::move(task));
    if (!first) return id;
  }
  Wake();
  return id;
}

void IoLoop::Cancel(TimerId id) {
  const std::lock_guard lock(mutex_);
  timers_.Cancel(id);
}

void IoLoop::Stop() {
  if (!thread_.joinable()) return;
  SKY_CHECK(!OnLoop(), "a loop can't wait for itself to end");
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  Wake();
  thread_.join();
}

void IoLoop::Watch(int fd, uint32_t events, OnEvents on_events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  const bool known = watched_.contains(fd);
  watched_[fd] = std::make_shared<OnEvents>(std::move(on_events));
  int done = epoll_ctl(epoll_fd_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
  // A descriptor that was closed and opened anew under its number is unknown to epoll.
  if (done < 0 && errno == ENOENT) done = epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
  SKY_CHECK(done == 0, "epoll_ctl of descriptor {}: {}", fd, std::strerror(errno));
}

void IoLoop::Unwatch(int fd) {
  if (watched_.erase(fd) == 0) return;
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);  // fails when it is closed already: as good
}

void IoLoop::Run() {
  // TLS libraries write to sockets whose other side may have gone.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  while (!DropAll()) {
    RunPosted();
    RunTimers();
    WaitForEvents();
  }
}

// True when the loop is to end and nothing is left. Tasks are destroyed without the lock, since
// they may post what their destruction brings about.
bool IoLoop::DropAll() {
  TimerQueue timers;
  const std::lock_guard lock(mutex_);
  if (!stop_ || !posted_.empty()) return false;
  std::swap(timers, timers_);
  ended_ = timers.empty();
  return ended_;
}

void IoLoop::RunPosted() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(posted_);
  }
  for (Task& task : tasks) {
    task();
    task = nullptr;  // what it holds goes on the loop, and before the next one runs
  }
}

void IoLoop::RunTimers() {
  const MonoTime now = clock_.Mono();
  while (true) {
    Task due;
    {
      const std::lock_guard lock(mutex_);
      due = timers_.TakeDue(now);
    }
    if (!due) return;
    due();
  }
}

int IoLoop::WaitMilliseconds() {
  constexpr int64_t kMost = 60'000;
  const std::lock_guard lock(mutex_);
  if (stop_ || !posted_.empty()) return 0;
  if (timers_.empty()) return static_cast<int>(kMost);
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(timers_.next() - clock_.Mono());
  return static_cast<int>(std::clamp<int64_t>(wait.count(), 0, kMost));
}

void IoLoop::WaitForEvents() {
  std::array<epoll_event, 64> events{};
  const int count =
      epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), WaitMilliseconds());
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_fd_) {
      uint64_t wakes = 0;
      [[maybe_unused]] const ssize_t got = read(wake_fd_, &wakes, sizeof(wakes));
      continue;
    }
    // An earlier event of this round may have ended the interest in this one.
    const auto found = watched_.find(event.data.fd);
    if (found == watched_.end()) continue;
    const std::shared_ptr<OnEvents> on_events = found->second;
    (*on_events)(event.events);
  }
}

void IoLoop::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t sent = write(wake_fd_, &one, sizeof(one));
}

}  // namespace sky::kube
