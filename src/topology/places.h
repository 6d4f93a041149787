// SPDX-License-Identifier: Apache-2.0
// The search for places: which node, through which quota, for each task of a chain whose ranks
// follow the order of nodes. The planner draws a Question from a session, for the nodes of one zone
// or of several, and asks; the Answer is advice that the plugins' callbacks confirm pair by pair.
// Pure, exact where it says so, and counted in steps, never in time.
//
//   spots, left to right      the order in which ranks go
//   shelves                   free quotas that are alike: any of them may go to any spot it admits
//   held                      quotas that are on a spot already and still have room for tasks
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/resources.h"

namespace sky::topology {

// A quota's share: tasks on it may ask `limit` together, of `listed` names alone.
struct Share {
  model::Resources request, limit;
  std::vector<model::ResourceId> listed;
};

// A node. Everything is what is left before this question's tasks.
struct Spot {
  model::Resources room;        // that charges may still grow by
  model::Resources quota_room;  // for the requests of quotas that come here
  int64_t members = 0;          // of the same chain that are here already: they count for the cap
  // What tasks may use here, where others use what is charged to nobody; absent: charges say it.
  std::optional<model::Resources> idle = {};
};

struct Shelf {
  Share share;
  int64_t left = 0;
  std::vector<bool> admits;  // by spot
  bool direct = false;  // no quota at all: tasks that go to a node themselves, and charge nothing
};

struct Held {
  Share share;
  size_t spot = 0;
  model::Resources used;  // by its tasks so far
};

// Tasks that are alike.
struct Kind {
  model::Resources request, uses;  // of its quota; of what is idle on the node
  std::vector<bool> admits;        // by spot
  std::vector<size_t> shelves;     // that it may use, best first
  std::vector<bool> held;          // by held quota: may it use that one?
  int64_t per_spot = INT64_MAX;    // more of them can't stand on one spot, whatever room there is
};

struct Chained {
  size_t kind = 0;
  // Of the chain: spots between its placed neighbours in rank, inclusive.
  int64_t lowest = 0, highest = INT64_MAX;
  bool beside = false;  // not of the chain, though placed with it: spread doesn't count it
};

enum class Fill : uint8_t {
  kSpread,  // the least number of tasks a spot with which it works
  kPack,    // fills spots from the left
};

struct Question {
  std::vector<Spot> spots;
  std::vector<Shelf> shelves;
  std::vector<Held> held;
  std::vector<Kind> kinds;
  std::vector<Chained> tasks;  // the chain by rank, then those that have no order
  size_t chain = 0;            // so many of them are the chain: no rank stands left of a lower one
  Fill fill = Fill::kSpread;
};

struct Seat {
  size_t spot = 0;
  bool held = false;
  size_t quota = 0;  // index of the shelf or of the held quota
  // Tasks that share one free quota have the same number; of held ones it says nothing.
  size_t opened = 0;
};

struct Answer {
  std::vector<Seat> seats;  // by task; empty: no place was found
  bool exact = true;        // false: the search was cut short, "no" may be wrong
  int64_t steps = 0;
  bool found() const { return !seats.empty(); }
};

// `budget`: steps after which a search among inexact choices stops.
Answer FindPlaces(const Question& question, const model::ResourceNames& names, int64_t budget);

}  // namespace sky::topology
