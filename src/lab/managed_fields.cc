// SPDX-License-Identifier: Apache-2.0
#include "lab/managed_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/elements.h"

namespace sky::lab {
namespace {

// What nobody owns: identity, and what the server writes itself.
Json Ownable(Json document) {
  document.erase("apiVersion");
  document.erase("kind");
  for (const std::string_view name :
       {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
        "selfLink", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds",
        "generateName"})
    Erase(document, {"metadata", name});
  if (const Json* metadata = Find(document, {"metadata"}); metadata != nullptr && metadata->empty())
    document.erase("metadata");
  return document;
}

// The part that this endpoint can change.
FieldSet Reachable(const Call& call, const FieldSet& fields) {
  if (!call.resource->has_status) return fields;
  if (call.IsMain()) return fields.Without("status");
  FieldSet out = fields.Without("spec");
  return call.resource->custom ? out.Without("metadata") : out;
}

FieldOwner Caller(const Call& call, std::string operation, WallTime now) {
  return {call.manager,
          std::move(operation),
          call.resource->ApiVersion(),
          call.IsStatus() ? "status" : "",
          FormatTime(now),
          {}};
}

Json MergeInto(const Json* live, const Json& config, const MergeType& type);

Json MergeKeyedList(const Json& live, const Json& config, const MergeType& type) {
  Json out = live;
  std::vector<std::string> names;
  for (const Element& element : Elements(live, type)) names.push_back(element.name);
  const std::vector<Element> wanted = Elements(config, type);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto found = std::ranges::find(names, wanted[i].name);
    if (found == names.end()) {
      out.push_back(config[i]);
      names.push_back(wanted[i].name);
    } else if (wanted[i].value != nullptr) {
      const auto at = static_cast<size_t>(found - names.begin());
      out[at] = MergeInto(&live[at], config[i], type.Item());
    }
  }
  return out;
}

Json MergeInto(const Json* live, const Json& config, const MergeType& type) {
  if (live == nullptr || !IsGranular(config, type) || !IsGranular(*live, type) ||
      live->is_object() != config.is_object())
    return config;
  if (config.is_array()) return MergeKeyedList(*live, config, type);
  Json out = *live;
  for (const auto& [name, value] : config.items())
    out[name] = MergeInto(Find(*live, {name}), value, type.Member(name));
  return out;
}

// Takes the places of `gone` out of the document. A map or list that this empties goes too, unless
// somebody still owns it.
void RemoveFields(Json& document, const FieldSet& gone, const FieldSet& kept,
                  const MergeType& type) {
  if (!document.is_structured()) return;
  std::vector<std::string> dropped;
  const std::vector<Element> elements = Elements(document, type);
  for (const Element& element : elements) {
    const auto lost = gone.children().find(element.name);
    if (lost == gone.children().end()) continue;
    const auto held = kept.children().find(element.name);
    const FieldSet still = held == kept.children().end() ? FieldSet() : held->second;
    auto* value = const_cast<Json*>(element.value);
    bool drop = lost->second.self() && still.empty();
    if (!drop && value != nullptr && IsGranular(*value, Below(type, element.name)) &&
        !value->empty()) {
      const Json key =
          element.name.starts_with("k:") ? MergeType::KeyOf(type.keys(), *value) : Json();
      RemoveFields(*value, lost->second, still, Below(type, element.name));
      // An item that others hold on to keeps its name.
      if (key.is_object() && !still.empty())
        for (const auto& [member, name] : key.items())
          if (!name.is_null()) (*value)[member] = name;
      drop = value->empty() && still.empty();
    }
    if (drop) dropped.push_back(element.name);
  }
  if (document.is_object()) {
    for (const std::string& name : dropped) document.erase(name.substr(2));
    return;
  }
  Json rest = Json::array();
  for (size_t i = 0; i < elements.size(); ++i)
    if (std::ranges::find(dropped, elements[i].name) == dropped.end()) rest.push_back(document[i]);
  document = std::move(rest);
}

// What `kubectl apply` owns by the annotation of its client side, as far as the object still says
// the same: its server side takes that over without asking whoever owns it by the books.
FieldSet OwnedByAnnotation(const Call& call, const Json& live, const MergeType& type) {
  const auto last = ParseJson(TextAt(
      live, {"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"}));
  if (call.manager != "kubectl" || !last ||
      TextAt(*last, {"apiVersion"}) != call.resource->ApiVersion())
    return {};
  const Json before = Ownable(*last), after = Ownable(live);
  const FieldSet::Difference since = FieldSet::Compare(&before, &after, type);
  return FieldSet::Of(before, type).Minus(since.modified).Minus(since.added).Minus(since.removed);
}

Failure OwnedByOthers(const Call& call, const std::vector<Cause>& causes) {
  std::vector<std::string> said;
  for (const Cause& cause : causes)
    said.push_back(fmt::format("{}: {}", cause.message, cause.field));
  Failure failure = Conflict(call.about(), "");
  failure.message = fmt::format("Apply failed with {} conflict{}: {}", causes.size(),
                                causes.size() == 1 ? "" : "s", fmt::join(said, "; "));
  failure.causes = causes;
  return failure;
}

}  // namespace

