// SPDX-License-Identifier: Apache-2.0
#include "diagnose/job_report.h"

#include <nlohmann/json.hpp>

#include "diagnose/describe.h"
#include "diagnose/step.h"

namespace sky::diagnose {
namespace {

using framework::Refusals;
using model::Reason;
using model::TaskState;
using Json = nlohmann::ordered_json;

enum class State { kNew, kWaiting, kStarting, kPlaced };

std::string_view Name(State state) {
  switch (state) {
    case State::kNew:
      return "new";
    case State::kWaiting:
      return "waiting";
    case State::kStarting:
      return "starting";
    case State::kPlaced:
      return "placed";
  }
  return "";
}

Reason ReasonNamed(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(Reason::kCount); ++i)
    if (model::ReasonName(static_cast<Reason>(i)) == name) return static_cast<Reason>(i);
  return Reason::kNone;
}

// While nobody waits for a place, only what keeps decisions from being carried out is true. Gated
// extras of a gang that begins aren't asked about yet.
bool Overtaken(const JobFacts& job, Reason reason) {
  if (reason == Reason::kNone) return true;
  const bool begins = job.decided > 0 && job.bound == 0;
  if (job.waiting > 0 || (job.gated > 0 && !begins)) return false;
  const bool holds = StepOf(reason) == Step::kBind && reason != Reason::kPlacementConflict;
  return holds ? job.whole : job.whole || job.decided > 0;
}

State StateOf(const JobFacts& job, Reason reason) {
  if (reason != Reason::kNone) return State::kWaiting;
  if (job.decided > 0) return State::kStarting;
  return job.whole ? State::kPlaced : State::kNew;
}

Json LadderOf(State state, Reason reason) {
  const auto at = [&](Step step) -> std::string_view {
    const Step stands = state == State::kNew        ? Step::kEnqueue
                        : state == State::kStarting ? Step::kBind
                                                    : StepOf(reason);
    if (state == State::kPlaced) return step == Step::kReclaim ? "notReached" : "passed";
    if (step != stands) return step < stands ? "passed" : "notReached";
    return state == State::kWaiting ? "refused" : "underWay";
  };
  Json ladder = Json::array();
  for (const Step step : kLadder) {
    Json& rung = ladder.emplace_back(Json{{"step", StepName(step)}, {"state", at(step)}});
    if (rung["state"] == "refused") rung["reason"] = model::ReasonName(reason);
  }
  return ladder;
}

Json ReasonJson(Reason reason, const Refusals* why, const model::Names& names) {
  Json json = {{"reason", model::ReasonName(reason)}, {"step", StepName(StepOf(reason))}};
  if (why == nullptr) return json;
  if (const auto count = why->counts.find(reason); count != why->counts.end())
    json["count"] = count->second;
  const auto example = why->examples.find(reason);
  if (example == why->examples.end()) return json;
  const model::Verdict& verdict = example->second;
  if (verdict.severity == model::Severity::kNever) json["never"] = true;
  if (verdict.resource.valid()) {
    json["resource"] = names.resources.Name(verdict.resource);
    json["wanted"] = AmountText(verdict.wanted, verdict.resource, names);
    json["have"] = AmountText(verdict.have, verdict.resource, names);
  } else if (verdict.wanted > 0) {
    json["wanted"] = verdict.wanted;
    json["have"] = verdict.have;
  }
  return json;
}

Json ReasonsJson(Reason main, const Refusals* why, const model::Names& names) {
  Json reasons = Json::array({ReasonJson(main, why, names)});
  if (why != nullptr)
    for (const auto& [reason, count] : why->counts)
      if (reason != main) reasons.push_back(ReasonJson(reason, why, names));
  return reasons;
}

// Tasks that wait for the same, under its reasons.
struct Waiters {
  std::vector<const TaskPlace*> gated, refused, others;
};

// `who` is a member, or a member and how many are like it: equal tasks are one class.
Waiters Sort(const JobFacts& job, const Refusals* why) {
  const std::string_view who = why == nullptr
                                   ? std::string_view{}
                                   : std::string_view(why->who).substr(0, why->who.find(' '));
  const TaskPlace* named = nullptr;
  for (const TaskPlace& task : job.waits)
    if (!who.empty() && task.facts->meta().name == who) named = &task;
  Waiters waiters;
  for (const TaskPlace& task : job.waits) {
    const bool refused = named == nullptr || task.facts->task_class == named->facts->task_class;
    (task.state == TaskState::kGated ? waiters.gated
     : refused                       ? waiters.refused
                                     : waiters.others)
        .push_back(&task);
  }
  return waiters;
}

Json NamesOf(const std::vector<const TaskPlace*>& tasks) {
  Json names = Json::array();
  for (const TaskPlace* task : tasks) names.push_back(task->facts->meta().name);
  return names;
}

Json WaitsJson(const JobFacts& job, Reason main, const Refusals* why, const model::Names& names) {
  const Waiters waiters = Sort(job, why);
  Json waits = Json::array();
  if (!waiters.refused.empty())
    waits.push_back(
        {{"tasks", NamesOf(waiters.refused)},
         {"reasons", main == Reason::kNone ? Json::array() : ReasonsJson(main, why, names)}});
  if (!waiters.gated.empty())
    waits.push_back({{"tasks", NamesOf(waiters.gated)},
                     {"reasons", ReasonsJson(Reason::kGated, nullptr, names)}});
  if (!waiters.others.empty())
    waits.push_back(
        {{"tasks", NamesOf(waiters.others)}, {"reasons", Json::array()}, {"waitsFor", why->who}});
  return waits;
}

Json PlacesJson(const JobFacts& job) {
  Json places = Json::array();
  for (const TaskPlace& task : job.places)
    places.push_back({{"task", task.facts->meta().name},
                      {"state", model::TaskStateName(task.state)},
                      {"quota", task.quota},
                      {"node", task.node}});
  return places;
}

std::string MessageOf(State state, const Standing& standing) {
  switch (state) {
    case State::kNew:
      return "no cycle has looked at it yet, or its members are still being read";
    case State::kWaiting:
      return standing.message;
    case State::kStarting:
      return "it has its places, and the bindings are under way";
    case State::kPlaced:
      return "its members have their places";
  }
  return "";
}

}  // namespace

