// SPDX-License-Identifier: Apache-2.0
// "why" and "expect": one job, pod or quota at a time.
#include <algorithm>

#include "api/keys.h"
#include "lab/scenario.h"

namespace sky::lab {
namespace {

struct Placed {
  std::vector<api::Pod> pods;  // live ones of the group
  size_t placed = 0;
};

Placed MembersOf(Simulation& simulation, const std::string& ns, const std::string& group) {
  Placed members;
  for (api::Pod& pod : simulation.List<api::Pod>()) {
    if (pod.metadata.namespace_ != ns || pod.metadata.Annotation(api::key::kGroupName) != group ||
        pod.status.phase == "Succeeded" || pod.status.phase == "Failed")
      continue;
    if (!pod.spec.node_name.empty()) ++members.placed;
    members.pods.push_back(std::move(pod));
  }
  return members;
}

Status ExpectOn(const std::string& what, const std::string& node, const std::string& nodes) {
  const std::vector<std::string> wanted = TRY(testing::ExpandNames(nodes));
  if (std::ranges::find(wanted, node) != wanted.end()) return {};
  return Fail(Code::kConflict, "{} is {}, not on {}", what, node.empty() ? "nowhere" : "on " + node,
              nodes);
}

// What the scheduler says of a job or pod that waits; "" when it doesn't wait.
std::string Reported(Simulation& simulation, const std::string& ns, const std::string& name) {
  if (simulation.scheduler() == nullptr) return {};
  const scheduler::Reporter& reporter = simulation.scheduler()->reporter();
  for (const std::string_view prefix : {"", "pod:", "pod "})
    if (std::string text = reporter.WhyWaits(fmt::format("{}{}/{}", prefix, ns, name));
        !text.empty())
      return text;
  // Without a PodGroup its pods are told one by one.
  for (const api::Pod& pod : MembersOf(simulation, ns, name).pods)
    if (std::string text = reporter.WhyWaits("pod " + pod.metadata.Key());
        pod.spec.node_name.empty() && !text.empty())
      return text;
  return {};
}

}  // namespace

Scenario::Answer Scenario::Why(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  const std::string ns = words.Or("ns", "default");
  const std::string& name = statement.names[0];
  if (const std::string why = Reported(*simulation_, ns, name); !why.empty())
    return fmt::format("{} waits: {}\n", name, why);
  const Placed members = MembersOf(*simulation_, ns, name);
  if (!members.pods.empty())
    return fmt::format("{}: {} of {} members have a place\n", name, members.placed,
                       members.pods.size());
  if (simulation_->Get<api::PodGroup>(ns, name)) return fmt::format("{} has no members\n", name);
  const auto found = simulation_->Get<api::Pod>(ns, name);
  if (!found) return Fail(Code::kNotFound, "no job and no pod is called {}", name);
  const api::Pod& pod = *found;
  if (pod.spec.node_name.empty()) return fmt::format("{} waits, and no reason is known\n", name);
  return fmt::format("{} runs on {}\n", name, pod.spec.node_name);
}

Scenario::Answer Scenario::Expect(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  const std::string ns = words.Or("ns", "default");
  std::vector<std::string> say = statement.names;
  const bool is_quota = say[0] == "quota";
  if (is_quota) say.erase(say.begin());
  const std::string name = say[0], claim = say.size() > 1 ? say[1] : "",
                    object = say.size() > 2 ? say[2] : "";
  if (is_quota) {
    const api::Quota quota = TRY(simulation_->Get<api::Quota>("", name));
    if (claim == "on" && !object.empty()) {
      TRY(ExpectOn("quota " + name, quota.status.node_name, object));
      return std::string();
    }
    if (claim == "free" && quota.status.node_name.empty() && quota.status.tasks.empty())
      return std::string();
    return Fail(Code::kConflict, "quota {} is on \"{}\" with {} tasks", name,
                quota.status.node_name, quota.status.tasks.size());
  }
  if (claim != "reasons" && say.size() > 3)
    return Fail(Code::kInvalid, "expect: \"{}\" stands where nothing is read", say[3]);
  if (claim == "reasons") {
    TRY(ExpectReasons(ns, name, std::span(say).subspan(2)));
    return std::string();
  }
  const Placed members = MembersOf(*simulation_, ns, name);
  if (claim == "placed") {
    if (std::to_string(members.placed) == object) return std::string();
    return Fail(Code::kConflict, "{} of {} members of {} are placed, not {}", members.placed,
                members.pods.size(), name, object);
  }
  if (claim == "on" && !object.empty()) {
    const api::Pod pod = TRY(simulation_->Get<api::Pod>(ns, name));
    TRY(ExpectOn(name, pod.spec.node_name, object));
    return std::string();
  }
  if (claim == "waits") {
    if (members.pods.empty() && !TRY(simulation_->Get<api::Pod>(ns, name)).spec.node_name.empty())
      return Fail(Code::kConflict, "{} doesn't wait: it has a node", name);
    const std::string why = Reported(*simulation_, ns, name);
    if (why.empty()) return Fail(Code::kConflict, "nothing says that {} waits", name);
    if (object.empty() || why.starts_with(object)) return std::string();
    return Fail(Code::kConflict, "{} waits for another reason: {}", name, why);
  }
  return Fail(Code::kInvalid,
              "expect POD on NODES, expect JOB placed N, expect JOB waits [REASON], "
              "expect JOB reasons MAIN[, REASON], expect quota NAME on NODES, "
              "expect quota NAME free");
}

}  // namespace sky::lab
