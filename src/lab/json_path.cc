// SPDX-License-Identifier: Apache-2.0
#include "lab/json_path.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace sky::lab {
namespace {

// Reads a member name up to "." or "["; "\" takes the next character as it is.
std::string TakeName(std::string_view& rest) {
  std::string name;
  while (!rest.empty() && rest[0] != '.' && rest[0] != '[') {
    if (rest[0] == '\\' && rest.size() > 1) rest.remove_prefix(1);
    name.push_back(rest[0]);
    rest.remove_prefix(1);
  }
  return name;
}

bool IsQuoted(std::string_view text) {
  return text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0];
}

std::string Unquote(std::string_view text) {
  std::string out;
  text = text.substr(1, text.size() - 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out.push_back(text[i]);
  }
  return out;
}

// The "]" that closes a bracket, quotes minded; npos without one.
size_t ClosingBracket(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (quote != 0) {
      if (text[i] == quote) quote = 0;
    } else if (text[i] == '\'' || text[i] == '"') {
      quote = text[i];
    } else if (text[i] == ']') {
      return i;
    }
  }
  return text.npos;
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<JsonPath::Step> JsonPath::ParseBracket(std::string_view inside, std::string_view whole) {
  Step step;
  if (inside == "*") {
    step.kind = Step::Kind::kAll;
    return step;
  }
  if (IsQuoted(inside)) {
    step.name = Unquote(inside);
    return step;
  }
  if (inside.starts_with("?(@.") && inside.ends_with(')')) {
    std::string_view condition = inside.substr(4, inside.size() - 5);
    const size_t equals = condition.find("==");
    if (equals != condition.npos) {
      const std::string_view value = Trimmed(condition.substr(equals + 2));
      std::string_view field = Trimmed(condition.substr(0, equals));
      step.kind = Step::Kind::kWhere;
      step.value = IsQuoted(value) ? Unquote(value) : std::string(value);
      while (!field.empty()) {
        step.field.push_back(TakeName(field));
        if (!field.empty()) field.remove_prefix(1);
      }
      return step;
    }
  }
  const auto [end, error] =
      std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
  if (error != std::errc{} || end != inside.data() + inside.size())
    return Fail(Code::kInvalid, "\"[{}]\" in the JSONPath \"{}\" is not known", inside, whole);
  step.kind = Step::Kind::kIndex;
  return step;
}

Result<JsonPath> JsonPath::Parse(std::string_view text) {
  JsonPath path;
  std::string_view rest = text;
  if (rest.starts_with('{') && rest.ends_with('}')) rest = rest.substr(1, rest.size() - 2);
  if (rest.starts_with('$')) rest.remove_prefix(1);
  while (!rest.empty()) {
    if (rest[0] == '.') {
      rest.remove_prefix(1);
      if (rest.starts_with('[')) continue;
      Step step;
      step.name = TakeName(rest);
      if (step.name.empty())
        return Fail(Code::kInvalid, "a name is missing in the JSONPath \"{}\"", text);
      path.steps_.push_back(std::move(step));
    } else if (rest[0] == '[') {
      const size_t end = ClosingBracket(rest.substr(1));
      if (end == rest.npos)
        return Fail(Code::kInvalid, "a \"]\" is missing in the JSONPath \"{}\"", text);
      path.steps_.push_back(TRY(ParseBracket(rest.substr(1, end), text)));
      rest.remove_prefix(end + 2);
    } else {
      return Fail(Code::kInvalid, "the JSONPath \"{}\" must begin with \".\"", text);
    }
  }
  return path;
}

void JsonPath::Take(const Step& step, const Json& at, std::vector<const Json*>& out) {
  switch (step.kind) {
    case Step::Kind::kMember:
      if (const Json* found = Find(at, {step.name})) out.push_back(found);
      return;
    case Step::Kind::kIndex: {
      if (!at.is_array()) return;
      const auto size = static_cast<int64_t>(at.size());
      const int64_t index = step.index < 0 ? size + step.index : step.index;
      if (index >= 0 && index < size) out.push_back(&at[static_cast<size_t>(index)]);
      return;
    }
    case Step::Kind::kAll:
      if (at.is_structured())
        for (const Json& item : at) out.push_back(&item);
      return;
    case Step::Kind::kWhere:
      if (!at.is_array()) return;
      for (const Json& item : at) {
        const Json* value = &item;
        for (const std::string& name : step.field)
          value = value == nullptr ? nullptr : Find(*value, {name});
        if (value == nullptr) continue;
        if ((value->is_string() ? value->get<std::string>() : Dump(*value)) == step.value)
          out.push_back(&item);
      }
      return;
  }
}

std::vector<const Json*> JsonPath::Evaluate(const Json& document) const {
  std::vector<const Json*> at = {&document};
  for (const Step& step : steps_) {
    std::vector<const Json*> next;
    for (const Json* value : at) Take(step, *value, next);
    at = std::move(next);
  }
  return at;
}

}  // namespace sky::lab
