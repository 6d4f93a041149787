// SPDX-License-Identifier: Apache-2.0
// rescheduling: once in a while spot pods are asked to leave so that they come back elsewhere:
// off nodes that are too full, or that are kept for a gang that waits. Without strategies, the
// default, it does nothing. While a strategy is on, spot pods go to such nodes only when no others
// take them, so who left doesn't come back; whose like came back all the same isn't asked there
// again. While spot pods wait for room nobody is asked: they would take what gets free.
//
// It lives across sessions: when it looked last, and whom it asked. Losing that in a restart costs
// a move, never truth. Used on the scheduling thread only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugin.h"
#include "plugins/rescheduling/moves.h"

namespace sky::plugins {

class Rescheduling final : public framework::ReconcilablePlugin {
 public:
  struct Options {
    Duration interval = std::chrono::minutes(5);
    struct Percents {
      int64_t low = 0, target = 100;
    };
    std::map<std::string, Percents> balance;  // by resource; empty: the strategy is off
    bool clear_earmarks = false;
    bool on() const { return clear_earmarks || !balance.empty(); }
  };
  explicit Rescheduling(Options options) : options_(std::move(options)) {}
  std::string_view name() const override { return "rescheduling"; }
  void OnSessionOpen(framework::Session& session) override;
  void OnSessionClose(framework::Session& session) override;
  void Reconcile(WallTime now) override;
  std::optional<WallTime> NextReconcile() const override { return due_; }
  static framework::PluginKind Kind();

 private:
  // Pods of one controller on one node.
  using Where = std::pair<std::string, std::string>;  // its UID, the node's name
  struct Asked {
    WallTime at{};    // first
    WallTime seen{};  // when a pod of its was last anywhere
  };
  void KeepForLast(const framework::Session& session, model::JobId job,
                   std::set<model::NodeId>& nodes) const;
  std::set<Where> CameBack(const framework::Session& session);
  // The moves of the plan from `first` to before `last`.
  void Ask(framework::Session& session, const Moves& moves, size_t first, size_t last,
           const std::string& why);

  const Options options_;
  Levels levels_;  // of this session
  std::optional<WallTime> due_;
  bool looks_ = false;  // in this session
  std::map<Where, Asked> asked_;
};

}  // namespace sky::plugins
