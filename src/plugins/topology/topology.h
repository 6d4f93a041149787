// SPDX-License-Identifier: Apache-2.0
// topology: keeps an RDMA gang inside the fewest zones and its ranks in physical order. On when a
// task asks an RDMA device (NeedRDMA() == EnableTopologyScheduling()), unless the group's
// annotation says otherwise. The candidates come from the algorithm of the highest weight that
// answers (namedzone: all zones of its network; continuity: blocks of nodes by index), the scores
// are those of all, weighted. That a gang's live zones come first is the planner's to know.
#pragma once

#include <map>
#include <vector>

#include "framework/plugin.h"
#include "framework/session.h"
#include "topology/algorithms.h"

namespace sky::plugins {

class Topology final : public framework::Plugin {
 public:
  // Weights by name: "rdma", "continuity". 0: asked last, adds no score; not named: never asked.
  explicit Topology(const std::map<std::string, int64_t>& algorithms = {{"rdma", 100},
                                                                        {"continuity", 0}});
  std::string_view name() const override { return "topology"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  struct Weighted {
    std::string name;
    int64_t weight;
    topology::IdenticalSpecTopologyAlgo algo;
  };
  struct Answer {
    std::vector<model::CellId> cells;
    bool in_blocks = false, small_zones = false;
    int64_t without_topology = 0;
  };
  const Answer& Ask(const framework::Session& session, model::Network network);
  framework::TopologyPolicy PolicyOf(const framework::Session& session, model::JobId id);
  int64_t AntiAffinity(const model::Cluster& cluster, model::Network network,
                       model::NodeId node) const;
  std::optional<int64_t> Score(const framework::Session& session, model::JobId id,
                               model::NodeId node) const;

  std::vector<Weighted> algorithms_;          // the highest weight first
  std::map<model::Network, Answer> answers_;  // of this session: nobody rewires a node in it
};

}  // namespace sky::plugins
