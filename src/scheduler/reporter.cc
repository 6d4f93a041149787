// SPDX-License-Identifier: Apache-2.0
// What is to be said; reporter_write.cc says it.
#include "scheduler/reporter.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "diagnose/describe.h"

namespace sky::scheduler {
namespace {

bool Has(const std::vector<api::Condition>& conditions, std::string_view type) {
  return std::ranges::any_of(conditions, [&](const auto& one) { return one.type == type; });
}

}  // namespace

void Reporter::Cycle(const model::Cluster& cluster, const framework::CycleResult& result) {
  waiting_.clear();
  if (result.earmarks != earmarks_) SetEarmarks(result.earmarks);
  SayWaiting(cluster, result, waiting_);
  Look();
  // What couldn't be written, for want of leadership, is tried again.
  for (auto& [key, report] : reports_)
    if (waiting_.contains(key) && !report.written && !report.due) WriteSoon(key, report);
  // Whoever is gone needs no word any more.
  const auto there = [&](const std::string& key) {
    const model::JobId id = cluster.jobs().Find(key);
    return id.valid() && cluster.jobs()[id].exists();
  };
  std::erase_if(reports_, [&](const auto& item) {
    return !waiting_.contains(item.first) && !there(item.first);
  });
  std::erase_if(partials_, [&](const auto& item) { return !there(item.first); });
  std::erase_if(told_, [&](const auto& item) { return !there(item.first); });
}

Reporter::Owner Reporter::GroupOf(const model::Job& job) {
  const api::PodGroup& group = *job.object;
  return {true,
          group.metadata.namespace_,
          group.metadata.name,
          group.metadata.uid,
          group.status.conditions,
          job.whole};
}

// Whoever's has changed is written again with its next word.
void Reporter::SetEarmarks(std::map<std::string, std::string> earmarks) {
  const auto said = [](const auto& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? std::string_view() : std::string_view(found->second);
  };
  for (auto& [key, report] : reports_)
    if (said(earmarks_, key) != said(earmarks, key)) report.written = false;
  earmarks_ = std::move(earmarks);
}

void Reporter::SayWaiting(const model::Cluster& cluster, const framework::CycleResult& result,
                          std::set<std::string>& seen) {
  const auto pod_owner = [&](model::TaskId id) {
    const api::Pod& pod = *cluster.tasks()[id].facts->pod;
    return Owner{false, pod.metadata.namespace_, pod.metadata.name, pod.metadata.uid,
                 pod.status.conditions};
  };
  const auto say = [&](const std::string& key, Owner owner, std::string reason, std::string message,
                       std::optional<bool> admitted = std::nullopt) {
    seen.insert(key);
    Say(key, std::move(owner), std::move(reason), std::move(message), admitted);
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
    if (!job.notes.problem.empty()) message += (message.empty() ? "" : "; ") + job.notes.problem;
    if (job.object) {
      const auto asked = result.admitted.find(id);
      say(job.name, GroupOf(job), reason, message,
          asked == result.admitted.end() ? std::nullopt : std::optional(asked->second));
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
        "its owner's kind is grouped by a controller, and it has no PodGroup yet");
}

Reporter::Owner Reporter::OwnerOf(const cache::Standing& standing) {
  return {true,         standing.namespace_, standing.name,
          standing.uid, standing.conditions, standing.whole};
}

// Whatever follows from how members stand, whoever changed it: our bindings, another hand, an
// earlier life of this process, or a group that was made anew around pods that run.
void Reporter::Look() {
  looking_ = false;
  for (cache::Standing& standing : cache_.TakeStandings())
    changed_.insert_or_assign(standing.key, std::move(standing));
  for (auto at = changed_.begin(); at != changed_.end();) {
    JudgePartial(at->second);
    // An extra of it waits, as the last cycle said: looked at again when that changes.
    if (at->second.whole && waiting_.contains(at->first)) {
      ++at;
      continue;
    }
    Judge(at->second);
    at = changed_.erase(at);
  }
}

void Reporter::Judge(const cache::Standing& standing) {
  Owner owner = OwnerOf(standing);
  if (standing.whole) return Say(standing.key, std::move(owner), "", "", true);
  // Some have a place and no binding yet, or wait: what was said stands.
  if (standing.waits || standing.completed || standing.leaving || standing.could >= standing.needed)
    return;
  const auto told = reports_.find(standing.key);
  const bool waited = told != reports_.end() ? !told->second.reason.empty()
                                             : Has(standing.conditions, "Unschedulable");
  // What it lacks is members. Of one that waited for a place, or runs in part, people should hear;
  // one that is new, or is being cleared away, has it in its condition alone.
  const model::Verdict lacks =
      model::Verdict::NotNow(model::Reason::kNotEnoughPods, standing.needed, standing.could);
  std::string numbers = diagnose::Numbers(lacks, names_);
  if (!waited && standing.live == 0) reports_[standing.key].noted = numbers;
  Say(standing.key, std::move(owner), "NotEnoughPods", std::move(numbers));
}

// F12e: nothing unbound is held, and nobody is killed; people and the controller-manager are told.
void Reporter::JudgePartial(const cache::Standing& standing) {
  const bool partial = standing.live > 0 && !standing.whole;
  const auto known = partials_.find(standing.key);
  if (known != partials_.end() && (!partial || known->second.uid != standing.uid)) {
    const bool told = known->second.told;
    partials_.erase(known);
    if (told) Again(standing);
  }
  if (!partial) {
    if (Has(standing.conditions, "PartialStart") && !reports_.contains(standing.key))
      Again(standing);  // of an earlier life
    return;
  }
  auto [at, added] = partials_.try_emplace(standing.key);
  Partial& spell = at->second;
  const std::string message =
      fmt::format("{} of {} members are bound", standing.bound, standing.needed);
  const bool changed = std::exchange(spell.message, message) != message;
  if (!added) {
    if (spell.told && changed) Again(standing);
    return;
  }
  spell.uid = standing.uid;
  spell.spell = ++spells_;
  spell.told = Has(standing.conditions, "PartialStart");  // an earlier life has waited
  if (spell.told) return;
  loop_.RunAfter(start_timeout_, alive_.Guard([this, key = standing.key, id = spell.spell] {
    const auto found = partials_.find(key);
    if (found == partials_.end() || found->second.spell != id || found->second.told) return;
    const auto now = cache_.StandingOf(key);
    if (!now) return;
    found->second.told = true;
    Again(*now);
    Note("PodGroup", OwnerOf(*now), true, "PartialStart", "Starting", found->second.message);
  }));
}

void Reporter::Say(const std::string& key, Owner owner, std::string reason, std::string message,
                   std::optional<bool> admitted) {
  auto [at, added] = reports_.try_emplace(key);
  Report& report = at->second;
  const bool other = added || report.owner.uid != owner.uid;
  const bool lets_in =
      admitted.value_or(other ? Has(owner.conditions, "Admitted") : report.admitted);
  const bool changed = other || report.silent || report.reason != reason ||
                       report.message != message || report.admitted != lets_in ||
                       report.owner.whole != owner.whole;
  if (other || report.reason != reason) report.since = loop_.Now();
  report.owner = std::move(owner);
  // What couldn't be written for want of leadership is said again.
  if (!changed && (report.written || report.due)) return;
  report.silent = false;
  report.reason = std::move(reason);
  report.message = std::move(message);
  report.admitted = lets_in;
  report.written = AlreadySays(key, report);
  if (report.written || report.due) return;
  WriteSoon(key, report);
}

// The same word as before, beside what else is said of it.
void Reporter::Again(const cache::Standing& standing) {
  auto [at, added] = reports_.try_emplace(standing.key);
  Report& report = at->second;
  report.silent = report.silent || added;
  report.owner = OwnerOf(standing);
  report.written = false;
  if (!report.due) WriteSoon(standing.key, report);
}

void Reporter::Bound(const cache::RoundEntry& entry, const cache::Round& round) {
  reports_.erase("pod " + entry.namespace_ + "/" + entry.name);
  reports_.erase("pod:" + entry.namespace_ + "/" + entry.name);
  if (const auto told = told_.find(round.job); told != told_.end()) told->second.erase(entry.uid);
  Note("Pod", {false, entry.namespace_, entry.name, entry.uid, {}}, false, "Scheduled", "Binding",
       entry.direct()
           ? fmt::format("assigned to {} as spot", entry.node_name)
           : fmt::format("assigned to {} through quota {}", entry.node_name, entry.quota_name));
  if (round.group.empty() || std::exchange(looking_, true)) return;
  loop_.RunAfter(kSoon, alive_.Guard([this] { Look(); }));
}

void Reporter::Evicted(const cache::Eviction::Victim& victim, const std::string& why) {
  Note("Pod", {false, victim.namespace_, victim.name, victim.uid, {}}, true, "Evicted", "Eviction",
       fmt::format("spot: {} on {}", why, victim.node));
}

void Reporter::Refused(const cache::Round& round, const cache::RoundEntry* entry,
                       model::Reason reason, const std::string& why) {
  spdlog::warn("job {}: {}: {}", round.job, model::ReasonName(reason), why);
  if (entry == nullptr || !may_write_()) return;  // the job's own reason says it
  // Each refusal once, until it changes.
  std::string& last = told_[round.job][entry->uid];
  if (std::exchange(last, why) == why) return;
  Note("Pod", {false, entry->namespace_, entry->name, entry->uid, {}}, true,
       std::string(model::ReasonName(reason)), "Binding", why);
}

void Reporter::Delayed(const cache::Round& round, std::string_view what, const std::string& why) {
  const std::string message =
      fmt::format("the API server doesn't take its {} now: {}; it is asked again", what, why);
  if (const auto standing = cache_.StandingOf(round.job))
    return Say(round.job, OwnerOf(*standing), "Backoff", message);
  const cache::RoundEntry& entry = round.entries.front();
  Say(round.job, {false, entry.namespace_, entry.name, entry.uid, {}}, "Backoff", message);
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

Reporter::Words Reporter::WordsOf(const std::string& job) const {
  const auto at = reports_.find(job);
  return at == reports_.end() ? Words{} : Words{at->second.reason, at->second.message};
}

std::string Reporter::WhyWaits(const std::string& job) const {
  const Words words = WordsOf(job);
  return words.reason.empty() ? std::string() : diagnose::WithReason(words.reason, words.message);
}

std::map<std::string, int> Reporter::WaitingByReason() const {
  std::map<std::string, int> counts;
  for (const auto& [key, report] : reports_)
    if (!report.reason.empty()) ++counts[report.reason];
  return counts;
}

size_t Reporter::partial() const {
  return static_cast<size_t>(
      std::ranges::count_if(partials_, [](const auto& item) { return item.second.told; }));
}

}  // namespace sky::scheduler
