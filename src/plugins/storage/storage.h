// SPDX-License-Identifier: Apache-2.0
// storage: tasks go where the storage that they mount is ready. Pods and groups declare ids in
// required-mount-points; which of them a node has ready is read from its conditions
// (model::MountsOf). Asked in all three hops, only of those who declare any. Used on the scheduling
// thread only.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/plugin.h"
#include "framework/session.h"

namespace sky::plugins {

class Storage final : public framework::Plugin {
 public:
  std::string_view name() const override { return "storage"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  using Verdict = std::optional<model::Verdict>;
  struct Demand {
    std::shared_ptr<const void> pod, group;  // what it was read from
    std::vector<std::string> ids;
  };
  const std::vector<std::string>& DemandOf(const model::Cluster& cluster, model::TaskId task);
  Verdict Ready(const model::Cluster& cluster, model::TaskId task, model::NodeId node);

  std::unordered_map<size_t, Demand> demands_;  // by task, of those who declare any
};

}  // namespace sky::plugins
