// SPDX-License-Identifier: Apache-2.0
#include "framework/job_stages.h"

namespace sky::framework {

using model::JobId;
using model::QueueId;
using model::TaskId;

namespace {

template <class StageType, class... Args>
bool AskBool(const StageType& stage, bool if_all_abstain, Args&&... args) {
  return expr::EvaluateBool(stage.program,
                            [&](uint32_t leaf) { return stage.entries[leaf].fn(args...); })
      .value_or(if_all_abstain);
}

template <class StageType, class... Args>
expr::OrderKey AskKey(const StageType& stage, Args&&... args) {
  return expr::EvaluateOrderKey(stage.program,
                                [&](uint32_t leaf) { return stage.entries[leaf].fn(args...); });
}

std::vector<TaskId> AskVictims(const Stage<JobStages::Victims>& stage, TaskId task,
                               std::span<const TaskId> candidates) {
  return expr::EvaluateSet(stage.program,
                           [&](uint32_t leaf) { return stage.entries[leaf].fn(task, candidates); })
      .value_or(std::vector<TaskId>{});
}

}  // namespace

void JobStages::CompileStages(const Compiler& compile) {
  const auto one = [&](auto& stage, const char* name) {
    stage.program = compile(name, stage.program.type(), stage.Leaves());
  };
  one(job_order, "jobOrder"), one(queue_order, "queueOrder"), one(task_order, "taskOrder");
  one(job_valid, "jobValid"), one(job_enqueueable, "jobEnqueueable"), one(job_ready, "jobReady");
  one(quota_ready, "quotaReady"), one(quota_allocate, "quotaAllocate");
  one(job_pipelined, "jobPipelined"), one(job_starving, "jobStarving");
  one(preemptable, "preemptable"), one(reclaimable, "reclaimable"), one(overused, "overused");
}

expr::OrderKey JobStages::KeyOf(JobId job) const { return AskKey(job_order, job); }
expr::OrderKey JobStages::KeyOf(QueueId queue, QueuePart part) const {
  return AskKey(queue_order, queue, part);
}
expr::OrderKey JobStages::KeyOf(TaskId task) const { return AskKey(task_order, task); }

model::Verdict JobStages::JobValid(JobId job) const {
  return expr::EvaluateVerdict(job_valid.program,
                               [&](uint32_t leaf) { return job_valid.entries[leaf].fn(job); })
      .value_or(model::Verdict::Fit());
}

bool JobStages::JobEnqueueable(JobId job, Refusals& why) const {
  return AskBool(job_enqueueable, true, job, why);
}
bool JobStages::JobReady(JobId job) const { return AskBool(job_ready, true, job); }
bool JobStages::QuotaReady(const JobRound& round, Refusals& why) const {
  return AskBool(quota_ready, true, round, why);
}
bool JobStages::QuotaAllocate(const JobRound& round, Refusals& why) const {
  return AskBool(quota_allocate, true, round, why);
}
bool JobStages::JobPipelined(JobId job) const { return AskBool(job_pipelined, true, job); }
bool JobStages::JobStarving(JobId job) const { return AskBool(job_starving, false, job); }
bool JobStages::Overused(QueueId queue, const model::Resources& more, Refusals& why) const {
  return AskBool(overused, false, queue, more, why);
}
std::vector<TaskId> JobStages::Preemptable(TaskId task, std::span<const TaskId> candidates) const {
  return AskVictims(preemptable, task, candidates);
}
std::vector<TaskId> JobStages::Reclaimable(TaskId task, std::span<const TaskId> candidates) const {
  return AskVictims(reclaimable, task, candidates);
}

}  // namespace sky::framework
