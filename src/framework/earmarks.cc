// SPDX-License-Identifier: Apache-2.0
#include "framework/earmarks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/natural.h"

namespace sky::framework {

using model::Cluster;
using model::JobId;
using model::QueueId;

namespace {

constexpr std::string_view kOfOne = "pod:";  // names of jobs that are a pod
constexpr std::string_view kKept = "kept for it until it starts: ", kBetween = ", ";
constexpr std::string_view kQuotasAlone = "quotas of its queue";
constexpr size_t kLongest = 30'000;  // a condition's message has at most 32,768 bytes

// From the root down. Parents in a circle end it; such queues start nothing.
std::vector<QueueId> ChainOf(const Cluster& cluster, QueueId queue) {
  std::vector<QueueId> chain;
  for (; queue.valid() && std::ranges::find(chain, queue) == chain.end();
       queue = cluster.queues()[queue].parent)
    chain.push_back(queue);
  std::ranges::reverse(chain);
  return chain;
}

std::string UidOf(const Cluster& cluster, const model::Job& job) {
  if (!job.single || job.members.empty()) return job.uid();
  return cluster.tasks()[job.members.front()].name;
}

}  // namespace

std::string EarmarkMessage(const Earmark& mark) {
  if (mark.quotas_alone()) return fmt::format("{}{}", kKept, kQuotasAlone);
  // Not by id: another life has others, and would write the same in another order.
  std::set<std::string_view, NaturalLess> names;
  for (const auto& [node, name] : mark.nodes) names.insert(name);
  std::string text(kKept);
  size_t told = 0;
  for (const std::string_view name : names) {
    if (text.size() + kBetween.size() + name.size() > kLongest) break;
    if (told++ > 0) text += kBetween;
    text += name;
  }
  if (told < names.size()) text += fmt::format(" and {} more", names.size() - told);
  return text;
}

std::optional<Earmark> ReadEarmark(const Cluster& cluster, std::string_view message,
                                   QueueId queue) {
  if (!message.starts_with(kKept)) return std::nullopt;
  message.remove_prefix(kKept.size());
  Earmark mark;
  if (message == kQuotasAlone && queue.valid()) {
    mark.queue = queue;
    return mark;
  }
  message = message.substr(0, message.find(" and "));
  while (!message.empty()) {
    const size_t end = message.find(kBetween);
    const model::NodeId node = cluster.nodes().Find(message.substr(0, end));
    message = end == message.npos ? "" : message.substr(end + kBetween.size());
    if (!node.valid() || !cluster.nodes()[node].exists()) continue;
    const model::SpecId spec = cluster.nodes()[node].spec;
    if (mark.nodes.empty()) mark.spec = spec;
    if (spec == mark.spec) mark.nodes.emplace(node, cluster.nodes()[node].name);
  }
  if (mark.nodes.empty()) return std::nullopt;
  return mark;
}

bool GoesBefore(const Cluster& cluster, JobId first, JobId second) {
  const model::Job &one = cluster.jobs()[first], &other = cluster.jobs()[second];
  const auto priority = [&](QueueId queue) {
    const auto& object = cluster.queues()[queue].object;
    return object ? object->spec.priority : 0;
  };
  const std::vector<QueueId> a = ChainOf(cluster, one.queue), b = ChainOf(cluster, other.queue);
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) {
      if (priority(a[i]) != priority(b[i])) return priority(a[i]) > priority(b[i]);
      break;
    }
  return one.priority > other.priority;
}

