// SPDX-License-Identifier: Apache-2.0
#include "lab/local_kubelets.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/json.h"
#include "base/check.h"

namespace sky::lab {
namespace {

template <class T>
std::shared_ptr<const T> DecodeEvent(const WatchEvent& event) {
  auto decoded = api::Decode<T>(event.object);
  // The server stores any JSON under a built-in kind; what can't be read is not for a kubelet.
  return decoded ? std::make_shared<const T>(*std::move(decoded)) : nullptr;
}

}  // namespace

LocalKubelets::LocalKubelets(ApiServer& api, const Clock& clock, KubeletOptions options)
    : api_(api), clock_(clock), client_(api, "kubelet/sky-lab"), kubelets_(options) {
  nodes_.target = "/api/v1/nodes?watch=true";
  pods_.target = "/api/v1/pods?watch=true";
}

LocalKubelets::~LocalKubelets() {
  api_.Unwatch(nodes_.watch);
  api_.Unwatch(pods_.watch);
}

template <class T>
void LocalKubelets::Begin(Feed<T>& feed, std::vector<api::Delta<T>>& deltas) {
  feed.ended = false;
  feed.events.clear();
  const auto watch =
      api_.StartWatch(client_.MakeRequest("GET", feed.target), [&feed](const WatchEvent* event) {
        const std::lock_guard lock(feed.mutex);
        if (event == nullptr)
          feed.ended = true;
        else
          feed.events.push_back(*event);
        return true;
      });
  SKY_CHECK(watch.has_value(), "{}", watch.error().message);
  feed.watch = *watch;
  std::set<std::string> present;
  {
    const std::lock_guard lock(feed.mutex);
    for (const WatchEvent& event : feed.events)
      if (const auto object = DecodeEvent<T>(event)) present.insert(object->metadata.Key());
  }
  for (auto known = feed.known.begin(); known != feed.known.end();) {
    if (present.contains(known->first)) {
      ++known;
      continue;
    }
    deltas.push_back({api::Delta<T>::Type::kDelete, known->second, known->second});
    known = feed.known.erase(known);
  }
}

template <class T>
std::vector<api::Delta<T>> LocalKubelets::Drain(Feed<T>& feed) {
  std::vector<api::Delta<T>> deltas;
  bool ended = false;
  {
    const std::lock_guard lock(feed.mutex);
    ended = feed.ended;
  }
  if (ended) Begin(feed, deltas);
  std::vector<WatchEvent> events;
  {
    const std::lock_guard lock(feed.mutex);
    events.swap(feed.events);
  }
  for (const WatchEvent& event : events) {
    const auto object = DecodeEvent<T>(event);
    if (object == nullptr || event.type == "ERROR") continue;
    auto& known = feed.known[object->metadata.Key()];
    const auto old = std::exchange(known, object);
    if (event.type == "DELETED") {
      feed.known.erase(object->metadata.Key());
      deltas.push_back({api::Delta<T>::Type::kDelete, object, old});
    } else {
      const auto type = old == nullptr ? api::Delta<T>::Type::kAdd : api::Delta<T>::Type::kUpdate;
      deltas.push_back({type, object, old});
    }
  }
  return deltas;
}

bool LocalKubelets::Step() {
  for (const auto& delta : Drain(nodes_)) kubelets_.OnNode(delta);
  for (const auto& delta : Drain(pods_)) kubelets_.OnPod(delta);
  const std::vector<KubeletWrite> writes = kubelets_.Step(clock_.Mono(), clock_.Wall());
  for (const KubeletWrite& write : writes) Carry(write);
  return !writes.empty();
}

// A write that is refused is asked for again by the state machine, if it is still wanted.
void LocalKubelets::Carry(const KubeletWrite& write) {
  const std::string pod = fmt::format("/api/v1/namespaces/{}/pods/{}", write.ns, write.name);
  const auto patch = [&](const std::string& path) {
    client_.Do("PATCH", path, write.patch, "application/strategic-merge-patch+json");
  };
  switch (write.kind) {
    case KubeletWrite::Kind::kPodStatus:
      return patch(pod + "/status");
    case KubeletWrite::Kind::kNodeStatus:
      return patch(fmt::format("/api/v1/nodes/{}/status", write.name));
    case KubeletWrite::Kind::kDeletePod: {
      const Json options = {{"gracePeriodSeconds", 0}, {"preconditions", {{"uid", write.uid}}}};
      client_.Delete(pod, &options);
    }
  }
}

}  // namespace sky::lab
