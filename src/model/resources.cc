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

void Resources::Set(ResourceId id, int64_t amount) {
  if (id.index() >= amounts_.size()) {
    if (amount == 0) return;
    amounts_.resize(id.index() + 1, 0);
  }
  amounts_[id.index()] = amount;
}

bool Resources::IsZero() const {
  return std::all_of(amounts_.begin(), amounts_.end(), [](int64_t amount) { return amount == 0; });
}

Resources& Resources::operator+=(const Resources& other) {
  if (other.amounts_.size() > amounts_.size()) amounts_.resize(other.amounts_.size(), 0);
  for (size_t i = 0; i < other.amounts_.size(); ++i)
    amounts_[i] = SaturatingAdd(amounts_[i], other.amounts_[i]);
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  if (other.amounts_.size() > amounts_.size()) amounts_.resize(other.amounts_.size(), 0);
  for (size_t i = 0; i < other.amounts_.size(); ++i)
    amounts_[i] = SaturatingSub(amounts_[i], other.amounts_[i]);
  return *this;
}

Resources Resources::Max(const Resources& a, const Resources& b) {
  Resources most = a;
  if (b.amounts_.size() > most.amounts_.size()) most.amounts_.resize(b.amounts_.size(), 0);
  // A name that one of them doesn't have is zero there, which is more than an over-bound node's.
  for (size_t i = 0; i < most.amounts_.size(); ++i)
    most.amounts_[i] = std::max(most.amounts_[i], b[ResourceId(i)]);
  return most;
}

bool Resources::operator==(const Resources& other) const {
  const size_t size = std::max(amounts_.size(), other.amounts_.size());
  for (size_t i = 0; i < size; ++i)
    if ((*this)[ResourceId(i)] != other[ResourceId(i)]) return false;
  return true;
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
  for (size_t i = 0; i < amounts.size(); ++i) {
    const ResourceId id(i);
    if (amounts[id] == 0) continue;
    const std::string_view name = names.Name(id);
    list.emplace(std::string(name),
                 ResourceNames::InBytes(name)
                     ? api::Quantity::Units(amounts[id], api::Quantity::Format::kBinarySI)
                     : api::Quantity::Milli(amounts[id]));
  }
  return list;
}

bool Negligible(int64_t amount, ResourceId id, const ResourceNames& names) {
  return amount < kScalarTolerance && names.IsScalar(id);
}

ResourceId FirstMissing(const Resources& request, const Resources& room,
                        const ResourceNames& names) {
  for (size_t i = 0; i < request.size(); ++i) {
    const ResourceId id(i);
    const int64_t wanted = request[id];
    if (wanted <= 0 || wanted <= room[id]) continue;
    if (Negligible(SaturatingSub(wanted, room[id]), id, names)) continue;
    return id;
  }
  return {};
}

int64_t TimesFit(const Resources& request, const Resources& room, const ResourceNames& names,
                 int64_t limit) {
  int64_t times = limit;
  for (size_t i = 0; i < request.size() && times > 0; ++i) {
    const ResourceId id(i);
    if (request[id] <= 0) continue;
    const int64_t slack = names.IsScalar(id) ? kScalarTolerance - 1 : 0;
    const int64_t have = SaturatingAdd(room[id], slack);
    times = std::min(times, have < request[id] ? 0 : have / request[id]);
  }
  return times;
}

}  // namespace sky::model
