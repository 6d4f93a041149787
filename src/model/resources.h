// SPDX-License-Identifier: Apache-2.0
// Amounts by resource name as small vectors of int64, indexed by interned names: what every ledger
// is made of. Units: bytes for memory, ephemeral-storage and hugepages-*, thousandths for
// everything else (cpu, devices, pod slots), so a fraction of a GPU in a quota is exact. Sums
// saturate. No double anywhere.
#pragma once

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <deque>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/meta.h"
#include "base/ids.h"

namespace sky::model {

struct ResourceTag;
using ResourceId = Id<ResourceTag>;

// The names, numbered as they are first seen. Append-only, thread-safe. cpu, memory and pods come
// first.
class ResourceNames {
 public:
  ResourceNames();
  static constexpr ResourceId kCpu{0u}, kMemory{1u}, kPods{2u};

  ResourceId Intern(std::string_view name);
  std::string_view Name(ResourceId id) const;
  size_t size() const;
  // Counted in whole units on the wire (bytes) rather than in thousandths.
  static bool InBytes(std::string_view name);
  // A scalar: two amounts closer than 0.01 of it are equal.
  bool IsScalar(ResourceId id) const;

 private:
  mutable std::shared_mutex mutex_;
  std::deque<std::string> names_;
  std::deque<bool> scalar_;
  std::unordered_map<std::string_view, ResourceId> ids_;
};

class Resources {
 public:
  int64_t operator[](ResourceId id) const {
    return id.index() < amounts_.size() ? amounts_[id.index()] : 0;
  }
  void Set(ResourceId id, int64_t amount);
  size_t size() const { return amounts_.size(); }  // ids at and beyond it are zero
  bool IsZero() const;

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend Resources operator-(Resources a, const Resources& b) { return a -= b; }
  // The larger of both, name by name.
  static Resources Max(const Resources& a, const Resources& b);
  bool operator==(const Resources& other) const;

 private:
  boost::container::small_vector<int64_t, 8> amounts_;
};

// Saturates; rounds a part of a thousandth up (a request must not shrink).
Resources FromList(const api::ResourceList& list, ResourceNames& names);
// Names with a zero amount are left out.
api::ResourceList ToList(const Resources& amounts, const ResourceNames& names);
// The first name that is asked for (> 0) and doesn't fit; an invalid id when all do. Names that
// aren't asked for are not compared; scalars that miss by less than 0.01 fit.
ResourceId FirstMissing(const Resources& request, const Resources& room,
                        const ResourceNames& names);
inline bool Fits(const Resources& request, const Resources& room, const ResourceNames& names) {
  return !FirstMissing(request, room, names).valid();
}
// Too little of a scalar to matter (below 0.01).
bool Negligible(int64_t amount, ResourceId id, const ResourceNames& names);
// How many times `request` fits into `room`, at most `limit`; `limit` when nothing is asked.
int64_t TimesFit(const Resources& request, const Resources& room, const ResourceNames& names,
                 int64_t limit);

}  // namespace sky::model
