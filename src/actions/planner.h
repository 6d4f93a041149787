// SPDX-License-Identifier: Apache-2.0
// Look-ahead for a whole gang: task → quota → node for every task of the round, or the reasons why
// not. What it finds is already charged (hop 1's operations stand in the round's statement), so the
// next job plans on what is left; a failure leaves no trace. The search itself is topology/places;
// here cells are chosen for it, its questions are drawn, and its answers are put to the callbacks,
// which are the law.
//
//   round's tasks ─► RDMA chain in the fewest cells (ranks in physical order) ─► the others, best
//   node each
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "actions/capacity.h"
#include "actions/naps.h"
#include "actions/pool.h"
#include "framework/session.h"

namespace sky::actions {

class Planner {
 public:
  Planner(framework::Session& session, framework::JobRound& round, Capacities& capacities);
  // Fills round.plan; true when the whole round has a place.
  bool Make();

  // Of a round that another cycle or another hand has planned: those whose places break a rule of
  // their gang. Its claims are lifted while this is asked.
  std::map<model::TaskId, model::Reason> Misplaced(
      const std::map<model::TaskId, model::NodeId>& places);

  // After a failure: what has to become true before it is worth another look.
  const Want& want() const { return want_; }
  int64_t spent() const;  // steps

 private:
  struct Cell {
    model::CellId id;
    model::SpecId spec;
    uint32_t rank = 0;     // physical order
    int64_t capacity = 0;  // tasks like the chain's first that fit now
    int64_t evicting = 0;  // the same once spot pods that may be asked to leave are gone
    int64_t empty = 0;     // on empty nodes, and through quotas that are on nodes
    int64_t size = 0;      // `empty`, with the nodes that refuse the task now among them
    int64_t bound = 0;     // idle bound quotas inside
  };
  using Choice = std::vector<const Cell*>;
  struct Attempt {
    Choice cells;
    bool evicts;  // room that spot pods have to give back counts
  };
  struct Asked;  // a question with what its numbers mean

  bool InChain(model::TaskId task) const;
  bool MakeWhole(std::span<const model::TaskId> tasks);
  const Pool& PoolOf(model::TaskId task);
  bool EnoughQuotas(std::span<const model::TaskId> tasks);

  // planner.cc: cells
  std::vector<Cell> Survey(std::span<const model::TaskId> tasks,
                           std::span<const model::CellId> where);
  std::vector<model::CellId> OfOneSpec(std::span<const model::TaskId> tasks,
                                       std::span<const model::CellId> cells) const;
  std::optional<model::SpecId> SpecOfPlaced(std::span<const model::TaskId> tasks) const;
  bool PlaceChain(std::span<const model::TaskId> chain, std::span<const model::TaskId> others);
  void WantRoom(std::span<const model::TaskId> chain, const std::vector<Cell>& cells);

  // planner_span.cc: which cells together
  void FindSiblings();
  int64_t FreshIn(const Choice& choice) const;
  bool Fresh(const Cell& cell) const { return !own_.contains(cluster_.cells()[cell.id].key.zone); }
  std::vector<model::CellId> Candidates(std::span<const model::TaskId> chain) const;
  std::vector<Attempt> Attempts(std::span<const model::TaskId> chain,
                                const std::vector<Cell>& cells);
  std::vector<Choice> Choices(int64_t n, int64_t more, const std::vector<Cell>& cells,
                              int64_t Cell::* room) const;
  bool CouldWait(std::span<const model::TaskId> chain, const std::vector<Cell>& cells);
  int64_t MostMore(std::span<const model::TaskId> chain, const std::vector<Cell>& cells);
  bool Zoned(const std::vector<Cell>& cells) const;
  int64_t Reach(std::span<const model::TaskId> tasks, const std::vector<Cell>& cells,
                int64_t Cell::* count, int64_t more) const;

