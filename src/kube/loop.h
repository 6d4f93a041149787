// SPDX-License-Identifier: Apache-2.0
// The one thread on which everything in kube/ lives: transfers, timers, reflectors, the election
// and the event recorder are state machines that a Loop calls, so none of them needs a lock or a
// thread. Real: kube/io_loop.h (epoll). Under a virtual clock: ManualLoop below, driven by a test
// or the lab.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace sky::kube {

using Task = std::move_only_function<void()>;
using TimerId = uint64_t;  // 0 is no timer

// Post, RunAt and Cancel may be called from any thread; tasks run on the loop, one after the other.
class Loop {
 public:
  virtual ~Loop() = default;

  virtual const Clock& clock() const = 0;
  // In the order of the calls, never inside the call itself.
  virtual void Post(Task task) = 0;
  // Once, at or soon after `at`; timers of one instant run in the order in which they were set.
  virtual TimerId RunAt(MonoTime at, Task task) = 0;
  // Called on the loop, the task never runs afterwards. Unknown and past ids are ignored.
  virtual void Cancel(TimerId id) = 0;

  MonoTime Now() const { return clock().Mono(); }
  TimerId RunAfter(Duration wait, Task task) { return RunAt(Now() + wait, std::move(task)); }
};

// Timers by time, not yet on any thread: what both loops keep inside.
class TimerQueue {
 public:
  TimerId Add(MonoTime at, Task task);
  void Cancel(TimerId id);
  bool empty() const { return tasks_.empty(); }
  MonoTime next() const { return tasks_.begin()->first.first; }  // of a queue that isn't empty
  // Null when nothing is due.
  Task TakeDue(MonoTime now);

 private:
  std::map<std::pair<MonoTime, TimerId>, Task> tasks_;
  std::unordered_map<TimerId, MonoTime> times_;
  TimerId last_id_ = 0;
};

// A loop that runs when it is told to, on the caller's thread: for tests and the in-process
// cluster.
class ManualLoop final : public Loop {
 public:
  explicit ManualLoop(ManualClock& clock) : clock_(clock) {}

  const Clock& clock() const override { return clock_; }
  void Post(Task task) override { posted_.push_back(std::move(task)); }
  TimerId RunAt(MonoTime at, Task task) override { return timers_.Add(at, std::move(task)); }
  void Cancel(TimerId id) override { timers_.Cancel(id); }

  // Everything that is posted or due now, and what follows from it at this instant.
  void RunReady();
  // The next of these alone; false when nothing is posted or due.
  bool RunOne();
  // Moves the clock from timer to timer up to now + by, running each at its own time.
  void Advance(Duration by);
  // When the next timer is due; nullopt without one. Posted tasks count as now.
  std::optional<MonoTime> NextDue() const;

 private:
  ManualClock& clock_;
  std::deque<Task> posted_;
  TimerQueue timers_;
};

// Callbacks that may outlive the object they belong to: Guard(f) calls f only while the Lifeline
// lives. The object must be destroyed on the loop, or when the loop has ended.
class Lifeline {
 public:
  template <class F>
  auto Guard(F f) const {
    return [alive = std::weak_ptr<const char>(alive_), f = std::move(f)](auto&&... args) mutable {
      if (!alive.expired()) f(std::forward<decltype(args)>(args)...);
    };
  }
  // All guards made so far go dead.
  void Cut() { alive_ = std::make_shared<const char>(); }

 private:
  std::shared_ptr<const char> alive_ = std::make_shared<const char>();
};

}  // namespace sky::kube
