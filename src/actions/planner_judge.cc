// SPDX-License-Identifier: Apache-2.0
// The rules that a plan keeps by construction, asked of places that were planned before, or by
// another hand: one spec code, zones that the gang may have, no more of them than it may span, and
// ranks in the order of nodes where that is demanded. The round's own claims are lifted meanwhile.
#include <algorithm>
#include <set>

#include "actions/planner.h"
#include "actions/round_tasks.h"
#include "topology/order.h"

namespace sky::actions {

using model::CellId;
using model::NodeId;
using model::Reason;
using model::SpecId;
using model::TaskId;

Planner::Wrong Planner::Misplaced(const Places& places) {
  std::vector<TaskId> chain, others;
  const model::Job& job = cluster_.jobs()[round_.job];
  round_.extras = job.ready >= job.needed;
  for (const TaskId task : job.ranked)
    if (places.contains(task)) (InChain(task) ? chain : others).push_back(task);
  Wrong wrong;
  std::vector<TaskId> accelerated;
  for (const std::vector<TaskId>* tasks : {&chain, &others})
    std::ranges::copy_if(*tasks, std::back_inserter(accelerated),
                         [&](TaskId task) { return AsksAccelerator(cluster_, task); });
  if (!accelerated.empty()) OfOtherSpec(accelerated, places, wrong);
  if (chain.empty()) return wrong;
  FindSiblings();
  OfOtherZone(chain, places, wrong);
  if (policy_.strict) OutOfOrder(chain, places, wrong);
  return wrong;
}

void Planner::OfOtherSpec(Tasks tasks, const Places& places, Wrong& wrong) const {
  SpecId spec = cluster_.nodes()[places.at(tasks.front())].spec;
  if (const auto placed = SpecOfPlaced(tasks)) spec = *placed;
  for (const TaskId task : tasks)
    if (cluster_.nodes()[places.at(task)].spec != spec)
      wrong.try_emplace(task, Reason::kSpecMismatch);
}

void Planner::OfOtherZone(Tasks chain, const Places& places, Wrong& wrong) {
  const bool zoned =
      !policy_.cells.empty() && cluster_.cells()[policy_.cells.front()].key.zone.valid();
  if (!zoned) return;
  const std::vector<CellId> candidates = Candidates(chain);
  std::set<model::ZoneId> fresh;
  for (const TaskId task : chain) {
    const NodeId node = places.at(task);
    const model::ZoneId zone = ZoneOf(node);
    const CellId cell = zone.valid()
                            ? cluster_.cells().Find(cluster_.nodes()[node].cell(policy_.network))
                            : CellId{};
    if (zone.valid() && !own_.contains(zone)) fresh.insert(zone);
    if (!cell.valid() || std::ranges::find(candidates, cell) == candidates.end())
      wrong.try_emplace(task, zone.valid() ? Reason::kSpecMismatch : Reason::kNoTopology);
  }
  // One zone is never too many for who stands nowhere yet.
  if (fresh.size() + own_.size() < 2 || fresh.empty()) return;
  if (static_cast<int64_t>(fresh.size()) <= MostMore(chain, Survey(chain, candidates, true)))
    return;
  for (const TaskId task : chain)
    if (fresh.contains(ZoneOf(places.at(task)))) wrong.try_emplace(task, Reason::kZoneFull);
}

void Planner::OutOfOrder(Tasks chain, const Places& places, Wrong& wrong) const {
  topology::Positions positions;
  for (const TaskId id : cluster_.jobs()[round_.job].ranked) {
    if (!InChain(id) || !HasRank(id)) continue;
    const auto planned = places.find(id);
    const NodeId node = planned != places.end() ? planned->second : cluster_.PlaceOf(id);
    if (node.valid()) positions.push_back(cluster_.nodes()[node].index);
  }
  if (topology::Monotone(positions)) return;
  for (const TaskId task : chain) wrong.try_emplace(task, Reason::kNodeOrderNotMonotone);
}

}  // namespace sky::actions
