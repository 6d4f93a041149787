// SPDX-License-Identifier: Apache-2.0
// bind: lets the bindings of a round go together. What was decided in this cycle is asked once more
// whether each task may run on its quota's node, and whether the gang is ready. A round of an
// earlier cycle (one that waited, that was found in a Placement, or whose approval was taken back
// because something changed) is judged as if it was newly planned: rights, predicates, the gang's
// rules of zones, spec codes and ranks, room.
//
//   all of it holds ─► approved        it only has to wait for leaving pods ─► asked again
//   some doesn't: nobody of the gang runs ─► all of it is given up, and planned again
//                 else ─► that part is given up, and a repair round finds it another place
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "actions/actions.h"
#include "actions/place_round.h"
#include "actions/planner.h"
#include "framework/session.h"
#include "model/begin.h"
#include "model/room.h"

namespace sky::actions {
namespace {

using framework::Session;
using framework::Statement;
using model::Reason;
using model::TaskId;
using model::Verdict;

using Tasks = std::vector<TaskId>;

framework::Refusals OthersLeave() {
  framework::Refusals why;
  why.Add(Reason::kWaitingForReleasing);
  why.detail = "its places are decided, and who stands there is leaving";
  return why;
}

// The first reason that a claim would be refused today, after the round's other claims.
Verdict AskAgain(const Session& session, Statement& statement, TaskId id,
                 const model::Claim& claim) {
  const model::Cluster& cluster = session.cluster();
  if (!cluster.tasks()[id].placeable()) return Verdict::NotNow(Reason::kGated);
  if (!claim.quota.valid()) {
    if (!cluster.nodes()[claim.node].exists()) return Verdict::NotNow(Reason::kNodeNotReady);
    statement.AllocateTaskToNode(id, claim.node);
    return session.task_to_node.Feasible(id, claim.node);
  }
  const model::Quota& quota = cluster.quotas()[claim.quota];
  if (!quota.usable()) return Verdict::NotNow(Reason::kQuotaNotFound);
  if (!cluster.nodes()[claim.node].exists()) return Verdict::NotNow(Reason::kNodeNotReady);
  if (quota.node.valid() && quota.node != claim.node)
    return Verdict::NotNow(Reason::kPlacementConflict);
  if (const Verdict one = MayUseQuota(session, id, claim.quota); !one.fit()) return one;
  const bool moves = !quota.node.valid();
  statement.AllocateTaskToQuota(id, claim.quota, claim.node);
  if (moves) {
    const Verdict two = session.quota_to_node.Feasible(claim.quota, claim.node);
    if (!two.fit()) return two;
    statement.AllocateQuotaToNode(claim.quota, claim.node);
  }
  return session.task_to_node.Feasible(id, claim.node);
}

// What was lost, and what of it people should hear.
struct Lost {
  std::set<TaskId> tasks;
  std::string first;
  void Add(const model::Cluster& cluster, TaskId id, const Verdict& verdict) {
    if (!tasks.insert(id).second || tasks.size() > 1) return;
    first = fmt::format("{} on {}: {}", cluster.tasks()[id].facts->meta().name,
                        cluster.nodes()[cluster.tasks()[id].claim.node].name,
                        model::ReasonName(verdict.reason));
  }
};

// The gang's own rules, while none of these claims counts.
std::map<TaskId, Reason> Misplaced(Session& session, Capacities& capacities, model::JobId job,
                                   const std::map<TaskId, model::Claim>& claims) {
  framework::JobRound round(session, job);
  round.policy = session.PredicateZone(job);
  std::map<TaskId, model::NodeId> places;
  for (const auto& [task, claim] : claims)
    if (session.cluster().nodes()[claim.node].exists()) places.emplace(task, claim.node);
  return Planner(session, round, capacities).Misplaced(places);
}

Lost JudgeAnew(Session& session, Capacities& capacities, model::JobId job, const Tasks& tasks) {
  const model::Cluster& cluster = session.cluster();
  Lost lost;
  std::vector<std::pair<TaskId, Verdict>> refused;
  {
    Statement statement(session);  // undone: only the answers are kept
    std::map<TaskId, model::Claim> claims;
    for (const TaskId id : tasks) claims.emplace(id, cluster.tasks()[id].claim);
    for (const TaskId id : tasks) statement.Lift(id);
    const std::map<TaskId, Reason> misplaced = Misplaced(session, capacities, job, claims);
    for (const auto& [id, reason] : misplaced) refused.emplace_back(id, Verdict::NotNow(reason));
    for (const TaskId id : tasks) {
      if (misplaced.contains(id)) continue;
      const size_t before = statement.Savepoint();
      const Verdict verdict = AskAgain(session, statement, id, claims.at(id));
      if (verdict.fit()) continue;
      statement.RollBackTo(before);
      refused.emplace_back(id, verdict);
    }
  }
  for (const auto& [id, verdict] : refused) lost.Add(cluster, id, verdict);
  Tasks kept;
  std::ranges::copy_if(tasks, std::back_inserter(kept),
                       [&](TaskId id) { return !lost.tasks.contains(id); });
  if (model::RoomFor(cluster, kept) != model::Room::kNone) return lost;
  // One after the other: on an over-bound node the last are those without a place.
  std::map<model::NodeId, Tasks> there;
  for (const TaskId id : kept) {
    Tasks& node = there[cluster.tasks()[id].claim.node];
    node.push_back(id);
    if (model::RoomFor(cluster, node) != model::Room::kNone) continue;
    node.pop_back();
    lost.Add(cluster, id, Verdict::NotNow(Reason::kInsufficientIdle));
  }
  return lost;
}

class Bind final : public framework::Action {
 public:
  std::string_view name() const override { return "bind"; }

