// SPDX-License-Identifier: Apache-2.0
#include "lab/collector.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace sky::lab {
namespace {

// Each stored kind once: events have two views.
bool IsMainView(const Resource& resource) { return !resource.IsEventsV1(); }

}  // namespace

Collector::Collector(Store& store, const Resources& resources, const Clock& clock, Writer& writer)
    : store_(store), resources_(resources), clock_(clock), writer_(writer) {
  for (const Resource& resource : resources_.all())
    if (IsMainView(resource))
      store_.Listen(resource.stored_as, [this](const StoreEvent& event) {
        dirty_ = dirty_ || event.type == StoreEvent::Type::kDeleted || event.object->deleting ||
                 !event.object->owners.empty();
      });
}

void Collector::Run() {
  // A round may make work for the next one; a round that changes nothing is the end.
  while (dirty_) {
    dirty_ = false;
    if (!Sweep()) return;
  }
}

bool Collector::Sweep() {
  std::set<std::string> alive;
  for (const Resource& resource : resources_.all())
    for (const ObjectPtr& object : store_.ListNow(resource.stored_as, ""))
      alive.insert(object->uid);
  bool changed = false;
  for (const Resource& resource : resources_.all()) {
    if (!IsMainView(resource)) continue;
    const auto listed = store_.ListNow(resource.stored_as, "");
    for (const ObjectPtr& object : listed) {
      const bool orphaned =
          !object->owners.empty() && std::ranges::none_of(object->owners, [&](const auto& uid) {
            return alive.contains(uid);
          });
      if (object->deleting)
        changed = FinishDelete(resource, *object) || changed;
      else if (orphaned)
        changed = Delete(resource, *object) || changed;
    }
  }
  return changed;
}

bool Collector::FinishDelete(const Resource& resource, const Object& object) {
  const std::vector<std::string> finalizers = TextsAt(Parsed(object), {"metadata", "finalizers"});
  const auto has = [&](const char* name) {
    return std::ranges::find(finalizers, name) != finalizers.end();
  };
  bool changed = false;
  if (resource.is("", "namespaces")) {
    for (const Resource& inner : resources_.all())
      if (inner.namespaced && IsMainView(inner))
        for (const ObjectPtr& content : store_.ListNow(inner.stored_as, object.name))
          if (!content->deleting) changed = Delete(inner, *content) || changed;
    return changed;
  }
  if (has("orphan")) {
    for (const auto& [kind, dependent] : DependentsOf(object.uid)) {
      Json document = Parsed(*dependent);
      Json& owners = document["metadata"]["ownerReferences"];
      for (auto owner = owners.begin(); owner != owners.end();)
        owner = TextAt(*owner, {"uid"}) == object.uid ? owners.erase(owner) : std::next(owner);
      writer_.Overwrite(*kind, std::move(document));
    }
    return DropFinalizer(resource, object, "orphan");
  }
  if (!has("foregroundDeletion")) return false;
  const auto dependents = DependentsOf(object.uid);
  for (const auto& [kind, dependent] : dependents)
    if (!dependent->deleting) changed = Delete(*kind, *dependent) || changed;
  return dependents.empty() ? DropFinalizer(resource, object, "foregroundDeletion") : changed;
}

bool Collector::DropFinalizer(const Resource& resource, const Object& object,
                              std::string_view finalizer) {
  server::Request request;
  request.method = "PATCH";
  Call call;
  call.request = &request;
  call.resource = &resource;
  call.verb = Verb::kPatch;
  call.ns = object.ns, call.name = object.name;
  call.manager = "garbage-collector";
  return writer_
      .Modify(call,
              [&](const Json& old) -> Answered<Json> {
                Json document = old;
                Json& list = document["metadata"]["finalizers"];
                list.erase(std::remove(list.begin(), list.end(), Json(finalizer)), list.end());
                return document;
              })
      .has_value();
}

std::vector<std::pair<const Resource*, ObjectPtr>> Collector::DependentsOf(
    const std::string& uid) const {
  std::vector<std::pair<const Resource*, ObjectPtr>> out;
  for (const Resource& resource : resources_.all()) {
    if (!IsMainView(resource)) continue;
    for (ObjectPtr& object : store_.ListNow(resource.stored_as, ""))
      if (std::ranges::find(object->owners, uid) != object->owners.end())
        out.emplace_back(&resource, std::move(object));
  }
  return out;
}

bool Collector::Delete(const Resource& resource, const Object& object) {
  Call call;
  call.resource = &resource;
  call.verb = Verb::kDelete;
  call.ns = object.ns, call.name = object.name;
  DeleteOptions options;
  options.uid = object.uid;
  bool gone = false;
  return writer_.Remove(call, options, gone).has_value();
}

}  // namespace sky::lab
