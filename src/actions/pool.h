// SPDX-License-Identifier: Apache-2.0
// The quotas that tasks of one class may use: free ones by shelf, and those that are on a node with
// room for more. Drawn from the session at one moment; hop 1's callbacks were asked of one quota of
// each shelf and of every held one.
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "framework/session.h"
#include "topology/places.h"

namespace sky::actions {

struct FreeShelf {
  model::ClassId quota_class;
  model::QuotaId sample;   // its first quota in natural order
  int64_t left = 0;        // quotas
  int64_t tasks_each = 1;  // tasks of the class that one of them takes
  bool demanded = false;   // it is `sample` alone, because somebody of the round demands it
  bool direct = false;     // no quota: the tasks go to nodes themselves
  int64_t kept = 0;        // free ones beyond `left`, which are kept for others
};

struct HeldQuota {
  model::QuotaId quota;
  int64_t tasks = 0;  // of the class, that it still takes
};

struct Pool {
  model::TaskId task;              // one of the class
  std::vector<FreeShelf> shelves;  // best first
  std::vector<HeldQuota> held;     // best first
  framework::Refusals why;         // what the others said
  bool empty() const { return shelves.empty() && held.empty(); }
  bool direct() const { return !shelves.empty() && shelves.front().direct; }
  // Some free quota takes more than one task.
  bool TakesMany() const {
    return std::any_of(shelves.begin(), shelves.end(),
                       [](const FreeShelf& shelf) { return shelf.tasks_each > 1; });
  }
};

// Quotas on no node yet that tasks of the same round demand by name: others may only join them.
using Demanded = std::set<model::QuotaId>;

Pool DrawPool(const framework::Session& session, model::TaskId task, const Demanded& demanded);
// The same as if nobody used the quotas `freed`, and they were on no node.
Pool DrawPoolWith(const framework::Session& session, model::TaskId task, const Demanded& demanded,
                  const std::set<model::QuotaId>& freed);

// The plugins' word, and the law below it, which holds whatever is configured.
model::Verdict MayUseQuota(const framework::Session& session, model::TaskId task,
                           model::QuotaId quota);
// Both have room in what the quota has left.
bool SitTogether(const model::Cluster& cluster, model::QuotaId quota, model::TaskId one,
                 model::TaskId other);
topology::Share ShareOf(const model::Quota& quota);
// What of a quota is out of the task's reach: used, or kept for members of others.
model::Resources TakenFor(const model::Quota& quota, model::TaskId task);
// The first `count` quotas of a shelf, in natural order of their names.
std::vector<model::QuotaId> TakeFrom(const model::Cluster& cluster, const FreeShelf& shelf,
                                     size_t count, const Demanded& demanded);

}  // namespace sky::actions
