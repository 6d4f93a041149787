// SPDX-License-Identifier: Apache-2.0
#include "scheduler/feeds.h"

#include <spdlog/spdlog.h>

namespace sky::scheduler {

void Feeds::Synced(const std::string& kind) {
  if (done_.insert(kind).second && ++synced_ == kinds_) scheduler_.OnSynced();
}

// "": it can be read now.
void Feeds::Unreadable(const std::string& kind, const std::string& why) {
  if (unreadable_[kind] == why) return;
  unreadable_[kind] = why;
  if (!why.empty())
    spdlog::warn("pods with volume claims wait, because {} can't be read: {}", kind, why);
  std::string all;
  for (const auto& [name, reason] : unreadable_)
    if (!reason.empty() && all.empty())
      all = fmt::format("the scheduler can't read {}: {}", name, reason);
  scheduler_.OnVolumes(model::VolumeChange(std::move(all)));
}

template <class T>
void Feeds::Add(kube::Client& client, bool optional) {
  const std::string plural(api::KindOf<T>().plural);
  kube::InformerCallbacks<T> callbacks;
  callbacks.on_delta = [this](const api::Delta<T>& delta) { scheduler_.OnDelta(delta); };
  callbacks.on_synced = [this, plural, optional] {
    if (optional) Unreadable(plural, "");
    Synced(plural);
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
  if (optional)
    options.on_refused = [this, plural](const std::string& why) {
      Unreadable(plural, why);
      Synced(plural);
    };
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
  Add<api::StorageClass>(client, true);
  Add<api::CSINode>(client, true);
  Add<api::PersistentVolume>(client, true);
  Add<api::PersistentVolumeClaim>(client, true);
  Add<api::Pod>(client);
}

void Feeds::Start() {
  for (const Feed& feed : feeds_) feed.start();
}

void Feeds::Stop() {
  for (const Feed& feed : feeds_) feed.stop();
}

}  // namespace sky::scheduler
