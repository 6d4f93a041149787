// SPDX-License-Identifier: Apache-2.0
#include "lab/patch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/merge_types.h"

namespace sky::lab {
namespace {

constexpr size_t kMaxOperations = 10'000;
constexpr std::string_view kDeletePrefix = "$deleteFromPrimitiveList/";
constexpr std::string_view kOrderPrefix = "$setElementOrder/";

Failure Unprocessable(std::string message) {
  Failure failure;
  failure.code = 422;
  failure.reason = "Invalid";
  failure.message = std::move(message);
  return failure;
}

class StrategicMerge {
 public:
  Answered<Json> Merge(Json document, const Json& patch, const MergeType& type) const;

 private:
  Answered<Json> MergeObject(Json document, const Json& patch, const MergeType& type) const;
  Answered<Json> MergeList(Json list, const Json& patch, const MergeType& type) const;
  Answered<Json> MergeItems(Json list, const Json& patch, const MergeType& type) const;
  static void Reorder(Json& list, const Json& order, const MergeType& type);
};

Answered<Json> StrategicMerge::Merge(Json document, const Json& patch,
                                     const MergeType& type) const {
  if (patch.is_object()) return MergeObject(std::move(document), patch, type);
  if (patch.is_array()) return MergeList(std::move(document), patch, type);
  return patch;
}

Answered<Json> StrategicMerge::MergeObject(Json document, const Json& patch,
                                           const MergeType& type) const {
  const std::string directive = TextAt(patch, {"$patch"});
  if (directive == "delete") return Json::object();
  if (directive == "replace") {
    Json whole = patch;
    whole.erase("$patch");
    return whole;
  }
  if (!directive.empty() && directive != "merge")
    return std::unexpected(BadRequest("unknown $patch directive \"" + directive + "\""));
  if (!document.is_object()) document = Json::object();
  // A union (volume source, update strategy): what isn't named goes.
  if (const Json* retained = Find(patch, {"$retainKeys"})) {
    const std::vector<std::string> keys = TextsAt(patch, {"$retainKeys"});
    if (!retained->is_array()) return std::unexpected(BadRequest("$retainKeys must be a list"));
    for (auto member = document.begin(); member != document.end();)
      member = std::ranges::find(keys, member.key()) == keys.end() ? document.erase(member)
                                                                   : std::next(member);
  }
  for (const auto& [name, value] : patch.items()) {
    if (name == "$patch" || name == "$retainKeys" || name.starts_with(kOrderPrefix)) continue;
    if (name.starts_with(kDeletePrefix)) {
      Json* list = Find(document, {name.substr(kDeletePrefix.size())});
      if (list != nullptr && list->is_array() && value.is_array())
        for (const Json& gone : value)
          list->erase(std::remove(list->begin(), list->end(), gone), list->end());
      continue;
    }
    if (value.is_null()) {
      document.erase(name);
      continue;
    }
    Json merged = TRY(Merge(document.value(name, Json()), value, type.Member(name)));
    document[name] = std::move(merged);
  }
  for (const auto& [name, order] : patch.items())
    if (name.starts_with(kOrderPrefix)) {
      const std::string list_name = name.substr(kOrderPrefix.size());
      if (Json* list = Find(document, {list_name}); list != nullptr && list->is_array())
        Reorder(*list, order, type.Member(list_name));
    }
  return document;
}

Answered<Json> StrategicMerge::MergeList(Json list, const Json& patch,
                                         const MergeType& type) const {
  switch (type.list()) {
    case MergeType::List::kAtomic:
      return patch;
    case MergeType::List::kSet:
      if (!list.is_array()) list = Json::array();
      for (const Json& item : patch)
        if (std::ranges::find(list, item) == list.end()) list.push_back(item);
      return list;
    case MergeType::List::kMap:
      return MergeItems(std::move(list), patch, type);
  }
  return patch;
}

Answered<Json> StrategicMerge::MergeItems(Json list, const Json& patch,
                                          const MergeType& type) const {
  if (!list.is_array()) list = Json::array();
  const MergeType::Keys keys = type.keys();
  const bool replaces = std::ranges::any_of(patch, [](const Json& item) {
    return item.is_object() && item.size() == 1 && TextAt(item, {"$patch"}) == "replace";
  });
  if (replaces) list = Json::array();
  for (const Json& item : patch) {
    if (item.is_object() && item.size() == 1 && TextAt(item, {"$patch"}) == "replace") continue;
    for (const auto& [name, fallback] : keys)
      if (!item.is_object() || !item.contains(name))
        return std::unexpected(BadRequest(fmt::format(
            "the patch has a list item without its merge key \"{}\": {}", name, Dump(item))));
    const Json key = MergeType::KeyOf(keys, item);
    const auto same = std::find_if(list.begin(), list.end(), [&](const Json& other) {
      return MergeType::KeyOf(keys, other) == key;
    });
    if (TextAt(item, {"$patch"}) == "delete") {
      if (same != list.end()) list.erase(same);
    } else if (same == list.end()) {
      list.push_back(TRY(Merge(Json::object(), item, type.Item())));
    } else {
      *same = TRY(Merge(*same, item, type.Item()));
    }
  }
  return list;
}

// Items that the order names come in that order; others stay behind the one that they stood behind.
void StrategicMerge::Reorder(Json& list, const Json& order, const MergeType& type) {
  if (!order.is_array() || type.list() == MergeType::List::kAtomic) return;
  const MergeType::Keys keys = type.keys();
  const auto identity = [&](const Json& item) {
    return type.list() == MergeType::List::kMap ? MergeType::KeyOf(keys, item) : item;
  };
  const auto rank = [&](const Json& item) {
    for (size_t i = 0; i < order.size(); ++i)
      if (identity(order[i]) == identity(item)) return static_cast<int64_t>(i);
    return int64_t{-1};
  };
  std::vector<std::pair<int64_t, size_t>> places;  // rank, place so far
  int64_t before = -1;
  for (size_t i = 0; i < list.size(); ++i) {
    const int64_t own = rank(list[i]);
    if (own >= 0) before = own;
    places.emplace_back(before, i);
  }
  std::ranges::sort(places);
  Json ordered = Json::array();
  for (const auto& [position, place] : places) ordered.push_back(std::move(list[place]));
  list = std::move(ordered);
}

}  // namespace

Answered<Json> ApplyJsonPatch(const Json& document, const Json& patch) {
  if (!patch.is_array()) return std::unexpected(BadRequest("a JSON patch is a list of operations"));
  if (patch.size() > kMaxOperations)
    return std::unexpected(BadRequest(fmt::format(
        "a JSON patch may have {} operations, this has {}", kMaxOperations, patch.size())));
  try {
    return document.patch(patch);
  } catch (const Json::exception& e) {
    return std::unexpected(
        Unprocessable(fmt::format("the JSON patch does not apply: {}", e.what())));
  }
}

Json ApplyMergePatch(Json document, const Json& patch) {
  document.merge_patch(patch);
  return document;
}

Answered<Json> ApplyStrategicPatch(const Resource& resource, Json document, const Json& patch) {
  if (!patch.is_object())
    return std::unexpected(BadRequest("a strategic merge patch is an object"));
  return StrategicMerge().Merge(std::move(document), patch, MergeType::ForStrategic(resource));
}

}  // namespace sky::lab
