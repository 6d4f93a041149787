// SPDX-License-Identifier: Apache-2.0
// YAML as Kubernetes reads it: YAML 1.1 scalars, JSON's types.
#include <yaml-cpp/yaml.h>

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lab/document.h"

namespace sky::lab {
namespace {

constexpr int kMaxDepth = 200;

std::unexpected<Error> At(const YAML::Mark& mark, std::string_view what) {
  return Fail(Code::kInvalid, "line {}, column {}: {}", mark.line + 1, mark.column + 1, what);
}

template <size_t N>
bool OneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  for (const std::string_view word : words)
    if (text == word) return true;
  return false;
}

std::optional<Json> Integer(std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.starts_with("0o")) {
    base = 8;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.starts_with('0')) {
    base = 8;
    digits.remove_prefix(1);
  }
  if (digits.empty()) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!negative) return value <= kMax ? Json(static_cast<int64_t>(value)) : Json(value);
  if (value > kMax) return std::nullopt;
  return Json(-static_cast<int64_t>(value));
}

std::optional<Json> Real(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.find_first_of("0123456789") == text.npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return Json(value);
}

Json Scalar(const YAML::Node& node) {
  static constexpr std::array<std::string_view, 11> kTrue = {
      "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"};
  static constexpr std::array<std::string_view, 11> kFalse = {
      "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"};
  static constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
  const std::string& text = node.Scalar();
  // "!" is the tag of a quoted scalar, "?" of a plain one.
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return text;
  if (OneOf(text, kNull)) return nullptr;
  if (OneOf(text, kTrue)) return true;
  if (OneOf(text, kFalse)) return false;
  if (auto integer = Integer(text)) return *std::move(integer);
  if (auto real = Real(text)) return *std::move(real);
  return text;
}

Result<Json> Convert(const YAML::Node& node, int depth) {
  if (depth > kMaxDepth) return At(node.Mark(), "nested too deep");
  if (node.IsNull()) return Json(nullptr);
  if (node.IsScalar()) return Scalar(node);
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& item : node) list.push_back(TRY(Convert(item, depth + 1)));
    return list;
  }
  Json map = Json::object();
  for (const auto& member : node) {
    const YAML::Node &key = member.first, &value = member.second;
    if (!key.IsScalar()) return At(key.Mark(), "a key must be a text");
    const std::string& name = key.Scalar();
    if (map.contains(name)) return At(key.Mark(), fmt::format("\"{}\" is there twice", name));
    map[name] = TRY(Convert(value, depth + 1));
  }
  return map;
}

}  // namespace

Result<std::vector<Json>> ParseYaml(std::string_view text) {
  std::vector<Json> out;
  try {
    for (const YAML::Node& node : YAML::LoadAll(std::string(text))) {
      Json document = TRY(Convert(node, 0));
      if (!document.is_null()) out.push_back(std::move(document));
    }
    return out;
  } catch (const YAML::Exception& e) {
    return At(e.mark, e.msg);
  }
}

}  // namespace sky::lab
