// SPDX-License-Identifier: Apache-2.0
// Conditions and events on their way to the API server, one write of an object at a time.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "diagnose/describe.h"
#include "scheduler/reporter.h"

namespace sky::scheduler {
namespace {

const api::Condition* Find(const std::vector<api::Condition>& conditions, std::string_view type) {
  for (const api::Condition& condition : conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

bool Same(const api::Condition* have, const api::Condition* wanted) {
  if (have == nullptr || wanted == nullptr) return have == wanted;
  return have->status == wanted->status && have->reason == wanted->reason &&
         have->message == wanted->message;
}

}  // namespace

void Reporter::WriteSoon(const std::string& key, Report& report) {
  report.due = true;
  // A gang that starts at once was never waiting: only what stands is said.
  loop_.RunAfter(report.reason.empty() ? Duration::zero() : Duration(kStands),
                 alive_.Guard([this, key] { Write(key); }));
}

// All that we say of the object: what one write leaves out is taken back.
std::vector<api::Condition> Reporter::Conditions(const std::string& key,
                                                 const Report& report) const {
  std::vector<api::Condition> all;
  const std::vector<api::Condition>& have = report.owner.conditions;
  const auto add = [&](std::string type, std::string status, std::string reason,
                       std::string message) {
    api::Condition& one = all.emplace_back();
    one.type = std::move(type);
    one.status = std::move(status);
    one.reason = std::move(reason);
    one.message = std::move(message);
    // The instant of the change, not of the last word about it.
    const api::Condition* before = Find(have, one.type);
    one.last_transition_time.at = loop_.clock().Wall();
    if (before != nullptr && before->status == one.status && before->last_transition_time.at)
      one.last_transition_time = before->last_transition_time;
  };
  if (!report.owner.group) {
    add("PodScheduled", "False", "Unschedulable",
        diagnose::WithReason(report.reason, report.message));
    return all;
  }
  if (report.silent)
    for (const char* type : {"Admitted", "Scheduled", "Unschedulable"})
      if (const api::Condition* said = Find(have, type)) all.push_back(*said);
  if (!report.silent && report.admitted) add("Admitted", "True", "Admitted", "it may begin");
  if (!report.silent && report.reason.empty())
    add("Scheduled", "True", "Placed", "its members have their places");
  else if (!report.silent && report.owner.whole)
    add("Scheduled", "True", "Placed",
        fmt::format("its members have their places; more of them wait: {}",
                    diagnose::WithReason(report.reason, report.message)));
  else if (!report.silent)
    add("Unschedulable", "True", report.reason, report.message);
  if (const auto partial = partials_.find(key); partial != partials_.end() && partial->second.told)
    add("PartialStart", "True", "MembersMissing", partial->second.message);
  if (const auto mark = earmarks_.find(key); mark != earmarks_.end())
    add(std::string(framework::kEarmarkCondition), "True", "PlacesKept", mark->second);
  return all;
}

bool Reporter::AlreadySays(const std::string& key, const Report& report) const {
  const std::vector<api::Condition> wanted = Conditions(key, report);
  if (!report.owner.group)
    return Same(Find(report.owner.conditions, "PodScheduled"), Find(wanted, "PodScheduled"));
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{"Admitted", "Scheduled", "Unschedulable",
                                              "PartialStart", framework::kEarmarkCondition},
      [&](std::string_view type) {
        return Same(Find(report.owner.conditions, type), Find(wanted, type));
      });
}

void Reporter::Write(const std::string& key) {
  const auto at = reports_.find(key);
  if (at == reports_.end()) return;
  Report& report = at->second;
  report.due = false;
  if (report.written || !may_write_()) return;
  if (report.sending) return;  // its answer brings us here again
  const Duration left = report.since + kStands - loop_.Now();
  if (!report.reason.empty() &&
      left > Duration::zero()) {  // another reason since: it must stand too
    report.due = true;
    loop_.RunAfter(left, alive_.Guard([this, key] { Write(key); }));
    return;
  }
  const Owner& owner = report.owner;
  const std::vector<api::Condition> conditions = Conditions(key, report);
  report.written = report.sending = true;
  ++in_flight_;
  auto answered = alive_.Guard([this, key](Result<cache::Written> answer) {
    --in_flight_;
    Answered(key, std::move(answer));
  });
  if (!report.silent && !report.reason.empty() &&
      std::exchange(report.noted, report.message) != report.message)
    Note(owner.group ? "PodGroup" : "Pod", owner, true,
         owner.group ? report.reason : "FailedScheduling", "Scheduling",
         owner.group ? report.message : diagnose::WithReason(report.reason, report.message));
  if (owner.group && !report.silent && report.reason.empty() &&
      std::exchange(report.noted, "Scheduled") != "Scheduled")
    Note("PodGroup", owner, false, "Scheduled", "Binding", "its members have their places");
  if (owner.group)
    return writer_.ApplyPodGroupConditions(owner.namespace_, owner.name, conditions,
                                           std::move(answered));
  api::ObjectMeta pod;
  pod.namespace_ = owner.namespace_;
  pod.name = owner.name;
  writer_.ApplyPodCondition(pod, conditions.front(), std::move(answered));
}

void Reporter::Answered(const std::string& key, Result<cache::Written> answer) {
  const auto at = reports_.find(key);
  if (at == reports_.end()) return;
  Report& report = at->second;
  report.sending = false;
  if (answer || answer.error().code() == Code::kNotFound) {
    if (!report.written && !report.due) WriteSoon(key, report);  // another word since
    return;
  }
  spdlog::warn("condition of {} not written: {}", key, answer.error().message());
  report.written = false;
  report.due = true;
  loop_.RunAfter(std::max<Duration>(answer.error().retry_after(), std::chrono::seconds(5)),
                 alive_.Guard([this, key] { Write(key); }));
}

void Reporter::Note(const std::string& kind, const Owner& owner, bool warning, std::string reason,
                    std::string action, std::string text) {
  cache::ClusterWriter::EventNote note;
  note.regarding.kind = kind;
  note.regarding.api_version = owner.group ? "scheduling.infini-ai.com/v1alpha1" : "v1";
  note.regarding.namespace_ = owner.namespace_;
  note.regarding.name = owner.name;
  note.regarding.uid = owner.uid;
  note.warning = warning;
  note.reason = std::move(reason);
  note.action = std::move(action);
  note.note = std::move(text);
  writer_.Event(note);
}

}  // namespace sky::scheduler
