// SPDX-License-Identifier: Apache-2.0
#include "scheduler/diagnoses.h"

#include "api/names.h"

namespace sky::scheduler {

void Diagnoses::Renew(const model::Cluster& cluster, model::JobId id) {
  if (keys_.size() <= id.index()) keys_.resize(id.index() + 1);
  std::string& key = keys_[id.index()];
  const bool live = cluster.jobs().Live(id);
  // Another row may have taken the name since.
  if (!key.empty() && (!live || cluster.jobs()[id].name != key))
    if (const auto old = jobs_.find(key); old != jobs_.end() && old->second.id == id)
      jobs_.erase(old);
  key = live ? cluster.jobs()[id].name : std::string();
  if (!live) return;
  Entry& entry = jobs_[key];
  entry.id = id;
  entry.facts = std::make_shared<const diagnose::JobFacts>(diagnose::FactsOf(cluster, id));
  if (entry.facts->waiting + entry.facts->gated == 0) entry.why.reset();
}

void Diagnoses::Cycle(const model::Cluster& cluster, const framework::CycleResult& result,
                      uint64_t cycle, const std::optional<std::vector<model::JobId>>& renewed) {
  cycle_ = cycle;
  if (!renewed || !complete_) {
    for (size_t i = 0; i < std::max(cluster.jobs().size(), keys_.size()); ++i)
      Renew(cluster, model::JobId(i));
    complete_ = true;
  } else {
    for (const model::JobId id : *renewed) Renew(cluster, id);
  }
  // What the cycle itself decided.
  for (const cache::Round& round : result.committed)
    if (const model::JobId id = cluster.jobs().Find(round.job); id.valid()) Renew(cluster, id);
  for (const auto& [id, why] : result.refusals) {
    if (!cluster.jobs().Live(id)) continue;
    const auto entry = jobs_.find(cluster.jobs()[id].name);
    if (entry == jobs_.end() || (entry->second.why && *entry->second.why == why)) continue;
    entry->second.why = std::make_shared<const framework::Refusals>(why);
  }
}

void Diagnoses::Forget() {
  jobs_.clear();
  keys_.clear();
  complete_ = false;
}

Result<std::string> Diagnoses::Answer(const std::string& ns, const std::string& name) const {
  if (!api::IsDnsLabel(ns) || !api::IsDnsSubdomain(name))
    return Fail(Code::kInvalid, "/diagnose/job/NAMESPACE/NAME: this can't be the name of a job");
  if (!complete_)
    return Fail(Code::kUnavailable, "no cycle has run here yet: ask again, or ask the leader");
  for (const std::string_view prefix : {"", "pod:"}) {
    const auto found = jobs_.find(fmt::format("{}{}/{}", prefix, ns, name));
    if (found == jobs_.end()) continue;
    const auto& [id, facts, why] = found->second;
    Reporter::Words words = reporter_.WordsOf(found->first);
    // Without its PodGroup each pod is told by itself.
    if (words.reason.empty() && !facts->waits.empty())
      words = reporter_.WordsOf("pod " + facts->waits[0].facts->meta().Key());
    return diagnose::ToJson(*facts, {words.reason, words.message, why, cycle_}, names_);
  }
  // It waits for a controller to group it.
  if (const auto words = reporter_.WordsOf(fmt::format("pod {}/{}", ns, name));
      !words.reason.empty()) {
    diagnose::JobFacts pod;
    pod.key = fmt::format("pod:{}/{}", ns, name);
    pod.group = false;
    return diagnose::ToJson(pod, {words.reason, words.message, nullptr, cycle_}, names_);
  }
  return Fail(
      Code::kNotFound,
      "no job {} in namespace {}: a job goes by the name of its PodGroup, and a pod of this "
      "scheduler's that has none by its own",
      name, ns);
}

}  // namespace sky::scheduler
