// SPDX-License-Identifier: Apache-2.0
#include "model/cells.h"

#include <atomic>

namespace sky::model {

uint64_t Tick() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

CellId Cells::FindOrAdd(const CellKey& key) {
  const auto [at, added] = by_key_.try_emplace(key);
  if (!added) return at->second;
  if (free_.empty()) {
    at->second = CellId(rows_.size());
    rows_.emplace_back();
  } else {
    at->second = free_.back();
    free_.pop_back();
  }
  rows_[at->second.index()] = Cell{key, {}, 0, 0};
  return at->second;
}

void Cells::Free(CellId id) {
  by_key_.erase(rows_[id.index()].key);
  rows_[id.index()] = Cell{};
  free_.push_back(id);
}

}  // namespace sky::model
