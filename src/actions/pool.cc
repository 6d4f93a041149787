// SPDX-License-Identifier: Apache-2.0
#include "actions/pool.h"

#include <algorithm>

#include "base/natural.h"
#include "model/quota_room.h"

namespace sky::actions {

using framework::Session;
using model::Cluster;
using model::QuotaId;
using model::Reason;
using model::Resources;
using model::TaskId;
using model::Verdict;

namespace {

// How many tasks that ask `request` fit into `left` of a quota; names that it doesn't list are
// free.
int64_t TasksIn(const Cluster& cluster, const model::Quota& quota, const Resources& left,
                const Resources& request) {
  Resources asked, listed;
  for (const model::ResourceId name : quota.listed) {
    asked.Set(name, request[name]);
    listed.Set(name, left[name]);
  }
  return model::TimesFit(asked, listed, cluster.names().resources, 1'000'000);
}

bool AsksAll(const Cluster& cluster, QuotaId quota, const Resources& request) {
  const std::vector<model::ResourceId>& listed = cluster.quotas()[quota].listed;
  return std::all_of(listed.begin(), listed.end(),
                     [&](model::ResourceId name) { return request[name] > 0; });
}

int64_t ScoreOf(const Session& session, TaskId task, QuotaId quota) {
  const QuotaId one[] = {quota};
  return session.task_to_quota.Scores(task, one)[0];
}

// Best score first, then natural names.
template <class Item, class QuotaOf>
void SortByScore(const Cluster& cluster, std::vector<std::pair<int64_t, Item>>& scored,
                 QuotaOf quota_of) {
  std::sort(scored.begin(), scored.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    return NaturalLess{}(cluster.quotas()[quota_of(a.second)].name,
                         cluster.quotas()[quota_of(b.second)].name);
  });
}

}  // namespace

bool SitTogether(const Cluster& cluster, QuotaId quota_id, TaskId one, TaskId other) {
  const model::Quota& quota = cluster.quotas()[quota_id];
  const Resources asked =
      cluster.tasks()[one].facts->request + cluster.tasks()[other].facts->request;
  return model::Fits(quota.Limited(asked), quota.limit() - TakenFor(quota, one),
                     cluster.names().resources);
}

Verdict MayUseQuota(const Session& session, TaskId task, QuotaId quota) {
  const Verdict verdict = session.task_to_quota.Feasible(task, quota);
  return verdict.fit() ? model::MayTake(session.cluster(), task, quota) : verdict;
}

Resources TakenFor(const model::Quota& quota, TaskId task) {
  // What is kept for its like is theirs together.
  const bool heir =
      std::ranges::any_of(quota.reserved, [&](const auto& one) { return one.heir == task; });
  return heir ? quota.task_sum : quota.task_sum + quota.reserved_sum;
}

topology::Share ShareOf(const model::Quota& quota) {
  return {quota.request, quota.request + quota.shadow, quota.listed};
}

