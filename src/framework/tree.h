// SPDX-License-Identifier: Apache-2.0
// A YAML document as a small typed tree that remembers where each part stood. It is stricter than
// YAML, so that nothing is read otherwise than it looks: duplicate keys, anchors, aliases, tags, a
// second document, and plain words that YAML versions disagree on (yes, on, 010, 0x10, 1e3) are
// refused with their position. Made by ReadTree when the configuration is loaded; a value, constant
// afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expression.h"

namespace sky::framework {

using expr::Position;
using expr::Problem;

inline constexpr size_t kMaxDocumentBytes = 1024 * 1024;
inline constexpr size_t kMaxTreeDepth = 32;

struct TreeEntry;

struct Tree {
  enum class Kind : uint8_t {
    kNull,
    kBool,     // text is "true" or "false"
    kInt,      // text is -?digits without leading zeros, of any length
    kDecimal,  // text is an int, a dot and digits
    kText,
    kList,
    kMap,
  };

  Kind kind = Kind::kNull;
  std::string text;
  std::vector<Tree> list;
  std::vector<TreeEntry> map;  // in the order of the document, keys unique
  Position at;                 // of an absent value: its key's

  static Tree Text(std::string text);
  static Tree Map(std::vector<TreeEntry> entries);

  // The value of a key of a map, or nullptr.
  const Tree* Find(std::string_view key) const;
  // The same content; where it stood doesn't count.
  bool operator==(const Tree& other) const;
};

struct TreeEntry {
  std::string key;
  Position at;
  Tree value;
  bool operator==(const TreeEntry& other) const { return key == other.key && value == other.value; }
};

// An empty document is kNull.
std::expected<Tree, Problem> ReadTree(std::string_view document);

// For messages: "a list", "the number 5", "'spread'".
std::string Describe(const Tree& tree);

// YAML that ReadTree reads as the same tree. A map or list begins on a new line, indented by
// `indent`; everything else stands on one line. Ends without a line break.
std::string PrintTree(const Tree& tree, size_t indent = 0);
// A text as a YAML scalar: plain where that is safe, else in double quotes.
std::string PrintText(std::string_view text);

// Where the byte at `inside` of a scalar's value stands in the document, when the scalar begins at
// `scalar_at`: exact but for escapes in double quotes, for which the scalar's own begin is
// returned.
Position InDocument(std::string_view document, Position scalar_at, std::string_view value,
                    Position inside);

}  // namespace sky::framework
