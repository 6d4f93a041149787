// SPDX-License-Identifier: Apache-2.0
// Hollow kubelets as a pure state machine: what nodes and pods look like goes in, the writes that
// kubelets would make come out. They start bound pods, refuse those that don't fit, end them after
// their time, honour deletes, and beat for their nodes. Level-triggered: a write whose effect isn't
// seen is asked for again. Not thread-safe; an adapter feeds it and carries the writes.
//
//   bound ──start-takes──► Running ──run-for──► Succeeded | Failed
//     └─ doesn't fit ─► Failed      └ deleted ──stop-takes──► gone
//
// Annotations of pods: lab.infini-ai.com/{start-takes, run-for, stop-takes} (durations) and
// lab.infini-ai.com/outcome (Failed). Of nodes: lab.infini-ai.com/fail ("true": the machine is off)
// and lab.infini-ai.com/refuse-pods (the reason that new pods fail with).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/core.h"
#include "api/delta.h"
#include "api/pod.h"
#include "base/clock.h"

namespace sky::lab {

struct KubeletOptions {
  Duration heartbeat = std::chrono::minutes(1);
  Duration stop_takes = std::chrono::seconds(1);  // for pods that don't say
  Duration ask_again = std::chrono::seconds(5);   // when the effect of a write isn't seen
};

struct KubeletWrite {
  enum class Kind : uint8_t { kPodStatus, kDeletePod, kNodeStatus };
  Kind kind = Kind::kPodStatus;
  std::string ns, name, uid;
  std::string
      patch;  // strategic merge of …/status; a delete has grace 0 and the uid as precondition
};

class Kubelets {
 public:
  explicit Kubelets(KubeletOptions options) : options_(options) {}

  void OnNode(const api::Delta<api::Node>& delta);
  void OnPod(const api::Delta<api::Pod>& delta);
  // The machine goes off, or on again, as the annotation says it too.
  void Fail(std::string_view node);
  void Return(std::string_view node);

  // What is due at `now`; `wall` stamps it.
  std::vector<KubeletWrite> Step(MonoTime now, WallTime wall);
  // When Step has something to do again; MonoTime::min() for at once.
  MonoTime next_due() const;

 private:
  struct PodState {
    std::shared_ptr<const api::Pod> pod;
    std::string node;
    MonoTime due = MonoTime::max();
    std::optional<MonoTime> bound_at, stop_at, finish_at;  // as first seen
    std::string asked;  // the last write asked for, and until when it isn't repeated
    MonoTime asked_until;
    bool admitted = false;
  };
  struct NodeState {
    std::shared_ptr<const api::Node> node;
    bool off = false;
    MonoTime next_beat;
    std::string asked;
    MonoTime asked_until;
    std::set<std::string> pods;
  };

  void StepNode(NodeState& node, MonoTime now, WallTime wall, std::vector<KubeletWrite>& out);
  void StepPod(PodState& pod, MonoTime now, WallTime wall, std::vector<KubeletWrite>& out);
  void Start(PodState& pod, MonoTime now, WallTime wall, std::vector<KubeletWrite>& out);
  bool Ask(PodState& pod, std::string what, MonoTime now);
  bool IsOff(const NodeState& node) const;
  void Touch(const std::string& node);
  void Unlink(const std::string& key, PodState& pod);
  // "" when it fits, else the reason.
  std::string WhyNot(const PodState& pod, const NodeState& node) const;

  const KubeletOptions options_;
  std::map<std::string, NodeState, std::less<>> nodes_;
  std::map<std::string, PodState> pods_;  // by namespace/name
  std::set<std::pair<MonoTime, std::string>> due_;
  std::set<std::string> dirty_pods_, dirty_nodes_;
  std::set<std::pair<MonoTime, std::string>> beats_;
};

}  // namespace sky::lab