Pool DrawPool(const Session& session, TaskId task, const Demanded& demanded) {
  const Cluster& cluster = session.cluster();
  const model::PodFacts& facts = *cluster.tasks()[task].facts;
  Pool pool;
  pool.task = task;
  std::vector<std::pair<int64_t, FreeShelf>> shelves;
  std::vector<std::pair<int64_t, HeldQuota>> held;
  const auto add = [&](QuotaId quota, model::ClassId quota_class, int64_t left, bool alone) {
    const Verdict verdict = MayUseQuota(session, task, quota);
    if (!verdict.fit()) return pool.why.Add(verdict, left);
    const model::Quota& row = cluster.quotas()[quota];
    const int64_t each = TasksIn(cluster, row, row.limit() - TakenFor(row, task), facts.request),
                  score = ScoreOf(session, task, quota);
    if (row.node.valid() || row.planned.valid())
      held.emplace_back(score, HeldQuota{quota, each});
    else
      shelves.emplace_back(score, FreeShelf{quota_class, quota, left, each, alone, false});
  };
  if (facts.direct()) {
    constexpr int64_t kEnough = 1'000'000;
    pool.shelves.push_back({{}, {}, kEnough, 1, false, true});
    return pool;
  }
  const model::QueueId queue = cluster.jobs()[cluster.tasks()[task].job].queue;
  if (const std::string_view demand = model::DemandOf(cluster, task); !demand.empty()) {
    const QuotaId own = cluster.quotas().Find(demand);
    if (own.valid() && cluster.quotas()[own].exists())
      add(own, cluster.quotas()[own].quota_class, 1, true);
    else
      pool.why.Add(Reason::kQuotaNotFound);
  } else {
    for (const auto& [quota_class, count] : cluster.queues()[queue].classes) {
      const model::Shelf* shelf = cluster.shelves().Find(quota_class);
      if (shelf == nullptr) continue;
      auto left = static_cast<int64_t>(shelf->free.size());
      for (const QuotaId quota : demanded) {
        if (cluster.quotas()[quota].quota_class != quota_class) continue;
        add(quota, quota_class, 1, true);
        --left;
      }
      const int64_t kept = std::min(
          left, session.earmarks().KeptBack(cluster, cluster.tasks()[task].job, quota_class));
      for (const auto& [key, quota] : shelf->free) {
        if (demanded.contains(quota)) continue;
        add(quota, quota_class, left - kept, false);
        if (kept == 0 || shelves.empty() || shelves.back().second.sample != quota) break;
        pool.why.Add(Verdict::NotNow(Reason::kEarmarkedForOther), kept);
        shelves.back().second.kept = kept;
        if (left == kept) shelves.pop_back();
        break;
      }
      for (const QuotaId quota : shelf->held) add(quota, quota_class, 1, false);
      // Whoever asks for all that they list finds nothing in those that lack some of it.
      if (!shelf->partial.empty() && !AsksAll(cluster, *shelf->partial.begin(), facts.request))
        for (const QuotaId quota : shelf->partial) add(quota, quota_class, 1, false);
    }
  }
  SortByScore(cluster, shelves, [](const FreeShelf& shelf) { return shelf.sample; });
  SortByScore(cluster, held, [](const HeldQuota& one) { return one.quota; });
  for (auto& [score, shelf] : shelves) pool.shelves.push_back(shelf);
  for (const auto& [score, one] : held) pool.held.push_back(one);
  return pool;
}

Pool DrawPoolWith(const Session& session, TaskId task, const Demanded& demanded,
                  const std::set<QuotaId>& freed) {
  const Cluster& cluster = session.cluster();
  const model::PodFacts& facts = *cluster.tasks()[task].facts;
  Pool pool = DrawPool(session, task, demanded);
  if (pool.direct()) return pool;
  std::erase_if(pool.held, [&](const HeldQuota& held) { return freed.contains(held.quota); });
  for (const QuotaId quota : freed) {
    const model::Quota& row = cluster.quotas()[quota];
    const bool alone = demanded.contains(quota);
    const std::string_view demand = model::DemandOf(cluster, task);
    if (!demand.empty() && demand != row.name) continue;
    if (!alone && std::ranges::any_of(pool.shelves, [&](const FreeShelf& shelf) {
          return !shelf.demanded && shelf.quota_class == row.quota_class;
        }))
      continue;
    // It is full of those who aren't to count.
    const Verdict verdict = session.task_to_quota.Feasible(task, quota);
    const int64_t each = TasksIn(cluster, row, row.limit(), facts.request);
    if (each > 0 && (verdict.fit() || verdict.reason == Reason::kInsufficientQuota))
      pool.shelves.push_back({row.quota_class, quota, 1, each, alone, false});
  }
  return pool;
}

std::vector<QuotaId> TakeFrom(const Cluster& cluster, const FreeShelf& shelf, size_t count,
                              const Demanded& demanded) {
  if (shelf.demanded) {
    const model::Quota& quota = cluster.quotas()[shelf.sample];
    if (quota.node.valid() || quota.planned.valid()) return {};
    return {shelf.sample};
  }
  std::vector<QuotaId> quotas;
  const model::Shelf* left = cluster.shelves().Find(shelf.quota_class);
  if (left == nullptr) return {};
  int64_t free = static_cast<int64_t>(left->free.size()) - shelf.kept;
  if (shelf.kept > 0)
    free -= std::ranges::count_if(left->free,
                                  [&](const auto& one) { return demanded.contains(one.second); });
  count = std::min(count, static_cast<size_t>(std::max<int64_t>(free, 0)));
  for (const auto& [key, quota] : left->free) {
    if (quotas.size() == count) break;
    if (!demanded.contains(quota)) quotas.push_back(quota);
  }
  return quotas;
}

}  // namespace sky::actions
