// SPDX-License-Identifier: Apache-2.0
// Where places are kept for a gang until they are free (rule 4 of fairness): in the zones that miss
// fewest, on as few nodes as would hold it if nothing else was there, and as many quotas as it
// takes; these alone, as long as its queue hasn't enough that are free.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "actions/planner_asked.h"
#include "actions/round_tasks.h"
#include "model/pod_terms.h"

namespace sky::actions {

using framework::Earmark;
using model::CellId;
using model::NodeId;
using model::QuotaId;
using model::TaskId;

namespace {

// What this may cost, however much the search for places took.
constexpr int64_t kMoreSteps = 50'000;

// Tasks there that don't give way.
int64_t BusyOn(const model::Cluster& cluster, NodeId node) {
  return std::ranges::count_if(cluster.nodes()[node].tasks,
                               [&](TaskId task) { return !cluster.tasks()[task].facts->direct(); });
}

// One quota of each class that the queue has, a free one where there is one, and those that the
// tasks name.
std::set<QuotaId> Samples(const model::Cluster& cluster, model::QueueId queue,
                          std::span<const TaskId> tasks) {
  std::map<model::ClassId, QuotaId> samples;
  for (const auto& [quota_class, count] : cluster.queues()[queue].classes)
    if (const model::Shelf* shelf = cluster.shelves().Find(quota_class);
        shelf != nullptr && !shelf->free.empty())
      samples.emplace(quota_class, shelf->free.begin()->second);
  for (const QuotaId quota : cluster.queues()[queue].quotas)
    samples.try_emplace(cluster.quotas()[quota].quota_class, quota);
  std::set<QuotaId> all;
  for (const auto& [quota_class, quota] : samples) all.insert(quota);
  for (const TaskId task : tasks)
    if (const QuotaId named = cluster.quotas().Find(DemandOf(cluster, task)); named.valid())
      all.insert(named);
  return all;
}

// As many free quotas of the classes that serve, best first, as the queue has. False: that is not
// enough, whoever ends.
bool KeepQuotas(const std::map<model::ClassId, int>& classes,
                const std::map<const Pool*, int64_t>& kinds, Earmark& mark) {
  bool enough = true;
  for (auto [pool, count] : kinds) {
    for (const FreeShelf& shelf : pool->shelves) {
      if (shelf.direct) count = 0;
      if (count <= 0) break;
      if (shelf.demanded) {
        mark.demanded.insert(shelf.sample);
        count -= shelf.tasks_each;
        continue;
      }
      const auto there = classes.find(shelf.quota_class);
      if (there == classes.end()) continue;
      const int64_t need =
          std::min<int64_t>((count + shelf.tasks_each - 1) / shelf.tasks_each, there->second);
      mark.quotas[shelf.quota_class] += need;
      count -= need * shelf.tasks_each;
    }
    enough = enough && count <= 0;
  }
  return enough;
}

}  // namespace

std::optional<Earmark> Planner::ToKeep(const Earmark* now) {
  budget_ += kMoreSteps;
  auto found = KeepSomewhere(now);
  budget_ -= kMoreSteps;
  return found;
}

std::optional<Earmark> Planner::KeepSomewhere(const Earmark* now) {
  const model::Job& job = cluster_.jobs()[round_.job];
  const std::vector<TaskId> tasks = RoundTasks(session_, job);
  std::vector<TaskId> chain;
  std::ranges::copy_if(tasks, std::back_inserter(chain),
                       [&](TaskId task) { return InChain(task); });
  const std::vector<TaskId>& kept = chain.empty() ? tasks : chain;
  if (kept.empty() || !job.queue.valid()) return std::nullopt;
  const bool quotas_alone = now == nullptr ? lacks_quotas_ : now->quotas_alone();
  const bool look_for_nodes = now == nullptr || quotas_alone;
  std::vector<CellId> where;
  if (look_for_nodes) {
    where = chain.empty() ? Everywhere(tasks) : Candidates(chain);
    std::erase_if(where, [&](CellId cell) {
      return !quotas_alone && session_.earmarks().Has(cluster_.cells()[cell].key.spec);
    });
    if (where.empty()) return std::nullopt;
  }
  // Quotas that others use will be free one day too.
  const std::set<QuotaId> samples = Samples(cluster_, job.queue, tasks);
  // Also of those that they name, wherever these are.
  Demanded named = demanded_;
  for (const TaskId task : tasks)
    if (const QuotaId quota = cluster_.quotas().Find(DemandOf(cluster_, task)); quota.valid())
      named.insert(quota);
  pools_.clear();
  for (const TaskId task : tasks) {
    const auto [at, added] = pools_.try_emplace(
        {cluster_.tasks()[task].facts->task_class, std::string(DemandOf(cluster_, task))});
    if (added) at->second = DrawPoolWith(session_, task, named, samples);
    if (at->second.empty()) return std::nullopt;
  }
  std::optional<Earmark> found;
  if (!look_for_nodes) {
    std::vector<NodeId> nodes;
    for (const auto& [node, name] : now->nodes) nodes.push_back(node);
    found = KeepOn(kept, std::move(nodes), true);
  } else {
    const Cells cells = Survey(kept, where, true);
    for (const Choice& choice : ChoicesToKeep(kept, cells))
      if (found = KeepOn(kept, NodesOf(choice), false); found) break;
  }
  if (!found) return found;
  std::map<const Pool*, int64_t> kinds;
  for (const TaskId task : tasks) ++kinds[&PoolOf(task)];
  if (!KeepQuotas(cluster_.queues()[job.queue].classes, kinds, *found)) return std::nullopt;
  if (quotas_alone) {
    found->queue = job.queue;
    found->nodes.clear();
    found->missing = 0;
  }
  return found;
}

// Those that could hold the tasks when empty: what misses fewest, then who has least to wait for,
// then physical order. One zone; or as many as the gang may have, where none is large enough.
std::vector<Planner::Choice> Planner::ChoicesToKeep(Tasks tasks, const Cells& cells) {
  const auto n = static_cast<int64_t>(tasks.size());
  const auto busy = [&](const Cell& cell) {
    int64_t sum = 0;
    for (const NodeId node : NodesIn(cell)) sum += BusyOn(cluster_, node);
    return sum;
  };
  using Keyed = std::tuple<int64_t, int64_t, uint32_t, const Cell*>;
  std::vector<Keyed> keyed;
  for (const Cell& cell : cells)
    keyed.emplace_back(std::max<int64_t>(n - cell.evicting, 0), busy(cell), cell.rank, &cell);
  std::ranges::sort(keyed);
  std::vector<Choice> choices;
  std::map<model::SpecId, std::pair<Choice, int64_t>> together;
  const int64_t more = Zoned(cells) ? MostMore(tasks, cells) : 1;
  for (const auto& [missing, work, rank, cell] : keyed) {
    if (cell->size >= n) choices.push_back({cell});
    auto& [choice, size] = together[cell->spec];
    if (size >= n || static_cast<int64_t>(choice.size()) >= more) continue;
    choice.push_back(cell);
    size += cell->size;
  }
  if (choices.empty())
    for (const auto& [spec, choice] : together)
      if (choice.second >= n) choices.push_back(choice.first);
  return choices;
}

// `all`: of exactly these nodes; else of those that miss fewest.
std::optional<Earmark> Planner::KeepOn(Tasks tasks, std::vector<NodeId> nodes, bool all) {
  const auto n = static_cast<int64_t>(tasks.size());
  std::map<const Pool*, int64_t> kinds;
  for (const TaskId task : tasks) ++kinds[&PoolOf(task)];
  struct Counted {
    int64_t evicting, busy;
    size_t place;
    std::vector<Capacities::Count> counts;
  };
  std::vector<Counted> counted;
  for (size_t i = 0; i < nodes.size(); ++i) {
    Counted& one = counted.emplace_back(Counted{0, BusyOn(cluster_, nodes[i]), i, {}});
    bool useful = all;
    for (const auto& [pool, count] : kinds) {
      one.counts.push_back(capacities_.OnNode(session_, *pool, nodes[i]));
      if (model::OneOnANode(*cluster_.tasks()[pool->task].facts->pod))
        for (int64_t* many : {&one.counts.back().evicting, &one.counts.back().empty})
          *many = std::min<int64_t>(*many, 1);
      one.evicting += std::min(one.counts.back().evicting, count);
      useful = useful || one.counts.back().empty > 0;
    }
    if (!useful) counted.pop_back();
  }
  std::ranges::sort(counted, [](const Counted& a, const Counted& b) {
    return std::tie(b.evicting, a.busy, a.place) < std::tie(a.evicting, b.busy, b.place);
  });
  const auto sum = [&](size_t first, int64_t Capacities::Count::* of) {
    std::vector<std::pair<int64_t, int64_t>> sums;
    for (const auto& [pool, count] : kinds) sums.emplace_back(0, count);
    for (size_t i = 0; i < first; ++i)
      for (size_t k = 0; k < sums.size(); ++k) sums[k].first += counted[i].counts[k].*of;
    return RoomForAll(sums);
  };
  size_t few = all ? counted.size() : std::min<size_t>(1, counted.size());
  while (few < counted.size() && sum(few, &Capacities::Count::empty) < n) ++few;
  for (;; few = std::min(few * 2, counted.size())) {
    std::vector<NodeId> some;
    for (size_t i = 0; i < few; ++i) some.push_back(nodes[counted[i].place]);
    SortByIndex(cluster_, some);
    budget_ -= static_cast<int64_t>(some.size());
    if (!some.empty() && HoldsWhenEmpty(tasks, some)) {
      Earmark mark;
      mark.spec = cluster_.nodes()[some.front()].spec;
      for (const NodeId node : some) mark.nodes.emplace(node, cluster_.nodes()[node].name);
      mark.missing = std::max<int64_t>(n - sum(few, &Capacities::Count::evicting), 0);
      return mark;
    }
    if (few >= counted.size() || budget_ <= 0) return std::nullopt;
  }
}

}  // namespace sky::actions
