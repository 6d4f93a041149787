// SPDX-License-Identifier: Apache-2.0
#include "actions/whole_nodes.h"

#include <algorithm>
#include <tuple>

namespace sky::actions {

namespace {

// Those that are of most use first: within reach of the ranks, with room for many, on the left.
std::vector<size_t> ByUse(const topology::Question& question, const std::vector<bool>& whole,
                          const model::ResourceNames& names) {
  model::Resources most;
  for (const topology::Kind& kind : question.kinds)
    most = model::Resources::Max(most, kind.request);
  std::vector<std::tuple<bool, int64_t, size_t>> keyed;
  for (size_t spot = 0; spot < whole.size(); ++spot) {
    if (!whole[spot]) continue;
    const auto at = static_cast<int64_t>(spot);
    const bool reached = std::ranges::any_of(question.tasks, [&](const topology::Chained& task) {
      return task.lowest <= at && at <= task.highest;
    });
    const auto tasks = static_cast<int64_t>(question.tasks.size());
    keyed.emplace_back(!reached, -model::TimesFit(most, question.spots[spot].room, names, tasks),
                       spot);
  }
  std::ranges::sort(keyed);
  std::vector<size_t> spots;
  for (const auto& [reached, room, spot] : keyed) spots.push_back(spot);
  return spots;
}

}  // namespace

void KeepWhole(topology::Question& question, const std::vector<bool>& whole,
               const model::ResourceNames& names, int64_t& budget) {
  const std::vector<size_t> spots = ByUse(question, whole, names);
  if (spots.empty()) return;
  std::vector<std::vector<bool>> admits;
  for (const topology::Kind& kind : question.kinds) admits.push_back(kind.admits);
  const auto admit = [&](size_t count) {
    for (size_t k = 0; k < admits.size(); ++k) {
      question.kinds[k].admits = admits[k];
      for (size_t i = count; i < spots.size(); ++i) question.kinds[k].admits[spots[i]] = false;
    }
  };
  const auto works = [&](size_t count) {
    admit(count);
    const topology::Answer answer = topology::FindPlaces(question, names, budget / 16);
    budget -= answer.steps + 1;
    return answer.found();
  };
  size_t low = 0, high = 0;
  while (budget > 0 && !works(high)) {
    if (high == spots.size()) return;
    low = high + 1;
    high = std::min(std::max<size_t>(2 * high, 1), spots.size());
  }
  while (budget > 0 && low < high) {
    const size_t middle = low + (high - low) / 2;
    works(middle) ? high = middle : low = middle + 1;
  }
  admit(budget > 0 ? high : spots.size());
}

}  // namespace sky::actions
