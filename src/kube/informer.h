// SPDX-License-Identifier: Apache-2.0
// One kind of the API server, typed and kept in view: a Reflector that feeds an ObjectStore. Deltas
// come in order, on the transport's loop; `on_synced` after those of the first whole set. What
// counts as a change: kube/object_store.h. Destroy it on the loop, or when the loop has ended
// (HttpClient::Shutdown).
#pragma once

#include <utility>

#include "kube/object_store.h"
#include "kube/reflector.h"

namespace sky::kube {

template <class T>
class Informer final {
 public:
  Informer(Client& client, ReflectorOptions options, InformerCallbacks<T> callbacks)
      : store_(std::move(callbacks)),
        reflector_(client.raw(), api::KindOf<T>(), std::move(options), store_) {}

  void Start() { reflector_.Start(); }                   // from any thread, once
  void Stop() { reflector_.Stop(); }                     // on the loop; no callback afterwards
  bool HasSynced() const { return store_.HasSynced(); }  // from any thread
  const ReflectorStats& stats() const { return reflector_.stats(); }  // from any thread
  const typename ObjectStore<T>::Objects& objects() const {
    return store_.objects();
  }  // on the loop

 private:
  ObjectStore<T> store_;
  Reflector reflector_;
};

}  // namespace sky::kube
