// SPDX-License-Identifier: Apache-2.0
// allocateZone and allocateQuota: hop 2. Each round's quotas go to the nodes that the plan names,
// each pair asked once more; one gate decides over all of the job's bindings of the round; then the
// commit.
#include <algorithm>

#include "actions/actions.h"
#include "actions/place_round.h"
#include "framework/session.h"

namespace sky::actions {
namespace {

using framework::JobRound;
using framework::Refusals;
using framework::Session;
using model::NodeId;
using model::QuotaId;
using model::Verdict;

// Candidates are what the plan left: its node. BestN has the last word on it.
bool BindQuotas(Session& session, JobRound& round, Refusals& why) {
  const model::Cluster& cluster = session.cluster();
  for (const framework::PlannedTask& entry : round.plan.tasks) {
    // It has none, or one that is on a node already.
    if (!entry.quota.valid() || cluster.quotas()[entry.quota].node.valid()) continue;
    why.Add(
        session.quota_to_node.PrePredicate(entry.quota, [](const std::string&, const Verdict&) {}));
    const Verdict verdict = session.quota_to_node.Feasible(entry.quota, entry.node);
    why.Add(verdict);
    if (!why.empty()) return false;
    const NodeId candidate[] = {entry.node};
    const auto best = session.quota_to_node.Best(entry.quota, candidate);
    if (!best) return false;
    round.statement.AllocateQuotaToNode(entry.quota, *best);
  }
  return true;
}

class AllocateNode final : public framework::Action {
 public:
  AllocateNode(std::string_view name, bool topology) : name_(name), topology_(topology) {}
  std::string_view name() const override { return name_; }

  void Execute(Session& session) override {
    // In the order in which they were planned: by the order of jobs.
    std::vector<JobRound*> planned;
    for (const auto& [job, round] : session.rounds)
      if (round->policy.enabled == topology_) planned.push_back(round.get());
    std::sort(planned.begin(), planned.end(),
              [](const JobRound* a, const JobRound* b) { return a->order < b->order; });
    for (JobRound* round : planned) {
      PlaceRound(session, *round);
      session.rounds.erase(round->job);
    }
  }

 private:
  std::string name_;
  bool topology_;
};

}  // namespace

bool PlaceRound(Session& session, JobRound& round) {
  Refusals why;
  if (!BindQuotas(session, round, why) || !session.QuotaAllocate(round, why)) {
    round.statement.Discard();
    session.Refuse(round.job, std::move(why));
    return false;
  }
  round.on_nodes = true;
  const bool committed = session.Commit(round);
  if (committed)
    session.Clear(round.job);
  else
    round.statement.Discard();
  return committed;
}

std::unique_ptr<framework::Action> MakeAllocateZone() {
  return std::make_unique<AllocateNode>("allocateZone", true);
}
std::unique_ptr<framework::Action> MakeAllocateQuota() {
  return std::make_unique<AllocateNode>("allocateQuota", false);
}

}  // namespace sky::actions
