// SPDX-License-Identifier: Apache-2.0
#include "actions/capacity.h"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <span>

#include "actions/round_tasks.h"
#include "base/natural.h"

namespace sky::actions {

using framework::Refusals;
using framework::Session;
using model::CellId;
using model::CellKey;
using model::Cluster;
using model::NodeId;
using model::Resources;
using model::Verdict;

namespace {

constexpr int64_t kMany = 1'000'000;
// Classes come and go with the jobs that have them; beyond this the memory starts anew.
constexpr size_t kSubjects = 4096;

// A share that a node may take: what it costs there, and how many tasks it carries.
struct Carrier {
  const Resources* cost;
  int64_t tasks_each;
};

using Carriers = boost::container::small_vector<Carrier, 8>;

// What each shelf's quota costs with one of the tasks.
std::vector<Resources> ChargesOf(const Cluster& cluster, const Pool& pool) {
  std::vector<Resources> charges;
  const Resources& request = cluster.tasks()[pool.task].facts->request;
  for (const FreeShelf& shelf : pool.shelves)
    charges.push_back(shelf.direct
                          ? Resources{}
                          : Resources::Max(cluster.quotas()[shelf.sample].request, request));
  return charges;
}

// No more tasks than this fit, whatever shares they come with. Of one kind it is the number;
// several may fit beside each other better than each alone, so they count together, but no task
// costs less than the least of each name.
int64_t AtMost(std::span<const Carrier> carriers, const Resources& request, const Resources& room,
               const model::ResourceNames& names) {
  int64_t sum = 0;
  for (const auto& [cost, tasks_each] : carriers)
    sum += model::TimesFit(*cost, room, names, kMany) * tasks_each;
  // A share may take more tasks than the node has room for.
  sum = std::min({sum, model::TimesFit(request, room, names, kMany), kMany});
  if (carriers.size() < 2) return sum;
  int64_t most_each = 0;
  Resources least = *carriers[0].cost;
  for (const auto& [cost, tasks_each] : carriers) {
    most_each = std::max(most_each, tasks_each);
    least = least + *cost - Resources::Max(least, *cost);
  }
  return std::min(sum, model::TimesFit(least, room, names, kMany) * most_each);
}

}  // namespace

int64_t RoomForAll(std::span<const std::pair<int64_t, int64_t>> kinds) {
  if (kinds.size() == 1) return kinds[0].first;
  int64_t sum = 0, slack = INT64_MAX;
  for (const auto& [room, count] : kinds) {
    sum += std::min(room, count);
    slack = std::min(slack, room - count);
  }
  return kinds.empty() ? 0 : sum + std::max<int64_t>(slack, 0);
}

bool LacksRoomAlone(const Verdict& verdict) {
  return verdict.fit() || verdict.reason == model::Reason::kInsufficientQuotaIdle ||
         verdict.reason == model::Reason::kWaitingForReleasing;
}

size_t Capacities::Subject(const Session& session, const Pool& pool) {
  // Claims of volumes are asked about pair by pair: nothing that is kept reads them.
  Key key{session.cluster().tasks()[pool.task].facts->node_class, {}};
  for (const FreeShelf& shelf : pool.shelves) key.second.push_back(shelf.quota_class);
  if (subjects_.size() >= kSubjects && !subjects_.contains(key)) {
    subjects_.clear();
    memos_.clear();
  }
  const auto [at, added] = subjects_.try_emplace(std::move(key), memos_.size());
  if (added) memos_.emplace_back();
  return at->second;
}

const Capacities::Count& Capacities::Of(const Session& session, const Pool& pool, size_t subject,
                                        CellId id) {
  const Cluster& cluster = session.cluster();
  const model::Cell& cell = cluster.cells()[id];
  std::vector<Count>& counts = memos_[subject].counts;
  if (id.index() >= counts.size()) counts.resize(cluster.cells().size());
  Count& count = counts[id.index()];
  ++steps_;
  if (count.at == cell.changed) return count;
  count = Count{};
  count.at = cell.changed;
  const std::vector<Resources> charges = ChargesOf(session.cluster(), pool);
  for (const NodeId node : cell.nodes) {
    const Count one = OnNode(session, pool, node, charges);
    count.size += one.size;
    count.empty += one.empty;
    count.now += one.now;
    count.evicting += one.evicting;
  }
  return count;
}

Capacities::Count Capacities::OnNode(const Session& session, const Pool& pool, NodeId node) {
  return OnNode(session, pool, node, ChargesOf(session.cluster(), pool));
}

Capacities::Count Capacities::OnNode(const Session& session, const Pool& pool, NodeId id,
                                     const std::vector<Resources>& charges) {
  steps_ += 3;
  if (pool.direct()) return Directly(session, pool, id);
  const Cluster& cluster = session.cluster();
  const model::ResourceNames& names = cluster.names().resources;
  const Resources& request = cluster.tasks()[pool.task].facts->request;
  const model::Node& node = cluster.nodes()[id];
  const bool stands = session.task_to_node.Alone(pool.task, id).fit();
  Carriers all, empty, now, shares;
  for (size_t i = 0; i < pool.shelves.size(); ++i) {
    const FreeShelf& shelf = pool.shelves[i];
    const model::Quota& quota = cluster.quotas()[shelf.sample];
    if (model::TimesFit(charges[i], node.allocatable, names, 1) == 0) continue;
    all.push_back({&charges[i], shelf.tasks_each});
    if (!stands) continue;
    const Verdict verdict = session.quota_to_node.Alone(shelf.sample, id);
    if (LacksRoomAlone(verdict)) empty.push_back(all.back());
    if (!verdict.fit()) continue;
    now.push_back(all.back());
    shares.push_back({&quota.request, shelf.tasks_each});
  }
  Count count;
  count.size = AtMost(all, request, node.allocatable, names);
  count.empty = AtMost(empty, request, node.allocatable, names);
  const int64_t charged = std::min(AtMost(now, request, node.Room(), names),
                                   AtMost(shares, {}, node.QuotaIdle(), names));
  const auto beside_spot = [&](const Resources& idle) {
    return node.has_spot() ? std::min(charged, model::TimesFit(request, idle, names, kMany))
                           : charged;
  };
  count.now = beside_spot(node.Free());
  count.evicting = beside_spot(node.Free() + node.evictable);
  return count;
}

// Of tasks that go to nodes themselves.
Capacities::Count Capacities::Directly(const Session& session, const Pool& pool, NodeId id) {
  const Cluster& cluster = session.cluster();
  const model::PodFacts& facts = *cluster.tasks()[pool.task].facts;
  const Resources uses = facts.uses();
  const auto times = [&](const Resources& idle) {
    return model::TimesFit(uses, idle, cluster.names().resources, kMany);
  };
  Count count;
  count.size = times(SpotIdleWhenEmpty(cluster, id, facts));
  if (!session.task_to_node.Alone(pool.task, id).fit()) return count;
  count.empty = count.size;
  count.now = count.evicting = times(SpotIdle(cluster, id, facts.spot));
  return count;
}

const Refusals& Capacities::Why(const Session& session, const Pool& pool, size_t subject,
                                CellId id) {
  const Cluster& cluster = session.cluster();
  const model::Cell& cell = cluster.cells()[id];
  std::vector<Told>& told = memos_[subject].told;
  if (id.index() >= told.size()) told.resize(cluster.cells().size());
  Told& one = told[id.index()];
  ++steps_;
  if (one.at == cell.changed) return one.why;
  one = Told{cell.changed, {}};
  for (const NodeId node : cell.nodes) {
    steps_ += 3;
    Verdict verdict = session.task_to_node.Feasible(pool.task, node);
    if (verdict.fit() && !pool.shelves.empty()) {
      const model::QuotaId quota = pool.shelves.front().sample;
      if (!pool.direct()) verdict = session.quota_to_node.Feasible(quota, node);
      if (verdict.fit()) verdict = WhyNoRoom(session, pool.task, quota, node);
    }
    one.why.Add(verdict);
    // That may change with another cell, isn't so for others, or is another pod's matter.
    if (!cluster.tasks()[pool.task].facts->claims.empty() ||
        verdict.reason == model::Reason::kPodAffinityMismatch ||
        verdict.reason == model::Reason::kTopologySpreadMismatch ||
        verdict.reason == model::Reason::kEarmarkedForOther || session.earmarks().On(node) ||
        verdict.reason == model::Reason::kReclaimNoVictim ||
        verdict.reason == model::Reason::kQuotaAffinityNotMatch ||
        verdict.reason == model::Reason::kPodQuotaAffinityNotMatch ||
        verdict.reason == model::Reason::kStorageNotReady)
      one.at = 0;
  }
  return one.why;
}

const Refusals& Capacities::WhyNoQuota(const Session& session, model::TaskId id) {
  const Cluster& cluster = session.cluster();
  const model::Task& task = cluster.tasks()[id];
  const Moment now{session.cycle(), session.rounds.size(), session.committed().size()};
  // What is kept for members of some gang answers each job in its own way.
  const bool own = task.heir_of.valid() || !session.earmarks().DemandedByOthers(task.job).empty();
  if (own || std::exchange(no_quota_at_, now) != now) no_quota_.clear();
  const model::QueueId queue = cluster.jobs()[task.job].queue;
  const auto [at, added] = no_quota_.try_emplace({queue, task.facts->task_class});
  if (!added) return at->second;
  for (const model::QuotaId quota : cluster.queues()[queue].quotas)
    at->second.Add(MayUseQuota(session, id, quota));
  if (own) no_quota_at_ = {};
  return at->second;
}

const std::vector<uint32_t>& Capacities::Ranks(const Cluster& cluster) {
  if (ranked_at_ == cluster.cells().rearranged() && !ranks_.empty()) return ranks_;
  ranked_at_ = cluster.cells().rearranged();
  struct Ranked {
    int64_t index;
    std::string_view zone, spec;
    CellKey key;
    CellId id;
  };
  std::vector<Ranked> cells;
  for (const auto& [key, id] : cluster.cells().by_key())
    cells.push_back({cluster.nodes()[cluster.cells()[id].nodes.front()].index,
                     key.zone.valid() ? cluster.names().zones.Name(key.zone) : "",
                     key.spec.valid() ? cluster.names().specs.Name(key.spec) : "", key, id});
  std::sort(cells.begin(), cells.end(), [](const Ranked& a, const Ranked& b) {
    if (a.index != b.index) return a.index < b.index;
    if (a.zone != b.zone) return NaturalLess{}(a.zone, b.zone);
    if (a.spec != b.spec) return NaturalLess{}(a.spec, b.spec);
    if (a.key.degraded != b.key.degraded) return b.key.degraded;
    return a.key.network < b.key.network;
  });
  ranks_.assign(cluster.cells().size(), 0);
  for (size_t i = 0; i < cells.size(); ++i) ranks_[cells[i].id.index()] = static_cast<uint32_t>(i);
  return ranks_;
}

}  // namespace sky::actions
