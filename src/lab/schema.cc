// SPDX-License-Identifier: Apache-2.0
#include "lab/schema.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace sky::lab {
namespace {

// std::regex recurses once a character; longer texts fail their pattern instead of the stack.
constexpr size_t kLongestMatched = 2048;

std::string Join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}
std::string Keyed(const std::string& path, std::string_view key) {
  return fmt::format("{}.{}", path, key);
}

bool Preserves(const Json& schema) {
  return BoolAt(schema, {"x-kubernetes-preserve-unknown-fields"});
}

// The schema of a member: of `properties`, else of `additionalProperties`; null when unknown.
const Json* MemberSchema(const Json& schema, std::string_view name) {
  if (const Json* known = Find(schema, {"properties", name})) return known;
  const Json* other = Find(schema, {"additionalProperties"});
  return other != nullptr && other->is_object() ? other : nullptr;
}

bool TakesAnyMember(const Json& schema) {
  const Json* other = Find(schema, {"additionalProperties"});
  return Preserves(schema) || (other != nullptr && (!other->is_boolean() || other->get<bool>()));
}

void PruneValue(const Json& schema, Json& value, const std::string& path, bool is_root,
                std::vector<std::string>& unknown) {
  if (value.is_object()) {
    for (auto member = value.begin(); member != value.end();) {
      const std::string& name = member.key();
      const bool meta = is_root && (name == "apiVersion" || name == "kind" || name == "metadata");
      const Json* inner = meta ? nullptr : MemberSchema(schema, name);
      if (inner != nullptr) PruneValue(*inner, *member, Join(path, name), false, unknown);
      if (inner == nullptr && !meta && !TakesAnyMember(schema)) {
        unknown.push_back(Join(path, name));
        member = value.erase(member);
      } else {
        ++member;
      }
    }
  } else if (value.is_array()) {
    const Json* items = Find(schema, {"items"});
    if (items == nullptr) return;
    for (size_t i = 0; i < value.size(); ++i)
      PruneValue(*items, value[i], fmt::format("{}[{}]", path, i), false, unknown);
  }
}

void Default(const Json& schema, Json& value) {
  if (value.is_object()) {
    if (const Json* properties = Find(schema, {"properties"}))
      for (const auto& [name, inner] : properties->items()) {
        const Json* fallback = Find(inner, {"default"});
        if (fallback == nullptr) continue;
        const auto found = value.find(name);
        if (found == value.end() || (found->is_null() && !BoolAt(inner, {"nullable"})))
          value[name] = *fallback;
      }
    for (auto& [name, member] : value.items())
      if (const Json* inner = MemberSchema(schema, name)) Default(*inner, member);
  } else if (value.is_array()) {
    if (const Json* items = Find(schema, {"items"}))
      for (Json& item : value) Default(*items, item);
  }
}

std::string TypeName(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  return value.is_array() ? "array" : "object";
}

bool IsInteger(const Json& value) {
  if (value.is_number_integer()) return true;
  return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
}

bool HasType(const Json& value, const std::string& type) {
  if (type == "integer") return IsInteger(value);
  if (type == "number") return value.is_number();
  return TypeName(value) == type;
}

void CheckNumber(const Json& schema, const Json& value, const std::string& path,
                 std::vector<Cause>& out) {
  const auto complain = [&](std::string_view how, const Json& bound) {
    out.push_back(InvalidValue(path, value,
                               fmt::format("{} in body should be {} {}", path, how, Dump(bound))));
  };
  if (const Json* least = Find(schema, {"minimum"})) {
    const bool open = BoolAt(schema, {"exclusiveMinimum"});
    if (value < *least || (open && value == *least))
      complain(open ? "greater than" : "greater than or equal to", *least);
  }
  if (const Json* most = Find(schema, {"maximum"})) {
    const bool open = BoolAt(schema, {"exclusiveMaximum"});
    if (value > *most || (open && value == *most))
      complain(open ? "less than" : "less than or equal to", *most);
  }
  if (const std::string format = TextAt(schema, {"format"}); format == "int32") {
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
      out.push_back(InvalidValue(
          "<nil>", "",
          fmt::format("Checked value must be of type integer with format int32 in {}", path)));
  }
}

