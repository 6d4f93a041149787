// SPDX-License-Identifier: Apache-2.0
// Hop 1. Queues and jobs in order; whoever may not be placed says why; for the others a plan of the
// whole round, charged at once. Minima of all jobs come before anybody's extras. allocateJob does
// so for all jobs but those with spot pods, which take what is left: backfill plans them last and
// places them at once.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "actions/actions.h"
#include "actions/damaged.h"
#include "actions/keeper.h"
#include "actions/naps.h"
#include "actions/place_round.h"
#include "actions/planner.h"
#include "actions/round_tasks.h"
#include "actions/volume_reasons.h"
#include "framework/jobs_in_order.h"
#include "model/begin.h"
#include "model/roles.h"

namespace sky::actions {
namespace {

using framework::JobRound;
using framework::Refusals;
using framework::Session;
using model::Reason;
using model::Verdict;

// All that keeps a job from being planned at all: whoever mends one shouldn't find the next.
Refusals BarsOf(const Session& session, model::JobId id) {
  const model::Job& job = session.cluster().jobs()[id];
  Refusals why;
  for (const Verdict& bar : model::BarsOf(session.cluster(), job)) why.Add(bar);
  if (job.exists()) why.Add(session.JobValid(id));
  return why;
}

std::string OfQueue(const model::Cluster& cluster, const model::Job& job) {
  const auto [reason, queue] = model::FindQueueBar(cluster, job.queue);
  const std::string& name = cluster.queues()[queue].name;
  const std::string who = queue == job.queue ? fmt::format("queue {}", name)
                                             : fmt::format("queue {} stands below queue {}, which",
                                                           job.queue_name, name);
  switch (reason) {
    case Reason::kInvalidObject:
      return fmt::format("{}: {}", who, model::QueueTrouble(cluster, queue));
    case Reason::kQueueNotFound:
      return who + " doesn't exist";
    default:
      return who + " takes no new jobs";
  }
}

std::string Detail(const model::Cluster& cluster, const model::Job& job, Reason reason) {
  if (reason == job.backoff) return job.backoff_why;
  switch (reason) {
    case Reason::kNoPodGroup:
      return fmt::format("PodGroup {} doesn't exist", job.name);
    case Reason::kInvalidObject:
      return job.invalid.empty() ? OfQueue(cluster, job) : job.invalid;
    case Reason::kPriorityClassNotFound:
      return fmt::format("PriorityClass {} doesn't exist", job.object->spec.priority_class_name);
    case Reason::kQueueNotFound:
    case Reason::kQueueClosed:
      return OfQueue(cluster, job);
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

// Where other quotas go may let it start, and nothing else tells of that.
Want WithPatience(Want want, const Refusals& why) {
  if (why.counts.contains(Reason::kQuotaAffinityNotMatch) ||
      why.counts.contains(Reason::kPodQuotaAffinityNotMatch))
    want.at_most = std::min<Duration>(want.at_most, std::chrono::seconds(1));
  return want;
}

class PlanJobs final : public framework::Action {
 public:
  PlanJobs(std::string_view name, bool spot) : name_(name), spot_(spot) {}
  std::string_view name() const override { return name_; }

  void Execute(Session& session) override {
    naps_.Begin();
    if (!spot_) keeper_.Begin(session, capacities_);
    damaged_.Begin(session);
    const model::Cluster& cluster = session.cluster();
    const std::set<std::string, std::less<>> behind(behind_.begin(), behind_.end());
    behind_.clear();
    // Whom the last cycle didn't reach goes first (3.8), in its minimum as in its extras.
    std::array<std::vector<model::JobId>, 4> groups;
    for (const model::JobId job : Awake(session)) {
      const model::Job& row = cluster.jobs()[job];
      const bool extras = row.ready >= row.needed;
      // An extra goes by its binding alone: before the gang's own record is written, and somebody
      // runs, it would be the start of a gang of which nobody knows whether the rest can follow.
      if (extras && row.bound == 0) continue;
      groups[(extras ? 2 : 0) + (behind.contains(row.name) ? 0 : 1)].push_back(job);
    }
    int64_t budget = kCycleSteps;
    for (const std::vector<model::JobId>& group : groups) {
      framework::JobsInOrder order(session, group);
      while (const auto job = order.Next()) {
        if (budget > 0)
          Plan(session, *job, budget);
        else
          behind_.push_back(cluster.jobs()[*job].name);
      }
    }
    if (!spot_) keeper_.End(session);
    if (!behind_.empty()) session.SetUnfinished(true);
    std::ranges::sort(session.asleep);  // both actions add to it
  }

 private:
  // Steps of one cycle. Counted, not timed, so that a replay is exact.
  static constexpr int64_t kCycleSteps = 1'000'000;

  // By id. The session knows of the others that they sleep.
  std::vector<model::JobId> Awake(Session& session) {
    std::vector<model::JobId> awake, asleep;
    for (const model::JobId job : session.cluster().waiting_jobs())
      if (session.cluster().jobs()[job].spot == spot_)
        (naps_.Asleep(session, capacities_, job) ? asleep : awake).push_back(job);
    const std::vector<model::JobId> overtaken = naps_.Overtaken(session, asleep);
    awake.insert(awake.end(), overtaken.begin(), overtaken.end());
    std::ranges::sort(awake);
    std::ranges::set_difference(asleep, overtaken, std::back_inserter(session.asleep));
    return awake;
  }

  void Plan(Session& session, model::JobId id, int64_t& budget) {
    const model::Cluster& cluster = session.cluster();
    --budget;
    Refusals why = BarsOf(session, id);
    if (!why.empty()) {
      keeper_.NotAdmitted(session, id);
      why.detail = Detail(cluster, cluster.jobs()[id], why.main);
      if (WaitsForItself(why.main) || cluster.jobs()[id].backoff != Reason::kNone)
        naps_.Sleep(session, id, {Want::What::kItself});
      return session.Refuse(id, std::move(why));
    }
    if (!(session.admitted[id] = session.JobEnqueueable(id, why))) {
      keeper_.NotAdmitted(session, id);
      if (why.empty()) why.Add(Reason::kJobBlockedByJobQueue);
      return session.Refuse(id, std::move(why));
    }
    if (cluster.jobs()[id].placeable == 0) {
      why.Add(Reason::kGated);
      naps_.Sleep(session, id, {Want::What::kItself});
      return session.Refuse(id, std::move(why));
    }
    // A group that is being read again is planned when the answer is there.
    if (cluster.jobs()[id].unconfirmed) return session.unread.push_back(cluster.jobs()[id].name);
    if (VolumesMissing(session, id, why)) {
      keeper_.NotAdmitted(session, id);
      naps_.Sleep(session, id, {Want::What::kItself});
      return session.Refuse(id, std::move(why));
    }
    if (MinimumTooMuch(session, id, why)) {
      keeper_.NotAdmitted(session, id);
      return Limited(session, id, std::move(why));
    }
    auto round = std::make_unique<JobRound>(session, id);
    round->policy = session.PredicateZone(id);
    Planner planner(session, *round, capacities_);
    const bool planned = planner.Make() || MakeInKept(session, *round, planner);
    if (!planned) {
      Want want = WithPatience(planner.want(), round->plan.why);
      NameVolumes(session, id, round->plan.why);
      damaged_.Failed(session, *round, round->plan.why, want);
      if (!spot_) keeper_.Failed(session, *round, planner, want);
      budget -= planner.spent();
      want.steps = std::max<int64_t>(planner.spent(), 1);
      naps_.Sleep(session, id, std::move(want));
      return session.Refuse(id, std::move(round->plan.why));
    }
    budget -= planner.spent();
    if (round->extras) TrimExtras(session, *round, why);
    if (!round->plan.found()) return Limited(session, id, std::move(why));
    why = {};
    if (!session.QuotaReady(*round, why)) return session.Refuse(id, std::move(why));
    keeper_.Started(session, *round);
    if (spot_) return PlaceAtOnce(session, *round);
    round->order = session.rounds.size();
    session.rounds.insert_or_assign(id, std::move(round));
  }

  // Members that a gang lost have no other places than beside the others.
  static bool MakeInKept(Session& session, JobRound& round, Planner& planner) {
    const bool repairs = session.cluster().jobs()[round.job].bound > 0 && !round.extras;
    if (!repairs || session.earmarks().empty() || !session.earmarks().enforced) return false;
    session.earmarks().enforced = false;
    framework::Refusals why = std::exchange(round.plan.why, {});
    const bool made = planner.Make();
    session.earmarks().enforced = true;
    if (!made) round.plan.why = std::move(why);
    return made;
  }

  static bool MinimumTooMuch(const Session& session, model::JobId id, Refusals& why) {
    const model::Cluster& cluster = session.cluster();
    const model::Job& job = cluster.jobs()[id];
    if (job.ready >= job.needed) return false;
    model::Resources more;
    for (const model::TaskId task : RoundTasks(session, job))
      more += cluster.tasks()[task].facts->request;
    return session.Overused(job.queue, more, why);
  }

  // As many as the queue may still have; the last ones go first. `why` says what stopped the
  // others.
  static void TrimExtras(const Session& session, JobRound& round, Refusals& why) {
    const model::Cluster& cluster = session.cluster();
    const model::QueueId queue = cluster.jobs()[round.job].queue;
    while (!round.statement.operations().empty()) {
      const framework::Operation last = round.statement.operations().back();
      round.statement.RollBackTo(round.statement.Savepoint() - 1);
      if (!session.Overused(queue, cluster.tasks()[last.task].facts->request, why))
        return last.quota.valid()
                   ? round.statement.AllocateTaskToQuota(last.task, last.quota, last.node)
                   : round.statement.AllocateTaskToNode(last.task, last.node);
      std::erase_if(round.plan.tasks, [&](const auto& entry) { return entry.task == last.task; });
    }
  }

  // Somebody's end may help, unless it asks more than the limit itself.
  void Limited(Session& session, model::JobId id, Refusals why) {
    const auto main = why.examples.find(why.main);
    const bool never =
        main != why.examples.end() && main->second.severity == model::Severity::kNever;
    naps_.Sleep(session, id, {never ? Want::What::kItself : Want::What::kAnything});
    session.Refuse(id, std::move(why));
  }

  // The actions that place and release what allocateJob planned have run already.
  static void PlaceAtOnce(Session& session, JobRound& round) {
    if (!PlaceRound(session, round)) return;
    std::vector<model::TaskId> tasks;
    for (const framework::PlannedTask& one : round.plan.tasks) tasks.push_back(one.task);
    ReleaseRound(session, session.committed().back().number, tasks);
  }

  const std::string name_;
  const bool spot_;
  Capacities capacities_;
  Naps naps_;
  Keeper keeper_;
  Damaged damaged_;
  std::vector<std::string> behind_;  // jobs that the budget of the last cycle didn't reach
};

}  // namespace

std::unique_ptr<framework::Action> MakeAllocateJob() {
  return std::make_unique<PlanJobs>("allocateJob", false);
}
std::unique_ptr<framework::Action> MakeBackfill() {
  return std::make_unique<PlanJobs>("backfill", true);
}

}  // namespace sky::actions
