// SPDX-License-Identifier: Apache-2.0
#include "lab/field_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/elements.h"

namespace sky::lab {

bool IsGranular(const Json& value, const MergeType& type) {
  if (value.is_object()) return !type.atomic_map();
  return value.is_array() && type.list() != MergeType::List::kAtomic;
}

std::vector<Element> Elements(const Json& value, const MergeType& type) {
  std::vector<Element> out;
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) out.push_back({"f:" + name, &member});
  } else if (type.list() == MergeType::List::kSet) {
    for (const Json& item : value) out.push_back({"v:" + Dump(item), nullptr});
  } else {
    const MergeType::Keys keys = type.keys();
    for (const Json& item : value)
      out.push_back({"k:" + Dump(MergeType::KeyOf(keys, item)), &item});
  }
  return out;
}

MergeType Below(const MergeType& type, const std::string& element) {
  return element.starts_with("f:") ? type.Member(element.substr(2)) : type.Item();
}

FieldSet FieldSet::Leaf() {
  FieldSet leaf;
  leaf.self_ = true;
  return leaf;
}

FieldSet FieldSet::Of(const Json& document, const MergeType& type) {
  if (!IsGranular(document, type) || document.empty()) return Leaf();
  FieldSet set;
  for (const Element& element : Elements(document, type)) {
    FieldSet& below = set.children_[element.name];
    if (element.value != nullptr) below = Of(*element.value, Below(type, element.name));
    // An item of a list is owned as such, besides what it holds.
    if (!element.name.starts_with("f:")) below.self_ = true;
  }
  return set;
}

FieldSet FieldSet::FromJson(const Json& fields) {
  FieldSet set;
  if (!fields.is_object()) return set;
  for (const auto& [name, below] : fields.items()) {
    if (name == ".")
      set.self_ = true;
    else
      set.children_[name] = FromJson(below);
  }
  if (set.children_.empty()) set.self_ = true;
  return set;
}

Json FieldSet::ToJson() const {
  Json out = Json::object();
  if (self_ && !children_.empty()) out["."] = Json::object();
  for (const auto& [name, below] : children_) out[name] = below.ToJson();
  return out;
}

FieldSet FieldSet::Union(const FieldSet& other) const {
  FieldSet out = *this;
  out.self_ = self_ || other.self_;
  for (const auto& [name, below] : other.children_)
    out.children_[name] = out.children_[name].Union(below);
  return out;
}

FieldSet FieldSet::Intersection(const FieldSet& other) const {
  FieldSet out;
  out.self_ = self_ && other.self_;
  for (const auto& [name, below] : children_) {
    const auto found = other.children_.find(name);
    if (found == other.children_.end()) continue;
    FieldSet both = below.Intersection(found->second);
    if (!both.empty()) out.children_[name] = std::move(both);
  }
  return out;
}

FieldSet FieldSet::Minus(const FieldSet& other) const {
  FieldSet out;
  out.self_ = self_ && !other.self_;
  for (const auto& [name, below] : children_) {
    const auto found = other.children_.find(name);
    FieldSet rest = found == other.children_.end() ? below : below.Minus(found->second);
    if (!rest.empty()) out.children_[name] = std::move(rest);
  }
  return out;
}

FieldSet FieldSet::Without(const std::string& member) const {
  FieldSet out = *this;
  out.children_.erase("f:" + member);
  return out;
}

std::vector<std::string> FieldSet::Paths() const {
  std::vector<std::string> out;
  CollectPaths("", out);
  return out;
}

void FieldSet::CollectPaths(const std::string& path, std::vector<std::string>& out) const {
  if (self_) out.push_back(path);
  for (const auto& [name, below] : children_) {
    const std::string rest = name.substr(2);
    if (name.starts_with("f:")) {
      below.CollectPaths(path + "." + rest, out);
      continue;
    }
    std::string inside = rest;
    if (const auto key = ParseJson(rest); key && key->is_object()) {
      inside.clear();
      for (const auto& [member, value] : key->items())
        inside += (inside.empty() ? "" : ",") + member + "=" + Dump(value);
    } else {
      inside = "=" + rest;
    }
    below.CollectPaths(path + "[" + inside + "]", out);
  }
}

void FieldSet::CompareInto(const Json* before, const Json* after, const MergeType& type,
                           FieldSet& added, FieldSet& modified, FieldSet& removed) {
  if (before == nullptr && after == nullptr) return;
  if (before == nullptr || after == nullptr) {
    FieldSet& changed = before == nullptr ? added : removed;
    const Json& there = before == nullptr ? *after : *before;
    changed = Of(there, type);
    changed.self_ = true;
    return;
  }
  if (*before == *after) return;
  const bool granular = IsGranular(*before, type) && IsGranular(*after, type) &&
                        before->is_object() == after->is_object();
  if (!granular) {
    modified.self_ = true;
    return;
  }
  const std::vector<Element> old_elements = Elements(*before, type);
  const auto compare = [&](const std::string& name, const Json* old_value, const Json* new_value) {
    FieldSet a, m, r;
    CompareInto(old_value, new_value, Below(type, name), a, m, r);
    if (!a.empty()) added.children_[name] = std::move(a);
    if (!m.empty()) modified.children_[name] = std::move(m);
    if (!r.empty()) removed.children_[name] = std::move(r);
  };
  std::map<std::string, const Json*> remaining;
  for (const Element& element : old_elements) remaining[element.name] = element.value;
  for (const Element& element : Elements(*after, type)) {
    const auto found = remaining.find(element.name);
    if (element.value == nullptr) {  // of a set
      if (found == remaining.end()) added.children_[element.name] = Leaf();
    } else {
      compare(element.name, found == remaining.end() ? nullptr : found->second, element.value);
    }
    if (found != remaining.end()) remaining.erase(found);
  }
  for (const auto& [name, value] : remaining) {
    if (value == nullptr)
      removed.children_[name] = Leaf();
    else
      compare(name, value, nullptr);
  }
}

FieldSet::Difference FieldSet::Compare(const Json* before, const Json* after,
                                       const MergeType& type) {
  Difference difference;
  CompareInto(before, after, type, difference.added, difference.modified, difference.removed);
  return difference;
}

}  // namespace sky::lab