void CheckUnique(const Json& schema, const Json& list, const std::string& path,
                 std::vector<Cause>& out) {
  const std::string type = TextAt(schema, {"x-kubernetes-list-type"});
  if (type != "map" && type != "set" && !BoolAt(schema, {"uniqueItems"})) return;
  const std::vector<std::string> keys = TextsAt(schema, {"x-kubernetes-list-map-keys"});
  std::vector<Json> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    Json identity = list[i];
    if (type == "map") {
      identity = Json::object();
      for (const std::string& key : keys)
        if (const Json* value = Find(list[i], {key})) identity[key] = *value;
    }
    if (std::ranges::find(seen, identity) != seen.end())
      out.push_back({"FieldValueDuplicate", "Duplicate value: " + Dump(identity),
                     fmt::format("{}[{}]", path, i)});
    seen.push_back(std::move(identity));
  }
}

}  // namespace

Result<std::shared_ptr<const Schema>> Schema::Make(const Json& open_api_schema) {
  auto schema = std::make_shared<Schema>();
  schema->json_ = std::make_shared<const Json>(open_api_schema);
  TRY(schema->Compile(*schema->json_));
  return schema;
}

Status Schema::Compile(const Json& schema) {
  if (schema.is_array()) {
    for (const Json& item : schema) TRY(Compile(item));
    return {};
  }
  if (!schema.is_object()) return {};
  const Json* pattern = Find(schema, {"pattern"});
  if (pattern != nullptr && pattern->is_string()) {
    const auto text = pattern->get<std::string>();
    try {
      patterns_.emplace(text, std::regex(text, std::regex::ECMAScript | std::regex::optimize));
    } catch (const std::regex_error& e) {
      return Fail(Code::kInvalid, "the pattern \"{}\" can't be compiled: {}", text, e.what());
    }
  }
  for (const auto& [name, inner] : schema.items())
    if (name != "default" && name != "enum") TRY(Compile(inner));
  return {};
}

std::vector<std::string> Schema::Prune(Json& document) const {
  std::vector<std::string> unknown;
  PruneValue(*json_, document, "", true, unknown);
  return unknown;
}

void Schema::FillDefaults(Json& document) const { Default(*json_, document); }

std::vector<Cause> Schema::Check(const Json& document) const {
  std::vector<Cause> out;
  CheckValue(*json_, document, "", out);
  return out;
}

void Schema::CheckValue(const Json& schema, const Json& value, const std::string& path,
                        std::vector<Cause>& out) const {
  if (value.is_null() && BoolAt(schema, {"nullable"})) return;
  if (BoolAt(schema, {"x-kubernetes-int-or-string"})) {
    if (!value.is_string() && !IsInteger(value)) {
      out.push_back(
          {"FieldValueTypeInvalid",
           fmt::format(
               "Invalid value: \"{0}\": {1} in body must be of type integer or string: \"{0}\"",
               TypeName(value), path),
           path});
      return;
    }
  } else if (const std::string type = TextAt(schema, {"type"});
             !type.empty() && !HasType(value, type)) {
    out.push_back({"FieldValueTypeInvalid",
                   fmt::format("Invalid value: \"{0}\": {1} in body must be of type {2}: \"{0}\"",
                               TypeName(value), path, type),
                   path});
    return;
  }
  if (const Json* allowed = Find(schema, {"enum"});
      allowed != nullptr && std::ranges::find(*allowed, value) == allowed->end()) {
    std::vector<std::string> words;
    for (const Json& word : *allowed)
      words.push_back(word.is_string() ? word.get<std::string>() : Dump(word));
    out.push_back(Unsupported(path, value, words));
  }
  if (value.is_string()) CheckText(schema, value.get_ref<const std::string&>(), path, out);
  if (value.is_number()) CheckNumber(schema, value, path, out);
  if (value.is_object()) CheckObject(schema, value, path, out);
  if (value.is_array()) CheckList(schema, value, path, out);
  CheckCombined(schema, value, path, out);
}

