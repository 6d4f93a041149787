// SPDX-License-Identifier: Apache-2.0
#include "kube/loop.h"

#include <algorithm>

namespace sky::kube {

TimerId TimerQueue::Add(MonoTime at, Task task) {
  const TimerId id = ++last_id_;
  tasks_.emplace(std::pair(at, id), std::move(task));
  times_.emplace(id, at);
  return id;
}

void TimerQueue::Cancel(TimerId id) {
  const auto found = times_.find(id);
  if (found == times_.end()) return;
  tasks_.erase({found->second, id});
  times_.erase(found);
}

Task TimerQueue::TakeDue(MonoTime now) {
  if (tasks_.empty() || next() > now) return nullptr;
  auto node = tasks_.extract(tasks_.begin());
  times_.erase(node.key().second);
  return std::move(node.mapped());
}

bool ManualLoop::RunOne() {
  if (!posted_.empty()) {
    Task task = std::move(posted_.front());
    posted_.pop_front();
    task();
    return true;
  }
  Task due = timers_.TakeDue(clock_.Mono());
  if (!due) return false;
  due();
  return true;
}

void ManualLoop::RunReady() {
  while (RunOne()) {
  }
}

void ManualLoop::Advance(Duration by) {
  const MonoTime end = clock_.Mono() + by;
  RunReady();
  while (!timers_.empty() && timers_.next() <= end) {
    clock_.Advance(std::max(Duration::zero(), timers_.next() - clock_.Mono()));
    RunReady();
  }
  clock_.Advance(end - clock_.Mono());
}

std::optional<MonoTime> ManualLoop::NextDue() const {
  if (!posted_.empty()) return clock_.Mono();
  if (timers_.empty()) return std::nullopt;
  return timers_.next();
}

}  // namespace sky::kube