  void Execute(Session& session) override {
    const model::Cluster& cluster = session.cluster();
    std::map<uint64_t, Tasks> waiting;
    for (const TaskId task : cluster.unapproved())
      waiting[cluster.tasks()[task].claim.round].push_back(task);
    std::set<uint64_t> fresh;
    for (const cache::Round& round : session.committed()) fresh.insert(round.number);
    for (auto& [round, tasks] : waiting) {
      if (fresh.contains(round))
        ReleaseRound(session, round, tasks);
      else
        Judge(session, round, tasks);
    }
  }

 private:
  void Judge(Session& session, uint64_t round, const Tasks& tasks) {
    const model::Cluster& cluster = session.cluster();
    const model::JobId id = cluster.tasks()[tasks.front()].job;
    const model::Job& job = cluster.jobs()[id];
    const bool runs = job.bound > 0;
    if (!job.exists()) return GiveUp(session, round, tasks, "its group is gone");
    if (const Verdict verdict = MayBegin(cluster, job); !runs && !verdict.fit())
      return GiveUp(session, round, tasks, std::string(model::ReasonName(verdict.reason)));
    // By rank. `tasks` stand by id.
    Tasks ordered;
    std::ranges::copy_if(job.ranked, std::back_inserter(ordered),
                         [&](TaskId task) { return std::ranges::binary_search(tasks, task); });
    const Lost lost = JudgeAnew(session, capacities_, id, ordered);
    if (!runs && !lost.tasks.empty()) return GiveUp(session, round, tasks, lost.first);
    if (!runs && !session.JobPipelined(id))
      return GiveUp(session, round, tasks,
                    job.ready < job.needed
                        ? fmt::format("{} of {} members are left", job.ready, job.needed)
                        : std::string("a role has lost members that it needs"));
    // Where ranks follow nodes, those that are lost may need the places of those that aren't.
    if (!lost.tasks.empty() && session.PredicateZone(id).strict)
      return GiveUp(session, round, tasks, lost.first);
    if (!lost.tasks.empty())
      return GiveUp(session, round, {lost.tasks.begin(), lost.tasks.end()}, lost.first);
    Statement statement(session);
    for (const TaskId task : ordered) statement.Allocate(task);
    if (model::RoomFor(cluster, ordered) == model::Room::kFits && session.JobReady(id)) {
      statement.Keep();
      return session.Approve(round);
    }
    session.Refuse(id, OthersLeave());
  }

  static void GiveUp(Session& session, uint64_t round, const Tasks& tasks, std::string why) {
    cache::GivenUp places;
    places.round = round;
    places.why = std::move(why);
    for (const TaskId task : tasks)
      places.uids.push_back(session.cluster().tasks()[task].facts->meta().uid);
    session.given_up.push_back(std::move(places));
  }

  Capacities capacities_;
};

}  // namespace

void ReleaseRound(Session& session, uint64_t round, std::span<const TaskId> tasks) {
  const model::Cluster& cluster = session.cluster();
  Statement statement(session);
  framework::Refusals why;
  const model::JobId job = cluster.tasks()[tasks.front()].job;
  for (const TaskId task : tasks) {
    const Verdict verdict = session.task_to_node.Feasible(task, cluster.tasks()[task].claim.node);
    why.Add(verdict);
    if (verdict.fit()) statement.Allocate(task);
  }
  if (!job.valid() || !why.empty() || !session.JobReady(job)) {
    if (job.valid()) session.Refuse(job, why.empty() ? OthersLeave() : std::move(why));
    return;
  }
  statement.Keep();
  session.Approve(round);
}

std::unique_ptr<framework::Action> MakeBind() { return std::make_unique<Bind>(); }

}  // namespace sky::actions
