// SPDX-License-Identifier: Apache-2.0
// RawClient with types: kinds in, Result<kind> out. The rules of every call stand in
// kube/raw_client.h.
//   client.Get<api::Pod>("ns", "name", {}, [](Result<api::Pod> pod) { … });
//   Result<api::Pod> pod = Await<api::Pod>([&](auto done) { client.Get<api::Pod>("ns", "name", {},
//   std::move(done)); });
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"
#include "kube/raw_client.h"

namespace sky::kube {

// An object that doesn't decode, without harm to the others of its list or watch.
struct BadItem {
  std::string key;  // "namespace/name", or "?" when not even that can be read
  std::string uid, resource_version;
  Error error;
};
BadItem DescribeBad(std::string_view object, Error error);

template <class T>
struct ListOf {
  std::vector<std::shared_ptr<const T>> items;
  std::vector<BadItem> bad;
  std::string resource_version;
};

class Client {
 public:
  explicit Client(Transport& transport) : raw_(transport) {}
  RawClient& raw() { return raw_; }
  Loop& loop() const { return raw_.loop(); }

  template <class T>
  void Get(std::string_view ns, std::string_view name, CallOptions options, Done<T> done) {
    raw_.Get(api::KindOf<T>(), ns, name, options, Decoding<T>(std::move(done)));
  }

  template <class T>
  void List(const ListOptions& list, CallOptions options, Done<ListOf<T>> done);

  template <class T>
  void Create(const T& object, CallOptions options, Done<T> done) {
    raw_.Create(api::KindOf<T>(), object.metadata.namespace_, api::Encode(object), options,
                Decoding<T>(std::move(done)));
  }

  template <class T>
  void Update(const T& object, CallOptions options, Done<T> done) {
    raw_.Update(api::KindOf<T>(), object.metadata, Part::kObject, api::Encode(object), options,
                Decoding<T>(std::move(done)));
  }

  template <class T>
  void MergePatch(std::string_view ns, std::string_view name, Part part, std::string patch,
                  CallOptions options, Done<T> done) {
    raw_.MergePatch(api::KindOf<T>(), ns, name, part, std::move(patch), options,
                    Decoding<T>(std::move(done)));
  }

  template <class T>
  void ApplyPatch(std::string_view ns, std::string_view name, Part part, std::string object,
                  const ApplyOptions& apply, CallOptions options, Done<T> done) {
    raw_.Apply(api::KindOf<T>(), ns, name, part, std::move(object), apply, options,
               Decoding<T>(std::move(done)));
  }

  template <class T>
  void Delete(std::string_view ns, std::string_view name, const DeleteOptions& del,
              CallOptions options, DoneStatus done) {
    raw_.Delete(api::KindOf<T>(), ns, name, del, options, std::move(done));
  }

  void Bind(const PodRef& pod, std::string_view node, const api::StringMap& annotations,
            CallOptions options, DoneStatus done) {
    raw_.Bind(pod, node, annotations, options, std::move(done));
  }
  void Evict(const PodRef& pod, CallOptions options, DoneStatus done) {
    raw_.Evict(pod, options, std::move(done));
  }

 private:
  template <class T>
  static Done<std::string> Decoding(Done<T> done) {
    return [done = std::move(done)](Result<std::string> json) mutable {
      if (!json) return done(std::unexpected(std::move(json).error()));
      done(api::Decode<T>(*json));
    };
  }

  RawClient raw_;
};

template <class T>
void Client::List(const ListOptions& list, CallOptions options, Done<ListOf<T>> done) {
  auto result = std::make_shared<ListOf<T>>();
  RawListCallbacks callbacks;
  callbacks.begin = [result] { *result = {}; };
  callbacks.item = [result](std::string_view json) {
    if (Result<T> object = api::Decode<T>(json))
      result->items.push_back(std::make_shared<const T>(std::move(*object)));
    else
      result->bad.push_back(DescribeBad(json, std::move(object).error()));
  };
  callbacks.done = [result, done = std::move(done)](Result<std::string> version) mutable {
    if (!version) return done(std::unexpected(std::move(version).error()));
    result->resource_version = std::move(*version);
    done(std::move(*result));
  };
  raw_.List(api::KindOf<T>(), list, options, std::move(callbacks));
}

// The blocking form of any call, for tools and tests: start(done) begins it, its answer is the
// result. Never on the loop's own thread.
template <class T, class Start>
Result<T> Await(Start&& start) {
  auto promise = std::make_shared<std::promise<Result<T>>>();
  auto future = promise->get_future();
  start([promise](Result<T> result) { promise->set_value(std::move(result)); });
  return future.get();
}

}  // namespace sky::kube
