// SPDX-License-Identifier: Apache-2.0
// Quotas that may take a task, by class: those of one class are as good as each other. Derived from
// the rows of one cluster and kept up to date quota by quota; every cluster has its own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/types.h"

namespace sky::model {

struct Shelf {
  std::map<std::string, QuotaId> free;  // on no node, in natural order of their names
  // On a node, or planned there, with room for more of every name that they list; and those that
  // have used up some name, which still serve whoever doesn't ask for it.
  std::set<QuotaId> held, partial;
  uint64_t grown = 0;  // the tick at which there was last one more to have
};

class Shelves {
 public:
  enum class Place : uint8_t { kNone, kFree, kHeld, kPartial };

  // Null when no quota of the class has been seen with something to give.
  const Shelf* Find(ClassId quota_class) const {
    const auto found = shelves_.find(quota_class);
    return found == shelves_.end() ? nullptr : &found->second;
  }
  // The tick at which any shelf last got one more.
  uint64_t grown() const { return grown_; }
  // Where a quota stands from now on.
  void Note(QuotaId quota, Place place, ClassId quota_class, std::string_view name);

 private:
  struct Entry {
    Place place = Place::kNone;
    ClassId quota_class;
    std::string key;  // in its shelf
  };
  std::map<ClassId, Shelf> shelves_;
  std::vector<Entry> entries_;  // by quota
  uint64_t grown_ = 0;
};

}  // namespace sky::model