void Schema::CheckText(const Json& schema, const std::string& value, const std::string& path,
                       std::vector<Cause>& out) const {
  // Lengths count code points, as OpenAPI says.
  const auto length = std::ranges::count_if(value, [](char c) { return (c & 0xc0) != 0x80; });
  if (const auto most = IntAt(schema, {"maxLength"}); most && length > *most)
    out.push_back(TooLong(path, static_cast<size_t>(*most)));
  if (const auto least = IntAt(schema, {"minLength"}); least && length < *least)
    out.push_back(InvalidValue(
        path, value, fmt::format("{} in body should be at least {} chars long", path, *least)));
  if (TextAt(schema, {"format"}) == "date-time" && !ParseTime(value))
    out.push_back(InvalidValue(
        path, value, fmt::format("{} in body must be of type date-time: {}", path, Dump(value))));
  const std::string pattern = TextAt(schema, {"pattern"});
  if (pattern.empty()) return;
  bool matches = false;
  try {
    matches = value.size() <= kLongestMatched && std::regex_search(value, patterns_.at(pattern));
  } catch (const std::regex_error&) {
    matches = false;  // too complex to be matched
  }
  if (!matches)
    out.push_back(
        InvalidValue(path, value, fmt::format("{} in body should match '{}'", path, pattern)));
}

void Schema::CheckObject(const Json& schema, const Json& value, const std::string& path,
                         std::vector<Cause>& out) const {
  for (const std::string& name : TextsAt(schema, {"required"}))
    if (!value.contains(name)) out.push_back(Required(Join(path, name)));
  if (const auto most = IntAt(schema, {"maxProperties"});
      most && value.size() > static_cast<size_t>(*most))
    out.push_back(TooMany(path, value.size(), static_cast<size_t>(*most)));
  if (const auto least = IntAt(schema, {"minProperties"});
      least && value.size() < static_cast<size_t>(*least))
    out.push_back(InvalidValue(
        path, value, fmt::format("{} in body should have at least {} properties", path, *least)));
  for (const auto& [name, member] : value.items()) {
    // metadata has rules of its own, the same for every kind.
    if (path.empty() && name == "metadata") continue;
    if (const Json* inner = MemberSchema(schema, name))
      CheckValue(
          *inner, member,
          Find(schema, {"properties", name}) != nullptr ? Join(path, name) : Keyed(path, name),
          out);
  }
}

void Schema::CheckList(const Json& schema, const Json& value, const std::string& path,
                       std::vector<Cause>& out) const {
  if (const auto most = IntAt(schema, {"maxItems"});
      most && value.size() > static_cast<size_t>(*most)) {
    out.push_back(TooMany(path, value.size(), static_cast<size_t>(*most)));
    return;
  }
  if (const auto least = IntAt(schema, {"minItems"});
      least && value.size() < static_cast<size_t>(*least))
    out.push_back(
        InvalidValue(path, Json(value.size()),
                     fmt::format("{} in body should have at least {} items", path, *least)));
  CheckUnique(schema, value, path, out);
  const Json* items = Find(schema, {"items"});
  if (items == nullptr) return;
  for (size_t i = 0; i < value.size(); ++i)
    CheckValue(*items, value[i], fmt::format("{}[{}]", path, i), out);
}

void Schema::CheckCombined(const Json& schema, const Json& value, const std::string& path,
                           std::vector<Cause>& out) const {
  const auto passing = [&](const Json& choices) {
    return std::ranges::count_if(choices, [&](const Json& choice) {
      std::vector<Cause> problems;
      CheckValue(choice, value, path, problems);
      return problems.empty();
    });
  };
  if (const Json* all = Find(schema, {"allOf"}))
    for (const Json& each : *all) CheckValue(each, value, path, out);
  if (const Json* any = Find(schema, {"anyOf"}); any != nullptr && passing(*any) == 0)
    out.push_back(InvalidValue(
        path, value, fmt::format("{} in body must validate at least one schema (anyOf)", path)));
  if (const Json* one = Find(schema, {"oneOf"}); one != nullptr && passing(*one) != 1)
    out.push_back(InvalidValue(
        path, value,
        fmt::format("{} in body must validate one and only one schema (oneOf)", path)));
  if (const Json* no = Find(schema, {"not"}); no != nullptr && passing(Json::array({*no})) != 0)
    out.push_back(InvalidValue(path, value,
                               fmt::format("{} in body must not validate the schema (not)", path)));
}

}  // namespace sky::lab
