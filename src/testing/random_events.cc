// SPDX-License-Identifier: Apache-2.0
#include "testing/random_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/keys.h"

namespace sky::testing {

void RandomEvents::Begin() {
  cluster_.Queue("other");
  cluster_.Leaf("S1", "n[0-2]", "gpu=4 hca=4 spec=a100").Leaf("S2", "n[3-5]", "gpu=4 hca=4");
  cluster_.Quotas("q[0-7]", "gpu=1 hca=1").Quotas("big[0-1]", "gpu=4 hca=4 spec=a100");
  cluster_.Quotas("shared", "gpu=2 queue=other shared=default");
  for (const char* gang : {"a", "b", "c"}) cluster_.Job(gang, 3, "gpu=1 hca=1", {2, ""});
}

std::string RandomEvents::Next() {
  switch (rng_.Below(9)) {
    case 0:
    case 1:
      return NewPod();
    case 2:
    case 3:
    case 4:
      return cluster_.Keys<api::Pod>().empty() ? NewPod() : PodEvent();
    case 5:
      return NodeEvent();
    case 6:
      return QuotaEvent();
    case 7:
      return QueueEvent();
    default:
      return Chance(3) ? ComesOrGoes() : GroupEvent();
  }
}

std::string RandomEvents::PassTime() {
  if (Chance(3)) {
    const std::string job = Any({"default/a", "default/b", "default/c"});
    const bool held = Chance(2);
    cluster_.cache().SetBackoff(job, held ? model::Reason::kBindRefused : model::Reason::kNone,
                                held ? "a webhook says no" : "");
    return job + (held ? " is held back" : " is held back no longer");
  }
  const auto seconds = static_cast<int64_t>(rng_.Below(50));
  cluster_.Tick(std::chrono::seconds(seconds));
  return fmt::format("{} s pass", seconds);
}

std::string RandomEvents::NewPod() {
  const std::string name = fmt::format("p-{}", ++made_);
  const std::string gang = Any({"a", "b", "c", "a", "ghost", ""});
  std::string words = Any({"gpu=1", "gpu=1 hca=1", "cpu=2", "gpu=4 hca=4", "gpu=1 gated",
                           "gpu=1 hostport=80", "gpu=1 required=q1", "gpu=1 role=ps"});
  if (Chance(4)) words += " node=" + Any({"n0", "n1", "n4", "nowhere"});
  if (Chance(4)) words += " quota=" + Any({"q0", "q1", "big0", "shared", "missing"});
  if (Chance(5)) words += " scheduler=stranger";
  cluster_.Put(MakeWorker(gang, name, *ReadWords(words)));
  return fmt::format("pod {} of \"{}\": {}", name, gang, words);
}

std::string RandomEvents::PodEvent() {
  const std::string key = Any(cluster_.Keys<api::Pod>());
  const uint64_t what = rng_.Below(7);
  if (what == 0) {
    cluster_.Remove<api::Pod>(key);
    return key + " goes";
  }
  const std::string node = Any({"n0", "n2", "n3", "n5", "nowhere"});
  const std::string quota = Any({"q0", "q2", "q5", "big1", "shared", ""});
  cluster_.Edit<api::Pod>(key, [&](api::Pod& pod) {
    const bool ended = pod.terminal();
    if (what == 1) pod.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
    if (what == 2) pod.status.phase = Chance(2) ? "Succeeded" : "Failed";
    if (what == 3 && !ended && !pod.spec.node_name.empty()) pod.status.phase = "Running";
    if (what == 4) pod.spec.scheduling_gates.clear();
    if (what == 5 && pod.spec.node_name.empty() && pod.spec.scheduling_gates.empty() && !ended) {
      pod.spec.node_name = node;
      pod.metadata.annotations.insert_or_assign(std::string(api::key::kQuotaName), quota);
    }
    if (what == 6)
      pod.spec.containers[0].resources.requests.insert_or_assign("cpu", api::Quantity::Units(3));
  });
  return fmt::format("{}: change {} ({}, {})", key, what, node, quota);
}

std::string RandomEvents::NodeEvent() {
  const std::string name = fmt::format("n{}", rng_.Below(6));
  const bool there = std::ranges::count(cluster_.Keys<api::Node>(), name) > 0;
  const uint64_t what = rng_.Below(7);
  if (!there) {
    cluster_.Put(MakeNode(name, *ReadWords(Any({"gpu=4 hca=4 spec=a100", "gpu=2 hca=2"}))));
    return name + " is made anew";
  }
  if (what == 0) {
    cluster_.Remove<api::Node>(name);
    return name + " goes";
  }
  if (what == 1) {
    const auto switches = *ExpandNames(Any({"S1", "S2", "S1,S2", "S3"}));
    const bool known = std::ranges::count(cluster_.Keys<api::NodeTopology>(), name) > 0;
    if (known && Chance(2))
      cluster_.Remove<api::NodeTopology>(name);
    else
      cluster_.Put(MakeTopology(name, Any({"roce", "ib"}), switches));
    return name + " is wired anew";
  }
  cluster_.Edit<api::Node>(name, [&](api::Node& node) {
    if (what == 2) node.spec.unschedulable = !node.spec.unschedulable;
    if (what == 3) node.status.conditions[0].status = Chance(2) ? "True" : "False";
    if (what == 4) node.metadata.labels.insert_or_assign("spec", Any({"a100", "h100"}));
    if (what == 5)
      node.status.allocatable.insert_or_assign(
          "nvidia.com/gpu", api::Quantity::Units(static_cast<int64_t>(rng_.Below(6))));
    if (what == 6) node.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  return fmt::format("{}: change {}", name, what);
}

std::string RandomEvents::QuotaEvent() {
  const std::string name = Any({"q0", "q1", "q2", "q5", "big0", "shared"});
  const bool there = std::ranges::count(cluster_.Keys<api::Quota>(), name) > 0;
  if (!there) {
    cluster_.Quotas(name, Any({"gpu=1 hca=1", "gpu=2", "gpu=1 queue=other"}));
    return name + " is made anew";
  }
  const uint64_t what = rng_.Below(5);
  if (what == 0) {
    cluster_.Remove<api::Quota>(name);
    return name + " goes";
  }
  cluster_.Edit<api::Quota>(name, [&](api::Quota& quota) {
    if (what == 1) quota.status.node_name = Any({"", "n0", "n3", "nowhere"});
    if (what == 2) quota.spec.queue_name = Any({"default", "other"});
    if (what == 3) quota.spec.shared_queues = {Any({"default", "other", "third"})};
    if (what == 4) quota.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  return fmt::format("{}: change {}", name, what);
}

std::string RandomEvents::QueueEvent() {
  const std::string name = Any({"line", "other-line"});
  const bool there = std::ranges::count(cluster_.Keys<api::JobQueue>(), "default/" + name) > 0;
  const uint64_t what = rng_.Below(6);
  if (there && what == 0) {
    cluster_.Remove<api::JobQueue>("default/" + name);
    return name + " goes";
  }
  if (what < 3) {
    api::JobQueue line;
    if (there) line = cluster_.Get<api::JobQueue>("default/" + name);
    line.metadata.name = name;
    line.metadata.namespace_ = "default";
    line.spec.queue = Any({"default", "other"});
    line.spec.job_selector.emplace();
    line.spec.priority = static_cast<int32_t>(rng_.Below(2));
    line.spec.policy = Any({"StrictFIFO", "BestEffortFIFO", "", "Nonsense"});
    line.spec.suspended = Chance(4);
    if (Chance(2)) line.spec.max_running_jobs = static_cast<int32_t>(rng_.Below(3));
    cluster_.Put(std::move(line));
    return name + " changes";
  }
  const std::string queue = Any({"default", "other", "third"});
  if (std::ranges::count(cluster_.Keys<api::Queue>(), queue) == 0) {
    cluster_.Queue(queue);
    return queue + " is made";
  }
  if (what == 3) {
    cluster_.Remove<api::Queue>(queue);
    return queue + " goes";
  }
  cluster_.Edit<api::Queue>(queue, [&](api::Queue& it) {
    if (what == 4) it.spec.parent = Any({"", "default", "other", "third", "nowhere"});
    if (what == 5)
      it.spec.capability.insert_or_assign(
          "nvidia.com/gpu", api::Quantity::Units(static_cast<int64_t>(rng_.Below(6))));
  });
  return fmt::format("queue {}: change {}", queue, what);
}

// What jobs refer to, and the groups themselves: made, changed or gone under whoever uses them.
std::string RandomEvents::ComesOrGoes() {
  const auto gone = [&]<class T>(const std::string& key, const T&) {
    if (!std::ranges::count(cluster_.Keys<T>(), key)) return false;
    cluster_.Remove<T>(key);
    return true;
  };
  switch (rng_.Below(3)) {
    case 0: {
      const std::string name = Any({"high", "low"});
      if (Chance(2) && gone(name, api::PriorityClass{})) return "PriorityClass " + name + " goes";
      api::PriorityClass priority;
      priority.metadata.name = name;
      priority.value = static_cast<int32_t>(rng_.Below(100));
      cluster_.Put(std::move(priority));
      return "PriorityClass " + name;
    }
    case 1: {
      const std::string name = Any({"default", "other"});
      if (gone(name, api::Queue{})) return "queue " + name + " goes";
      cluster_.Queue(name);
      return "queue " + name + " is made anew";
    }
    default: {
      const std::string name = Any({"a", "b", "c"});
      if (gone("default/" + name, api::PodGroup{})) return "group " + name + " goes";
      cluster_.Put(MakeGroup(name, 2, *ReadWords(Any({"", "pack", "strict", "queue=other"}))));
      return "group " + name + " is made anew";
    }
  }
}

std::string RandomEvents::GroupEvent() {
  const std::vector<std::string> groups = cluster_.Keys<api::PodGroup>();
  if (groups.empty()) return ComesOrGoes();
  const std::string key = Any(groups);
  cluster_.Edit<api::PodGroup>(key, [&](api::PodGroup& group) {
    const uint64_t what = rng_.Below(4);
    if (what == 0) group.spec.min_member = static_cast<int32_t>(rng_.Below(4)) + 1;
    if (what == 1) group.spec.queue = Any({"default", "other"});
    if (what == 2) group.spec.priority_class_name = Any({"", "high", "low", "none"});
    if (what == 3) group.spec.min_task_member.insert_or_assign("ps", 1);
  });
  return key + " changes";
}

}  // namespace sky::testing