JobFacts FactsOf(const model::Cluster& cluster, model::JobId id) {
  const model::Job& job = cluster.jobs()[id];
  JobFacts facts;
  facts.key = job.name;
  facts.group = !job.single;
  facts.queue = job.queue_name;
  facts.whole = job.whole;
  facts.needed = job.needed;
  const auto name_of = [](model::QuotaId quota, const model::Cluster& all) {
    return quota.valid() ? all.quotas()[quota].name : std::string();
  };
  for (const model::TaskId member : job.members) {
    const model::PodFacts& pod = *cluster.tasks()[member].facts;
    if (pod.terminal || pod.deleting) ++(pod.terminal ? facts.ended : facts.leaving);
  }
  for (const model::TaskId member : job.ranked) {
    const model::Task& task = cluster.tasks()[member];
    const model::NodeId node = task.bound() ? task.node : task.claim.node;
    const bool placed = task.bound() || task.claim.open();
    ++(task.bound()        ? facts.bound
       : task.claim.open() ? facts.decided
       : task.facts->gated ? facts.gated
                           : facts.waiting);
    std::vector<TaskPlace>& list = placed ? facts.places : facts.waits;
    if (list.size() == kMostTasks) continue;
    list.push_back({task.facts, task.state, name_of(task.used_quota(), cluster),
                    node.valid() ? cluster.nodes()[node].name : std::string()});
  }
  return facts;
}

std::string ToJson(const JobFacts& job, const Standing& standing, const model::Names& names) {
  const Reason said = ReasonNamed(standing.reason);
  const Reason reason = Overtaken(job, said) ? Reason::kNone : said;
  // What the planner saw belongs to the reason that it gave.
  const Refusals* why =
      standing.why != nullptr && standing.why->main == reason ? standing.why.get() : nullptr;
  const State state = StateOf(job, reason);
  const size_t slash = job.key.find('/');
  const size_t begin = job.group ? 0 : std::string_view("pod:").size();
  Json json = {{"kind", job.group ? "PodGroup" : "Pod"},
               {"namespace", job.key.substr(begin, slash - begin)},
               {"name", job.key.substr(slash + 1)},
               {"queue", job.queue},
               {"cycle", standing.cycle},
               {"state", Name(state)},
               {"reason", model::ReasonName(reason)},
               {"message", MessageOf(state, standing)}};
  json["members"] = {{"needed", job.needed},   {"waiting", job.waiting}, {"gated", job.gated},
                     {"decided", job.decided}, {"bound", job.bound},     {"leaving", job.leaving},
                     {"ended", job.ended}};
  json["ladder"] = LadderOf(state, reason);
  json["waits"] = WaitsJson(job, reason, why, names);
  json["places"] = PlacesJson(job);
  json["leftOut"] = static_cast<size_t>(job.waiting + job.gated + job.decided + job.bound) -
                    job.waits.size() - job.places.size();
  // Names may hold anything that the API lets through.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sky::diagnose
