// SPDX-License-Identifier: Apache-2.0
#include "plugins/rescheduling/strategies.h"

#include <algorithm>

namespace sky::plugins {

using framework::Earmark;
using framework::Session;
using model::NodeId;
using model::Resources;
using model::TaskId;

namespace {

// Less than `low` of each.
bool HasRoomToGive(const model::Node& node, const Levels& levels) {
  const Resources present = Present(node);
  return node.usable() && Offers(node, levels) &&
         std::ranges::all_of(levels, [&](const Level& level) {
           const int64_t all = node.allocatable[level.name];
           return present[level.name] < all / 100 * level.low + (all % 100 * level.low + 99) / 100;
         });
}

// How much of what is compared it uses, in thousandths of each.
int64_t Fullness(const model::Node& node, const Levels& levels) {
  const Resources present = Present(node);
  int64_t sum = 0;
  for (const Level& level : levels)
    sum += present[level.name] / std::max<int64_t>(node.allocatable[level.name] / 1000, 1);
  return sum;
}

// By fullness, then in physical order.
void SortByFullness(const Session& session, const Levels& levels, bool fullest_first,
                    std::vector<NodeId>& nodes) {
  const auto& rows = session.cluster().nodes();
  std::ranges::sort(nodes, [&](NodeId a, NodeId b) {
    const int64_t one = Fullness(rows[a], levels), other = Fullness(rows[b], levels);
    if (one != other) return (one < other) != fullest_first;
    return model::StandsBefore(rows[a], rows[b]);
  });
}

std::vector<NodeId> AllNodes(const Session& session) {
  std::vector<NodeId> nodes;
  const auto& rows = session.cluster().nodes();
  for (size_t i = 0; i < rows.size(); ++i)
    if (const NodeId id(i); rows.Live(id) && rows[id].exists()) nodes.push_back(id);
  std::ranges::sort(nodes,
                    [&](NodeId a, NodeId b) { return model::StandsBefore(rows[a], rows[b]); });
  return nodes;
}

// Of those that a node has too much of, does the pod use any?
bool Helps(const model::Node& node, const Levels& levels, const Resources& present,
           const Resources& uses) {
  return std::ranges::any_of(levels, [&](const Level& level) {
    return uses[level.name] > 0 && AboveTarget(node, {level}, present);
  });
}

// Where members of the gang that wait find room, first as it is, then with moves.
class Clearing {
 public:
  Clearing(const Session& session, const Earmark& mark, Moves& moves)
      : session_(session), cluster_(session.cluster()), moves_(moves) {
    for (const auto& [node, name] : mark.nodes) {
      nodes_.push_back(node);
      room_.push_back(cluster_.nodes()[node].Room());
      taken_.emplace_back();
    }
    for (const NodeId node : AllNodes(session))
      if (!session.earmarks().On(node)) targets_.push_back(node);
    for (const auto& [quota_class, count] : mark.quotas)
      if (const model::Shelf* shelf = cluster_.shelves().Find(quota_class);
          shelf != nullptr && !shelf->free.empty())
        shares_.push_back(cluster_.quotas()[shelf->free.begin()->second].request);
    for (const model::QuotaId quota : mark.demanded)
      shares_.push_back(cluster_.quotas()[quota].request);
    const model::Job& job = cluster_.jobs()[mark.job];
    for (const TaskId task : job.ranked)
      if (cluster_.tasks()[task].placeable() &&
          static_cast<int32_t>(waiting_.size()) < job.needed - job.ready)
        waiting_.push_back(task);
  }

  void Run() {
    std::erase_if(waiting_, [&](TaskId task) { return Seat(task, false); });
    for (const TaskId task : waiting_) Seat(task, true);
  }

 private:
  // On the first node that has, or can be made to have, room for it beside the others.
  bool Seat(TaskId task, bool with_moves) {
    const Resources& request = cluster_.tasks()[task].facts->request;
    const Resources charge = ChargeOf(request);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!model::Fits(charge, room_[i], cluster_.names().resources) ||
          !session_.task_to_node.Feasible(task, nodes_[i]).fit())
        continue;
      const bool fits = Fits(i, request) || (with_moves && MakeRoom(i, request));
      if (!fits) continue;
      room_[i] -= charge;
      taken_[i] += request;
      return true;
    }
    return false;
  }
  bool Fits(size_t i, const Resources& request) const {
    return model::Fits(request, moves_.FreeOn(nodes_[i]) - taken_[i], cluster_.names().resources);
  }
  // With the smallest of the quotas that are kept for the gang.
  Resources ChargeOf(const Resources& request) const {
    std::optional<Resources> least;
    for (const Resources& share : shares_) {
      const Resources charge = Resources::Max(share, request);
      if (!least || (model::AnyLess(charge, *least) && !model::AnyLess(*least, charge)))
        least = charge;
    }
    return least.value_or(request);
  }
  bool MakeRoom(size_t i, const Resources& request) {
    const size_t first = moves_.planned().size();
    for (const TaskId spot : moves_.Candidates(nodes_[i]))
      if (moves_.Plan(spot, targets_) && Fits(i, request)) {
        moves_.DropNeedless(first, [&] { return Fits(i, request); });
        return true;
      }
    moves_.TakeBack(first);
    return false;
  }

  const Session& session_;
  const model::Cluster& cluster_;
  Moves& moves_;
  std::vector<NodeId> nodes_, targets_;
  std::vector<Resources> room_, taken_;  // by node: beside charges; by members seated here
  std::vector<Resources> shares_;        // requests of the quotas that are kept
  std::vector<TaskId> waiting_;
};

}  // namespace

void Balance(const Session& session, const Levels& levels, Moves& moves) {
  const model::Cluster& cluster = session.cluster();
  std::vector<NodeId> low, high;
  for (const NodeId id : AllNodes(session)) {
    const model::Node& node = cluster.nodes()[id];
    if (HasRoomToGive(node, levels)) low.push_back(id);
    if (Offers(node, levels) && AboveTarget(node, levels, moves.PresentOn(id))) high.push_back(id);
  }
  if (low.empty()) return;
  SortByFullness(session, levels, false, low);
  SortByFullness(session, levels, true, high);
  for (const NodeId id : high) {
    const model::Node& node = cluster.nodes()[id];
    const size_t first = moves.planned().size();
    const auto fine = [&] { return !AboveTarget(node, levels, moves.PresentOn(id)); };
    for (const TaskId task : moves.Candidates(id)) {
      if (fine()) break;
      if (Helps(node, levels, moves.PresentOn(id), cluster.tasks()[task].facts->uses()))
        moves.Plan(task, low);
    }
    if (fine()) moves.DropNeedless(first, fine);
  }
}

void ClearEarmarks(const Session& session, Moves& moves) {
  for (const auto& [spec, mark] : session.earmarks().all()) Clearing(session, mark, moves).Run();
}

}  // namespace sky::plugins
