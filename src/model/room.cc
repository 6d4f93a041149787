// SPDX-License-Identifier: Apache-2.0
#include "model/room.h"

#include <algorithm>
#include <map>

#include "model/occupied.h"

namespace sky::model {
namespace {

struct Asked {
  std::vector<TaskId> tasks;
  Resources charged;  // by those that have quotas
  SpotUse spot;       // of the whole node, if spot pods are among them
};

bool Sending(const Task& task) { return task.claim.phase == Claim::Phase::kSending; }

// Of `amounts` the names that are asked for.
Resources Only(const Resources& amounts, const Resources& asked) {
  Resources some;
  for (const auto& [name, value] : asked)
    if (value > 0) some.Set(name, amounts[name]);
  return some;
}

// What the claims, and others that are being sent, will use beside the pods that are there.
struct Present {
  Resources asked;  // by the claims, their cards with them
  Resources sum;    // in use then
};
Present PresentWith(const Cluster& cluster, const Node& node, const std::vector<TaskId>& claims) {
  const auto mine = [&](TaskId id) { return std::ranges::find(claims, id) != claims.end(); };
  Occupied asked(node.pools), all(node.pools);
  SpotUse there;
  for (const TaskId id : node.tasks)
    there.Add(cluster.tasks()[id].facts->spot, cluster.tasks()[id].facts->spot_asked());
  for (const TaskId id : claims) {
    asked.Add(*cluster.tasks()[id].facts);
    all.Add(*cluster.tasks()[id].facts);
  }
  const auto sending = [&](TaskId id) {
    if (Sending(cluster.tasks()[id]) && !mine(id)) all.Add(*cluster.tasks()[id].facts);
  };
  for (const QuotaId quota : node.quotas)
    for (const TaskId id : cluster.quotas()[quota].tasks) sending(id);
  for (const TaskId id : node.direct) sending(id);
  return {asked.Sum(there), node.used + all.Sum(there)};
}

Room RoomOn(const Cluster& cluster, const Node& node, const Asked& asked) {
  const auto mine = [&](TaskId id) {
    return std::ranges::find(asked.tasks, id) != asked.tasks.end();
  };
  const auto leaves = [&](TaskId id) { return cluster.tasks()[id].facts->deleting; };
  Resources held = node.committed, leaving;
  for (const QuotaId id : node.quotas) {
    const Quota& quota = cluster.quotas()[id];
    const bool waits = std::ranges::all_of(quota.tasks, [&](TaskId other) {
      const Task& task = cluster.tasks()[other];
      return task.claim.open() && !Sending(task) && !mine(other);
    });
    if (waits && !quota.tasks.empty()) held -= quota.charge;
    if (!quota.tasks.empty() && std::ranges::all_of(quota.tasks, leaves)) leaving += quota.charge;
  }
  for (const TaskId id : node.tasks)
    if (leaves(id) && !cluster.tasks()[id].quota.valid())
      leaving += cluster.tasks()[id].facts->request;
  const Present present = PresentWith(cluster, node, asked.tasks);
  const auto fits = [&](const Resources& amounts, const Resources& of) {
    return Fits(Only(amounts, of), node.allocatable, cluster.names().resources);
  };
  // Spot pods are charged to nobody; they have their pools.
  const bool charged = fits(held, asked.charged), later = fits(held - leaving, asked.charged);
  if (!PoolsHold(node.pools, asked.spot)) return Room::kNone;
  if (charged && fits(present.sum, present.asked)) return Room::kFits;
  if (later && fits(present.sum - node.releasing, present.asked)) return Room::kLeaving;
  // Whoever is spot itself sends nobody away.
  const bool evicts = asked.spot == SpotUse{} && !node.evictable.IsZero();
  return evicts && later && fits(present.sum - node.releasing - node.evictable, present.asked)
             ? Room::kEvictable
             : Room::kNone;
}

}  // namespace

Room RoomFor(const Cluster& cluster, std::span<const TaskId> claims) {
  std::map<NodeId, Asked> asked;
  for (const TaskId id : claims) {
    const Task& task = cluster.tasks()[id];
    if (!task.claim.open() || !task.claim.node.valid()) continue;
    Asked& there = asked[task.claim.node];
    there.tasks.push_back(id);
    if (task.facts->direct())
      there.spot = cluster.nodes()[task.claim.node].spot;
    else
      there.charged += task.facts->request;
  }
  Room room = Room::kFits;
  for (const auto& [node, there] : asked)
    room = std::max(room, RoomOn(cluster, cluster.nodes()[node], there));
  return room;
}

Resources Shortage(const Cluster& cluster, NodeId id, std::span<const TaskId> claims) {
  const Node& node = cluster.nodes()[id];
  const Present present = PresentWith(cluster, node, {claims.begin(), claims.end()});
  Resources missing;
  for (const auto& [name, asked] : present.asked)
    if (const int64_t over = present.sum[name] - node.releasing[name] - node.allocatable[name];
        asked > 0 && over > 0)
      missing.Set(name, over);
  return missing;
}

}  // namespace sky::model
