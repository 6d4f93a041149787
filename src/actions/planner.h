// SPDX-License-Identifier: Apache-2.0
// Look-ahead for a whole gang: task → quota → node for every task of the round, or the reasons why
// not. What it finds is already charged (hop 1's operations stand in the round's statement), so the
// next job plans on what is left; a failure leaves no trace. The search itself is topology/places;
// here cells are chosen for it, its questions are drawn, and its answers are put to the callbacks.
//   round's tasks ─► RDMA chain in the fewest cells, by rank ─► the others, best node each
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
  // Fills round.plan; true when the whole round has a place, on its last nodes if it must be.
  bool Make();

  // Of an older round: whose places break a rule of their gang. Its claims are lifted meanwhile.
  using Places = std::map<model::TaskId, model::NodeId>;
  using Wrong = std::map<model::TaskId, model::Reason>;
  Wrong Misplaced(const Places& places);

  // After a failure: what has to become true before it is worth another look.
  const Want& want() const { return want_; }
  // And where places could be kept for it: on the same nodes, if they can hold it, or anywhere.
  std::optional<framework::Earmark> ToKeep(const framework::Earmark* now);
  bool lacks_quotas() const { return lacks_quotas_; }  // whatever room there is
  bool cut() const { return cut_; }                    // it didn't look everywhere
  int64_t spent() const;                               // steps

 private:
  using Cell = CellRoom;
  using Cells = std::vector<Cell>;
  using Count = int64_t Cell::*;
  using Tasks = std::span<const model::TaskId>;
  using Choice = std::vector<const Cell*>;
  struct Attempt;  // planner_asked.h
  struct Asked;
  bool InChain(model::TaskId task) const, MakeRound(), MakeOnFirstNodes();
  bool MakeWhole(Tasks tasks), OneShareEach(Tasks tasks), EnoughQuotas(Tasks tasks);
  bool MakeKept(Tasks tasks);  // planner_kept.cc: with the places kept for lost members
  const Pool& PoolOf(model::TaskId task);

  // planner.cc, planner_survey.cc: cells
  Cells Survey(Tasks tasks, std::span<const model::CellId> where, bool degraded);
  Cells Gather(std::span<const model::CellId> where, bool degraded,
               std::vector<size_t>& position) const;
  std::vector<model::CellId> OfOneSpec(Tasks tasks, std::span<const model::CellId> cells) const;
  std::optional<model::SpecId> SpecOfPlaced(Tasks tasks) const;
  bool PlaceChain(Tasks chain, Tasks others);
  void WantRoom(Tasks chain, const Cells& cells);

  // planner_span.cc: which cells together
  void FindSiblings();
  Choice NearestTo(const Choice& like, const Choice& all, const Choice& base, Count room) const;
  static int64_t FreshIn(const Choice& choice);
  static bool Fresh(const Cell& cell) { return !cell.own; }
  std::vector<model::CellId> Candidates(Tasks chain) const;
  Cells BlocksOf(Tasks chain, const Cells& cells);
  void AddAttempts(int64_t n, int64_t more, std::span<const Cells* const> cells,
                   std::vector<Attempt>& to) const;
  std::vector<Choice> Choices(int64_t n, int64_t more, const Cells& cells, Count room) const;
  void AddCover(size_t more, Choice own, Choice others, std::vector<Choice>& choices) const;
  void LikelyFirst(Tasks chain, std::span<Attempt> attempts);
  bool TryAttempt(Tasks chain, Tasks others, const Attempt& attempt);
  bool Zoned(const Cells& cells) const;
  int64_t Reach(Tasks tasks, const Cells& cells, Count count, int64_t more) const;

  // planner_wait.cc: is there a zone to wait for?
  int64_t MostMore(Tasks chain, const Cells& cells);
  bool CouldWait(Tasks chain, const Cells& cells),
      SomeCouldHoldAll(Tasks chain, const Cells& cells);
  bool CouldHold(Tasks tasks, const Cell& cell);
  bool Passes(const model::Verdict& verdict, model::NodeId node) const;
  void AsIfEmpty(Asked& asked) const;
  bool HoldsWhenEmpty(Tasks tasks, std::vector<model::NodeId> nodes);

  // planner_earmark.cc: places to keep
  std::optional<framework::Earmark> KeepOn(Tasks tasks, std::vector<model::NodeId> nodes, bool all);
  std::vector<Choice> ChoicesToKeep(Tasks tasks, const Cells& cells);
  std::optional<framework::Earmark> KeepSomewhere(const framework::Earmark* now);

  // planner_ask.cc: questions and answers
  const std::vector<model::NodeId>& NodesIn(const Cell& cell) const;
  std::vector<model::NodeId> NodesOf(const Choice& choice) const;
  bool Place(Tasks tasks, std::vector<model::NodeId> nodes, bool ordered);
  bool PlaceTogether(Tasks chain, Tasks others, const Choice& choice, bool ordered);
  bool PlaceOnSpec(Tasks tasks, const model::Cell& cell);
  std::vector<model::NodeId> ThenTheRest(std::vector<model::NodeId> nodes) const;
  template <class Mustnt>
  void KeepOff(Asked& asked, Mustnt mustnt) const;
  topology::Question Question(Tasks tasks, std::vector<model::NodeId> nodes);  // in order
  Asked Draw(Tasks tasks, std::vector<model::NodeId> nodes, bool ordered, size_t inside);
  void DrawKinds(Asked& asked), DrawHeld(Asked& asked), DrawIntervals(Asked& asked);
  bool Ask(Asked asked), Carry(Asked& asked, const std::vector<topology::Seat>& seats);
  bool CarryPair(Asked& asked, size_t task, model::QuotaId quota, const topology::Seat& seat,
                 size_t before);
  bool QuotaMay(model::TaskId task, model::QuotaId quota, model::NodeId node) const;
  bool Charge(model::TaskId task, model::QuotaId quota, model::NodeId node);
  std::optional<model::Resources> IdleOf(model::NodeId node, model::SpotMode mode) const;
  bool MakesRoom(model::TaskId task, model::NodeId node) const;
  std::optional<model::NodeId> FirstThatStays() const;
  // planner_score.cc: without topology
  std::vector<model::CellId> Everywhere(Tasks tasks) const;
  bool PlaceAnywhere(Tasks tasks), PlaceByScore(Tasks tasks, std::span<const model::NodeId> nodes);
  bool TryHeld(model::TaskId task, std::span<const model::NodeId> nodes);
  bool TryPair(model::TaskId task, model::QuotaId quota, model::NodeId node);
  // planner_judge.cc, planner_explain.cc
  void OfOtherSpec(Tasks tasks, const Places& places, Wrong& wrong) const;
  void OutOfOrder(Tasks chain, const Places& places, Wrong& wrong) const;
  void OfOtherZone(Tasks chain, const Places& places, Wrong& wrong);
  void ExplainQuotas(Tasks t, const Pool& pool), ExplainOtherQuotas(const Pool& pool);
  void ExplainNodes(const Pool& pool, const Cells& cells);
  void Explain(Tasks t, const Cells& cells), ExplainAlike(Tasks t, const Cells& cells);
  void ExplainNever(Tasks t, const Cells& cells), ExplainZones(Tasks t, const Cells& cells);
  bool ElsewhereHeld(const Pool& pool, const Cells& cells);
  std::string Best(const Cells& cells, Count count) const;
  bool HasRank(model::TaskId task) const { return !unranked_.contains(task); }
  model::ZoneId ZoneOf(model::NodeId node) const;

  framework::Session& session_;
  framework::JobRound& round_;
  Capacities& capacities_;
  const model::Cluster& cluster_;
  const framework::TopologyPolicy& policy_;
  std::map<std::pair<model::ClassId, std::string>, Pool> pools_;
  Demanded demanded_;                  // by tasks that are placed together now
  std::set<model::ZoneId> own_;        // zones where members of the chain stand already
  std::set<model::SpecId> own_specs_;  // and of which spec codes these are
  std::optional<int64_t> more_;        // zones beside these that it may have, once it was asked
  bool evicts_ = false;                // what is tried now may send spot pods away
  std::set<model::NodeId> full_;       // not from these
  std::vector<int64_t> kinds_;         // tasks of each kind of the last survey
  bool waits_for_zone_ = false;        // rather than be split
  bool lacks_quotas_ = false, cut_ = false;  // cut: some search ended before its time
  std::set<model::TaskId> unranked_;         // members that have no order
  Want want_;
  int64_t budget_;  // steps that are left to this gang
};

}  // namespace sky::actions
