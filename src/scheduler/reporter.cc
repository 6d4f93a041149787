// SPDX-License-Identifier: Apache-2.0
#include "scheduler/reporter.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "diagnose/describe.h"

namespace sky::scheduler {
namespace {

const api::Condition* Find(const std::vector<api::Condition>& conditions, std::string_view type) {
  for (const api::Condition& condition : conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

}  // namespace

void Reporter::Cycle(const model::Cluster& cluster, const framework::CycleResult& result) {
  std::set<std::string> seen;
  const auto pod_owner = [&](model::TaskId id) {
    const api::Pod& pod = *cluster.tasks()[id].facts->pod;
    return Owner{false, pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid,
                 pod.status.conditions};
  };
  const auto say = [&](const std::string& key, Owner owner, std::string reason,
                       std::string message) {
    seen.insert(key);
    Say(key, std::move(owner), std::move(reason), std::move(message));
  };
  const auto group_owner = [](const model::Job& job) {
    return Owner{true, job.object->metadata.namespace_, job.object->metadata.name,
                 job.object->metadata.uid, job.object->status.conditions};
  };
  // What was said of them holds.
  for (const model::JobId id : result.asleep) {
    const model::Job& job = cluster.jobs()[id];
    if (job.object || job.single)
      seen.insert(job.name);
    else
      for (const model::TaskId task : job.ranked)
        seen.insert("pod " + cluster.tasks()[task].facts->meta().Key());
  }
  for (const auto& [id, why] : result.refusals) {
    if (!cluster.jobs().Live(id)) continue;
    const model::Job& job = cluster.jobs()[id];
    std::string reason(model::ReasonName(why.main)), message = diagnose::Describe(why, names_);
    if (!job.notes.problem.empty()) message += "; " + job.notes.problem;
    if (job.object) {
      say(job.name, group_owner(job), reason, message);
      continue;
    }
    for (const model::TaskId task : job.ranked)
      if (!cluster.tasks()[task].bound())
        say(job.single ? job.name : "pod " + cluster.tasks()[task].facts->meta().Key(),
            pod_owner(task), reason, message);
  }
  for (const model::TaskId task : cluster.ungrouped())
    say("pod " + cluster.tasks()[task].facts->meta().Key(), pod_owner(task),
        std::string(model::ReasonName(model::Reason::kNoPodGroup)),
        "NoPodGroup: its owner's kind is grouped by a controller, and it has no PodGroup yet");
  std::set<std::string> placed = std::exchange(placed_, {});
  for (const cache::Round& round : result.committed) placed.insert(round.job);
  NoteWhole(cluster, seen, placed);
  for (const std::string& key : placed) {
    const model::JobId id = cluster.jobs().Find(key);
    if (!id.valid() || !cluster.jobs()[id].object || seen.contains(key)) continue;
    const model::Job& job = cluster.jobs()[id];
    if (job.ready >= job.needed) {
      say(key, group_owner(job), "", "");
    } else if (job.waiting == 0 && StillSays(key, job)) {
      // It waited for a place; now nobody of it waits, and what it lacks is members.
      const model::Verdict lacks = model::Verdict::NotNow(model::Reason::kNotEnoughPods, job.needed,
                                                          int64_t{job.ready} + job.placeable);
      say(key, group_owner(job), "NotEnoughPods",
          fmt::format("NotEnoughPods: {}", diagnose::Numbers(lacks, names_)));
    }
  }
  // What couldn't be written, for want of leadership, is tried again.
  for (auto& [key, report] : reports_)
    if (seen.contains(key) && !report.written && !report.due) WriteSoon(key, report);
  // Whoever is gone needs no word any more.
  std::erase_if(reports_, [&](const auto& item) {
    return !seen.contains(item.first) && !cluster.jobs().Find(item.first).valid();
  });
}

// Gangs that wait no more though no round of ours placed them: another hand did, or an earlier life
// of this process, whose last word may still stand in their objects.
void Reporter::NoteWhole(const model::Cluster& cluster, const std::set<std::string>& seen,
                         std::set<std::string>& placed) {
  for (const auto& [key, report] : reports_)
    if (!report.reason.empty() && !seen.contains(key)) placed.insert(key);
  if (std::exchange(began_, true)) return;
  for (size_t i = 0; i < cluster.jobs().size(); ++i) {
    const model::Job& job = cluster.jobs()[model::JobId(i)];
    if (job.live && job.object &&
        (Find(job.object->status.conditions, "Unschedulable") != nullptr ||
         Find(job.object->status.conditions, "Scheduled") == nullptr))
      placed.insert(job.name);
  }
}

// A reason that was told stands, here or in the object.
bool Reporter::StillSays(const std::string& key, const model::Job& job) const {
  const auto told = reports_.find(key);
  return told != reports_.end() ? !told->second.reason.empty()
                                : Find(job.object->status.conditions, "Unschedulable") != nullptr;
}

void Reporter::Say(const std::string& key, Owner owner, std::string reason, std::string message) {
  auto [at, added] = reports_.try_emplace(key);
  Report& report = at->second;
  const bool changed = added || report.reason != reason || report.message != message ||
                       report.owner.uid != owner.uid;
  if (added || report.reason != reason || report.owner.uid != owner.uid) report.since = loop_.Now();
  report.owner = std::move(owner);
  // What couldn't be written for want of leadership is said again.
  if (!changed && (report.written || report.due)) return;
  report.reason = std::move(reason);
  report.message = std::move(message);
  report.written = AlreadySays(report);
  if (report.written || report.due) return;
  WriteSoon(key, report);
}

void Reporter::WriteSoon(const std::string& key, Report& report) {
  report.due = true;
  // A gang that starts at once was never waiting: only what stands is said.
  loop_.RunAfter(report.reason.empty() ? Duration::zero() : Duration(kStands),
                 alive_.Guard([this, key] { Write(key); }));
}

std::vector<api::Condition> Reporter::Conditions(const Report& report) const {
  const bool started = report.reason.empty();
  api::Condition condition;
  condition.last_transition_time.at = loop_.clock().Wall();
  if (!report.owner.group) {
    condition.type = "PodScheduled";
    condition.status = "False";
    condition.reason = "Unschedulable";
    condition.message = report.message;
  } else {
    condition.type = started ? "Scheduled" : "Unschedulable";
    condition.status = "True";
    condition.reason = started ? "Placed" : report.reason;
    condition.message = started ? "its members have their places" : report.message;
  }
  // The instant of the change, not of the last word about it.
  const api::Condition* before = Find(report.owner.conditions, condition.type);
  if (before != nullptr && before->status == condition.status && before->last_transition_time.at)
    condition.last_transition_time = before->last_transition_time;
  return {condition};
}

bool Reporter::AlreadySays(const Report& report) const {
  const api::Condition wanted = Conditions(report).front();
  const api::Condition* have = Find(report.owner.conditions, wanted.type);
  const bool other = report.owner.group &&
                     Find(report.owner.conditions,
                          wanted.type == "Scheduled" ? "Unschedulable" : "Scheduled") != nullptr;
  return have != nullptr && !other && have->status == wanted.status &&
         have->reason == wanted.reason && have->message == wanted.message;
}

void Reporter::Write(const std::string& key) {
  const auto at = reports_.find(key);
  if (at == reports_.end()) return;
  Report& report = at->second;
  report.due = false;
  if (report.written || !may_write_()) return;
  const Duration left = report.since + kStands - loop_.Now();
  if (!report.reason.empty() &&
      left > Duration::zero()) {  // another reason since: it must stand too
    report.due = true;
    loop_.RunAfter(left, alive_.Guard([this, key] { Write(key); }));
    return;
  }
  report.written = true;
  ++in_flight_;
  auto answered = alive_.Guard([this, key](Result<cache::Written> answer) {
    --in_flight_;
    Answered(key, std::move(answer));
  });
  const Owner& owner = report.owner;
  const std::vector<api::Condition> conditions = Conditions(report);
  if (owner.group)
    writer_.ApplyPodGroupConditions(owner.namespace_, owner.name, conditions, std::move(answered));
  else
    writer_.ApplyPodCondition(owner.namespace_, owner.name, conditions.front(),
                              std::move(answered));
  if (report.reason.empty()) return;
  cache::ClusterWriter::EventNote note;
  note.regarding.kind = owner.group ? "PodGroup" : "Pod";
  note.regarding.api_version = owner.group ? "scheduling.infini-ai.com/v1alpha1" : "v1";
  note.regarding.namespace_ = owner.namespace_;
  note.regarding.name = owner.name;
  note.regarding.uid = owner.uid;
  note.warning = true;
  note.reason = owner.group ? report.reason : "FailedScheduling";
  note.action = "Scheduling";
  note.note = report.message;
  writer_.Event(note);
}

void Reporter::Answered(const std::string& key, Result<cache::Written> answer) {
  const auto at = reports_.find(key);
  if (answer || at == reports_.end()) return;
  const Error& error = answer.error();
  if (error.code() == Code::kNotFound) return;
  spdlog::warn("condition of {} not written: {}", key, error.message());
  at->second.written = false;
  at->second.due = true;
  loop_.RunAfter(std::max<Duration>(error.retry_after(), std::chrono::seconds(5)),
                 alive_.Guard([this, key] { Write(key); }));
}

void Reporter::Bound(const cache::RoundEntry& entry, const cache::Round& round) {
  if (!round.group.empty()) placed_.insert(round.job);
  reports_.erase("pod " + entry.namespace_ + "/" + entry.name);
  reports_.erase("pod:" + entry.namespace_ + "/" + entry.name);
  cache::ClusterWriter::EventNote note;
  note.regarding.kind = "Pod";
  note.regarding.api_version = "v1";
  note.regarding.namespace_ = entry.namespace_;
  note.regarding.name = entry.name;
  note.regarding.uid = entry.uid;
  note.reason = "Scheduled";
  note.action = "Binding";
  note.note = fmt::format("assigned to {} through quota {}", entry.node_name, entry.quota_name);
  writer_.Event(note);
}

void Reporter::Complain(const cache::Complaint& complaint) {
  spdlog::warn("{} {}: {}", complaint.about.kind, complaint.about.name, complaint.message);
  if (!may_write_()) return;
  cache::ClusterWriter::EventNote note;
  note.regarding = complaint.about;
  note.warning = true;
  note.reason = complaint.reason;
  note.action = "Checking";
  note.note = complaint.message;
  writer_.Event(note);
}

void Reporter::Refused(const cache::Round& round, model::Reason reason, const std::string& why) {
  spdlog::warn("job {}: {}: {}", round.job, model::ReasonName(reason), why);
}

std::string Reporter::WhyWaits(const std::string& job) const {
  const auto at = reports_.find(job);
  return at == reports_.end() ? std::string() : at->second.message;
}

std::map<std::string, int> Reporter::WaitingByReason() const {
  std::map<std::string, int> counts;
  for (const auto& [key, report] : reports_)
    if (!report.reason.empty()) ++counts[report.reason];
  return counts;
}

}  // namespace sky::scheduler
