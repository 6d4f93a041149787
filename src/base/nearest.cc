// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace sky {
namespace {
// Names longer than this are not worth a guess; it also bounds the work on hostile input.
constexpr size_t kLongestName = 100;
}  // namespace

size_t SlipLimit(std::string_view name) { return std::max<size_t>(1, name.size() / 3); }

size_t EditDistance(std::string_view a, std::string_view b) {
  if (a.size() > kLongestName || b.size() > kLongestName) return std::max(a.size(), b.size());
  // Three rows of the table: the one being filled and the two before it (a swap looks two back).
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace sky
