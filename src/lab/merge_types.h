// SPDX-License-Identifier: Apache-2.0
// How lists and maps merge, place by place: whole (atomic), as a set, or item by item under key
// members. For custom kinds from their schema (x-kubernetes-list-type and friends), for built-in
// ones from a table of the places that matter. Cheap values that walk down beside a document. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/document.h"
#include "lab/resources.h"

namespace sky::lab {

class MergeType {
 public:
  // Of a whole object, for server-side apply or for a strategic merge: some keys differ.
  static MergeType ForApply(const Resource& resource);
  static MergeType ForStrategic(const Resource& resource);

  MergeType Member(std::string_view name) const;
  MergeType Item() const;

  enum class List : uint8_t { kAtomic, kSet, kMap };
  List list() const;
  // Of a kMap list: the members that name an item, each with the value that an absent one has.
  using Keys = std::vector<std::pair<std::string, Json>>;
  Keys keys() const;
  bool atomic_map() const;

  // {"name": "a"}: what identifies the item; a null value for a key that it lacks.
  static Json KeyOf(const Keys& keys, const Json& item);

 private:
  struct Rule;
  const Rule* FindRule() const;
  std::string kind_;              // "Pod", "" for custom kinds
  const Json* schema_ = nullptr;  // of a custom kind, at this place
  std::string path_;              // "spec.containers", without indexes
  bool strategic_ = false;
};

}  // namespace sky::lab
