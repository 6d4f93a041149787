// SPDX-License-Identifier: Apache-2.0
// The ids of the model, and what the model must be told about the cluster's conventions.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace sky::model {

struct TaskTag;
struct JobTag;
struct QueueTag;
struct JobQueueTag;
struct QuotaTag;
struct NodeTag;
struct SpecTag;
struct ZoneTag;
struct ClassTag;
using TaskId = Id<TaskTag>;
using JobId = Id<JobTag>;
using QueueId = Id<QueueTag>;
using JobQueueId = Id<JobQueueTag>;
using QuotaId = Id<QuotaTag>;
using NodeId = Id<NodeTag>;
using SpecId = Id<SpecTag>;    // a spec code: "a100"
using ZoneId = Id<ZoneTag>;    // a zone key: "roce#S1,S2"
using ClassId = Id<ClassTag>;  // tasks (or quotas) that are equal in everything a predicate reads

enum class Network : uint8_t { kRoce, kIb };

// From the configuration; the same for a process's whole life.
struct Settings {
  std::string scheduler_name = "sky-scheduler";
  std::vector<std::string> spec_label_keys = {"scheduling.infini-ai.com/spec", "spec",
                                              "nvidia.com/gpu.product"};
  std::vector<std::string> roce_resources = {"rdma/roce"};  // globs: "rdma/roce*"
  std::vector<std::string> ib_resources = {"rdma/hca"};
  // Of a spot pod: what it asks, and the cards that it thereby uses.
  Duration min_run_time = std::chrono::minutes(5);      // a spot pod younger than this is no victim
  bool zone_from_leaf_groups = false;                   // rather than from sets of switches
  Duration zone_hold_down = std::chrono::seconds(60);   // a lost switch counts after this
  Duration reservation_ttl = std::chrono::minutes(10);  // of a lost member's place
  std::string spot_resource = "infini-ai.com/spot-gpu", spot_device = "nvidia.com/gpu";
  // A mount point counts when its last heartbeat is later than the node's Ready less so much.
  Duration mount_tolerance = std::chrono::seconds(90);
  // Controller kinds whose pods wait for a PodGroup that the controller-manager makes (section 7).
  std::vector<std::string> grouped_owner_kinds = {
      "Job",      "JobSet",     "LeaderWorkerSet", "StatefulSet", "Deployment", "ReplicaSet",
      "TrainJob", "PyTorchJob", "MPIJob",          "RayJob",      "RayCluster"};
};

}  // namespace sky::model
