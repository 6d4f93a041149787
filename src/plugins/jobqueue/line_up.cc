// SPDX-License-Identifier: Apache-2.0
#include "plugins/jobqueue/line_up.h"

#include <algorithm>

namespace sky::plugins {
namespace {

using framework::Refusals;
using model::Cluster;
using model::JobId;
using model::Reason;

// What others hold, and give back.
bool AboutRoom(Reason reason) {
  switch (reason) {
    case Reason::kInsufficientQuota:
    case Reason::kInsufficientQuotaIdle:
    case Reason::kInsufficientIdle:
    case Reason::kWaitingForReleasing:
    case Reason::kPodSlotsFull:
    case Reason::kPortConflict:
    case Reason::kZoneFull:
    case Reason::kNodeOrderNotMonotone:
    case Reason::kSpecMismatch:
    case Reason::kSpotPoolFull:
    case Reason::kReclaimNoVictim:
    case Reason::kEarmarkedForOther:
    case Reason::kReservedForOther:
    case Reason::kQueueCapabilityExceeded:
    case Reason::kJobBlockedByJobQueue:
    case Reason::kPlacementConflict:
      return true;
    default:
      return false;
  }
}

// What some nodes say to a task, while others may only be full.
bool AboutNodes(Reason reason) {
  switch (reason) {
    case Reason::kNodeNotReady:
    case Reason::kNodeUnschedulable:
    case Reason::kTaintNotTolerated:
    case Reason::kNodeSelectorMismatch:
    case Reason::kNodeAffinityMismatch:
      return true;
    default:
      return false;
  }
}

// Could the quotas of its queue, and the nodes, take the tasks that it lacks, if nobody used them?
// Class by class, so that "no" is certain. Asked of who was refused before anybody looked at nodes.
bool WouldFitEmpty(const Cluster& cluster, const model::Job& job) {
  std::map<model::ClassId, std::pair<model::TaskId, int64_t>> classes;
  int64_t missing = int64_t{job.needed} - job.ready;
  for (const model::TaskId id : job.ranked) {
    const model::Task& task = cluster.tasks()[id];
    if (!task.placeable() || missing-- <= 0) continue;
    auto& [sample, count] = classes.try_emplace(task.facts->task_class, id, 0).first->second;
    ++count;
  }
  for (const auto& [task_class, tasks] : classes) {
    const model::PodFacts& facts = *cluster.tasks()[tasks.first].facts;
    int64_t room = 0;
    for (const model::QuotaId id : cluster.queues()[job.queue].quotas) {
      const model::Quota& quota = cluster.quotas()[id];
      if (!quota.usable() || room >= tasks.second) continue;
      room += model::TimesFit(quota.Limited(facts.request), quota.Limited(quota.limit()),
                              cluster.names().resources, tasks.second);
    }
    if (room < tasks.second) return false;
    int64_t places = 0;
    for (size_t i = 0; i < cluster.nodes().size() && places < tasks.second; ++i)
      if (const model::Node& node = cluster.nodes()[model::NodeId(i)]; node.live)
        places += model::TimesFit(facts.request, node.allocatable, cluster.names().resources,
                                  tasks.second);
    if (places < tasks.second) return false;
  }
  return true;
}

}  // namespace

LineUp::LineUp(const framework::Session& session, std::function<bool(const model::Job&)> remembered)
    : session_(session), remembered_(std::move(remembered)) {}

bool LineUp::HoldsUp(const Cluster& cluster, JobId id, const Refusals& why) {
  const auto main = why.examples.find(why.main);
  if (main == why.examples.end() || main->second.severity >= model::Severity::kNever) return false;
  const model::Job& job = cluster.jobs()[id];
  // One task goes wherever any node would take it.
  const auto full = [](const auto& said) {
    return AboutRoom(said.first) && said.second.severity < model::Severity::kNever;
  };
  const bool room = AboutRoom(why.main) || (job.needed - job.ready <= 1 && AboutNodes(why.main) &&
                                            std::ranges::any_of(why.examples, full));
  if (!room) return false;
  const bool early =
      why.main == Reason::kInsufficientQuota || why.main == Reason::kQueueCapabilityExceeded;
  return !early || WouldFitEmpty(cluster, job);
}

bool LineUp::HoldsUp(JobId id) const {
  const Cluster& cluster = session_.cluster();
  const model::Job& job = cluster.jobs()[id];
  if (job.holding > 0) return false;  // planned in this cycle
  if (const auto refused = session_.refusals().find(id); refused != session_.refusals().end())
    return HoldsUp(cluster, id, refused->second);
  if (std::ranges::binary_search(session_.asleep, id)) return remembered_(job);
  return true;  // its turn comes
}

void LineUp::Make() {
  if (std::exchange(made_, true)) return;
  const Cluster& cluster = session_.cluster();
  const auto stands = [&](JobId id) {
    const model::Job& job = cluster.jobs()[id];
    return job.line.valid() && job.holding == 0 && cluster.job_queues()[job.line].strict();
  };
  for (const JobId job : session_.OrderedJobs(stands)) {
    Line& line = lines_[cluster.jobs()[job].line];
    line.place.emplace(job, line.jobs.size());
    line.jobs.push_back(job);
  }
}

bool LineUp::IsFirst(JobId job) {
  Make();
  const auto at = lines_.find(session_.cluster().jobs()[job].line);
  if (at == lines_.end()) return true;
  Line& line = at->second;
  const auto place = line.place.find(job);
  if (place == line.place.end()) return true;
  while (line.free_before < place->second && !HoldsUp(line.jobs[line.free_before]))
    ++line.free_before;
  return line.free_before >= place->second;
}

bool LineUp::HasCompany(JobId job) {
  Make();
  const auto line = lines_.find(session_.cluster().jobs()[job].line);
  return line != lines_.end() && line->second.jobs.size() > 1;
}

}  // namespace sky::plugins
