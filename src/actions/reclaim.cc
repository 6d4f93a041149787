// SPDX-License-Identifier: Apache-2.0
// reclaim: a round that is decided and whose members lack nothing but room that exclusive
// spot pods use asks those to leave, on the nodes of its own members only (F13, F14). Either all of
// its nodes get enough, or nobody is asked. The claims hold the room from then on, so nobody else
// takes it, and what doesn't come within claimTimeout voids the round.
#include <map>

#include "actions/actions.h"
#include "framework/session.h"
#include "model/room.h"

namespace sky::actions {
namespace {

using framework::Session;
using model::Claim;
using model::NodeId;
using model::TaskId;

class Reclaim final : public framework::Action {
 public:
  std::string_view name() const override { return "reclaim"; }

  void Execute(Session& session) override {
    const model::Cluster& cluster = session.cluster();
    leaving_.clear();
    std::map<uint64_t, std::vector<TaskId>> waiting;
    // Whether its record is durable, the executor knows.
    for (const TaskId task : cluster.unapproved())
      if (cluster.tasks()[task].claim.phase != Claim::Phase::kSending)
        waiting[cluster.tasks()[task].claim.round].push_back(task);
    for (const auto& [round, tasks] : waiting)
      if (model::RoomFor(cluster, tasks) == model::Room::kEvictable) Ask(session, round, tasks);
  }

 private:
  void Ask(Session& session, uint64_t round, const std::vector<TaskId>& tasks) {
    const model::Cluster& cluster = session.cluster();
    Session::Victims leaving = leaving_;
    std::map<NodeId, std::vector<TaskId>> there;
    for (const TaskId task : tasks) there[cluster.tasks()[task].claim.node].push_back(task);
    cache::Eviction eviction;
    eviction.round = round;
    eviction.why =
        fmt::format("gives way to job {}", cluster.jobs()[cluster.tasks()[tasks.front()].job].name);
    for (const auto& [node, claims] : there) {
      const model::Resources missing = model::Shortage(cluster, node, claims);
      if (missing.IsZero()) continue;
      const auto victims = session.PredictEvicted(claims.front(), node, missing, leaving);
      if (!victims) return Tell(session, tasks.front());
      leaving.insert(leaving.end(), victims->begin(), victims->end());
      for (const TaskId victim : *victims)
        eviction.victims.push_back(cache::VictimOf(cluster, victim));
    }
    leaving_ = std::move(leaving);
    if (!eviction.victims.empty()) session.evictions.push_back(std::move(eviction));
  }

  static void Tell(Session& session, TaskId task) {
    framework::Refusals why;
    why.Add(model::Reason::kReclaimNoVictim);
    session.Refuse(session.cluster().tasks()[task].job, std::move(why));
  }

  Session::Victims leaving_;  // for other rounds of this cycle: budgets span nodes
};

}  // namespace

std::unique_ptr<framework::Action> MakeReclaim() { return std::make_unique<Reclaim>(); }

}  // namespace sky::actions
