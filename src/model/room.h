// SPDX-License-Identifier: Apache-2.0
// Do claims fit where they are, now? Asked before the first of them is sent, and by whoever decides
// whether a decision still stands: a node may have shrunk or been replaced since, or strangers
// came. Pure.
#pragma once

#include <span>

#include "model/cluster.h"

namespace sky::model {

enum class Room : uint8_t {
  kFits,
  kLeaving,    // as soon as pods that are terminating are gone
  kEvictable,  // as soon as spot pods that may be asked to leave are gone too
  kNone,
};

// All of `claims` together, beside what is bound there and what is being sent. Other claims that
// weren't sent yet give way, so that on an over-bound node the last in order are the ones without a
// place (F26). Only what the claims ask for can be missing: a node that is short of something else
// stays usable.
Room RoomFor(const Cluster& cluster, std::span<const TaskId> claims);

// What pods must give back on `node` before `claims` that are there can start: for each name that
// they ask for, and the cards of spot ones. Zero: nothing.
Resources Shortage(const Cluster& cluster, NodeId node, std::span<const TaskId> claims);

}  // namespace sky::model
