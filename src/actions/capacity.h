// SPDX-License-Identifier: Apache-2.0
// How many tasks of a class each cell could take, remembered until something in the cell changes:
// what makes a gang's look at 600 zones cost 600 lookups. Numbers are upper bounds: sharper than
// none, and never too small, so a cell that is passed over couldn't have held the gang. Lives as
// long as the action that plans; used on the scheduling thread only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "actions/pool.h"
#include "framework/session.h"

namespace sky::actions {

// How many tasks like the round's a cell takes.
struct CellRoom {
  model::CellId id;
  model::CellId degraded;  // its nodes that have lost switches, when they count; invalid: none
  model::SpecId spec;
  uint32_t rank = 0;                // physical order
  int64_t capacity = 0;             // now
  int64_t evicting = 0;             // once spot pods that may be asked to leave are gone
  int64_t empty = 0;                // on empty nodes, and through quotas that are on nodes
  int64_t size = 0;                 // `empty`, with the nodes that refuse the task now among them
  int64_t bound = 0;                // idle bound quotas inside
  std::vector<int64_t> kinds = {};  // `capacity` by kind
  bool own = false;                 // members of the gang stand there already
  int64_t far = 0;                  // from the zones where they stand
  int64_t kin = 0;                  // tasks of jobs that attract it
  int64_t crowd = 0;                // nodes, where a small zone comes before a large one
  std::vector<model::NodeId> nodes = {};  // other than the cell's own: with its degraded ones, or
                                          // a block of it; empty: all of the cell
};
// What a set of tasks of several kinds may count on: of each kind there is room for `first` and
// a need of `second`. Never less than what really fits.
int64_t RoomForAll(std::span<const std::pair<int64_t, int64_t>> kinds);

class Capacities {
 public:
  struct Count {
    uint64_t at = 0;       // the cell's last change
    int64_t now = 0;       // tasks through free quotas, or without one
    int64_t evicting = 0;  // the same once spot pods that may be asked to leave are gone
    int64_t empty = 0;     // if nothing ran there
    int64_t size = 0;      // the same, on nodes that refuse the task now too
  };

  // Tasks of one class through quotas of these shelves; see Of.
  size_t Subject(const framework::Session& session, const Pool& pool);
  // The count of a cell, brought up to date when the cell changed.
  const Count& Of(const framework::Session& session, const Pool& pool, size_t subject,
                  model::CellId cell);
  // The same of one node, counted anew.
  Count OnNode(const framework::Session& session, const Pool& pool, model::NodeId node);
  // What each node of the cell says to a task through a quota of the first shelf.
  const framework::Refusals& Why(const framework::Session& session, const Pool& pool,
                                 size_t subject, model::CellId cell);

  // What each quota of its queue says to a task, if it doesn't take it. Tens of thousands may be
  // asked, so the answer serves all tasks of the class until something is planned.
  const framework::Refusals& WhyNoQuota(const framework::Session& session, model::TaskId task);

  // Physical order of cells, by id: equal for nobody.
  const std::vector<uint32_t>& Ranks(const model::Cluster& cluster);

  // Pairs asked so far: what a cycle's budget is counted in.
  int64_t steps() const { return steps_; }

 private:
  struct Told {
    uint64_t at = 0;
    framework::Refusals why;
  };
  struct Memo {
    std::vector<Count> counts;  // by cell
    std::vector<Told> told;     // by cell
  };
  Count OnNode(const framework::Session& session, const Pool& pool, model::NodeId node,
               const std::vector<model::Resources>& charges);
  static Count Directly(const framework::Session& session, const Pool& pool, model::NodeId node);
  using Key = std::pair<model::ClassId, std::vector<model::ClassId>>;

  // The cycle, and how many rounds were planned and committed in it.
  using Moment = std::tuple<uint64_t, size_t, size_t>;

  std::map<std::pair<model::QueueId, model::ClassId>, framework::Refusals> no_quota_;
  Moment no_quota_at_;
  std::map<Key, size_t> subjects_;
  std::vector<Memo> memos_;
  std::vector<uint32_t> ranks_;
  uint64_t ranked_at_ = 0;
  int64_t steps_ = 0;
};

// A quota may go to a node, or nothing but what is there now keeps it away.
bool LacksRoomAlone(const model::Verdict& verdict);

}  // namespace sky::actions
