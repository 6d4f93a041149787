// SPDX-License-Identifier: Apache-2.0
#include "scheduler/feeds.h"

namespace sky::scheduler {

template <class T>
void Feeds::Add(kube::Client& client) {
  kube::InformerCallbacks<T> callbacks;
  callbacks.on_delta = [this](const api::Delta<T>& delta) { scheduler_.OnDelta(delta); };
  callbacks.on_synced = [this] {
    if (++synced_ == kinds_) scheduler_.OnSynced();
  };
  callbacks.on_bad = [this](const std::string& key, const std::optional<kube::BadItem>& bad) {
    const api::Kind& kind = api::KindOf<T>();
    const std::string name = fmt::format("{} {}", kind.kind, key);
    const size_t slash = key.find('/');
    api::ObjectReference object;
    object.kind = kind.kind;
    object.api_version = kind.ApiVersion();
    object.namespace_ = slash == std::string::npos ? "" : key.substr(0, slash);
    object.name = slash == std::string::npos ? key : key.substr(slash + 1);
    if (!bad) {
      bad_.erase(name);
      return scheduler_.cache().NoteUnreadable(object, "");
    }
    bad_[name] = bad->error.message();
    object.uid = bad->uid;
    scheduler_.cache().NoteUnreadable(
        object, fmt::format("it can't be read and is left out: {}", bad->error.message()));
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
  Add<api::PodDisruptionBudget>(client);
  Add<api::Queue>(client);
  Add<api::JobQueue>(client);
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
