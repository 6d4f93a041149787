// SPDX-License-Identifier: Apache-2.0
// How many quotas (or pods on quotas) of some kind stand on each node and in each zone, for one
// session: those on a node, and those that the session has planned there. A crowd is counted when
// it is first asked for and follows the session's operations from then on. Used on the scheduling
// thread only.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "framework/statement.h"
#include "model/cluster.h"

namespace sky::plugins {

class Crowds {
 public:
  struct Crowd {
    bool of_pods = false;
    std::unordered_map<size_t, model::NodeId> members;  // by quota or task: where it stands, if
    std::unordered_map<size_t, int64_t> by_node, by_zone;
    int64_t standing = 0;
  };
  using Belongs = std::function<bool(const api::ObjectMeta&, const api::QuotaSpec*)>;

  void Open(const model::Cluster& cluster);
  // The crowd of that name, which says what belongs to it. Of pods: those that use a quota.
  const Crowd& Of(const std::string& name, bool of_pods, const Belongs& belongs);
  // An operation was done or undone.
  void Follow(const framework::Operation& operation);

  // Of the crowd, in the node's domain ("node" or "zone"), without `self`; nobody is in no zone.
  int64_t In(const Crowd& crowd, const std::string& key, model::NodeId node, size_t self) const;
  int64_t Anywhere(const Crowd& crowd, size_t self) const;
  // A node's zone on the network that it has: IB before RoCE.
  static model::ZoneId ZoneOf(const model::Node& node) { return node.zones.ib; }

 private:
  void Move(Crowd& crowd, size_t member, model::NodeId node);
  model::NodeId PlaceOfPod(model::TaskId task) const;

  const model::Cluster* cluster_ = nullptr;
  std::map<std::string, Crowd> crowds_;
};

}  // namespace sky::plugins
