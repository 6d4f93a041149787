// SPDX-License-Identifier: Apache-2.0
// What look-ahead decides for a whole gang: task → quota → node, or why not. The planner makes it,
// hop 1 charges it, hop 2 carries it out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/types.h"
#include "model/verdict.h"

namespace sky::framework {

struct PlannedTask {
  model::TaskId task;
  model::QuotaId quota;  // invalid: it goes to the node without one
  model::NodeId node;
  model::ZoneId zone;  // invalid: none
};

// Why a job, or some of its tasks, can't be placed: reasons with how many targets gave each.
struct Refusals {
  std::map<model::Reason, int64_t> counts;  // reason → targets (nodes, quotas) or tasks
  std::map<model::Reason, model::Verdict> examples;
  model::Reason main = model::Reason::kNone;  // the one that decided: the first that was added
  // Of members that differ: whom this is about.
  std::string who;
  std::string detail;  // one more fact for the reader: "zone roce#S1 has room for 3 of 4"

  void Add(const model::Verdict& verdict, int64_t times = 1) {
    if (verdict.fit() || times <= 0) return;
    if (main == model::Reason::kNone) main = verdict.reason;
    counts[verdict.reason] += times;
    examples.try_emplace(verdict.reason, verdict);
  }
  void Add(model::Reason reason, int64_t times = 1) { Add(model::Verdict::NotNow(reason), times); }
  // All of another's reasons, after those that are here.
  void Add(const Refusals& others) {
    if (main == model::Reason::kNone) main = others.main;
    for (const auto& [reason, times] : others.counts) {
      counts[reason] += times;
      examples.try_emplace(reason, others.examples.at(reason));
    }
  }
  bool empty() const { return counts.empty(); }
  bool operator==(const Refusals&) const = default;
};

struct Plan {
  std::vector<PlannedTask> tasks;  // in rank order; empty: there is none, see `why`
  Refusals why;
  bool found() const { return !tasks.empty(); }
};

}  // namespace sky::framework
