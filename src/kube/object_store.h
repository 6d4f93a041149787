// SPDX-License-Identifier: Apache-2.0
// Raw changes in, typed deltas out: ObjectStore<T> decodes what a Reflector hands it, keeps the
// last state of every object and tells what changed. A new UID under an old name is a delete and an
// add; what a new set no longer shows is a delete; a late DELETE of an old UID changes nothing; an
// object that a new set shows unchanged says nothing. One that doesn't decode is reported and left
// out, and the rest goes on. One thread: the loop's.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/delta.h"
#include "kube/client.h"
#include "kube/reflector.h"

namespace sky::kube {

template <class T>
struct InformerCallbacks {
  std::function<void(const api::Delta<T>&)> on_delta;
  std::function<void()> on_synced;  // once, after the first whole set was delivered
  // An object that doesn't decode; its last good state, if there was one, stays until it is deleted
  // or recreated. nullopt: the object is good again, or gone.
  std::function<void(const std::string& key, const std::optional<BadItem>& bad)> on_bad;
};

template <class T>
class ObjectStore final : public ReflectorSink {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Objects = std::map<std::string, Ptr, std::less<>>;  // by "namespace/name"

  explicit ObjectStore(InformerCallbacks<T> callbacks) : callbacks_(std::move(callbacks)) {}
  const Objects& objects() const { return objects_; }
  bool HasSynced() const { return synced_.load(std::memory_order_acquire); }  // from any thread

  void BeginReplace() override;
  void EndReplace(bool restarted) override;
  std::string Upsert(std::string_view json) override;
  std::string Remove(std::string_view json) override;

 private:
  struct Item {
    std::string key, uid, version;
    Ptr object;  // null: bad
    std::optional<BadItem> bad;
  };
  static Item Read(std::string_view json);

  void Store(Item item, bool even_if_known = false);
  void Drop(typename Objects::iterator held, Ptr last);
  void Clear(const std::string& key);
  bool SameLife(const T& held, const Item& item) const {
    return held.metadata.uid == item.uid || (item.object == nullptr && item.uid.empty());
  }

  InformerCallbacks<T> callbacks_;
  Objects objects_;
  std::map<std::string, std::string> bad_;  // key → uid of objects that don't decode
  std::optional<std::map<std::string, Item>> incoming_;
  std::atomic<bool> synced_{false};
};

template <class T>
auto ObjectStore<T>::Read(std::string_view json) -> Item {
  Result<T> decoded = api::Decode<T>(json);
  if (decoded && decoded->metadata.name.empty()) decoded = Fail(Code::kInvalid, "it has no name");
  if (!decoded) {
    BadItem bad = DescribeBad(json, std::move(decoded).error());
    return {bad.key, bad.uid, bad.resource_version, nullptr, std::move(bad)};
  }
  auto object = std::make_shared<const T>(std::move(*decoded));
  const api::ObjectMeta& meta = object->metadata;
  return {meta.Key(), meta.uid, meta.resource_version, object, std::nullopt};
}

template <class T>
void ObjectStore<T>::BeginReplace() {
  incoming_.emplace();
}

template <class T>
void ObjectStore<T>::EndReplace(bool restarted) {
  auto incoming = std::move(*std::exchange(incoming_, std::nullopt));
  // Deletes first: what the successors need is free when they come.
  for (auto next = objects_.begin(); next != objects_.end();) {
    const auto held = next++;
    const auto found = incoming.find(held->first);
    if (found == incoming.end() || !SameLife(*held->second, found->second))
      Drop(held, held->second);
  }
  for (auto next = bad_.begin(); next != bad_.end();) {
    const auto bad = next++;
    if (!incoming.contains(bad->first)) Clear(std::string(bad->first));
  }
  for (auto& [key, item] : incoming) Store(std::move(item), restarted);
  if (!synced_.exchange(true, std::memory_order_acq_rel) && callbacks_.on_synced)
    callbacks_.on_synced();
}

template <class T>
std::string ObjectStore<T>::Upsert(std::string_view json) {
  Item item = Read(json);
  std::string version = item.version;
  if (incoming_) {
    std::string key = item.key;
    incoming_->insert_or_assign(std::move(key), std::move(item));
  } else {
    Store(std::move(item));
  }
  return version;
}

template <class T>
std::string ObjectStore<T>::Remove(std::string_view json) {
  Item item = Read(json);  // a bad one can go as well: only its identity counts
  if (incoming_) {
    const auto found = incoming_->find(item.key);
    if (found != incoming_->end() && found->second.uid == item.uid) incoming_->erase(found);
    return item.version;
  }
  const auto held = objects_.find(item.key);
  if (held != objects_.end() && held->second->metadata.uid == item.uid)
    Drop(held, item.object != nullptr ? item.object : held->second);
  const auto bad = bad_.find(item.key);
  if (bad != bad_.end() && bad->second == item.uid) Clear(item.key);
  return item.version;
}

template <class T>
void ObjectStore<T>::Store(Item item, bool even_if_known) {
  auto held = objects_.find(item.key);
  if (held != objects_.end() && !SameLife(*held->second, item)) {
    Drop(held, held->second);
    held = objects_.end();
  }
  if (item.object == nullptr) {
    bad_.insert_or_assign(item.key, item.uid);
    if (callbacks_.on_bad) callbacks_.on_bad(item.key, item.bad);
    return;
  }
  if (bad_.contains(item.key)) Clear(item.key);
  using Type = typename api::Delta<T>::Type;
  api::Delta<T> delta{Type::kAdd, item.object, nullptr};
  if (held == objects_.end()) {
    objects_.emplace(item.key, item.object);
  } else {
    const bool known =
        !item.version.empty() && item.version == held->second->metadata.resource_version;
    if (known && !even_if_known) return;
    delta.type = Type::kUpdate;
    delta.old = std::exchange(held->second, item.object);
  }
  if (callbacks_.on_delta) callbacks_.on_delta(delta);
}

template <class T>
void ObjectStore<T>::Drop(typename Objects::iterator held, Ptr last) {
  api::Delta<T> delta{api::Delta<T>::Type::kDelete, std::move(last), std::move(held->second)};
  objects_.erase(held);
  if (callbacks_.on_delta) callbacks_.on_delta(delta);
}

template <class T>
void ObjectStore<T>::Clear(const std::string& key) {
  bad_.erase(key);
  if (callbacks_.on_bad) callbacks_.on_bad(key, std::nullopt);
}

}  // namespace sky::kube
