// SPDX-License-Identifier: Apache-2.0
#include "plugins/quotaaffinity/crowds.h"

#include <utility>

namespace sky::plugins {

using model::NodeId;
using model::QuotaId;
using model::TaskId;

void Crowds::Open(const model::Cluster& cluster) {
  cluster_ = &cluster;
  crowds_.clear();
}

NodeId Crowds::PlaceOfPod(TaskId task) const {
  return cluster_->tasks()[task].used_quota().valid() ? cluster_->PlaceOf(task) : NodeId{};
}

const Crowds::Crowd& Crowds::Of(const std::string& name, bool of_pods, const Belongs& belongs) {
  const auto [at, added] = crowds_.try_emplace(name);
  Crowd& crowd = at->second;
  if (!added) return crowd;
  crowd.of_pods = of_pods;
  if (of_pods) {
    const auto& tasks = cluster_->tasks();
    for (size_t i = 0; i < tasks.size(); ++i) {
      const model::Task& task = tasks[TaskId(i)];
      if (!task.live || task.facts->terminal || !belongs(task.facts->meta(), nullptr)) continue;
      crowd.members.emplace(i, NodeId{});
      Move(crowd, i, PlaceOfPod(TaskId(i)));
    }
    return crowd;
  }
  const auto& quotas = cluster_->quotas();
  for (size_t i = 0; i < quotas.size(); ++i) {
    const model::Quota& quota = quotas[QuotaId(i)];
    if (!quota.live || !quota.object || !belongs(quota.object->metadata, &quota.object->spec))
      continue;
    crowd.members.emplace(i, NodeId{});
    Move(crowd, i, quota.place());
  }
  return crowd;
}

void Crowds::Move(Crowd& crowd, size_t member, NodeId node) {
  const auto known = crowd.members.find(member);
  if (known == crowd.members.end() || known->second == node) return;
  const auto add = [&](NodeId where, int64_t by) {
    if (!where.valid()) return;
    crowd.standing += by;
    crowd.by_node[where.index()] += by;
    if (const model::ZoneId zone = ZoneOf(cluster_->nodes()[where]); zone.valid())
      crowd.by_zone[zone.index()] += by;
  };
  add(std::exchange(known->second, node), -1);
  add(node, 1);
}

void Crowds::Follow(const framework::Operation& operation) {
  for (auto& [name, crowd] : crowds_) {
    if (!crowd.of_pods) {
      if (operation.quota.valid())
        Move(crowd, operation.quota.index(), cluster_->quotas()[operation.quota].place());
      continue;
    }
    if (operation.task.valid()) Move(crowd, operation.task.index(), PlaceOfPod(operation.task));
    if (!operation.quota.valid()) continue;
    for (const TaskId user : cluster_->quotas()[operation.quota].users)
      Move(crowd, user.index(), PlaceOfPod(user));
  }
}

int64_t Crowds::In(const Crowd& crowd, const std::string& key, NodeId node, size_t self) const {
  const auto count = [](const std::unordered_map<size_t, int64_t>& counts, size_t at) {
    const auto found = counts.find(at);
    return found == counts.end() ? 0 : found->second;
  };
  const auto own = crowd.members.find(self);
  const NodeId there = own == crowd.members.end() ? NodeId{} : own->second;
  if (key == "node") return count(crowd.by_node, node.index()) - (there == node ? 1 : 0);
  const model::ZoneId zone = ZoneOf(cluster_->nodes()[node]);
  if (!zone.valid()) return 0;
  const bool itself = there.valid() && ZoneOf(cluster_->nodes()[there]) == zone;
  return count(crowd.by_zone, zone.index()) - (itself ? 1 : 0);
}

int64_t Crowds::Anywhere(const Crowd& crowd, size_t self) const {
  const auto own = crowd.members.find(self);
  return crowd.standing - (own != crowd.members.end() && own->second.valid() ? 1 : 0);
}

}  // namespace sky::plugins
