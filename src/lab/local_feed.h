// SPDX-License-Identifier: Apache-2.0
// One kind of object of an ApiServer in the same process, followed by a watch that is begun again
// when it ends; what is missing then was deleted. For hollow kubelets and controllers. Not
// thread-safe but for what the watch pushes; the server must outlive it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/delta.h"
#include "api/json.h"
#include "base/check.h"
#include "lab/in_process.h"

namespace sky::lab {

template <class T>
class LocalFeed {
 public:
  LocalFeed(ApiServer& api, InProcess& client, std::string target)
      : api_(api), client_(client), target_(std::move(target)) {}
  ~LocalFeed() { api_.Unwatch(watch_); }
  LocalFeed(const LocalFeed&) = delete;
  LocalFeed& operator=(const LocalFeed&) = delete;

  // What has changed since the last call. An object that can't be read is left out: the server
  // stores any JSON under a built-in kind.
  std::vector<api::Delta<T>> Drain() {
    std::vector<api::Delta<T>> deltas;
    bool ended = false;
    {
      const std::lock_guard lock(mutex_);
      ended = ended_;
    }
    if (ended) Begin(deltas);
    std::vector<WatchEvent> events;
    {
      const std::lock_guard lock(mutex_);
      events.swap(events_);
    }
    for (const WatchEvent& event : events) {
      const auto object = Read(event);
      if (object == nullptr || event.type == "ERROR") continue;
      auto& known = known_[object->metadata.Key()];
      const auto old = std::exchange(known, object);
      if (event.type == "DELETED") {
        known_.erase(object->metadata.Key());
        deltas.push_back({api::Delta<T>::Type::kDelete, object, old});
      } else {
        const auto type = old == nullptr ? api::Delta<T>::Type::kAdd : api::Delta<T>::Type::kUpdate;
        deltas.push_back({type, object, old});
      }
    }
    return deltas;
  }
  // By "ns/name", or "name" without a namespace.
  const std::map<std::string, std::shared_ptr<const T>>& known() const { return known_; }

 private:
  static std::shared_ptr<const T> Read(const WatchEvent& event) {
    auto decoded = api::Decode<T>(event.object);
    return decoded ? std::make_shared<const T>(*std::move(decoded)) : nullptr;
  }
  void Begin(std::vector<api::Delta<T>>& deltas) {
    ended_ = false;
    events_.clear();
    const auto watch =
        api_.StartWatch(client_.MakeRequest("GET", target_), [this](const WatchEvent* event) {
          const std::lock_guard lock(mutex_);
          if (event == nullptr)
            ended_ = true;
          else
            events_.push_back(*event);
          return true;
        });
    SKY_CHECK(watch.has_value(), "{}", watch.error().message);
    watch_ = *watch;
    std::set<std::string> present;
    {
      const std::lock_guard lock(mutex_);
      for (const WatchEvent& event : events_)
        if (const auto object = Read(event)) present.insert(object->metadata.Key());
    }
    for (auto known = known_.begin(); known != known_.end();) {
      if (present.contains(known->first)) {
        ++known;
        continue;
      }
      deltas.push_back({api::Delta<T>::Type::kDelete, known->second, known->second});
      known = known_.erase(known);
    }
  }

  ApiServer& api_;
  InProcess& client_;
  const std::string target_;
  ApiServer::WatchId watch_ = 0;
  std::mutex mutex_;
  std::vector<WatchEvent> events_;
  bool ended_ = true;
  std::map<std::string, std::shared_ptr<const T>> known_;
};

}  // namespace sky::lab
