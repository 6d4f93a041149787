// SPDX-License-Identifier: Apache-2.0
// Spot pods that are asked to leave one node so that they come back on another: who may be asked,
// where there is room, and how full nodes are once all of the plan has happened. Nothing is
// changed: the plan is counted beside the session's cluster. Lives inside one session.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/session.h"

namespace sky::plugins {

// Of one resource, in percent of a node's allocatable: a node that uses less than `low` of each has
// room to give, one that uses more than `target` of any is too full.
struct Level {
  model::ResourceId name;
  int64_t low = 0, target = 100;
};
using Levels = std::vector<Level>;

// A node is compared only if it offers every resource that is.
bool Offers(const model::Node& node, const Levels& levels);
// Would the node use more of any than its target if `present` was all that it uses?
bool AboveTarget(const model::Node& node, const Levels& levels, const model::Resources& present);
// What it uses now, without who is leaving and with who is on the way.
model::Resources Present(const model::Node& node);

struct Move {
  model::TaskId task;
  model::NodeId from, to;
};

class Moves {
 public:
  // `stays`: isn't to be asked. `levels`: nobody is sent where that would make a node too full.
  Moves(const framework::Session& session, const Levels& levels,
        std::function<bool(model::TaskId)> stays);

  // Who of the node may be asked to leave, in the order in which they would go: by priority, then
  // who has lost least work, then by name.
  std::vector<model::TaskId> Candidates(model::NodeId from) const;
  // It leaves, for the first of `targets` that takes it. False: it may not leave, or none does.
  bool Plan(model::TaskId task, std::span<const model::NodeId> targets);
  // Takes back who isn't needed, of those planned since `first`: as long as `enough` stays true.
  void DropNeedless(size_t first, const std::function<bool()>& enough);
  void TakeBack(size_t first);  // all of these

  // With all of the plan.
  model::Resources PresentOn(model::NodeId node) const;
  model::Resources FreeOn(model::NodeId node) const;
  const std::vector<Move>& planned() const { return planned_; }

 private:
  bool MayLeave(model::TaskId task) const;
  bool Takes(model::TaskId task, model::NodeId node) const;

  const framework::Session& session_;
  const model::Cluster& cluster_;
  const Levels& levels_;
  std::function<bool(model::TaskId)> stays_;
  std::vector<Move> planned_;
};

}  // namespace sky::plugins
