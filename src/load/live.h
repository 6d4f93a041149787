// SPDX-License-Identifier: Apache-2.0
// The run's view of the cluster: watches over its pods and quotas that feed the meter, each event
// with the instant of its arrival. The events come on the loop; one other thread waits for what it
// needs to see. Destroy it when the loop has ended.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "kube/client.h"
#include "kube/informer.h"
#include "load/meter.h"

namespace sky::load {

class Live {
 public:
  struct State {
    Meter meter;
    bool synced = false;
    bool probe_there = false, probe_bound = false;
    std::string probe_says;          // why it isn't
    std::optional<std::string> bad;  // an object that can't be read
  };
  using Until = std::function<bool(const State&)>;

  Live(kube::Client& client, const std::string& ns, const Layout& layout);
  void Start();

  void Creating(size_t pod);  // its creation is about to be sent
  // True when it is so; false after `most`. `until` is asked after each event: keep it cheap.
  bool WaitFor(const Until& until, Duration most);
  // Reads under the lock.
  template <class F>
  auto With(F&& look) const {
    const std::lock_guard lock(mutex_);
    return look(state_);
  }

 private:
  void OnPod(const api::Delta<api::Pod>& delta);
  void OnQuota(const api::Delta<api::Quota>& delta);
  void Change(const std::function<void(State&, MonoTime)>& change);

  kube::Loop& loop_;
  const bool with_quotas_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
  const Until* until_ = nullptr;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::Quota> quotas_;
};

}  // namespace sky::load
