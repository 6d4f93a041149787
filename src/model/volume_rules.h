// SPDX-License-Identifier: Apache-2.0
// What claims and volumes mean for a pod on a node, with kube-scheduler's semantics (VolumeBinding,
// VolumeZone, VolumeRestrictions, NodeVolumeLimits). The predicate asks it of the session's
// cluster, the cache of its own before anything is written: the same rules in the same order give
// the same volumes. Pure.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/verdict.h"

namespace sky::model {

enum class ClaimState : uint8_t {
  kBound,
  kLate,  // it waits for its first consumer: ours to choose
  kMissing,
  kNotOwned,  // of another pod than its ephemeral volume
  kDeleting,
  kLost,
  kUnbound,  // the volume controller's job, and not done
  kNoClass,
  kNoVolume,  // bound to one that isn't there
};
ClaimState StateOf(const Volumes& volumes, const PodFacts& facts, const PodClaim& claim);
bool ForOnePod(const api::PersistentVolumeClaim& claim);  // ReadWriteOncePod

// May a pod on the node use it: its node affinity; without `zones`, its labels of zone and region
// say nothing.
bool Reaches(const api::PersistentVolume& volume, const Node& node, bool zones);

// What is to be done for a claim that waits for its first consumer.
struct VolumeStep {
  std::string claim;   // key
  std::string volume;  // that it gets; "": its provisioner makes one for the node
};

// By the claims alone: false where no node helps.
bool ClaimsReady(const Cluster& cluster, TaskId task);
// Of the task's late claims, if it stood there; false: they can't all be had. What it takes is
// added to `taken`, names of volumes.
bool ChooseVolumes(const Cluster& cluster, TaskId task, const Node& node,
                   std::set<std::string>& taken, std::vector<VolumeStep>& steps);
// In the order in which volumes are given out: claimed rounds as they were decided, then plans.
bool ChoosesBefore(const Cluster& cluster, TaskId a, TaskId b);
bool HasLateClaims(const Cluster& cluster, TaskId task);

// Everything about a node. `placed` are the tasks with claims that are about to be somewhere.
Verdict VolumesOn(const Cluster& cluster, TaskId task, NodeId node, const std::set<TaskId>& placed);

// For people: what is wrong with the task's volumes, or where they are. "" without any.
std::string WhyVolumes(const Cluster& cluster, TaskId task);

}  // namespace sky::model
