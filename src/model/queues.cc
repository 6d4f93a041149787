// SPDX-License-Identifier: Apache-2.0
#include "model/queues.h"

#include <algorithm>
#include <utility>

namespace sky::model {

Resources Uses::Countable(const Resources& amounts) {
  constexpr int64_t kMost = INT64_MAX >> 17;  // 131,072 of them fit
  Resources countable;
  for (const auto& [name, value] : amounts)
    countable.Set(name, std::clamp<int64_t>(value, -kMost, kMost));
  return countable;
}

const QueueUse& Uses::Of(QueueId queue) const {
  static const QueueUse kNone;
  return queue.valid() && queue.index() < rows_.size() ? rows_[queue.index()] : kNone;
}

QueueUse& Uses::Mutable(QueueId id) {
  touched_.push_back(id);
  if (id.index() >= rows_.size()) rows_.resize(id.index() + 1);
  return rows_[id.index()];
}

void Uses::Add(const std::vector<QueueId>& chain, const Resources& countable) {
  Mutable(chain.front()).own += countable;
  for (const QueueId queue : chain) Mutable(queue).below += countable;
}

void Uses::Take(const std::vector<QueueId>& chain, const Resources& countable) {
  Mutable(chain.front()).own -= countable;
  for (const QueueId queue : chain) Mutable(queue).below -= countable;
}

void Uses::Offer(const Resources& before, const Resources& after) {
  offered_ -= Countable(before);
  offered_ += Countable(after);
}

void Uses::Clear() {
  for (size_t i = 0; i < rows_.size(); ++i) Mutable(QueueId(i)) = QueueUse{};
  offered_ = Resources{};
}

std::vector<QueueId> Uses::TakeTouched() { return std::exchange(touched_, {}); }

void Uses::CopyFrom(const Uses& other, const std::vector<QueueId>& changed) {
  rows_.resize(other.rows_.size());
  for (const QueueId id : changed)
    if (id.index() < rows_.size()) rows_[id.index()] = other.rows_[id.index()];
  offered_ = other.offered_;
}

}  // namespace sky::model
