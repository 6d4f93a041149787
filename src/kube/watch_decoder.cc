// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_decoder.h"

#include <simdjson.h>

#include <optional>

#include "api/json.h"

namespace sky::kube {
namespace {

namespace ondemand = simdjson::ondemand;

WatchEvent::Type TypeOf(std::string_view text) {
  if (text == "ADDED") return WatchEvent::Type::kAdded;
  if (text == "MODIFIED") return WatchEvent::Type::kModified;
  if (text == "DELETED") return WatchEvent::Type::kDeleted;
  if (text == "BOOKMARK") return WatchEvent::Type::kBookmark;
  if (text == "ERROR") return WatchEvent::Type::kError;
  return WatchEvent::Type::kUnknown;
}

std::unexpected<Error> NotJson(std::string_view what, simdjson::error_code code) {
  return Fail(Code::kInvalid, "{} is no JSON object that can be read: {}", what,
              simdjson::error_message(code));
}

// Walks the members of the object that `text` is, calling on_member(name, value) → error_code for
// each. The parser reads a padded copy; At() finds the place in `text` again.
class Members {
 public:
  explicit Members(std::string_view text) : text_(text), copy_(text) {}

  template <class F>
  simdjson::error_code Walk(F&& on_member) {
    ondemand::document document;
    if (const auto error = parser_.iterate(copy_).get(document)) return error;
    ondemand::object object;
    if (const auto error = document.get_object().get(object)) return error;
    for (auto member : object) {
      ondemand::field field;
      if (const auto error = std::move(member).get(field)) return error;
      std::string_view name;
      if (const auto error = field.unescaped_key().get(name)) return error;
      if (const auto error = on_member(name, field.value())) return error;
    }
    // Once the whole text was read there is no current place in it any more.
    const bool at_end = document.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return at_end ? simdjson::SUCCESS : simdjson::TRAILING_CONTENT;
  }

  // The JSON of an object or array value, as a part of the text given to the constructor.
  simdjson::error_code Raw(ondemand::value& value, std::string_view& raw) const {
    std::string_view in_copy;
    if (const auto error = simdjson::to_json_string(value).get(in_copy)) return error;
    raw = text_.substr(static_cast<size_t>(in_copy.data() - copy_.data()), in_copy.size());
    return simdjson::SUCCESS;
  }

 private:
  std::string_view text_;
  simdjson::padded_string copy_;
  ondemand::parser parser_;
};

simdjson::error_code ReadObject(Members& members, ondemand::value& value, std::string_view& raw) {
  ondemand::json_type type{};
  if (const auto error = value.type().get(type)) return error;
  if (type != ondemand::json_type::object) return simdjson::INCORRECT_TYPE;
  return members.Raw(value, raw);
}

simdjson::error_code ReadItems(Members& members, ondemand::value& value,
                               std::vector<std::string_view>& items) {
  ondemand::json_type type{};
  if (const auto error = value.type().get(type)) return error;
  if (type == ondemand::json_type::null) return simdjson::SUCCESS;
  ondemand::array array;
  if (const auto error = value.get_array().get(array)) return error;
  for (auto element : array) {
    ondemand::value item;
    if (const auto error = std::move(element).get(item)) return error;
    std::string_view raw;
    if (const auto error = ReadObject(members, item, raw)) return error;
    items.push_back(raw);
  }
  return simdjson::SUCCESS;
}

// The list's own metadata, which isn't that of an object.
simdjson::error_code ReadListMeta(ondemand::value& value, ListPage& page) {
  ondemand::object meta;
  if (const auto error = value.get_object().get(meta)) return error;
  for (auto member : meta) {
    ondemand::field field;
    if (const auto error = std::move(member).get(field)) return error;
    std::string_view name;
    if (const auto error = field.unescaped_key().get(name)) return error;
    if (name != "resourceVersion" && name != "continue") continue;
    std::string_view text;
    if (const auto error = field.value().get_string().get(text)) return error;
    (name == "continue" ? page.continue_token : page.resource_version) = text;
  }
  return simdjson::SUCCESS;
}

}  // namespace

Result<WatchEvent> ParseWatchLine(std::string_view line) {
  Members members(line);
  WatchEvent event;
  const auto error =
      members.Walk([&](std::string_view name, ondemand::value value) -> simdjson::error_code {
        if (name == "object") return ReadObject(members, value, event.object);
        if (name != "type") return simdjson::SUCCESS;
        std::string_view type;
        if (const auto wrong = value.get_string().get(type)) return wrong;
        event.type_text = type;
        event.type = TypeOf(type);
        return simdjson::SUCCESS;
      });
  if (error) return NotJson("a line of the watch", error);
  if (event.type_text.empty() || event.object.empty())
    return Fail(Code::kInvalid, "a line of the watch has no \"type\" or no \"object\"");
  return event;
}

Result<api::ObjectMeta> ParseMeta(std::string_view object) {
  Members members(object);
  std::string_view meta;
  const auto error =
      members.Walk([&](std::string_view name, ondemand::value value) -> simdjson::error_code {
        return name == "metadata" ? ReadObject(members, value, meta) : simdjson::SUCCESS;
      });
  if (error) return NotJson("an object", error);
  if (meta.empty()) return Fail(Code::kInvalid, "an object has no metadata");
  return api::Decode<api::ObjectMeta>(meta);
}

Result<ListPage> ParseListPage(std::string_view text) {
  Members members(text);
  ListPage page;
  const auto error =
      members.Walk([&](std::string_view name, ondemand::value value) -> simdjson::error_code {
        if (name == "items") return ReadItems(members, value, page.items);
        if (name == "metadata") return ReadListMeta(value, page);
        return simdjson::SUCCESS;
      });
  if (error) return NotJson("a list", error);
  if (page.resource_version.empty())
    return Fail(Code::kInvalid, "a list has no metadata.resourceVersion");
  return page;
}

}  // namespace sky::kube
