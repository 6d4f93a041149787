// SPDX-License-Identifier: Apache-2.0
#include "model/room.h"

#include <algorithm>
#include <map>

namespace sky::model {
namespace {

struct Asked {
  std::vector<TaskId> tasks;
  Resources sum;
};

bool Sending(const Task& task) { return task.claim.phase == Claim::Phase::kSending; }

// Of `amounts` the names that are asked for.
Resources Only(const Resources& amounts, const Resources& asked) {
  Resources some;
  for (const auto& [name, value] : asked)
    if (value > 0) some.Set(name, amounts[name]);
  return some;
}

Room RoomOn(const Cluster& cluster, const Node& node, const Asked& asked) {
  const auto mine = [&](TaskId id) {
    return std::ranges::find(asked.tasks, id) != asked.tasks.end();
  };
  const auto leaves = [&](TaskId id) { return cluster.tasks()[id].facts->deleting; };
  Resources held = node.committed, present = node.used + asked.sum, leaving;
  for (const QuotaId id : node.quotas) {
    const Quota& quota = cluster.quotas()[id];
    const bool waits = std::ranges::all_of(quota.tasks, [&](TaskId other) {
      const Task& task = cluster.tasks()[other];
      return task.claim.open() && !Sending(task) && !mine(other);
    });
    if (waits && !quota.tasks.empty()) held -= quota.charge;
    if (!quota.tasks.empty() && std::ranges::all_of(quota.tasks, leaves)) leaving += quota.charge;
    for (const TaskId other : quota.tasks)
      if (Sending(cluster.tasks()[other]) && !mine(other))
        present += cluster.tasks()[other].facts->request;
  }
  for (const TaskId id : node.tasks)
    if (leaves(id) && !cluster.tasks()[id].quota.valid())
      leaving += cluster.tasks()[id].facts->request;
  const auto fits = [&](const Resources& amounts) {
    return Fits(Only(amounts, asked.sum), node.allocatable, cluster.names().resources);
  };
  if (fits(held) && fits(present)) return Room::kFits;
  return fits(held - leaving) && fits(present - node.releasing) ? Room::kLeaving : Room::kNone;
}

}  // namespace

Room RoomFor(const Cluster& cluster, std::span<const TaskId> claims) {
  std::map<NodeId, Asked> asked;
  for (const TaskId id : claims) {
    const Task& task = cluster.tasks()[id];
    if (!task.claim.open() || !task.claim.node.valid()) continue;
    Asked& there = asked[task.claim.node];
    there.tasks.push_back(id);
    there.sum += task.facts->request;
  }
  Room room = Room::kFits;
  for (const auto& [node, there] : asked)
    room = std::max(room, RoomOn(cluster, cluster.nodes()[node], there));
  return room;
}

}  // namespace sky::model
