// SPDX-License-Identifier: Apache-2.0
#include "lab/text_table.h"

#include <algorithm>

#include "base/check.h"

namespace sky::lab {
namespace {

// In code points, so that "…" and names in other scripts count as what one sees.
size_t Width(const std::string& cell) {
  return static_cast<size_t>(std::ranges::count_if(
      cell, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string AlignedTable(const std::vector<TextRow>& rows) {
  if (rows.empty()) return {};
  std::vector<size_t> widths(rows[0].size(), 1);
  for (const TextRow& row : rows) {
    SKY_CHECK(row.size() == widths.size(), "{} cells below {} headings", row.size(), widths.size());
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const TextRow& row : rows) {
    std::string line;
    size_t end = 0;  // where the columns before this one end
    for (size_t i = 0; i < row.size(); ++i) {
      line.append(end - std::min(end, Width(line)), ' ');
      line += row[i].empty() ? "-" : row[i];
      end += widths[i] + 2;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace sky::lab
