// SPDX-License-Identifier: Apache-2.0
#include "model/resources.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "api/pod_requests.h"
#include "base/check.h"

namespace sky::model {
namespace {

constexpr int64_t kScalarTolerance = 10;  // thousandths: the specification's 0.01

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

int64_t SaturatingSub(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a >= 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

}  // namespace

ResourceNames::ResourceNames() {
  Intern("cpu");
  Intern("memory");
  Intern("pods");
}

ResourceId ResourceNames::Intern(std::string_view name) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  const ResourceId id(names_.size());
  names_.emplace_back(name);
  scalar_.push_back(api::IsScalarResource(name));
  ids_.emplace(names_.back(), id);
  return id;
}

std::string_view ResourceNames::Name(ResourceId id) const {
  const std::shared_lock lock(mutex_);
  SKY_CHECK(id.index() < names_.size(), "resource {} of {}", id.value(), names_.size());
  return names_[id.index()];
}

size_t ResourceNames::size() const {
  const std::shared_lock lock(mutex_);
  return names_.size();
}

bool ResourceNames::InBytes(std::string_view name) {
  return name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
}

bool ResourceNames::IsScalar(ResourceId id) const {
  const std::shared_lock lock(mutex_);
  return id.index() < scalar_.size() && scalar_[id.index()];
}

namespace {

// Lists are short: a walk beats a search.
template <class Amounts>
auto Place(Amounts& amounts, ResourceId name) {
  auto at = amounts.begin();
  while (at != amounts.end() && at->name < name) ++at;
  return at;
}

}  // namespace

int64_t Resources::operator[](ResourceId name) const {
  const auto at = Place(amounts_, name);
  return at != amounts_.end() && at->name == name ? at->value : 0;
}

void Resources::Set(ResourceId name, int64_t value) {
  const auto at = Place(amounts_, name);
  const bool there = at != amounts_.end() && at->name == name;
  if (value == 0) {
    if (there) amounts_.erase(at);
  } else if (there) {
    at->value = value;
  } else {
    amounts_.insert(at, {name, value});
  }
}

// of(mine, theirs) for each name of either, in place while `other` brings no name that isn't here.
template <class Fn>
void Resources::Merge(const Resources& other, Fn of) {
  auto theirs = other.amounts_.begin();
  const auto end = other.amounts_.end();
  bool zeros = false;
  size_t i = 0;
  for (; i < amounts_.size(); ++i) {
    Amount& mine = amounts_[i];
    if (theirs != end && theirs->name < mine.name) break;
    const bool both = theirs != end && theirs->name == mine.name;
    mine.value = of(mine.value, both ? theirs->value : 0);
    zeros = zeros || mine.value == 0;
    if (both) ++theirs;
  }
  if (theirs != end) {
    auto mine = amounts_.begin() + static_cast<ptrdiff_t>(i);
    decltype(amounts_) merged(amounts_.begin(), mine);
    while (mine != amounts_.end() || theirs != end) {
      const bool first = theirs == end || (mine != amounts_.end() && mine->name <= theirs->name);
      const bool second = mine == amounts_.end() || (theirs != end && theirs->name <= mine->name);
      const ResourceId name = first ? mine->name : theirs->name;
      merged.push_back({name, of(first ? mine->value : 0, second ? theirs->value : 0)});
      zeros = zeros || merged.back().value == 0;
      if (first) ++mine;
      if (second) ++theirs;
    }
    amounts_ = std::move(merged);
  }
  if (zeros)
    amounts_.erase(std::remove_if(amounts_.begin(), amounts_.end(),
                                  [](const Amount& amount) { return amount.value == 0; }),
                   amounts_.end());
}

Resources& Resources::operator+=(const Resources& other) {
  Merge(other, [](int64_t mine, int64_t theirs) { return SaturatingAdd(mine, theirs); });
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  Merge(other, [](int64_t mine, int64_t theirs) { return SaturatingSub(mine, theirs); });
  return *this;
}

// A name that one of them doesn't have is zero there, which is more than an over-bound node's.
Resources Resources::Max(const Resources& a, const Resources& b) {
  Resources most = a;
  most.Merge(b, [](int64_t one, int64_t other) { return std::max(one, other); });
  return most;
}

bool AnyLess(const Resources& a, const Resources& b) {
  return std::any_of(b.begin(), b.end(),
                     [&](const Amount& amount) { return a[amount.name] < amount.value; }) ||
         std::any_of(a.begin(), a.end(), [&](const Amount& amount) {
           return amount.value < 0 && amount.value < b[amount.name];
         });
}

Resources FromList(const api::ResourceList& list, ResourceNames& names) {
  Resources amounts;
  for (const auto& [name, quantity] : list)
    amounts.Set(names.Intern(name),
                ResourceNames::InBytes(name) ? quantity.Value() : quantity.MilliValue());
  return amounts;
}

api::ResourceList ToList(const Resources& amounts, const ResourceNames& names) {
  api::ResourceList list;
  for (const auto& [id, value] : amounts) {
    const std::string_view name = names.Name(id);
    list.emplace(std::string(name),
                 ResourceNames::InBytes(name)
                     ? api::Quantity::Units(value, api::Quantity::Format::kBinarySI)
                     : api::Quantity::Milli(value));
  }
  return list;
}

bool Negligible(int64_t amount, ResourceId id, const ResourceNames& names) {
  return amount < kScalarTolerance && names.IsScalar(id);
}

ResourceId FirstMissing(const Resources& request, const Resources& room,
                        const ResourceNames& names) {
  for (const auto& [name, wanted] : request) {
    if (wanted <= 0) continue;
    const int64_t have = room[name];
    if (wanted <= have || Negligible(SaturatingSub(wanted, have), name, names)) continue;
    return name;
  }
  return {};
}

Resources Shortfall(const Resources& request, const Resources& room) {
  Resources missing;
  for (const auto& [name, wanted] : request)
    if (wanted > 0 && room[name] < wanted) missing.Set(name, wanted - room[name]);
  return missing;
}

int64_t TimesFit(const Resources& request, const Resources& room, const ResourceNames& names,
                 int64_t limit) {
  int64_t times = limit;
  for (const auto& [name, wanted] : request) {
    if (wanted <= 0) continue;
    const int64_t slack = names.IsScalar(name) ? kScalarTolerance - 1 : 0;
    const int64_t have = SaturatingAdd(room[name], slack);
    times = std::min(times, have < wanted ? 0 : have / wanted);
    if (times == 0) break;
  }
  return times;
}

}  // namespace sky::model
