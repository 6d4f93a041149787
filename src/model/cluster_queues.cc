// SPDX-License-Identifier: Apache-2.0
// The facts about queues and JobQueues, and what their jobs use.
#include <algorithm>

#include "api/selectors.h"
#include "api/validate.h"
#include "base/natural.h"
#include "model/cluster.h"

namespace sky::model {
namespace {

constexpr size_t kDeepest = 64;

}  // namespace

std::vector<QueueId> QueueChain(const Cluster& cluster, QueueId queue) {
  std::vector<QueueId> chain;
  for (QueueId at = queue; at.valid() && chain.size() < kDeepest;
       at = cluster.queues()[at].parent) {
    if (std::ranges::find(chain, at) != chain.end()) break;
    chain.push_back(at);
  }
  return chain;
}

std::string QueueTrouble(const Cluster& cluster, QueueId queue) {
  const auto& queues = cluster.queues();
  if (!queues[queue].invalid.empty()) return queues[queue].invalid;
  const std::vector<QueueId> chain = QueueChain(cluster, queue);
  const QueueId next = queues[chain.back()].parent;
  if (!next.valid()) return {};
  if (std::ranges::find(chain, next) == chain.end())
    return fmt::format("spec.parent: more than {} queues stand above it", kDeepest - 1);
  std::vector<std::string_view> names;
  for (const QueueId id : chain) names.push_back(queues[id].name);
  names.push_back(queues[next].name);
  return fmt::format("spec.parent: its parents go round: {}", fmt::join(names, " → "));
}

JobQueueId LineOf(const Cluster& cluster, const api::PodGroup& group) {
  const std::string& queue = group.spec.queue.empty() ? "default" : group.spec.queue;
  JobQueueId best;
  const auto before = [&](const JobQueue& a, const JobQueue& b) {
    if (a.object->spec.priority != b.object->spec.priority)
      return a.object->spec.priority > b.object->spec.priority;
    return NaturalLess{}(a.name, b.name);
  };
  for (size_t i = 0; i < cluster.job_queues().size(); ++i) {
    const JobQueue& line = cluster.job_queues()[JobQueueId(i)];
    if (!line.live || !line.invalid.empty()) continue;
    const api::JobQueueSpec& spec = line.object->spec;
    if (line.object->metadata.namespace_ != group.metadata.namespace_ || spec.queue != queue ||
        !spec.job_selector || !api::Matches(*spec.job_selector, group.metadata.labels))
      continue;
    if (!best.valid() || before(line, cluster.job_queues()[best])) best = JobQueueId(i);
  }
  return best;
}

QueueId Cluster::RefQueue(std::string_view name) {
  const QueueId id = queues_.FindOrAdd(name);
  ++Mutable(id).refs;
  return id;
}

void Cluster::UnrefQueue(QueueId id) {
  if (!id.valid()) return;
  --Mutable(id).refs;
  FreeIfUnused(id);
}

void Cluster::FreeIfUnused(QueueId id) {
  const Queue& queue = queues_[id];
  if (!queue.live || queue.object || queue.refs > 0) return;
  touched_.queues.push_back(id);
  queues_.Free(id);
}

void Cluster::AssignQueue(JobId id, std::string_view queue_name) {
  Job& job = Mutable(id);
  const QueueId before = job.queue;
  job.queue_name = queue_name;
  const QueueId now = queue_name.empty() ? QueueId{} : RefQueue(job.queue_name);
  if (before != now) {
    std::vector<TaskId> counted;
    for (const TaskId member : job.members)
      if (tasks_[member].counted) counted.push_back(member);
    for (const TaskId member : counted) TakeUse(member);
    jobs_[id].queue = now;
    for (const TaskId member : counted) AddUse(member);
    for (const TaskId member : jobs_[id].members)
      if (const QuotaId quota = tasks_[member].used_quota(); quota.valid()) Dirty(quota);
  }
  UnrefQueue(before);
}

void Cluster::SetQueue(std::shared_ptr<const api::Queue> object) {
  const QueueId id = queues_.FindOrAdd(object->metadata.name);
  SetParent(id, object->spec.parent);
  Queue& queue = Mutable(id);
  queue.invalid = api::Describe(api::Validate(*object));
  queue.capability = FromList(object->spec.capability, names_->resources);
  queue.capped.clear();
  for (const auto& [name, amount] : object->spec.capability)
    InsertSorted(queue.capped, names_->resources.Intern(name));
  const auto before = std::exchange(queue.object, std::move(object));
  if (!before || !(before->spec == queue.object->spec) ||
      before->status.state != queue.object->status.state ||
      before->metadata.deleting() != queue.object->metadata.deleting())
    queues_changed_ = Tick();
}

void Cluster::RemoveQueue(std::string_view name) {
  const QueueId id = queues_.Find(name);
  if (!id.valid()) return;
  Queue& queue = Mutable(id);
  queue.object = nullptr;
  queue.invalid.clear();
  queue.capability = Resources{};
  queue.capped.clear();
  SetParent(id, "");
  queues_changed_ = Tick();
  FreeIfUnused(id);
}

// Whoever stands below it moves with it: all sums are made anew, which is rare.
void Cluster::SetParent(QueueId id, std::string_view name) {
  const QueueId before = queues_[id].parent;
  const QueueId now = name.empty() ? QueueId{} : RefQueue(name);
  if (before != now) {
    Mutable(id).parent = now;
    RecountUses();
  }
  UnrefQueue(before);
}

void Cluster::SetJobQueue(std::shared_ptr<const api::JobQueue> object) {
  const JobQueueId id = job_queues_.FindOrAdd(object->metadata.Key());
  JobQueue& line = Mutable(id);
  line.invalid = api::Describe(api::Validate(*object));
  const auto before = std::exchange(line.object, std::move(object));
  if (before && before->spec == line.object->spec) return;
  UnrefQueue(std::exchange(line.queue, RefQueue(line.object->spec.queue)));
  queues_changed_ = Tick();
  AssignLines(line.object->metadata.namespace_);
}

void Cluster::RemoveJobQueue(std::string_view key) {
  const JobQueueId id = job_queues_.Find(key);
  if (!id.valid()) return;
  const JobQueue gone = Mutable(id);
  job_queues_.Free(id);
  UnrefQueue(gone.queue);
  queues_changed_ = Tick();
  AssignLines(gone.object->metadata.namespace_);
}

// A JobQueue is rarely touched and may concern any group of its namespace.
void Cluster::AssignLines(std::string_view in) {
  for (size_t i = 0; i < jobs_.size(); ++i)
    if (const Job& job = jobs_[JobId(i)];
        job.live && job.object && job.object->metadata.namespace_ == in)
      AssignLine(JobId(i));
}

void Cluster::AssignLine(JobId id) {
  const auto& object = jobs_[id].object;
  const JobQueueId before = jobs_[id].line, now = object ? LineOf(*this, *object) : JobQueueId{};
  if (before == now) return;
  Mutable(id).line = now;
  if (jobs_[id].holding == 0) return;
  if (before.valid() && job_queues_.Live(before)) --Mutable(before).running;
  if (now.valid()) ++Mutable(now).running;
}

void Cluster::TakeUse(TaskId id) {
  Task& task = tasks_[id];
  if (!task.counted) return;
  touched_.tasks.push_back(id), touched_.jobs.push_back(task.job);
  task.counted = false;
  Job& job = jobs_[task.job];
  const Resources request = Uses::Countable(task.facts->request);
  job.used -= request;
  if (--job.holding == 0 && job.line.valid() && job_queues_.Live(job.line))
    --Mutable(job.line).running;
  if (job.queue.valid()) uses_.Take(QueueChain(*this, job.queue), request);
}

// The row of the job is noted as touched, but doesn't count as changed: what is planned and given
// back in a cycle is no news.
void Cluster::AddUse(TaskId id) {
  Task& task = tasks_[id];
  if (task.counted || !task.job.valid() || !(task.holds_room() || task.claim.open())) return;
  touched_.tasks.push_back(id), touched_.jobs.push_back(task.job);
  task.counted = true;
  Job& job = jobs_[task.job];
  const Resources request = Uses::Countable(task.facts->request);
  job.used += request;
  if (++job.holding == 1 && job.line.valid()) ++Mutable(job.line).running;
  if (job.queue.valid()) uses_.Add(QueueChain(*this, job.queue), request);
}

// From nothing but the facts: for a queue that moves with all below it, and for the audit.
void Cluster::RecountUses() {
  for (size_t i = 0; i < tasks_.size(); ++i) tasks_[TaskId(i)].counted = false;
  for (size_t i = 0; i < job_queues_.size(); ++i) job_queues_[JobQueueId(i)].running = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    Job& job = jobs_[JobId(i)];
    job.used = Resources{};
    job.holding = 0;
    job.line = job.live && job.object ? LineOf(*this, *job.object) : JobQueueId{};
  }
  uses_.Clear();
  for (size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[TaskId(i)].live) AddUse(TaskId(i));
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[NodeId(i)].live) uses_.Offer({}, nodes_[NodeId(i)].allocatable);
}

}  // namespace sky::model
