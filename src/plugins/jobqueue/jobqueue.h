// SPDX-License-Identifier: Apache-2.0
// jobqueue: lines of jobs in front of a queue. A job that stands in one is let in only when its
// JobQueue isn't suspended, runs fewer jobs than it may, and, under StrictFIFO, nobody before it
// waits for room alone; see line_up.h. JobQueues of equal priority take turns by last service.
// Slots are the model's counts of jobs with a member that holds a place or a claim: what a
// statement takes, its undoing returns.
//
// It lives across sessions: which line was served last, and who held its line up when it was looked
// at. Both are hints; losing them in a restart costs time, never truth. Its controller forgets
// lines and jobs that are gone, and writes nothing.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "framework/plugin.h"
#include "framework/session.h"
#include "plugins/jobqueue/line_up.h"

namespace sky::plugins {

class JobQueues final : public framework::ReconcilablePlugin {
 public:
  std::string_view name() const override { return "jobqueue"; }
  void OnSessionOpen(framework::Session& session) override;
  void OnSessionClose(framework::Session& session) override;
  void Reconcile(WallTime now) override;
  std::optional<WallTime> NextReconcile() const override { return due_; }
  static framework::PluginKind Kind();

 private:
  // A JobQueue, or the jobs of a queue that stand in none.
  struct Served {
    uint64_t last = 0;           // when, counted in starts; of earlier sessions
    std::set<uint64_t> planned;  // of this one
    bool seen = false;           // since the last clean-up
    uint64_t turn() const { return planned.empty() ? last : std::max(last, *planned.rbegin()); }
  };
  struct Start {
    size_t operations = 0;
    uint64_t number = 0;
  };
  Served& ServedOf(const model::Job& job);
  std::optional<int64_t> OrderKey(model::JobId job);
  bool LetsIn(model::JobId job, framework::Refusals& why);
  void Planned(const framework::Operation& operation);
  void Undone(const framework::Operation& operation);

  const framework::Session* session_ = nullptr;        // while one is open
  bool any_ = false;                                   // there are JobQueues
  std::optional<LineUp> line_up_;                      // of this session
  std::map<model::JobId, Start> starts_;               // of this session
  std::map<std::string, Served, std::less<>> served_;  // by JobQueue, or by queue
  std::map<std::string, bool, std::less<>> holds_;     // by job: held its line up when last refused
  uint64_t starts_so_far_ = 0;
  std::optional<WallTime> due_;
};

}  // namespace sky::plugins
