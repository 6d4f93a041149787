// SPDX-License-Identifier: Apache-2.0
// topology: keeps an RDMA gang inside the fewest zones and its ranks in physical order. On when a
// task asks an RDMA device (NeedRDMA() == EnableTopologyScheduling()), unless the group's
// annotation says otherwise. The candidates are all zones of its network; when no node has a
// topology, all nodes by index. That a gang's live zones come first is the planner's to know.
#pragma once

#include "framework/plugin.h"
#include "framework/session.h"

namespace sky::plugins {

class Topology final : public framework::Plugin {
 public:
  std::string_view name() const override { return "topology"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();
};

}  // namespace sky::plugins
