// SPDX-License-Identifier: Apache-2.0
#include "server/target.h"

#include <cctype>

namespace sky::server {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// In a query "+" stands for a space; in a path it is itself.
Result<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return Fail(Code::kInvalid, "\"%\" in \"{}\" must be followed by two hex digits", text);
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (IsControl(c) && !(plus_is_space && (c == '\n' || c == '\r' || c == '\t')))
      return Fail(Code::kInvalid, "the request target holds a control character");
    out.push_back(c);
  }
  return out;
}

Status ParsePath(std::string_view path, Target& target) {
  size_t at = 0;
  while (at < path.size()) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end > at) {
      target.segments.push_back(TRY(Decode(path.substr(at, end - at), false)));
      if (const std::string& segment = target.segments.back(); segment == "." || segment == "..")
        return Fail(Code::kInvalid, "\"{}\" is no segment of a path here", segment);
    }
    at = end + 1;
  }
  return {};
}

Status ParseQuery(std::string_view query, Target& target) {
  size_t at = 0;
  while (at < query.size()) {
    const size_t end = std::min(query.find('&', at), query.size());
    const std::string_view pair = query.substr(at, end - at);
    if (!pair.empty()) {
      const size_t equal = std::min(pair.find('='), pair.size());
      std::string name = TRY(Decode(pair.substr(0, equal), true));
      std::string value =
          equal < pair.size() ? TRY(Decode(pair.substr(equal + 1), true)) : std::string();
      target.query.emplace_back(std::move(name), std::move(value));
    }
    at = end + 1;
  }
  return {};
}

}  // namespace

std::optional<std::string_view> Target::Query(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

Result<Target> ParseTarget(std::string_view text) {
  if (!text.starts_with('/'))
    return Fail(Code::kInvalid, "the request target must begin with \"/\"");
  text = text.substr(0, text.find('#'));
  const size_t mark = std::min(text.find('?'), text.size());
  Target target;
  target.path = text.substr(0, mark);
  TRY(ParsePath(target.path, target));
  if (mark < text.size()) TRY(ParseQuery(text.substr(mark + 1), target));
  return target;
}

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
        c == '~')
      out.push_back(c);
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace sky::server
