// SPDX-License-Identifier: Apache-2.0
#include "lab/kubelets.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/pod_requests.h"
#include "lab/document.h"

namespace sky::lab {
namespace {

constexpr std::string_view kStartTakes = "lab.infini-ai.com/start-takes";
constexpr std::string_view kRunFor = "lab.infini-ai.com/run-for";
constexpr std::string_view kStopTakes = "lab.infini-ai.com/stop-takes";
constexpr std::string_view kOutcome = "lab.infini-ai.com/outcome";
constexpr std::string_view kFail = "lab.infini-ai.com/fail";
constexpr std::string_view kRefusePods = "lab.infini-ai.com/refuse-pods";

// A duration that can't be read is as good as none: nobody could be told.
std::optional<Duration> DurationOf(const api::ObjectMeta& meta, std::string_view key) {
  const std::string_view text = meta.Annotation(key);
  if (text.empty()) return std::nullopt;
  const auto duration = ParseDuration(text);
  return duration ? std::optional(*duration) : std::nullopt;
}

Json Condition(std::string_view type, bool holds, WallTime at) {
  return {
      {"type", type}, {"status", holds ? "True" : "False"}, {"lastTransitionTime", FormatTime(at)}};
}

Json ContainerStatuses(const api::Pod& pod, Json state, bool running) {
  Json list = Json::array();
  for (const api::Container& container : pod.spec.containers)
    list.push_back({{"name", container.name},
                    {"image", container.image},
                    {"imageID", ""},
                    {"ready", running},
                    {"started", running},
                    {"restartCount", 0},
                    {"state", state}});
  return list;
}

std::string RunningPatch(const api::Pod& pod, WallTime wall) {
  const std::string now = FormatTime(wall);
  Json conditions = Json::array();
  for (const char* type : {"PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"})
    conditions.push_back(Condition(type, true, wall));
  return Dump({{"metadata", {{"uid", pod.metadata.uid}}},
               {"status",
                {{"phase", "Running"},
                 {"startTime", now},
                 {"conditions", std::move(conditions)},
                 {"containerStatuses",
                  ContainerStatuses(pod, {{"running", {{"startedAt", now}}}}, true)}}}});
}

std::string DonePatch(const api::Pod& pod, bool failed, WallTime wall) {
  Json conditions = Json::array();
  for (const char* type : {"ContainersReady", "Ready"})
    conditions.push_back(Condition(type, false, wall));
  const Json state = {{"terminated",
                       {{"exitCode", failed ? 1 : 0},
                        {"reason", failed ? "Error" : "Completed"},
                        {"finishedAt", FormatTime(wall)}}}};
  return Dump({{"metadata", {{"uid", pod.metadata.uid}}},
               {"status",
                {{"phase", failed ? "Failed" : "Succeeded"},
                 {"conditions", std::move(conditions)},
                 {"containerStatuses", ContainerStatuses(pod, state, false)}}}});
}

std::string RefusedPatch(const api::Pod& pod, const std::string& reason, WallTime wall) {
  return Dump({{"metadata", {{"uid", pod.metadata.uid}}},
               {"status",
                {{"phase", "Failed"},
                 {"reason", reason},
                 {"message", "the kubelet does not admit this pod: " + reason},
                 {"startTime", FormatTime(wall)}}}});
}

std::string NodePatch(const api::Node& node, bool ready, WallTime wall) {
  const api::Condition* now = node.FindCondition("Ready");
  const std::string_view status = ready ? "True" : "Unknown";
  Json condition = {{"type", "Ready"},
                    {"status", status},
                    {"reason", ready ? "KubeletReady" : "NodeStatusUnknown"},
                    {"message", ready ? "hollow kubelet" : "the kubelet has stopped to report"}};
  if (ready) condition["lastHeartbeatTime"] = FormatTime(wall);
  if (now == nullptr || now->status != status) condition["lastTransitionTime"] = FormatTime(wall);
  return Dump({{"status", {{"conditions", Json::array({std::move(condition)})}}}});
}

}  // namespace

bool Kubelets::IsOff(const NodeState& node) const {
  return node.node == nullptr || node.off || node.node->metadata.Annotation(kFail) == "true";
}

void Kubelets::Touch(const std::string& name) {
  dirty_nodes_.insert(name);
  const NodeState& node = nodes_[name];
  dirty_pods_.insert(node.pods.begin(), node.pods.end());
}

void Kubelets::OnNode(const api::Delta<api::Node>& delta) {
  const std::string& name = delta.object->metadata.name;
  NodeState& state = nodes_[name];
  const bool gone = delta.type == api::Delta<api::Node>::Type::kDelete;
  state.node = gone ? nullptr : delta.object;
  if (delta.type != api::Delta<api::Node>::Type::kUpdate) state.next_beat = MonoTime();
  Touch(name);
}

void Kubelets::Unlink(const std::string& key, PodState& pod) {
  due_.erase({pod.due, key});
  pod.due = MonoTime::max();
  if (!pod.node.empty()) nodes_[pod.node].pods.erase(key);
}

void Kubelets::OnPod(const api::Delta<api::Pod>& delta) {
  const std::string key = delta.object->metadata.Key();
  const auto found = pods_.find(key);
  if (found != pods_.end() && found->second.pod->metadata.uid != delta.object->metadata.uid) {
    if (delta.type == api::Delta<api::Pod>::Type::kDelete) return;  // of an older life
    Unlink(key, found->second);
    pods_.erase(found);
  }
  if (delta.type == api::Delta<api::Pod>::Type::kDelete) {
    if (found == pods_.end()) return;
    Unlink(key, found->second);
    pods_.erase(found);
    return;
  }
  PodState& state = pods_[key];
  state.pod = delta.object;
  state.node = delta.object->spec.node_name;
  if (!state.node.empty()) nodes_[state.node].pods.insert(key);
  dirty_pods_.insert(key);
}

void Kubelets::Fail(std::string_view node) {
  nodes_[std::string(node)].off = true;
  Touch(std::string(node));
}

void Kubelets::Return(std::string_view node) {
  nodes_[std::string(node)].off = false;
  Touch(std::string(node));
}

std::vector<KubeletWrite> Kubelets::Step(MonoTime now, WallTime wall) {
  std::vector<KubeletWrite> out;
  while (!beats_.empty() && beats_.begin()->first <= now) {
    dirty_nodes_.insert(beats_.begin()->second);
    beats_.erase(beats_.begin());
  }
  for (const std::string& name : std::exchange(dirty_nodes_, {}))
    StepNode(nodes_[name], now, wall, out);
  while (!due_.empty() && due_.begin()->first <= now) {
    dirty_pods_.insert(due_.begin()->second);
    due_.erase(due_.begin());
  }
  for (const std::string& key : std::exchange(dirty_pods_, {})) {
    const auto found = pods_.find(key);
    if (found == pods_.end()) continue;
    PodState& pod = found->second;
    due_.erase({pod.due, key});
    pod.due = MonoTime::max();
    StepPod(pod, now, wall, out);
    if (pod.due != MonoTime::max()) due_.insert({pod.due, key});
  }
  return out;
}

MonoTime Kubelets::next_due() const {
  if (!dirty_pods_.empty() || !dirty_nodes_.empty()) return MonoTime::min();
  MonoTime due = MonoTime::max();
  if (!due_.empty()) due = std::min(due, due_.begin()->first);
  if (!beats_.empty()) due = std::min(due, beats_.begin()->first);
  return due;
}

void Kubelets::StepNode(NodeState& node, MonoTime now, WallTime wall,
                        std::vector<KubeletWrite>& out) {
  if (node.node == nullptr) return;
  const std::string& name = node.node->metadata.name;
  const bool ready = !IsOff(node);
  const api::Condition* condition = node.node->FindCondition("Ready");
  const bool differs = condition == nullptr || condition->status != (ready ? "True" : "Unknown");
  const std::string wanted = ready ? "True" : "Unknown";
  const bool beats = ready && now >= node.next_beat;
  if (differs ? (node.asked != wanted || now >= node.asked_until) : beats) {
    node.asked = wanted;
    node.asked_until = now + options_.ask_again;
    node.next_beat = now + options_.heartbeat;
    out.push_back({KubeletWrite::Kind::kNodeStatus, "", name, node.node->metadata.uid,
                   NodePatch(*node.node, ready, wall)});
  }
  if (differs) beats_.insert({node.asked_until, name});
  if (ready) beats_.insert({node.next_beat, name});
}

bool Kubelets::Ask(PodState& pod, std::string what, MonoTime now) {
  const bool repeated = pod.asked == what && now < pod.asked_until;
  if (!repeated) {
    pod.asked = std::move(what);
    pod.asked_until = now + options_.ask_again;
  }
  pod.due = pod.asked_until;
  return !repeated;
}

void Kubelets::StepPod(PodState& pod, MonoTime now, WallTime wall, std::vector<KubeletWrite>& out) {
  const api::ObjectMeta& meta = pod.pod->metadata;
  if (pod.node.empty() || IsOff(nodes_[pod.node])) return;
  if (meta.deleting()) {
    const Duration grace = std::chrono::seconds(meta.deletion_grace_period_seconds.value_or(0));
    const Duration takes = DurationOf(meta, kStopTakes).value_or(options_.stop_takes);
    if (!pod.stop_at) pod.stop_at = now + takes;
    pod.stop_at = std::min(*pod.stop_at, now + grace);
    if (now < *pod.stop_at) {
      pod.due = *pod.stop_at;
    } else if (Ask(pod, "delete", now)) {
      out.push_back({KubeletWrite::Kind::kDeletePod, meta.namespace_, meta.name, meta.uid, ""});
    }
    return;
  }
  if (pod.pod->terminal()) return;
  if (pod.pod->status.phase != "Running") return Start(pod, now, wall, out);
  pod.admitted = true;
  const auto run_for = DurationOf(meta, kRunFor);
  if (!run_for) return;
  if (!pod.finish_at) {
    const Duration ran =
        pod.pod->status.start_time.at ? wall - *pod.pod->status.start_time.at : Duration::zero();
    pod.finish_at = now + (*run_for - std::max(ran, Duration::zero()));
  }
  if (now < *pod.finish_at) {
    pod.due = *pod.finish_at;
  } else if (Ask(pod, "done", now)) {
    out.push_back({KubeletWrite::Kind::kPodStatus, meta.namespace_, meta.name, meta.uid,
                   DonePatch(*pod.pod, meta.Annotation(kOutcome) == "Failed", wall)});
  }
}

void Kubelets::Start(PodState& pod, MonoTime now, WallTime wall, std::vector<KubeletWrite>& out) {
  const api::ObjectMeta& meta = pod.pod->metadata;
  if (!pod.bound_at) pod.bound_at = now;
  const MonoTime start_at =
      *pod.bound_at + DurationOf(meta, kStartTakes).value_or(Duration::zero());
  if (now < start_at) {
    pod.due = start_at;
    return;
  }
  const NodeState& node = nodes_[pod.node];
  const std::string why_not = pod.admitted ? "" : WhyNot(pod, node);
  if (!Ask(pod, "start", now)) return;
  pod.admitted = why_not.empty();
  out.push_back(
      {KubeletWrite::Kind::kPodStatus, meta.namespace_, meta.name, meta.uid,
       why_not.empty() ? RunningPatch(*pod.pod, wall) : RefusedPatch(*pod.pod, why_not, wall)});
}

std::string Kubelets::WhyNot(const PodState& pod, const NodeState& node) const {
  const std::string_view refuse = node.node->metadata.Annotation(kRefusePods);
  if (!refuse.empty()) return std::string(refuse);
  api::ResourceList asked = api::PodRequests(*pod.pod);
  asked["pods"] = api::Quantity::Units(1);
  for (const std::string& key : node.pods) {
    const PodState& other = pods_.at(key);
    if (!other.admitted || other.pod->terminal()) continue;
    for (const auto& [name, amount] : api::PodRequests(*other.pod))
      if (const auto found = asked.find(name); found != asked.end())
        found->second = found->second + amount;
    asked["pods"] = asked["pods"] + api::Quantity::Units(1);
  }
  for (const auto& [name, amount] : asked) {
    const auto found = node.node->status.allocatable.find(name);
    // A node that says nothing about pod slots or cpu has no limit; devices must be there.
    const bool known = found != node.node->status.allocatable.end();
    if (!known && !api::IsScalarResource(name)) continue;
    if (amount.IsZero()) continue;
    if (!known || amount > found->second) return "OutOf" + name;
  }
  return "";
}

}  // namespace sky::lab
