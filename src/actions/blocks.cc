// SPDX-License-Identifier: Apache-2.0
#include "actions/blocks.h"

#include <algorithm>

#include "actions/round_tasks.h"
#include "topology/algorithms.h"

namespace sky::actions {

using framework::Session;
using model::NodeId;
using model::QuotaId;

namespace {

class Blocks {
 public:
  Blocks(const Session& session, Capacities& capacities, const BlockWish& wish)
      : session_(session), capacities_(capacities), wish_(wish) {
    for (const auto& [pool, count] : wish.kinds)
      for (const HeldQuota& held : pool->held)
        held_[{pool, session.cluster().quotas()[held.quota].place()}].push_back(&held);
  }

  bool Belongs(NodeId node) const {
    if (wish_.members.contains(node)) return true;
    return std::ranges::any_of(wish_.kinds,
                               [&](const auto& kind) { return Takes(*kind.first, node); });
  }

  void Count(CellRoom& block) {
    std::vector<std::pair<int64_t, int64_t>> now, evicting;
    for (const auto& [pool, count] : wish_.kinds) {
      now.emplace_back(0, count), evicting.emplace_back(0, count);
      for (const NodeId node : block.nodes) {
        const Capacities::Count one = capacities_.OnNode(session_, *pool, node);
        now.back().first += one.now;
        evicting.back().first += one.evicting;
        for (const HeldQuota* held : HeldOn(*pool, node)) {
          if (!Fits(*pool, held->quota, node)) continue;
          now.back().first += held->tasks, evicting.back().first += held->tasks;
          block.bound += session_.cluster().quotas()[held->quota].tasks.empty() ? 1 : 0;
        }
      }
      block.kinds.push_back(std::min(now.back().first, count));
    }
    block.capacity = RoomForAll(now);
    block.evicting = RoomForAll(evicting);
    for (const NodeId node : block.nodes) {
      block.own = block.own || wish_.members.contains(node);
      if (const auto kin = wish_.kin.find(node); kin != wish_.kin.end()) block.kin += kin->second;
    }
  }

 private:
  const std::vector<const HeldQuota*>& HeldOn(const Pool& pool, NodeId node) const {
    static const std::vector<const HeldQuota*> kNone;
    const auto known = held_.find({&pool, node});
    return known == held_.end() ? kNone : known->second;
  }
  bool Fits(const Pool& pool, QuotaId quota, NodeId node) const {
    return session_.task_to_node.Feasible(pool.task, node).fit() &&
           FitsRoom(session_.cluster(), pool.task, quota, node, true).fit();
  }
  bool Takes(const Pool& pool, NodeId node) const {
    return std::ranges::any_of(pool.shelves,
                               [&](const FreeShelf& shelf) {
                                 if (shelf.direct) return Fits(pool, {}, node);
                                 return session_.quota_to_node.Feasible(shelf.sample, node).fit() &&
                                        Fits(pool, shelf.sample, node);
                               }) ||
           std::ranges::any_of(HeldOn(pool, node), [&](const HeldQuota* held) {
             return Fits(pool, held->quota, node);
           });
  }

  const Session& session_;
  Capacities& capacities_;
  const BlockWish& wish_;
  std::map<std::pair<const Pool*, NodeId>, std::vector<const HeldQuota*>> held_;
};

}  // namespace

std::vector<CellRoom> BlocksOf(const Session& session, Capacities& capacities,
                               const BlockWish& wish, const CellRoom& cell, uint32_t& rank) {
  const model::Cluster& cluster = session.cluster();
  Blocks count(session, capacities, wish);
  std::vector<CellRoom> blocks;
  NodeId last;
  for (const NodeId node : cluster.cells()[cell.id].nodes) {
    if (!count.Belongs(node)) continue;
    if (blocks.empty() || !topology::Adjacent(cluster.nodes()[last], cluster.nodes()[node])) {
      blocks.push_back({cell.id, {}, cell.spec});
      blocks.back().rank = rank++;
    }
    blocks.back().nodes.push_back(node);
    last = node;
  }
  for (CellRoom& block : blocks) count.Count(block);
  return blocks;
}

}  // namespace sky::actions
