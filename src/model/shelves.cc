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
  if (entry.place != Place::kNone) {
    const auto shelf = shelves_.find(entry.quota_class);
    if (entry.place == Place::kFree) shelf->second.free.erase(entry.key);
    shelf->second.held.erase(quota);
    shelf->second.partial.erase(quota);
    if (shelf->second.free.empty() && shelf->second.held.empty() && shelf->second.partial.empty())
      shelves_.erase(shelf);
  }
  entry = Entry{place, quota_class, place == Place::kFree ? NaturalKey(name) : std::string()};
  if (place == Place::kNone) return;
  Shelf& shelf = shelves_[quota_class];
  grown_ = shelf.grown = Tick();
  if (place == Place::kFree) shelf.free.emplace(entry.key, quota);
  if (place == Place::kHeld) shelf.held.insert(quota);
  if (place == Place::kPartial) shelf.partial.insert(quota);
}

}  // namespace sky::model