  // planner_ask.cc: questions and answers
  std::vector<model::NodeId> NodesOf(const Choice& choice) const;
  bool Place(std::span<const model::TaskId> tasks, std::vector<model::NodeId> nodes, bool ordered);
  bool PlaceTogether(std::span<const model::TaskId> chain, std::span<const model::TaskId> others,
                     const Choice& choice, bool ordered);
  bool PlaceOnSpec(std::span<const model::TaskId> tasks, const model::Cell& cell);
  std::vector<model::NodeId> ThenTheRest(std::vector<model::NodeId> nodes) const;
  bool CouldHoldEmpty(std::span<const model::TaskId> chain, const Cell& cell);
  template <class Mustnt>
  void KeepOff(Asked& asked, Mustnt mustnt) const;
  bool Ask(Asked asked);
  Asked Draw(std::span<const model::TaskId> tasks, std::vector<model::NodeId> nodes, bool ordered,
             size_t inside);
  void DrawKinds(Asked& asked);
  void DrawHeld(Asked& asked);
  void DrawIntervals(Asked& asked);
  bool Carry(Asked& asked, const std::vector<topology::Seat>& seats);
  bool CarryPair(Asked& asked, size_t task, model::QuotaId quota, const topology::Seat& seat,
                 size_t before);
  bool QuotaMay(model::TaskId task, model::QuotaId quota, model::NodeId node) const;
  void Charge(model::TaskId task, model::QuotaId quota, model::NodeId node);
  // planner_spot.cc: what spot pods use, and what they give back
  std::optional<model::Resources> IdleOf(model::NodeId node, model::SpotMode mode) const;
  bool MakesRoom(model::TaskId task, model::NodeId node) const;

  // planner_score.cc: without topology
  bool PlaceAnywhere(std::span<const model::TaskId> tasks);
  bool PlaceByScore(std::span<const model::TaskId> tasks, std::span<const model::NodeId> nodes);
  bool TryHeld(model::TaskId task, std::span<const model::NodeId> nodes);
  bool TryPair(model::TaskId task, model::QuotaId quota, model::NodeId node);

  // planner_judge.cc
  void OfOtherSpec(const std::vector<model::TaskId>& tasks,
                   const std::map<model::TaskId, model::NodeId>& places,
                   std::map<model::TaskId, model::Reason>& wrong) const;
  void OfOtherZone(const std::vector<model::TaskId>& chain,
                   const std::map<model::TaskId, model::NodeId>& places,
                   std::map<model::TaskId, model::Reason>& wrong);
  void OutOfOrder(const std::vector<model::TaskId>& chain,
                  const std::map<model::TaskId, model::NodeId>& places,
                  std::map<model::TaskId, model::Reason>& wrong) const;

  // planner_explain.cc
  void ExplainQuotas(std::span<const model::TaskId> tasks, const Pool& pool);
  void Explain(std::span<const model::TaskId> tasks, const std::vector<Cell>& cells);
  void ExplainAlike(std::span<const model::TaskId> tasks, const std::vector<Cell>& cells);
  void ExplainNever(std::span<const model::TaskId> tasks, const std::vector<Cell>& cells);
  void ExplainZones(std::span<const model::TaskId> tasks, const std::vector<Cell>& cells);
  std::string Best(const std::vector<Cell>& cells, int64_t Cell::* count) const;
  void ExplainNodes(const Pool& pool, const std::vector<Cell>& cells);

  bool HasRank(model::TaskId task) const { return !unranked_.contains(task); }
  model::NodeId PlaceOf(model::TaskId task) const;
  model::ZoneId ZoneOf(model::NodeId node) const;

  framework::Session& session_;
  framework::JobRound& round_;
  Capacities& capacities_;
  const model::Cluster& cluster_;
  const framework::TopologyPolicy& policy_;
  std::map<std::pair<model::ClassId, std::string>, Pool> pools_;
  Demanded demanded_;                 // by tasks that are placed together now
  std::set<model::ZoneId> own_;       // zones where members of the chain stand already
  std::optional<int64_t> more_;       // zones beside these that it may have, once it was asked
  bool evicts_ = false;               // what is tried now may send spot pods away
  std::set<model::TaskId> unranked_;  // members that have no order
  Want want_;
  int64_t budget_;  // steps that are left to this gang
};

}  // namespace sky::actions