std::vector<FieldOwner> ReadOwners(const Json& document) {
  std::vector<FieldOwner> out;
  const Json* list = Find(document, {"metadata", "managedFields"});
  if (list == nullptr || !list->is_array()) return out;
  for (const Json& entry : *list) {
    FieldOwner owner{TextAt(entry, {"manager"}),    TextAt(entry, {"operation"}),
                     TextAt(entry, {"apiVersion"}), TextAt(entry, {"subresource"}),
                     TextAt(entry, {"time"}),       {}};
    if (const Json* fields = Find(entry, {"fieldsV1"})) owner.fields = FieldSet::FromJson(*fields);
    out.push_back(std::move(owner));
  }
  return out;
}

void WriteOwners(const std::vector<FieldOwner>& owners, Json& document) {
  Json list = Json::array();
  for (const FieldOwner& owner : owners) {
    if (owner.fields.empty()) continue;
    Json entry = {{"manager", owner.name},           {"operation", owner.operation},
                  {"apiVersion", owner.api_version}, {"time", owner.time},
                  {"fieldsType", "FieldsV1"},        {"fieldsV1", owner.fields.ToJson()}};
    if (!owner.subresource.empty()) entry["subresource"] = owner.subresource;
    list.push_back(std::move(entry));
  }
  if (list.empty())
    Erase(document, {"metadata", "managedFields"});
  else
    MapAt(document, {"metadata"})["managedFields"] = std::move(list);
}

void TrackUpdate(const Call& call, const Json* old, WallTime now, Json& document) {
  const MergeType type = MergeType::ForApply(*call.resource);
  const Json before = old == nullptr ? Json::object() : Ownable(*old), after = Ownable(document);
  const FieldSet::Difference changed = FieldSet::Compare(&before, &after, type);
  const FieldSet taken = changed.added.Union(changed.modified);
  // A client may rewrite the owners itself, as kubectl does when it moves to server-side apply;
  // one that doesn't send them keeps them.
  const bool sent = Find(document, {"metadata", "managedFields"}) != nullptr;
  std::vector<FieldOwner> owners;
  if (old != nullptr) owners = ReadOwners(sent ? document : *old);
  FieldOwner caller = Caller(call, "Update", now);
  bool found = false;
  for (FieldOwner& owner : owners) {
    owner.fields = owner.fields.Minus(taken).Minus(changed.removed);
    if (!owner.SameAs(caller)) continue;
    found = true;
    owner.fields = owner.fields.Union(taken);
    if (!taken.empty()) owner.time = caller.time;
  }
  caller.fields = taken;
  if (!found && !taken.empty()) owners.push_back(std::move(caller));
  WriteOwners(owners, document);
}

Answered<Json> Apply(const Call& call, const Json* live, Json config, WallTime now) {
  const MergeType type = MergeType::ForApply(*call.resource);
  const FieldSet wanted = Reachable(call, FieldSet::Of(Ownable(config), type));
  std::vector<FieldOwner> owners = live == nullptr ? std::vector<FieldOwner>() : ReadOwners(*live);
  FieldOwner caller = Caller(call, "Apply", now);
  caller.fields = wanted;
  Json merged = MergeInto(live, config, type);

  const Json before = live == nullptr ? Json::object() : Ownable(*live), after = Ownable(merged);
  const FieldSet::Difference changed = FieldSet::Compare(&before, &after, type);
  const FieldSet touched = Reachable(call, changed.added.Union(changed.modified));
  const FieldSet annotated = live == nullptr ? FieldSet() : OwnedByAnnotation(call, *live, type);
  FieldSet last, others;
  std::vector<Cause> conflicts;
  for (FieldOwner& owner : owners) {
    if (owner.SameAs(caller)) {
      last = owner.fields;
      continue;
    }
    const FieldSet contested = owner.fields.Intersection(touched);
    for (const std::string& path : contested.Minus(annotated).Paths())
      conflicts.push_back(
          {"FieldManagerConflict",
           fmt::format("conflict with \"{}\" using {}", owner.name, owner.api_version), path});
    owner.fields = owner.fields.Minus(contested);
    others = others.Union(owner.fields);
  }
  if (!conflicts.empty() && !call.force) return std::unexpected(OwnedByOthers(call, conflicts));

  // What this owner applied before and doesn't any more goes, unless somebody else owns it.
  const FieldSet dropped = last.Minus(wanted).Minus(others);
  if (!dropped.empty()) RemoveFields(merged, dropped, wanted.Union(others), type);
  std::erase_if(owners, [&](const FieldOwner& owner) { return owner.SameAs(caller); });
  owners.push_back(std::move(caller));
  WriteOwners(owners, merged);
  return merged;
}

}  // namespace sky::lab
