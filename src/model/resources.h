// SPDX-License-Identifier: Apache-2.0
// Amounts by resource name, as short lists of (interned name, int64): what every ledger is made of.
// Only names with an amount are kept, so that a stranger's thousand names weigh on nobody else's
// sums. Units: bytes for memory, ephemeral-storage and hugepages-*, thousandths for
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

struct Amount {
  ResourceId name;
  int64_t value = 0;
  bool operator==(const Amount&) const = default;
};

class Resources {
 public:
  int64_t operator[](ResourceId name) const;  // 0 when it isn't there
  void Set(ResourceId name, int64_t value);
  bool IsZero() const { return amounts_.empty(); }
  // By name as interned; none is zero.
  auto begin() const { return amounts_.begin(); }
  auto end() const { return amounts_.end(); }

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);
  friend Resources operator+(Resources a, const Resources& b) { return a += b; }
  friend Resources operator-(Resources a, const Resources& b) { return a -= b; }
  // The larger of both, name by name.
  static Resources Max(const Resources& a, const Resources& b);
  bool operator==(const Resources& other) const { return amounts_ == other.amounts_; }

 private:
  template <class Fn>
  void Merge(const Resources& other, Fn of);
  boost::container::small_vector<Amount, 6> amounts_;
};

// Is there a name of which `a` has less than `b`?
bool AnyLess(const Resources& a, const Resources& b);
// Saturates; rounds a part of a thousandth up (a request must not shrink).
Resources FromList(const api::ResourceList& list, ResourceNames& names);
// Names with a zero amount are left out.
api::ResourceList ToList(const Resources& amounts, const ResourceNames& names);
// The first name that is asked for (> 0) and doesn't fit; an invalid id when all do. Names that
// aren't asked for are not compared; scalars that miss by less than 0.01 fit.
ResourceId FirstMissing(const Resources& request, const Resources& room,
                        const ResourceNames& names);
// Of what is asked for (> 0), how much more than `room`, to the last thousandth.
Resources Shortfall(const Resources& request, const Resources& room);
inline bool Fits(const Resources& request, const Resources& room, const ResourceNames& names) {
  return !FirstMissing(request, room, names).valid();
}
// Too little of a scalar to matter (below 0.01).
bool Negligible(int64_t amount, ResourceId id, const ResourceNames& names);
// How many times `request` fits into `room`, at most `limit`; `limit` when nothing is asked.
int64_t TimesFit(const Resources& request, const Resources& room, const ResourceNames& names,
                 int64_t limit);

}  // namespace sky::model