void Earmarks::Begin(const Cluster& cluster) {
  const bool nodes_changed = std::exchange(statics_, cluster.static_generation()) != statics_;
  const size_t before = marks_.size();
  std::erase_if(marks_, [&](const auto& entry) {
    const Earmark& mark = entry.second;
    if (!cluster.jobs().Live(mark.job)) return true;
    const model::Job& job = cluster.jobs()[mark.job];
    return job.name != mark.name || UidOf(cluster, job) != mark.uid || job.bound > 0 ||
           job.ready >= job.needed || job.ready + job.placeable < job.needed ||
           job.backoff != model::Reason::kNone;
  });
  ended_ += before - marks_.size();
  if (nodes_changed)
    for (auto& [key, mark] : marks_)
      std::erase_if(mark.nodes, [&](const auto& node) {
        return !cluster.nodes().Live(node.first) || !cluster.nodes()[node.first].exists() ||
               cluster.nodes()[node.first].name != node.second;
      });
  if (nodes_changed || before != marks_.size()) Index();
}

const Earmark* Earmarks::Of(JobId job) const {
  for (const auto& [key, mark] : marks_)
    if (mark.job == job) return &mark;
  return nullptr;
}

Earmark* Earmarks::Of(JobId job) { return const_cast<Earmark*>(std::as_const(*this).Of(job)); }

// Two that keep quotas from each other would take turns for ever.
bool Earmarks::Keeps(const Cluster& cluster, const Earmark& mark, JobId job) const {
  if (mark.job == job || GoesBefore(cluster, job, mark.job)) return false;
  const Earmark* own = Of(job);
  return own == nullptr || own->turn > mark.turn;
}

void Earmarks::Put(const Cluster& cluster, Earmark mark) {
  mark.name = cluster.jobs()[mark.job].name;
  mark.uid = UidOf(cluster, cluster.jobs()[mark.job]);
  Drop(mark.job);
  if (mark.turn == 0) mark.turn = ++turns_;
  const Key key = mark.quotas_alone() ? Key{{}, mark.queue} : Key{mark.spec, {}};
  marks_.insert_or_assign(key, std::move(mark));
  Index();
}

void Earmarks::Drop(JobId job) {
  ended_ += std::erase_if(marks_, [&](const auto& entry) { return entry.second.job == job; });
  Index();
}

void Earmarks::Index() {
  by_node_.clear();
  messages_.clear();
  for (const auto& [key, mark] : marks_) {
    for (const auto& [node, name] : mark.nodes) by_node_.emplace(node.index(), key);
    if (!mark.name.starts_with(kOfOne)) messages_.emplace(mark.name, EarmarkMessage(mark));
  }
}

const Earmark* Earmarks::Bars(const Cluster& cluster, JobId job, model::NodeId node) const {
  if (!enforced) return nullptr;
  const auto found = by_node_.find(node.index());
  if (found == by_node_.end()) return nullptr;
  const Earmark& mark = marks_.at(found->second);
  return Keeps(cluster, mark, job) ? &mark : nullptr;
}

bool Earmarks::BarsQuota(const Cluster& cluster, JobId job, model::QuotaId quota) const {
  return enforced && std::ranges::any_of(marks_, [&](const auto& entry) {
           const Earmark& mark = entry.second;
           return mark.demanded.contains(quota) && Keeps(cluster, mark, job);
         });
}

int64_t Earmarks::KeptBack(const Cluster& cluster, JobId job, model::ClassId of) const {
  if (!enforced) return 0;
  int64_t kept = 0;
  for (const auto& [key, mark] : marks_)
    if (const auto found = mark.quotas.find(of);
        found != mark.quotas.end() && Keeps(cluster, mark, job))
      kept += found->second;
  return kept;
}

std::string Earmarks::KeptFor(const Cluster& cluster, JobId job) const {
  std::string names;
  for (const auto& [key, mark] : marks_)
    if (Keeps(cluster, mark, job))
      names +=
          (names.empty() ? "" : ", ") +
          (mark.name.starts_with(kOfOne) ? "pod " + mark.name.substr(kOfOne.size()) : mark.name);
  return names;
}

std::set<model::QuotaId> Earmarks::DemandedByOthers(JobId job) const {
  std::set<model::QuotaId> all;
  if (enforced)
    for (const auto& [key, mark] : marks_)
      if (mark.job != job) all.insert(mark.demanded.begin(), mark.demanded.end());
  return all;
}

}  // namespace sky::framework
