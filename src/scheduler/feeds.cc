// SPDX-License-Identifier: Apache-2.0
#include "scheduler/feeds.h"

#include <spdlog/spdlog.h>

namespace sky::scheduler {

template <class T>
void Feeds::Add(kube::Client& client) {
  kube::InformerCallbacks<T> callbacks;
  callbacks.on_delta = [this](const api::Delta<T>& delta) { scheduler_.OnDelta(delta); };
  callbacks.on_synced = [this] {
    if (++synced_ == kinds_) scheduler_.OnSynced();
  };
  callbacks.on_bad = [this](const std::string& key, const std::optional<kube::BadItem>& bad) {
    const std::string name = fmt::format("{} {}", api::KindOf<T>().kind, key);
    if (!bad) {
      bad_.erase(name);
      return;
    }
    spdlog::warn("{} can't be read and is left out: {}", name, bad->error.message());
    bad_[name] = bad->error.message();
  };
  kube::ReflectorOptions options;
  options.seed = kinds_ + 1;
  auto informer = std::make_shared<kube::Informer<T>>(client, options, std::move(callbacks));
  stats_[std::string(api::KindOf<T>().plural)] = &informer->stats();
  feeds_.push_back({[informer] { informer->Start(); }, [informer] { informer->Stop(); }, informer});
  ++kinds_;
}

// Nodes and groups before pods: fewer rows have to wait for the thing that they name.
Feeds::Feeds(kube::Client& client, Scheduler& scheduler) : scheduler_(scheduler) {
  Add<api::PriorityClass>(client);
  Add<api::Queue>(client);
  Add<api::Node>(client);
  Add<api::NodeTopology>(client);
  Add<api::Quota>(client);
  Add<api::PodGroup>(client);
  Add<api::Placement>(client);
  Add<api::Pod>(client);
}

void Feeds::Start() {
  for (const Feed& feed : feeds_) feed.start();
}

void Feeds::Stop() {
  for (const Feed& feed : feeds_) feed.stop();
}

}  // namespace sky::scheduler
