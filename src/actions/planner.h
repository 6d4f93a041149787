// SPDX-License-Identifier: Apache-2.0
// Look-ahead for a whole gang: task → quota → node for every task of the round, or the reasons why
// not. What it finds is already charged (hop 1's operations stand in the round's statement), so the
// next job plans on what is left; a failure leaves no trace. Callbacks are the law: each pair was
// asked.
//
//   round's tasks ─► RDMA chain in the fewest cells (ranks in physical order) ─► the others, best
//   node each
#pragma once

#include <map>
#include <span>
#include <vector>

#include "framework/session.h"

namespace sky::actions {

// The tasks that the next round of a job places: up to its minimum while it is short of it, else
// its extras, each of which may be placed alone.
std::vector<model::TaskId> RoundTasks(const model::Cluster& cluster, const model::Job& job);

// What the task would add to the charges of the quota's node.
model::Resources ChargeGrowth(const model::Cluster& cluster, model::TaskId task,
                              model::QuotaId quota);
// Does it fit what may really be placed there, and if not, why: pod slots, something leaving, or no
// room?
model::Verdict FitsRoom(const model::Cluster& cluster, model::TaskId task, model::QuotaId quota,
                        model::NodeId node);

class Planner {
 public:
  Planner(framework::Session& session, framework::JobRound& round);
  // Fills round.plan; true when the whole round has a place.
  bool Make();

 private:
  // Quotas that a task may use, best first: score, then natural name.
  struct Pool {
    std::vector<model::QuotaId> quotas;
    framework::Refusals why;
  };
  struct Cell {
    model::CellKey key;
    std::vector<model::NodeId> nodes;  // in physical order
    int64_t capacity = 0;              // tasks like the chain's first that fit now
    int64_t empty_capacity = 0;        // on empty nodes
    int64_t size = 0;                  // on empty nodes, those that refuse the task now among them
    int64_t bound = 0;                 // idle bound quotas inside
  };

  bool MakeWhole(std::span<const model::TaskId> tasks);
  const Pool& PoolOf(model::TaskId task);
  std::vector<Cell> Survey(std::span<const model::TaskId> tasks);
  void Measure(Cell& cell, std::span<const model::TaskId> tasks);
  bool PlaceChain(std::span<const model::TaskId> tasks);
  bool PlaceInOneCell(std::span<const model::TaskId> tasks, std::vector<Cell*> cells);
  bool PlaceAcrossCells(std::span<const model::TaskId> tasks, std::vector<Cell>& cells);
  bool PlaceAnywhere(std::span<const model::TaskId> tasks);
  bool PlaceByScore(std::span<const model::TaskId> tasks, std::span<const model::NodeId> nodes);
  bool PlaceOrdered(std::span<const model::TaskId> tasks, std::span<const model::NodeId> nodes);
  bool Pass(std::span<const model::TaskId> tasks, std::span<const model::NodeId> nodes, int64_t cap,
            bool in_order);
  bool PassOnce(std::span<const model::TaskId> tasks, std::span<const model::NodeId> nodes,
                int64_t cap, bool in_order, bool prefer_bound);
  bool TryNode(model::TaskId task, model::NodeId node, bool bound_only);
  bool TryPair(model::TaskId task, model::QuotaId quota, model::NodeId node);
  model::ZoneId ZoneOf(model::NodeId node) const;
  bool AnyBound(model::TaskId task);
  bool EnoughQuotas(std::span<const model::TaskId> tasks);
  model::Verdict WhyNot(model::TaskId task, model::QuotaId quota, model::NodeId node) const;
  void Explain(std::span<const model::TaskId> tasks, const std::vector<Cell>& cells);

  framework::Session& session_;
  framework::JobRound& round_;
  const model::Cluster& cluster_;
  framework::TopologyPolicy policy_;
  std::map<std::pair<model::ClassId, std::string>, Pool> pools_;
};

}  // namespace sky::actions
