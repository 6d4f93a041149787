// SPDX-License-Identifier: Apache-2.0
#include "lab/document.h"

#include <nlohmann/json.hpp>
#include <set>

namespace sky::lab {
namespace {

constexpr int kMaxDepth = 200;

// Follows the parser and notes what it would swallow: doubled members, and nesting that would
// overflow the stack of whoever walks the document later.
class Observer {
 public:
  explicit Observer(std::vector<std::string>* duplicates) : duplicates_(duplicates) {}

  bool too_deep() const { return too_deep_; }

  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        too_deep_ = too_deep_ || depth > kMaxDepth;
        levels_.emplace_back();
        return !too_deep_;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        if (!levels_.empty()) levels_.pop_back();
        return true;
      case Json::parse_event_t::key:
        if (duplicates_ != nullptr && !levels_.empty()) Note(value.get_ref<const std::string&>());
        return true;
      default:
        return true;
    }
  }

 private:
  struct Level {
    std::set<std::string> seen;
    std::string current;
  };
  void Note(const std::string& key) {
    Level& level = levels_.back();
    level.current = key;
    if (level.seen.insert(key).second) return;
    std::string path;
    for (const Level& l : levels_)
      if (!l.current.empty()) path += (path.empty() ? "" : ".") + l.current;
    duplicates_->push_back(path);
  }
  std::vector<std::string>* duplicates_;
  std::vector<Level> levels_;
  bool too_deep_ = false;
};

}  // namespace

const Json* Find(const Json& document, Path path) {
  const Json* at = &document;
  for (const std::string_view step : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(step);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

Json* Find(Json& document, Path path) {
  return const_cast<Json*>(Find(std::as_const(document), path));
}

std::string TextAt(const Json& document, Path path) {
  const Json* at = Find(document, path);
  return at != nullptr && at->is_string() ? at->get<std::string>() : std::string();
}

std::optional<int64_t> IntAt(const Json& document, Path path) {
  const Json* at = Find(document, path);
  if (at == nullptr || !at->is_number_integer()) return std::nullopt;
  return at->get<int64_t>();
}

bool BoolAt(const Json& document, Path path) {
  const Json* at = Find(document, path);
  return at != nullptr && at->is_boolean() && at->get<bool>();
}

Json& MapAt(Json& document, Path path) {
  Json* at = &document;
  for (const std::string_view step : path) {
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[std::string(step)];
  }
  if (!at->is_object()) *at = Json::object();
  return *at;
}

void Erase(Json& document, Path path) {
  Json* at = &document;
  for (auto step = path.begin(); step != path.end(); ++step) {
    if (!at->is_object()) return;
    const auto found = at->find(*step);
    if (found == at->end()) return;
    if (step + 1 == path.end()) {
      at->erase(found);
      return;
    }
    at = &*found;
  }
}

api::StringMap StringsAt(const Json& document, Path path) {
  api::StringMap out;
  const Json* at = Find(document, path);
  if (at == nullptr || !at->is_object()) return out;
  for (const auto& [key, value] : at->items())
    if (value.is_string()) out.emplace(key, value.get<std::string>());
  return out;
}

std::vector<std::string> TextsAt(const Json& document, Path path) {
  std::vector<std::string> out;
  const Json* at = Find(document, path);
  if (at == nullptr || !at->is_array()) return out;
  for (const Json& value : *at)
    if (value.is_string()) out.push_back(value.get<std::string>());
  return out;
}

bool SameAt(const Json& a, const Json& b, Path path) {
  const Json *in_a = Find(a, path), *in_b = Find(b, path);
  if (in_a == nullptr || in_b == nullptr) return in_a == in_b;
  return *in_a == *in_b;
}

void CopyAt(const Json& from, Json& to, Path path) {
  const Json* value = Find(from, path);
  if (value == nullptr) return Erase(to, path);
  Json* at = &to;
  for (const std::string_view step : path) {
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[std::string(step)];
  }
  *at = *value;
}

Result<Json> ParseJson(std::string_view text, std::vector<std::string>* duplicates) {
  Observer observer(duplicates);
  try {
    Json document = Json::parse(text, [&](int depth, Json::parse_event_t event, Json& value) {
      return observer(depth, event, value);
    });
    if (observer.too_deep())
      return Fail(Code::kInvalid, "the document is nested deeper than {} levels", kMaxDepth);
    return document;
  } catch (const Json::exception& e) {
    return Fail(Code::kInvalid, "not JSON: {}", e.what());
  }
}

std::string Dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sky::lab
