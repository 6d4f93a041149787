// SPDX-License-Identifier: Apache-2.0
// allocateJob: hop 1. Queues and jobs in order; whoever may not be placed says why; for the others
// a plan of the whole round, charged at once. Minima of all jobs come before anybody's extras.
#include <set>

#include "actions/actions.h"
#include "actions/naps.h"
#include "actions/planner.h"
#include "model/begin.h"
#include "model/roles.h"

namespace sky::actions {
namespace {

using framework::JobRound;
using framework::Refusals;
using framework::Session;
using model::Reason;
using model::Verdict;

// What keeps a job from being planned at all.
Verdict MayPlan(const Session& session, model::JobId id) {
  const model::Job& job = session.cluster().jobs()[id];
  if (const Verdict verdict = MayBegin(session.cluster(), job); !verdict.fit()) return verdict;
  if (job.backoff != Reason::kNone) return Verdict::NotNow(job.backoff);
  return session.JobValid(id);
}

std::string Detail(const model::Cluster& cluster, const model::Job& job, Reason reason) {
  if (reason == job.backoff) return job.backoff_why;
  switch (reason) {
    case Reason::kNoPodGroup:
      return fmt::format("PodGroup {} doesn't exist", job.name);
    case Reason::kInvalidObject:
      return job.invalid.empty()
                 ? fmt::format("queue {}: {}", job.queue_name, cluster.QueueTrouble(job.queue))
                 : job.invalid;
    case Reason::kPriorityClassNotFound:
      return fmt::format("PriorityClass {} doesn't exist", job.object->spec.priority_class_name);
    case Reason::kQueueNotFound:
      return fmt::format("queue {} doesn't exist", job.queue_name);
    case Reason::kQueueClosed:
      return fmt::format("queue {} takes no new jobs", job.queue_name);
    case Reason::kNotEnoughPods: {
      // Short of members at all, or of some role: the latter needs its name.
      const auto lacks = model::FindShortRole(cluster, job);
      if (!lacks || job.ready + job.placeable < job.needed) return {};
      return fmt::format("{} of {} members of role {} can run", lacks->could, lacks->least,
                         lacks->role.empty() ? "\"\"" : lacks->role);
    }
    case Reason::kLargerThanPossible:
      return fmt::format("it needs {} members, and a gang has at most {}", job.needed,
                         api::kMostPlacementEntries);
    default:
      return {};
  }
}

// Refusals that only the job's own row, its queue's, or time can lift.
bool WaitsForItself(Reason reason) {
  switch (reason) {
    case Reason::kNoPodGroup:
    case Reason::kInvalidObject:
    case Reason::kPriorityClassNotFound:
    case Reason::kQueueNotFound:
    case Reason::kQueueClosed:
    case Reason::kNotEnoughPods:
    case Reason::kGated:
    case Reason::kLargerThanPossible:
      return true;
    default:
      return false;
  }
}

class AllocateJob final : public framework::Action {
 public:
  std::string_view name() const override { return "allocateJob"; }

  void Execute(Session& session) override {
    naps_.Begin();
    std::vector<model::JobId> jobs = session.OrderedJobs([&](model::JobId job) {
      if (!naps_.Asleep(session, capacities_, job)) return true;
      session.asleep.push_back(job);
      return false;
    });
    ReachedFirst(session.cluster(), jobs);
    int64_t budget = kCycleSteps;
    for (const bool extras : {false, true})
      for (const model::JobId job : jobs) {
        const model::Job& row = session.cluster().jobs()[job];
        if ((row.ready >= row.needed) != extras) continue;
        // An extra goes by its binding alone: before the gang's own record is written, and somebody
        // runs, it would be the start of a gang of which nobody knows whether the rest can follow.
        if (extras && row.bound == 0) continue;
        if (budget > 0)
          Plan(session, job, budget);
        else
          behind_.push_back(row.name);
      }
    session.SetUnfinished(!behind_.empty());
  }

 private:
  // Steps of one cycle. Counted, not timed, so that a replay is exact.
  static constexpr int64_t kCycleSteps = 1'000'000;

  // Whom the last cycle didn't reach goes first, in the same order (3.8).
  void ReachedFirst(const model::Cluster& cluster, std::vector<model::JobId>& jobs) {
    if (behind_.empty()) return;
    const std::set<std::string, std::less<>> behind(behind_.begin(), behind_.end());
    behind_.clear();
    std::vector<model::JobId> others;
    std::vector<model::JobId> first;
    for (const model::JobId job : jobs)
      (behind.contains(cluster.jobs()[job].name) ? first : others).push_back(job);
    first.insert(first.end(), others.begin(), others.end());
    jobs = std::move(first);
  }

  void Plan(Session& session, model::JobId id, int64_t& budget) {
    const model::Cluster& cluster = session.cluster();
    --budget;
    const Verdict verdict = MayPlan(session, id);
    if (!verdict.fit() || !session.JobEnqueueable(id)) {
      Refusals why;
      why.Add(verdict.fit() ? Verdict::NotNow(Reason::kJobBlockedByJobQueue) : verdict);
      why.detail = Detail(cluster, cluster.jobs()[id], verdict.reason);
      if (WaitsForItself(verdict.reason) || cluster.jobs()[id].backoff != Reason::kNone)
        naps_.Sleep(session, id, {Want::What::kItself});
      return session.Refuse(id, std::move(why));
    }
    if (cluster.jobs()[id].placeable == 0) {
      Refusals why;
      why.Add(Reason::kGated);
      naps_.Sleep(session, id, {Want::What::kItself});
      return session.Refuse(id, std::move(why));
    }
    // A group that is being read again is planned when the answer is there.
    if (cluster.jobs()[id].unconfirmed) return;
    auto round = std::make_unique<JobRound>(session, id);
    round->policy = session.PredicateZone(id);
    Planner planner(session, *round, capacities_);
    const bool planned = planner.Make();
    budget -= planner.spent();
    if (!planned) {
      naps_.Sleep(session, id, planner.want());
      return session.Refuse(id, std::move(round->plan.why));
    }
    Refusals why;
    if (!session.QuotaReady(*round, why)) return session.Refuse(id, std::move(why));
    round->order = session.rounds.size();
    session.rounds.insert_or_assign(id, std::move(round));
  }

  Capacities capacities_;
  Naps naps_;
  std::vector<std::string> behind_;  // jobs that the budget of the last cycle didn't reach
};

}  // namespace

std::unique_ptr<framework::Action> MakeAllocateJob() { return std::make_unique<AllocateJob>(); }

}  // namespace sky::actions
