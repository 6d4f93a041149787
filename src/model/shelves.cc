// SPDX-License-Identifier: Apache-2.0
#include "model/shelves.h"

#include "base/natural.h"
#include "model/cells.h"

namespace sky::model {

void Shelves::Note(QuotaId quota, Place place, ClassId quota_class, std::string_view name) {
  if (quota.index() >= entries_.size()) {
    if (place == Place::kNone) return;
    entries_.resize(quota.index() + 1);
  }
  Entry& entry = entries_[quota.index()];
  if (entry.place == place && entry.quota_class == quota_class &&
      (place != Place::kFree || entry.key == NaturalKey(name)))
    return;
  const auto shelf =
      entry.place == Place::kNone ? shelves_.end() : shelves_.find(entry.quota_class);
  if (shelf != shelves_.end()) {
    // A quota that was made anew has the name and another row: only our own entry goes.
    if (const auto own = shelf->second.free.find(entry.key);
        own != shelf->second.free.end() && own->second == quota)
      shelf->second.free.erase(own);
    shelf->second.held.erase(quota);
    shelf->second.partial.erase(quota);
    if (shelf->second.free.empty() && shelf->second.held.empty() && shelf->second.partial.empty())
      shelves_.erase(shelf);
  }
  entry = Entry{place, quota_class, place == Place::kFree ? NaturalKey(name) : std::string()};
  if (place == Place::kNone) return;
  Shelf& to = shelves_[quota_class];
  grown_ = to.grown = Tick();
  if (place == Place::kFree) to.free.insert_or_assign(entry.key, quota);
  if (place == Place::kHeld) to.held.insert(quota);
  if (place == Place::kPartial) to.partial.insert(quota);
}

}  // namespace sky::model
