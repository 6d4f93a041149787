// SPDX-License-Identifier: Apache-2.0
#include "load/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sky::load {
namespace {

// Events a second between the first and the last of these instants. Over a shorter span it would
// tell of threads that woke late rather than of a server.
constexpr Duration kLeastSpan = std::chrono::milliseconds(20);
std::optional<double> Rate(const std::vector<MonoTime>& times) {
  if (times.size() < 2) return std::nullopt;
  const auto [first, last] = std::ranges::minmax(times);
  if (last - first < kLeastSpan) return std::nullopt;
  return static_cast<double>(times.size() - 1) / Seconds(last - first);
}

}  // namespace

std::string_view WhyUnscheduled(const api::Pod& pod) {
  for (const api::Condition& condition : pod.status.conditions)
    if (condition.type == "PodScheduled" && condition.status != "True")
      return condition.message.empty() ? condition.reason : condition.message;
  return "";
}

Meter::Meter(Layout layout) : layout_(std::move(layout)), pods_(layout_.pods.size()) {
  for (size_t i = 0; i < layout_.pods.size(); ++i) index_.emplace(layout_.pods[i], i);
  for (const NodeRoom& node : layout_.nodes) nodes_.emplace(node.name, &node);
}

void Meter::Creating(size_t pod, MonoTime at) {
  // A creation that is sent again began when it was first sent.
  if (!pods_[pod].created) pods_[pod].created = at;
}

void Meter::Seen(const api::Pod& pod, MonoTime at) {
  const auto found = index_.find(pod.metadata.name);
  if (found == index_.end()) return;
  Pod& entry = pods_[found->second];
  if (entry.uid.empty()) ++seen_;
  entry.uid = pod.metadata.uid;
  entry.message = WhyUnscheduled(pod);
  if (!pod.spec.node_name.empty() && !entry.bound) Bind(entry, pod, at);
}

void Meter::Bind(Pod& entry, const api::Pod& pod, MonoTime at) {
  entry.bound = at;
  entry.node = pod.spec.node_name;
  ++bound_;
  if (layout_.per_quota > 0) quotas_.Uses(pod);
  CheckFinished(at);
}

void Meter::Gone(const api::Pod& pod) {
  if (index_.contains(pod.metadata.name)) ++gone_;
}

void Meter::Seen(const api::Quota& quota, MonoTime at) {
  quotas_.Shows(quota);
  CheckFinished(at);
}

void Meter::Gone(const api::Quota& quota, MonoTime at) {
  quotas_.Gone(quota.metadata.name);
  CheckFinished(at);
}

void Meter::CheckFinished(MonoTime at) {
  if (!finished_at_ && AllBound() && quotas_.CaughtUp()) finished_at_ = at;
}

Reading Meter::Read(MonoTime start) const {
  Reading reading;
  reading.pods = pods_.size();
  reading.bound = bound_;
  std::vector<MonoTime> created, bound;
  std::vector<Duration> latencies;
  for (const Pod& pod : pods_) {
    if (pod.created) created.push_back(*pod.created);
    if (pod.bound) bound.push_back(*pod.bound);
    if (pod.created && pod.bound) latencies.push_back(*pod.bound - *pod.created);
  }
  reading.creations_per_second = Rate(created);
  reading.bindings_per_second = Rate(bound);
  reading.pod_latency = SpreadOf(latencies);
  if (!bound.empty()) {
    const auto [first, last] = std::ranges::minmax(bound);
    reading.first_bind = first - start;
    reading.last_bind = last - start;
  }
  if (layout_.per_quota > 0 && finished_at_) reading.quotas_caught_up = *finished_at_ - start;
  ReadGangs(reading);
  reading.problems = Problems();
  return reading;
}

void Meter::ReadGangs(Reading& reading) const {
  struct Gang {
    std::optional<MonoTime> created, bound;
    bool whole = true;
    std::set<int> leaves;
  };
  std::vector<Gang> gangs(layout_.gangs());
  for (size_t i = 0; i < pods_.size(); ++i) {
    Gang& gang = gangs[layout_.GangOf(i)];
    const Pod& pod = pods_[i];
    gang.whole = gang.whole && pod.created && pod.bound;
    if (pod.created)
      gang.created = gang.created ? std::min(*gang.created, *pod.created) : pod.created;
    if (!pod.bound) continue;
    gang.bound = gang.bound ? std::max(*gang.bound, *pod.bound) : pod.bound;
    const auto node = nodes_.find(pod.node);
    gang.leaves.insert(node == nodes_.end() ? -1 : node->second->leaf);
  }
  reading.gangs = gangs.size();
  std::vector<Duration> latencies;
  size_t across = 0;
  bool known = true;
  for (const Gang& gang : gangs) {
    if (gang.whole) latencies.push_back(*gang.bound - *gang.created);
    known = known && !gang.leaves.contains(-1);
    if (gang.leaves.size() > 1) ++across;
  }
  reading.gangs_bound = latencies.size();
  reading.gang_latency = SpreadOf(latencies);
  if (known) reading.gangs_across_leaves = across;
}

std::vector<std::string> Meter::Problems() const {
  std::vector<std::string> problems;
  std::map<std::string, int> on_node;
  for (const Pod& pod : pods_)
    if (pod.bound) ++on_node[pod.node];
  for (const auto& [name, count] : on_node) {
    const auto node = nodes_.find(name);
    if (node == nodes_.end())
      problems.push_back(
          fmt::format("{} pods are bound to {}, which isn't a node of this run", count, name));
    else if (count > node->second->room)
      problems.push_back(fmt::format("{} pods are bound to {}, whose allocatable holds {}", count,
                                     name, node->second->room));
  }
  if (gone_ > 0) problems.push_back(fmt::format("{} pods were deleted meanwhile", gone_));
  if (const size_t count = quotas_.without_quota(); count > 0)
    problems.push_back(fmt::format("{} pods are bound without a quota", count));
  if (const size_t count = quotas_.Misused(layout_.per_quota); count > 0)
    problems.push_back(fmt::format(
        "{} quotas have pods on several nodes, or more than they have room for", count));
  return problems;
}

std::map<std::string, size_t> Meter::Unbound(
    const std::map<std::string, std::string>& groups) const {
  std::map<std::string, size_t> said;
  for (size_t i = 0; i < pods_.size(); ++i) {
    const Pod& pod = pods_[i];
    if (pod.bound) continue;
    const auto group = groups.find(fmt::format("load-{}", layout_.GangOf(i)));
    if (pod.uid.empty())
      ++said["not created"];
    else if (group != groups.end())
      ++said[group->second];
    else if (!pod.message.empty())
      ++said[pod.message];
    else
      ++said["no scheduler has said anything"];
  }
  return said;
}

}  // namespace sky::load
