// SPDX-License-Identifier: Apache-2.0
// Rows by dense id with an index by name. A freed id is quarantined until ReleaseFreed(), so that
// no snapshot can hold an id that already means something else. Rows know their own `name` and
// `live`.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace sky::model {

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};

template <class IdType, class Row>
class Table {
 public:
  Row& operator[](IdType id) { return rows_[id.index()]; }
  const Row& operator[](IdType id) const { return rows_[id.index()]; }
  // Slots, free ones included; test `live`.
  size_t size() const { return rows_.size(); }
  bool Live(IdType id) const {
    return id.valid() && id.index() < rows_.size() && rows_[id.index()].live;
  }

  IdType Find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? IdType{} : found->second;
  }
  IdType FindOrAdd(std::string_view name) {
    if (const IdType id = Find(name); id.valid()) return id;
    IdType id(rows_.size());
    if (!free_.empty()) {
      // The lowest free id: the same history gives the same ids.
      const auto lowest = std::min_element(free_.begin(), free_.end());
      id = *lowest;
      free_.erase(lowest);
      rows_[id.index()] = Row{};
    } else {
      rows_.emplace_back();
    }
    rows_[id.index()].name = std::string(name);
    rows_[id.index()].live = true;
    by_name_.emplace(std::string(name), id);
    return id;
  }
  void Free(IdType id) {
    by_name_.erase(by_name_.find(rows_[id.index()].name));
    rows_[id.index()] = Row{};
    freed_.push_back(id);
  }
  void ReleaseFreed() {
    free_.insert(free_.end(), freed_.begin(), freed_.end());
    freed_.clear();
  }
  // Makes row `id` equal to the same row of `other`, the index included.
  void CopyRow(IdType id, const Table& other) {
    if (id.index() >= rows_.size()) rows_.resize(id.index() + 1);
    Row& mine = rows_[id.index()];
    const Row& theirs = other.rows_[id.index()];
    const bool same_name = mine.live && theirs.live && mine.name == theirs.name;
    // Another row may have taken the name since: only my own entry goes.
    if (mine.live && !same_name)
      if (const auto found = by_name_.find(mine.name);
          found != by_name_.end() && found->second == id)
        by_name_.erase(found);
    mine = theirs;
    if (mine.live && !same_name) by_name_.insert_or_assign(mine.name, id);
  }

 private:
  std::vector<Row> rows_;
  std::vector<IdType> free_, freed_;
  std::unordered_map<std::string, IdType, NameHash, std::equal_to<>> by_name_;
};

// A sorted vector as a set: small, cheap to copy, and equal sets are equal bytes.
template <class T>
void InsertSorted(std::vector<T>& set, const T& value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at == set.end() || *at != value) set.insert(at, value);
}
template <class T>
void EraseSorted(std::vector<T>& set, const T& value) {
  const auto at = std::lower_bound(set.begin(), set.end(), value);
  if (at != set.end() && *at == value) set.erase(at);
}

}  // namespace sky::model
