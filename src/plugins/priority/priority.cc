// SPDX-License-Identifier: Apache-2.0
#include "plugins/priority/priority.h"

#include <algorithm>

#include "framework/session.h"

namespace sky::plugins {

namespace {

// Of another job: its whole job is worth less. Of the same job: the task itself is.
std::vector<model::TaskId> Lower(const model::Cluster& cluster, model::TaskId comes,
                                 std::span<const model::TaskId> candidates) {
  const auto of_job = [&](model::JobId job) {
    return job.valid() ? cluster.jobs()[job].priority : INT32_MIN;
  };
  const model::Task& task = cluster.tasks()[comes];
  std::vector<model::TaskId> victims;
  for (const model::TaskId candidate : candidates) {
    const model::Task& victim = cluster.tasks()[candidate];
    const bool lower = victim.job == task.job ? victim.facts->priority < task.facts->priority
                                              : of_job(victim.job) < of_job(task.job);
    if (lower) victims.push_back(candidate);
  }
  std::sort(victims.begin(), victims.end());
  return victims;
}

}  // namespace

void Priority::OnSessionOpen(framework::Session& session) {
  using framework::QueuePart;
  const model::Cluster& cluster = session.cluster();
  session.job_order.Add("priority",
                        [&](model::JobId job) { return -int64_t{cluster.jobs()[job].priority}; });
  session.task_order.Add("priority", [&](model::TaskId task) {
    return -int64_t{cluster.tasks()[task].facts->priority};
  });
  session.queue_order.Add(
      "priority", [&](model::QueueId queue, QueuePart part) -> std::optional<int64_t> {
        const auto& object = cluster.queues()[queue].object;
        return object && part == QueuePart::kWhole ? -int64_t{object->spec.priority} : 0;
      });
  session.job_starving.Add("priority", [&](model::JobId id) {
    const model::Job& job = cluster.jobs()[id];
    return job.ready < static_cast<int64_t>(job.members.size());
  });
  session.preemptable.Add("priority",
                          [&](model::TaskId task, std::span<const model::TaskId> candidates) {
                            return Lower(cluster, task, candidates);
                          });
}

framework::PluginKind Priority::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<Priority>();
          },
          {},
          {"jobOrder", "queueOrder", "taskOrder", "jobStarving", "preemptable"}};
}

}  // namespace sky::plugins
