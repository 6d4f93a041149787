// SPDX-License-Identifier: Apache-2.0
// Names that recur (spec codes, zones, task classes) as dense ids. Append-only and thread-safe,
// shared by the cache and every snapshot, so an id means the same in both. Ids follow the order of
// arrival: never decide by their order, compare the names.
#pragma once

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/check.h"
#include "base/ids.h"

namespace sky::model {

template <class Tag>
class Interner {
 public:
  Id<Tag> Intern(std::string_view name) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    }
    const std::unique_lock lock(mutex_);
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    const Id<Tag> id(names_.size());
    names_.emplace_back(name);
    ids_.emplace(names_.back(), id);
    return id;
  }
  bool Has(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    return ids_.contains(name);
  }
  // Valid as long as the interner lives.
  std::string_view Name(Id<Tag> id) const {
    const std::shared_lock lock(mutex_);
    SKY_CHECK(id.index() < names_.size(), "name {} of {}", id.value(), names_.size());
    return names_[id.index()];
  }
  size_t size() const {
    const std::shared_lock lock(mutex_);
    return names_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::deque<std::string> names_;  // a deque: the views in ids_ stay valid
  std::unordered_map<std::string_view, Id<Tag>> ids_;
};

}  // namespace sky::model
