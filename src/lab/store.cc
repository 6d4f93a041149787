// SPDX-License-Identifier: Apache-2.0
#include "lab/store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace sky::lab {

Json Parsed(const Object& object) {
  auto document = ParseJson(object.text);
  SKY_CHECK(document.has_value(), "a stored document is not JSON");
  return *std::move(document);
}

KindId Store::AddKind(FieldsOf fields) {
  kinds_.push_back({std::move(fields), {}, {}});
  return KindId(kinds_.size() - 1);
}

ObjectPtr Store::Get(KindId kind, std::string_view ns, std::string_view name) const {
  const auto& objects = kinds_[kind.index()].objects;
  const auto found = objects.find(Key(ns, name));
  return found == objects.end() ? nullptr : found->second;
}

ObjectPtr Store::Stamp(const KindState& state, Json& document) {
  auto object = std::make_shared<Object>();
  object->revision = ++revision_;
  MapAt(document, {"metadata"})["resourceVersion"] = std::to_string(object->revision);
  object->ns = TextAt(document, {"metadata", "namespace"});
  object->name = TextAt(document, {"metadata", "name"});
  object->uid = TextAt(document, {"metadata", "uid"});
  object->labels = StringsAt(document, {"metadata", "labels"});
  object->fields = state.fields ? state.fields(document) : api::StringMap();
  object->fields["metadata.name"] = object->name;
  object->fields["metadata.namespace"] = object->ns;
  object->deleting = Find(document, {"metadata", "deletionTimestamp"}) != nullptr;
  if (const Json* owners = Find(document, {"metadata", "ownerReferences"});
      owners != nullptr && owners->is_array())
    for (const Json& owner : *owners) object->owners.push_back(TextAt(owner, {"uid"}));
  object->text = Dump(document);
  return object;
}

ObjectPtr Store::Put(KindId kind, Json& document) {
  KindState& state = kinds_[kind.index()];
  ObjectPtr object = Stamp(state, document);
  ObjectPtr& slot = state.objects[Key(object->ns, object->name)];
  ObjectPtr old = std::exchange(slot, object);
  const auto type = old == nullptr ? StoreEvent::Type::kAdded : StoreEvent::Type::kModified;
  Record({type, object->revision, kind, object, std::move(old)});
  return object;
}

ObjectPtr Store::Delete(KindId kind, std::string_view ns, std::string_view name) {
  KindState& state = kinds_[kind.index()];
  const auto found = state.objects.find(Key(ns, name));
  SKY_CHECK(found != state.objects.end(), "{}/{} is not stored", ns, name);
  ObjectPtr old = std::move(found->second);
  state.objects.erase(found);
  auto document = ParseJson(old->text);
  SKY_CHECK(document.has_value(), "a stored document is not JSON");
  ObjectPtr last = Stamp(state, *document);
  Record({StoreEvent::Type::kDeleted, last->revision, kind, last, std::move(old)});
  return last;
}

void Store::Record(StoreEvent event) {
  event_order_.push_back(event.kind);
  kinds_[event.kind.index()].events.push_back(event);
  while (event_order_.size() > history_limit_) {
    std::deque<StoreEvent>& events = kinds_[event_order_.front().index()].events;
    compacted_ = events.front().revision;
    events.pop_front();
    event_order_.pop_front();
  }
  for (const auto& [id, listener] : listeners_)
    if (listener.first == event.kind) listener.second(event);
}

void Store::Compact(Revision up_to) {
  up_to = std::min(up_to, revision_);
  while (!event_order_.empty()) {
    std::deque<StoreEvent>& events = kinds_[event_order_.front().index()].events;
    if (events.front().revision > up_to) break;
    events.pop_front();
    event_order_.pop_front();
  }
  compacted_ = std::max(compacted_, up_to);
}

Result<std::vector<ObjectPtr>> Store::List(KindId kind, std::string_view ns, Revision at) const {
  if (at > revision_) return Fail(Code::kInvalid, "revision {} is still to come", at);
  if (at < compacted_) return Fail(Code::kExpired, "revision {} has been compacted", at);
  const KindState& state = kinds_[kind.index()];
  const auto wanted = [&](std::string_view other) { return ns.empty() || other == ns; };
  // What later events changed, told backwards: the oldest of them has the last word.
  std::map<Key, ObjectPtr> before;
  for (auto event = state.events.rbegin(); event != state.events.rend() && event->revision > at;
       ++event)
    if (wanted(event->object->ns)) before[Key(event->object->ns, event->object->name)] = event->old;
  std::vector<ObjectPtr> out;
  auto undone = before.begin();
  const auto take_undone = [&] {
    if (undone->second != nullptr) out.push_back(undone->second);
    ++undone;
  };
  for (auto it = ns.empty() ? state.objects.begin() : state.objects.lower_bound(Key(ns, ""));
       it != state.objects.end() && wanted(it->first.first); ++it) {
    while (undone != before.end() && undone->first < it->first) take_undone();
    if (undone != before.end() && undone->first == it->first)
      take_undone();
    else
      out.push_back(it->second);
  }
  while (undone != before.end()) take_undone();
  return out;
}

std::vector<ObjectPtr> Store::ListNow(KindId kind, std::string_view ns) const {
  return *List(kind, ns, revision_);
}

Result<std::vector<StoreEvent>> Store::EventsAfter(KindId kind, Revision from) const {
  if (from < compacted_)
    return Fail(Code::kExpired, "too old resource version: {} ({})", from, compacted_);
  const std::deque<StoreEvent>& events = kinds_[kind.index()].events;
  const auto first = std::upper_bound(
      events.begin(), events.end(), from,
      [](Revision revision, const StoreEvent& event) { return revision < event.revision; });
  return std::vector<StoreEvent>(first, events.end());
}

Store::ListenerId Store::Listen(KindId kind, Listener listener) {
  listeners_.emplace(next_listener_, std::make_pair(kind, std::move(listener)));
  return next_listener_++;
}

void Store::Unlisten(ListenerId id) { listeners_.erase(id); }

}  // namespace sky::lab
