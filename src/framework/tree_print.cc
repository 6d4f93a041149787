// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "framework/plain_scalar.h"
#include "framework/tree.h"

namespace sky::framework {
namespace {

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/';
}

// What YAML reads as this very text without quotes in a block: words, and expressions over them.
bool IsSafePlain(std::string_view text) {
  if (text.empty() || text.size() > 200 || !IsWordByte(text.front()) || text.back() == ' ')
    return false;
  const auto safe = [](char c) {
    return IsWordByte(c) || std::string_view("-(), *").find(c) != std::string_view::npos;
  };
  if (!std::all_of(text.begin(), text.end(), safe)) return false;
  const PlainScalar plain = ReadPlainScalar(text);
  return plain.kind == Tree::Kind::kText && plain.advice.empty();
}

std::string PrintValue(const Tree& tree, size_t indent) {
  const bool nested = (tree.kind == Tree::Kind::kMap && !tree.map.empty()) ||
                      (tree.kind == Tree::Kind::kList && !tree.list.empty());
  return (nested ? "\n" : " ") + PrintTree(tree, indent);
}

// The item's first line stands behind the dash instead of its margin.
std::string PrintItem(const Tree& item, size_t indent) {
  std::string text = PrintTree(item, indent);
  const bool nested = text.find_first_not_of(' ') == indent;
  return nested ? text.substr(indent) : text;
}

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Offset of a position, or the text's size.
size_t OffsetOf(std::string_view text, Position at) {
  size_t begin = 0;
  for (int line = 1; line < at.line; ++line) {
    const size_t end = text.find('\n', begin);
    if (end == text.npos) return text.size();
    begin = end + 1;
  }
  return std::min(begin + static_cast<size_t>(at.column - 1), text.size());
}

Position PositionOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return {1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          1 + static_cast<int>(offset - line_begin)};
}

}  // namespace

std::string PrintText(std::string_view text) {
  if (IsSafePlain(text)) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string PrintTree(const Tree& tree, size_t indent) {
  const std::string margin(indent, ' ');
  std::string out;
  switch (tree.kind) {
    case Tree::Kind::kNull:
      return "null";
    case Tree::Kind::kBool:
    case Tree::Kind::kInt:
    case Tree::Kind::kDecimal:
      return tree.text;
    case Tree::Kind::kText:
      return PrintText(tree.text);
    case Tree::Kind::kList:
      if (tree.list.empty()) return "[]";
      for (const Tree& item : tree.list)
        out +=
            fmt::format("{}{}- {}", out.empty() ? "" : "\n", margin, PrintItem(item, indent + 2));
      return out;
    case Tree::Kind::kMap:
      if (tree.map.empty()) return "{}";
      for (const TreeEntry& entry : tree.map)
        out += fmt::format("{}{}{}:{}", out.empty() ? "" : "\n", margin, PrintText(entry.key),
                           PrintValue(entry.value, indent + 2));
      return out;
  }
  return out;
}

Position InDocument(std::string_view document, Position scalar_at, std::string_view value,
                    Position inside) {
  // YAML folds and indents, but changes no byte that isn't blank (escapes aside): so count those.
  size_t at = OffsetOf(document, scalar_at);
  const char style = at < document.size() ? document[at] : '\0';
  if (style == '"' || style == '\'') ++at;
  if (style == '|' || style == '>') at = std::min(document.find('\n', at), document.size());
  for (const char c : value.substr(0, OffsetOf(value, inside))) {
    if (IsBlank(c)) continue;
    while (at < document.size() && IsBlank(document[at])) ++at;
    if (at >= document.size() || document[at] != c) return scalar_at;
    ++at;
  }
  while (at < document.size() && IsBlank(document[at])) ++at;
  return PositionOf(document, at);
}

}  // namespace sky::framework
