// SPDX-License-Identifier: Apache-2.0
// The callbacks that are asked of jobs, queues, tasks and rounds as a whole; hop.h has those of the
// three hops. Each is combined by its expression, and each has an answer for when all abstain: fit,
// let in, ready, pipelined; not starving, not overused; no victims; keys are 0. Part of a Session.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "expr/evaluate.h"
#include "framework/plan.h"
#include "framework/stage.h"
#include "model/resources.h"
#include "model/types.h"

namespace sky::framework {

struct JobRound;

// A queue with all that stands below it, or its own jobs, which compete with those of its children.
enum class QueuePart : uint8_t { kWhole, kOwnJobs };

struct JobStages {
  using JobBool = std::function<std::optional<bool>(model::JobId)>;
  using JobVerdict = std::function<std::optional<model::Verdict>(model::JobId)>;
  using JobGate = std::function<std::optional<bool>(model::JobId, Refusals&)>;
  using RoundBool = std::function<std::optional<bool>(const JobRound&, Refusals&)>;
  using JobKey = std::function<std::optional<int64_t>(model::JobId)>;
  using QueueKey = std::function<std::optional<int64_t>(model::QueueId, QueuePart)>;
  using TaskKey = std::function<std::optional<int64_t>(model::TaskId)>;
  // Would the queue use more than it may, if its tasks asked so much more?
  using QueueLimit =
      std::function<std::optional<bool>(model::QueueId, const model::Resources& more, Refusals&)>;
  // Which of the candidates the task may push out, ascending. The candidates come in the order in
  // which they would go.
  using Victims = std::function<std::optional<std::vector<model::TaskId>>(
      model::TaskId, std::span<const model::TaskId> candidates)>;

  Stage<JobKey> job_order{expr::Type::kOrderKey};
  Stage<QueueKey> queue_order{expr::Type::kOrderKey};
  Stage<TaskKey> task_order{expr::Type::kOrderKey};
  Stage<JobVerdict> job_valid{expr::Type::kVerdict};
  Stage<JobGate> job_enqueueable{expr::Type::kBool};
  Stage<JobBool> job_ready{expr::Type::kBool};
  Stage<RoundBool> quota_ready{expr::Type::kBool};
  Stage<RoundBool> quota_allocate{expr::Type::kBool};
  Stage<JobBool> job_pipelined{expr::Type::kBool};
  Stage<JobBool> job_starving{expr::Type::kBool};
  Stage<Victims> preemptable{expr::Type::kSet};
  Stage<Victims> reclaimable{expr::Type::kSet};
  Stage<QueueLimit> overused{expr::Type::kBool};
  // Jobs of one queue with equal numbers stand in one line: planning one of them changes the order
  // key of all of them alike. Without it each queue is one line.
  std::function<size_t(model::JobId)> line_of;

  void CompileStages(const Compiler& compile);

  expr::OrderKey KeyOf(model::JobId job) const;
  expr::OrderKey KeyOf(model::QueueId queue, QueuePart part) const;
  expr::OrderKey KeyOf(model::TaskId task) const;
  model::Verdict JobValid(model::JobId job) const;
  bool JobEnqueueable(model::JobId job, Refusals& why) const;
  bool JobReady(model::JobId job) const;
  bool QuotaReady(const JobRound& round, Refusals& why) const;
  bool QuotaAllocate(const JobRound& round, Refusals& why) const;
  bool JobPipelined(model::JobId job) const;
  bool JobStarving(model::JobId job) const;
  bool Overused(model::QueueId queue, const model::Resources& more, Refusals& why) const;
  std::vector<model::TaskId> Preemptable(model::TaskId task,
                                         std::span<const model::TaskId> candidates) const;
  std::vector<model::TaskId> Reclaimable(model::TaskId task,
                                         std::span<const model::TaskId> candidates) const;
};

}  // namespace sky::framework
