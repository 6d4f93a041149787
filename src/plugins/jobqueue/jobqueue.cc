// SPDX-License-Identifier: Apache-2.0
#include "plugins/jobqueue/jobqueue.h"

#include <algorithm>

namespace sky::plugins {
namespace {

using framework::Operation;
using framework::Refusals;
using framework::Session;
using model::JobId;
using model::JobQueue;
using model::Reason;

constexpr Duration kCleanUp = std::chrono::minutes(1);

bool Strict(const model::Cluster& cluster, const model::Job& job) {
  return job.line.valid() && cluster.job_queues()[job.line].strict();
}

}  // namespace

void JobQueues::OnSessionOpen(Session& session) {
  const model::Cluster& cluster = session.cluster();
  session_ = &session;
  starts_.clear();
  line_up_.emplace(session, [this](const model::Job& job) {
    const auto held = holds_.find(job.name);
    return held == holds_.end() || held->second;
  });
  any_ = false;
  for (size_t i = 0; i < cluster.job_queues().size(); ++i)
    any_ = any_ || cluster.job_queues()[model::JobQueueId(i)].live;

  session.job_order.Add("jobqueue", [this](JobId job) { return OrderKey(job); });
  session.job_enqueueable.Add("jobqueue", [this](JobId job, Refusals& why) -> std::optional<bool> {
    if (!session_->cluster().jobs()[job].line.valid()) return std::nullopt;
    return LetsIn(job, why);
  });
  session.line_of = [&cluster](JobId job) -> size_t {
    const model::JobQueueId line = cluster.jobs()[job].line;
    return line.valid() ? line.index() + 1 : 0;
  };
  session.handlers.push_back({"jobqueue", [this](const Operation& one) { Planned(one); },
                              [this](const Operation& one) { Undone(one); }});
}

JobQueues::Served& JobQueues::ServedOf(const model::Job& job) {
  const model::Cluster& cluster = session_->cluster();
  // A JobQueue's name has a slash, a queue's has none.
  Served& served = served_[job.line.valid() ? cluster.job_queues()[job.line].name : job.queue_name];
  served.seen = true;
  return served;
}

// Higher JobQueues first; among equals the one that was served longest ago. Jobs that stand in none
// share one line of priority 0.
std::optional<int64_t> JobQueues::OrderKey(JobId id) {
  if (!any_) return std::nullopt;
  const model::Cluster& cluster = session_->cluster();
  const model::Job& job = cluster.jobs()[id];
  const int64_t priority =
      job.line.valid()
          ? std::max<int64_t>(cluster.job_queues()[job.line].object->spec.priority, -INT32_MAX)
          : 0;
  constexpr int64_t kTurns = int64_t{1} << 32;
  const uint64_t turn = std::min<uint64_t>(ServedOf(job).turn(), kTurns - 1);
  return -priority * kTurns + static_cast<int64_t>(turn);
}

bool JobQueues::LetsIn(JobId id, Refusals& why) {
  const model::Cluster& cluster = session_->cluster();
  const model::Job& job = cluster.jobs()[id];
  if (job.holding > 0) return true;  // it has its slot
  const JobQueue& line = cluster.job_queues()[job.line];
  const api::JobQueueSpec& spec = line.object->spec;
  std::string blocked;
  if (spec.suspended)
    blocked = fmt::format("JobQueue {} is suspended", line.name);
  else if (spec.max_running_jobs && line.running >= *spec.max_running_jobs)
    blocked = fmt::format("JobQueue {} runs {} of at most {} jobs", line.name, line.running,
                          *spec.max_running_jobs);
  else if (line.strict() && !line_up_->IsFirst(id))
    blocked = fmt::format("JobQueue {} is StrictFIFO, and jobs before it wait for room", line.name);
  if (blocked.empty()) return true;
  why.Add(Reason::kJobBlockedByJobQueue);
  why.Add(Reason::kBlockedByJobQueue, job.placeable);
  why.detail = std::move(blocked);
  return false;
}

namespace {

bool GivesQuota(const Operation& operation) {
  return operation.kind == Operation::Kind::kAllocateTaskToQuota ||
         operation.kind == Operation::Kind::kAllocateReservedResource;
}

}  // namespace

void JobQueues::Planned(const Operation& operation) {
  if (!any_ || !GivesQuota(operation)) return;
  const JobId id = session_->cluster().tasks()[operation.task].job;
  const model::Job& job = session_->cluster().jobs()[id];
  if (job.started) return;  // it was served when it started
  Start& start = starts_[id];
  if (start.operations++ > 0) return;
  start.number = ++starts_so_far_;
  ServedOf(job).planned.insert(start.number);
}

void JobQueues::Undone(const Operation& operation) {
  if (!any_ || !GivesQuota(operation)) return;
  const JobId id = session_->cluster().tasks()[operation.task].job;
  const auto start = starts_.find(id);
  if (start == starts_.end() || --start->second.operations > 0) return;
  ServedOf(session_->cluster().jobs()[id]).planned.erase(start->second.number);
  starts_.erase(start);
}

void JobQueues::OnSessionClose(Session& session) {
  const model::Cluster& cluster = session.cluster();
  for (auto& [name, served] : served_) {
    served.last = served.turn();
    served.planned.clear();
  }
  std::vector<std::pair<JobId, Refusals>> passed_over;
  for (const auto& [id, why] : session.refusals()) {
    const model::Job& job = cluster.jobs()[id];
    if (!Strict(cluster, job) || job.started) continue;
    const bool holds = LineUp::HoldsUp(cluster, id, why);
    holds_.insert_or_assign(job.name, holds);
    if (holds || !why.who.empty() || !line_up_->HasCompany(id)) continue;
    passed_over.emplace_back(id, why);
    passed_over.back().second.who =
        fmt::format("passed over in JobQueue {}", cluster.job_queues()[job.line].name);
  }
  for (auto& [id, why] : passed_over) session.Refuse(id, std::move(why));
  for (auto at = holds_.begin(); at != holds_.end();) {
    const JobId id = cluster.jobs().Find(at->first);
    const bool waits =
        id.valid() && Strict(cluster, cluster.jobs()[id]) && cluster.waiting_jobs().contains(id);
    at = waits ? std::next(at) : holds_.erase(at);
  }
  if (!due_ && !served_.empty()) due_ = session.now().wall + kCleanUp;
  line_up_.reset();
  session_ = nullptr;
}

// Lines that nobody has asked about since: they are empty, or gone. Who was served so long ago
// comes first in any case, as one that never was.
void JobQueues::Reconcile(WallTime now) {
  std::erase_if(served_, [](const auto& line) { return !line.second.seen; });
  for (auto& [name, served] : served_) served.seen = false;
  due_ = served_.empty() ? std::nullopt : std::optional<WallTime>(now + kCleanUp);
}

framework::PluginKind JobQueues::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<JobQueues>();
          },
          {},
          {"jobOrder", "jobEnqueueable"}};
}

}  // namespace sky::plugins
