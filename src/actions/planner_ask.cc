// SPDX-License-Identifier: Apache-2.0
// A question for the search drawn from the session, and its answer carried out pair by pair. A
// callback that refuses what the search found teaches the question, which is asked again.
#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include "actions/planner_asked.h"
#include "actions/round_tasks.h"
#include "actions/whole_nodes.h"
#include "topology/algorithms.h"

namespace sky::actions {

using model::NodeId;
using model::QuotaId;
using model::TaskId;

namespace {

// Answers that callbacks refused, after which a set of nodes is given up for this cycle.
constexpr int kRepairs = 8;

// More is bound there than it offers of something that the task asks for: it takes nothing new.
bool Overbound(const model::Node& node, const model::Resources& request) {
  return std::any_of(request.begin(), request.end(), [&](const model::Amount& asked) {
    return asked.value > 0 && node.committed[asked.name] > node.allocatable[asked.name];
  });
}

}  // namespace

const std::vector<NodeId>& Planner::NodesIn(const Cell& cell) const {
  return cell.nodes.empty() ? cluster_.cells()[cell.id].nodes : cell.nodes;
}

std::vector<NodeId> Planner::NodesOf(const Choice& choice) const {
  std::vector<NodeId> nodes;
  for (const Cell* cell : choice) {
    const std::vector<NodeId>& inside = NodesIn(*cell);
    nodes.insert(nodes.end(), inside.begin(), inside.end());
  }
  // Ranks go cell by cell; those of a strict gang by index alone.
  if (policy_.strict && choice.size() > 1) SortByIndex(cluster_, nodes);
  return nodes;
}

bool Planner::Place(std::span<const TaskId> tasks, std::vector<NodeId> nodes, bool ordered) {
  const size_t inside = nodes.size();
  return Ask(Draw(tasks, std::move(nodes), ordered, inside));
}

// The chain in these cells and the others on any node, in one question: where the chain alone took
// what the others need.
bool Planner::PlaceTogether(std::span<const TaskId> chain, std::span<const TaskId> others,
                            const Choice& choice, bool ordered) {
  const std::vector<NodeId> cells = NodesOf(choice);
  std::vector<TaskId> tasks(chain.begin(), chain.end());
  tasks.insert(tasks.end(), others.begin(), others.end());
  std::vector<NodeId> nodes = ThenTheRest(cells);
  if (policy_.strict) SortByIndex(cluster_, nodes);
  Asked asked = Draw(tasks, std::move(nodes), ordered, policy_.strict ? SIZE_MAX : cells.size());
  const std::set<NodeId> inside(cells.begin(), cells.end());
  KeepOff(asked, [&](TaskId task, NodeId node) {
    if (InChain(task)) return !inside.contains(node);
    return AsksAccelerator(cluster_, task) && cluster_.nodes()[node].spec != choice[0]->spec;
  });
  for (size_t i = 0; i < asked.tasks.size(); ++i)
    asked.question.tasks[i].beside = !InChain(asked.tasks[i]);
  return Ask(std::move(asked));
}

// Accelerators on one spec code's nodes, and whoever asks none on any.
bool Planner::PlaceOnSpec(std::span<const TaskId> tasks, const model::Cell& cell) {
  if (std::all_of(tasks.begin(), tasks.end(),
                  [&](TaskId task) { return AsksAccelerator(cluster_, task); }))
    return Place(tasks, cell.nodes, false);
  Asked asked = Draw(tasks, ThenTheRest(cell.nodes), false, 0);
  KeepOff(asked, [&](TaskId task, NodeId node) {
    return AsksAccelerator(cluster_, task) && cluster_.nodes()[node].spec != cell.key.spec;
  });
  return Ask(std::move(asked));
}

// These nodes, then all others in physical order.
std::vector<NodeId> Planner::ThenTheRest(std::vector<NodeId> nodes) const {
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  std::vector<NodeId> rest;
  for (const auto& [key, cell] : cluster_.cells().by_key())
    if (!key.zone.valid())
      std::copy_if(cluster_.cells()[cell].nodes.begin(), cluster_.cells()[cell].nodes.end(),
                   std::back_inserter(rest), [&](NodeId node) { return !inside.contains(node); });
  SortByIndex(cluster_, rest);
  nodes.insert(nodes.end(), rest.begin(), rest.end());
  return nodes;
}

template <class Mustnt>
void Planner::KeepOff(Asked& asked, Mustnt mustnt) const {
  for (size_t k = 0; k < asked.kinds.size(); ++k)
    for (size_t spot = 0; spot < asked.nodes.size(); ++spot)
      if (mustnt(asked.kinds[k]->task, asked.nodes[spot]))
        asked.question.kinds[k].admits[spot] = false;
}

topology::Question Planner::Question(std::span<const TaskId> tasks, std::vector<NodeId> nodes) {
  const size_t inside = nodes.size();
  return Draw(tasks, std::move(nodes), true, inside).question;
}

bool Planner::Ask(Asked asked) {
  const size_t start = round_.statement.Savepoint(), planned = round_.plan.tasks.size();
  if (policy_.enabled && session_.config().pick == framework::Pick::kLeastFragment) {
    std::vector<bool> whole;
    for (const NodeId node : asked.nodes)
      whole.push_back(topology::FreeNode(cluster_, cluster_.nodes()[node]));
    KeepWhole(asked.question, whole, cluster_.names().resources, budget_);
  }
  for (int repair = 0; repair <= kRepairs && budget_ > 0; ++repair) {
    // A part of what is left: no zone that holds nobody may use up what the others need.
    const topology::Answer answer =
        topology::FindPlaces(asked.question, cluster_.names().resources, budget_ / 4);
    budget_ -= answer.steps + 1;
    cut_ = cut_ || !answer.exact;
    if (!answer.found()) return false;
    if (Carry(asked, answer.seats)) return true;
    round_.statement.RollBackTo(start);
    round_.plan.tasks.resize(planned);
  }
  return false;
}

Planner::Asked Planner::Draw(std::span<const TaskId> tasks, std::vector<NodeId> nodes, bool ordered,
                             size_t inside) {
  Asked asked;
  asked.inside = inside;
  asked.nodes = std::move(nodes);
  asked.question.fill = policy_.pack ? topology::Fill::kPack : topology::Fill::kSpread;
  asked.question.spots.reserve(asked.nodes.size());
  model::SpotMode mode = model::SpotMode::kNone;
  for (const TaskId task : tasks)
    if (const auto& facts = *cluster_.tasks()[task].facts; facts.direct()) mode = facts.spot;
  for (const NodeId id : asked.nodes) {
    const model::Node& node = cluster_.nodes()[id];
    asked.spot_of[id.index()] = asked.question.spots.size();
    asked.question.spots.push_back({node.Room(), node.QuotaIdle(), 0, IdleOf(id, mode)});
  }
  // Those without a usable rank, or with another's, have no order (F40).
  std::vector<TaskId> loose;
  for (const TaskId task : tasks)
    (ordered && InChain(task) && HasRank(task) ? asked.tasks : loose).push_back(task);
  asked.question.chain = asked.tasks.size();
  asked.tasks.insert(asked.tasks.end(), loose.begin(), loose.end());
  DrawKinds(asked);
  DrawHeld(asked);
  if (policy_.enabled) DrawIntervals(asked);
  return asked;
}

void Planner::DrawKinds(Asked& asked) {
  topology::Question& question = asked.question;
  std::map<const Pool*, size_t> kind_of;
  std::map<std::pair<model::ClassId, QuotaId>, size_t> shelf_of;
  for (const TaskId task : asked.tasks) {
    const Pool& pool = PoolOf(task);
    const auto [at, added] = kind_of.try_emplace(&pool, question.kinds.size());
    question.tasks.push_back({at->second, 0, INT64_MAX, false});
    if (!added) continue;
    asked.kinds.push_back(&pool);
    topology::Kind kind;
    kind.request = cluster_.tasks()[task].facts->request;
    kind.uses = cluster_.tasks()[task].facts->uses();
    for (const NodeId node : asked.nodes)
      kind.admits.push_back(session_.task_to_node.Feasible(task, node).fit() &&
                            !Overbound(cluster_.nodes()[node], kind.request));
    for (const FreeShelf& shelf : pool.shelves) {
      const auto [known, fresh] =
          shelf_of.try_emplace({shelf.demanded ? model::ClassId{} : shelf.quota_class,
                                shelf.demanded ? shelf.sample : QuotaId{}},
                               question.shelves.size());
      kind.shelves.push_back(known->second);
      if (!fresh) continue;
      asked.shelves.push_back(shelf);
      // As many as there are now: the round itself may have taken some.
      if (shelf.direct) {
        question.shelves.push_back(
            {{}, shelf.left, std::vector<bool>(asked.nodes.size(), true), true});
        continue;
      }
      topology::Shelf drawn{
          ShareOf(cluster_.quotas()[shelf.sample]),
          static_cast<int64_t>(TakeFrom(cluster_, shelf, asked.tasks.size(), demanded_).size()),
          {},
          false};
      for (const NodeId node : asked.nodes)
        drawn.admits.push_back(session_.quota_to_node.Feasible(shelf.sample, node).fit());
      question.shelves.push_back(std::move(drawn));
    }
    question.kinds.push_back(std::move(kind));
  }
  budget_ -= static_cast<int64_t>(asked.nodes.size() * (1 + question.shelves.size()));
}

void Planner::DrawHeld(Asked& asked) {
  std::map<QuotaId, size_t> known;
  for (size_t k = 0; k < asked.kinds.size(); ++k)
    for (const HeldQuota& held : asked.kinds[k]->held) {
      const model::Quota& quota = cluster_.quotas()[held.quota];
      const NodeId node = quota.place();
      const auto spot = asked.spot_of.find(node.index());
      if (spot == asked.spot_of.end()) continue;
      const auto [at, added] = known.try_emplace(held.quota, asked.held.size());
      if (added) {
        asked.held.push_back(held.quota);
        topology::Held& drawn = asked.question.held.emplace_back();
        drawn.share = ShareOf(quota);
        drawn.spot = spot->second;
        drawn.used = quota.task_sum + quota.reserved_sum;
      }
      // Its heirs use what is kept; the others that it takes are few, and asked pair by pair.
      if (const model::Resources taken = TakenFor(quota, asked.kinds[k]->task);
          taken == quota.task_sum)
        asked.question.held[at->second].used = taken;
      std::vector<bool>& may = asked.question.kinds[k].held;
      may.resize(std::max(may.size(), at->second + 1), false);
      may[at->second] = true;
    }
  for (topology::Kind& kind : asked.question.kinds) kind.held.resize(asked.held.size(), false);
}

// Placed members fix the intervals of the others. One whose node isn't among the candidates still
// does in a strict gang: by its node's index.
void Planner::DrawIntervals(Asked& asked) {
  const model::Job& job = cluster_.jobs()[round_.job];
  topology::Question& question = asked.question;
  const auto before = [&](NodeId a, NodeId b) {
    return StandsBefore(cluster_.nodes()[a], cluster_.nodes()[b]);
  };
  struct Fixed {
    int64_t from, to;  // ranks above stand at or after `from`, ranks below at or before `to`
  };
  const auto fixed = [&](NodeId node) -> std::optional<Fixed> {
    if (const auto spot = asked.spot_of.find(node.index());
        spot != asked.spot_of.end() && spot->second < asked.inside) {
      const auto at = static_cast<int64_t>(spot->second);
      return Fixed{at, at};
    }
    if (!policy_.strict) return std::nullopt;
    const auto at = std::lower_bound(asked.nodes.begin(), asked.nodes.end(), node, before) -
                    asked.nodes.begin();
    return Fixed{at, at - 1};
  };
  std::unordered_map<size_t, size_t> position;  // in the question, by task
  for (size_t i = 0; i < question.chain; ++i) position[asked.tasks[i].index()] = i;
  std::vector<size_t> open;  // of the chain, since the last placed member
  int64_t lowest = 0;
  for (const TaskId id : job.ranked) {
    const model::Task& task = cluster_.tasks()[id];
    if (const auto at = position.find(id.index()); at != position.end()) {
      question.tasks[at->second].lowest = lowest;
      open.push_back(at->second);
      continue;
    }
    const NodeId node = task.bound() ? task.node : task.claim.node;
    if (!node.valid() || (job.needs_rdma && !task.facts->needs_rdma)) continue;
    if (const auto spot = asked.spot_of.find(node.index()); spot != asked.spot_of.end())
      ++question.spots[spot->second].members;
    const auto where = HasRank(id) ? fixed(node) : std::nullopt;
    if (!where) continue;
    lowest = std::max(lowest, where->from);
    for (const size_t waiting : open) question.tasks[waiting].highest = where->to;
    open.clear();
  }
}

bool Planner::Carry(Asked& asked, const std::vector<topology::Seat>& seats) {
  std::vector<size_t> opened(asked.shelves.size(), 0);
  std::map<size_t, size_t> number;  // of an opened quota in its shelf, in the order of ranks
  for (const topology::Seat& seat : seats)
    if (!seat.held && number.try_emplace(seat.opened, opened[seat.quota]).second)
      ++opened[seat.quota];
  std::vector<std::vector<QuotaId>> taken;
  for (size_t s = 0; s < asked.shelves.size(); ++s)
    taken.push_back(asked.shelves[s].direct
                        ? std::vector<QuotaId>{}
                        : TakeFrom(cluster_, asked.shelves[s], opened[s], demanded_));
  std::map<std::pair<size_t, size_t>, size_t> carried;  // of a kind on a spot
  for (size_t i = 0; i < seats.size(); ++i) {
    const topology::Seat& seat = seats[i];
    const QuotaId quota = seat.held ? asked.held[seat.quota]
                          : asked.shelves[seat.quota].direct
                              ? QuotaId{}
                              : taken[seat.quota][number.at(seat.opened)];
    size_t& before = carried[{asked.question.tasks[i].kind, seat.spot}];
    if (!CarryPair(asked, i, quota, seat, before)) return false;
    ++before;
  }
  return true;
}

// Each pair once more, by the law. A refusal is remembered in the question.
bool Planner::CarryPair(Asked& asked, size_t index, QuotaId quota, const topology::Seat& seat,
                        size_t before) {
  topology::Kind& kind = asked.question.kinds[asked.question.tasks[index].kind];
  const TaskId task = asked.tasks[index];
  const NodeId node = asked.nodes[seat.spot];
  budget_ -= 10;
  if (!session_.task_to_node.Feasible(task, node).fit()) {
    // The first of its kind may stand there, so its like is in the way: that holds anywhere.
    const auto already = static_cast<int64_t>(before);
    if (before > 0 && already < kind.per_spot)
      kind.per_spot = already;
    else
      kind.admits[seat.spot] = false;
    return false;
  }
  if (!QuotaMay(task, quota, node)) {
    const auto already = static_cast<int64_t>(before);
    if (seat.held) kind.held[seat.quota] = false;
    // The first of its kind may stand there, as above: quotas that keep each other apart.
    else if (before > 0 && already < kind.per_spot &&
             session_.quota_to_node.Alone(quota, node).fit())
      kind.per_spot = already;
    else
      asked.question.shelves[seat.quota].admits[seat.spot] = false;
    return false;
  }
  if (!FitsRoom(cluster_, task, quota, node, evicts_).fit() || !MakesRoom(task, node) ||
      !Charge(task, quota, node)) {
    kind.admits[seat.spot] = false;
    return false;
  }
  return true;
}

// An invalid quota: none is needed.
bool Planner::QuotaMay(TaskId task, QuotaId id, NodeId node) const {
  if (!id.valid()) return true;
  const model::Quota& quota = cluster_.quotas()[id];
  return MayUseQuota(session_, task, id).fit() &&
         (quota.place().valid() || session_.quota_to_node.Feasible(id, node).fit());
}

// False, and nothing is charged: with that quota it may not stand there after all. Who asks where
// quotas are is asked once more, since before it was open which one would bring it there.
bool Planner::Charge(TaskId task, QuotaId quota, NodeId node) {
  const size_t before = round_.statement.Savepoint();
  if (quota.valid() && cluster_.tasks()[task].heir_of == quota)
    round_.statement.AllocateReservedResource(task, quota, node);
  else if (quota.valid())
    round_.statement.AllocateTaskToQuota(task, quota, node);
  else
    round_.statement.AllocateTaskToNode(task, node);
  if (cluster_.tasks()[task].facts->quota_terms &&
      !session_.task_to_node.Feasible(task, node).fit()) {
    round_.statement.RollBackTo(before);
    return false;
  }
  round_.plan.tasks.push_back(
      {task, quota, node, policy_.enabled ? ZoneOf(node) : model::ZoneId{}});
  return true;
}

}  // namespace sky::actions
