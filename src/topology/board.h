// SPDX-License-Identifier: Apache-2.0
// The state of one search: who sits where, what is left, and the way back. Each Put can be undone
// in reverse order. Where quotas of several shelves could serve, tasks that sit already make way by
// changing shelves (an augmenting path), so no choice of a shelf blocks a later task.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/places.h"

namespace sky::topology {

class Board {
 public:
  Board(const Question& question, const model::ResourceNames& names);

  // The most tasks of the chain that a spot may hold, those before included.
  void SetCap(int64_t cap) { cap_ = cap; }
  // Only quotas that are on a spot already are used from now on.
  void SetHeldOnly(bool held_only) { held_only_ = held_only; }

  // Puts task `task` on `spot` if it may stand there and there is room.
  bool Put(size_t task, size_t spot);
  // The same through exactly one of the ways below: for a search that tries them all.
  struct Way {
    bool held = false;
    size_t quota = 0;          // shelf or held quota
    size_t opened = SIZE_MAX;  // an opened quota of that shelf; SIZE_MAX: a new one
  };
  std::vector<Way> Ways(size_t task, size_t spot);
  void Take(size_t task, size_t spot, const Way& way);

  size_t Mark() const { return log_.size(); }
  void BackTo(size_t mark);

  // Seats of all tasks that were put.
  std::vector<Seat> Seats() const;
  int64_t steps() const { return steps_; }
  int64_t load(size_t spot) const { return spots_[spot].load; }

 private:
  // A quota that has a task: taken from a shelf in this search, or held before it.
  struct Opened {
    bool held = false;
    size_t quota = 0;
    size_t spot = 0;
    model::Resources used;
    int64_t tasks = 0;
  };
  struct State {
    model::Resources room, quota_room;
    std::optional<model::Resources> idle;
    int64_t load = 0;
    std::vector<size_t> opened;  // newest last
    std::vector<int64_t> kinds;  // tasks of each kind, when some kind is limited
  };
  struct Step {
    enum class What : uint8_t { kOpen, kSeat, kSwap } what;
    size_t task = 0, opened = 0, before = 0;
    model::Resources growth;
  };

  const Share& ShareOf(const Opened& opened) const;
  bool MayStand(size_t task, size_t spot) const;
  bool Holds(const Share& share, const model::Resources& used, const model::Resources& more) const;
  model::Resources Growth(const Share& share, const model::Resources& used,
                          const model::Resources& more) const;
  bool Direct(const Opened& opened) const {
    return !opened.held && question_.shelves[opened.quota].direct;
  }
  bool FitsOpened(size_t task, size_t opened) const;
  bool FitsNew(size_t task, size_t spot, size_t shelf) const;
  bool FreeOne(size_t shelf, std::vector<bool>& seen);
  bool MaySwap(const Opened& opened, size_t shelf) const;
  void Swap(size_t opened, size_t shelf);
  void Open(size_t spot, size_t shelf);
  void Sit(size_t task, size_t opened);

  const Question& question_;
  const model::ResourceNames& names_;
  int64_t cap_ = INT64_MAX;
  bool held_only_ = false, limited_ = false;
  std::vector<State> spots_;
  std::vector<int64_t> left_;   // by shelf
  std::vector<Opened> opened_;  // held ones first
  std::vector<size_t> seat_;    // by task: index of opened; SIZE_MAX: none
  std::vector<Step> log_;
  int64_t steps_ = 0;
};

}  // namespace sky::topology
