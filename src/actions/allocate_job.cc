// SPDX-License-Identifier: Apache-2.0
// allocateJob: hop 1. Queues and jobs in order; whoever may not be placed says why; for the others
// a plan of the whole round, charged at once. Minima of all jobs come before anybody's extras.
#include "actions/actions.h"
#include "actions/planner.h"

namespace sky::actions {
namespace {

using framework::JobRound;
using framework::Refusals;
using framework::Session;
using model::Reason;
using model::Verdict;

// What keeps a job from being planned at all.
Verdict MayPlan(const Session& session, model::JobId id) {
  const model::Cluster& cluster = session.cluster();
  const model::Job& job = cluster.jobs()[id];
  if (!job.exists()) return Verdict::NotNow(Reason::kNoPodGroup);
  if (!job.invalid.empty()) return Verdict::NotNow(Reason::kInvalidObject);
  if (job.object && job.object->metadata.deleting()) return Verdict::NotNow(Reason::kNoPodGroup);
  if (job.priority_class_missing) return Verdict::NotNow(Reason::kPriorityClassNotFound);
  const model::Queue& queue = cluster.queues()[job.queue];
  if (!queue.exists()) return Verdict::NotNow(Reason::kQueueNotFound);
  if (!cluster.QueueTrouble(job.queue).empty()) return Verdict::NotNow(Reason::kInvalidObject);
  if (queue.object->status.state == "Closed" || queue.object->status.state == "Closing" ||
      queue.object->metadata.deleting())
    return Verdict::NotNow(Reason::kQueueClosed);
  if (job.backoff_until && session.now() < *job.backoff_until)
    return Verdict::NotNow(Reason::kBackoff);
  return session.JobValid(id);
}

std::string Detail(const model::Cluster& cluster, const model::Job& job, Reason reason) {
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
    case Reason::kBackoff:
      return "the API server refused a write of its last round; it is tried again soon";
    default:
      return {};
  }
}

class AllocateJob final : public framework::Action {
 public:
  std::string_view name() const override { return "allocateJob"; }

  void Execute(Session& session) override {
    const std::vector<model::JobId> jobs = session.OrderedJobs();
    for (const bool extras : {false, true})
      for (const model::JobId job : jobs) {
        const model::Job& row = session.cluster().jobs()[job];
        if ((row.ready >= row.needed) == extras) Plan(session, job);
      }
  }

 private:
  static void Plan(Session& session, model::JobId id) {
    const model::Cluster& cluster = session.cluster();
    const Verdict verdict = MayPlan(session, id);
    if (!verdict.fit() || !session.JobEnqueueable(id)) {
      Refusals why;
      why.Add(verdict.fit() ? Verdict::NotNow(Reason::kJobBlockedByJobQueue) : verdict);
      why.detail = Detail(cluster, cluster.jobs()[id], verdict.reason);
      return session.Refuse(id, std::move(why));
    }
    if (cluster.jobs()[id].placeable == 0) {
      Refusals why;
      why.Add(Reason::kGated);
      return session.Refuse(id, std::move(why));
    }
    // A group that is being read again is planned when the answer is there.
    if (cluster.jobs()[id].unconfirmed) return;
    auto round = std::make_unique<JobRound>(session, id);
    if (!Planner(session, *round).Make()) return session.Refuse(id, std::move(round->plan.why));
    Refusals why;
    if (!session.QuotaReady(*round, why)) return session.Refuse(id, std::move(why));
    round->order = session.rounds.size();
    session.rounds.insert_or_assign(id, std::move(round));
  }
};

}  // namespace

std::unique_ptr<framework::Action> MakeAllocateJob() { return std::make_unique<AllocateJob>(); }

}  // namespace sky::actions
