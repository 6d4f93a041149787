// SPDX-License-Identifier: Apache-2.0
// The whole cluster as rows and ledgers. The cache owns one that follows the API; a Snapshot is
// another that is brought up to date row by row. Everything derived is recounted from the facts by
// Flush(), for touched rows only, so a ledger can't drift, and undoing a fact undoes its
// consequences bit for bit. Not thread-safe; the cache locks.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/attraction.h"
#include "model/budgets.h"
#include "model/cells.h"
#include "model/entities.h"
#include "model/moves.h"
#include "model/node.h"
#include "model/queues.h"
#include "model/shelves.h"
#include "model/table.h"
#include "model/task.h"
#include "model/volumes.h"

namespace sky::model {

class Cluster {
 public:
  explicit Cluster(std::shared_ptr<Names> names) : names_(std::move(names)) {}
  Names& names() const { return *names_; }
  const Table<TaskId, Task>& tasks() const { return tasks_; }
  const Table<JobId, Job>& jobs() const { return jobs_; }
  const Table<QueueId, Queue>& queues() const { return queues_; }
  const Table<QuotaId, Quota>& quotas() const { return quotas_; }
  const Table<NodeId, Node>& nodes() const { return nodes_; }
  const Table<JobQueueId, JobQueue>& job_queues() const { return job_queues_; }
  const Uses& uses() const { return uses_; }
  const Cells& cells() const { return cells_; }
  const Budgets& budgets() const { return *budgets_; }
  const Volumes& volumes() const { return volumes_; }
  const Shelves& shelves() const { return shelves_; }  // quotas with something to give, by class
  // Jobs with a member that has no place and isn't leaving; pods that nobody has grouped yet.
  const std::set<JobId>& waiting_jobs() const { return waiting_jobs_; }
  const std::set<TaskId>& ungrouped() const { return ungrouped_; }
  const Attraction& attraction() const { return attraction_; }
  const std::set<TaskId>& unapproved() const { return unapproved_; }   // claims not yet let go
  const std::set<QuotaId>& with_terms() const { return with_terms_; }  // quotas: of affinity
  const std::set<TaskId>& with_notes() const { return with_notes_; }   // pods: the same
  // Where a task stands or is about to: bound, claimed or planned there.
  NodeId PlaceOf(TaskId id) const;
  const Moves& moves() const { return moves_; }  // of tasks whose place or facts may have changed
  uint64_t static_generation() const { return static_generation_; }  // the highest of any node

  // --- facts from the API ---
  void SetPod(std::shared_ptr<const PodFacts> facts);
  void SetPodGroup(std::shared_ptr<const api::PodGroup> object);
  void RemovePod(std::string_view uid), RemovePodGroup(std::string_view key);
  void SetQueue(std::shared_ptr<const api::Queue> object);
  void SetJobQueue(std::shared_ptr<const api::JobQueue> object);
  void RemoveQueue(std::string_view name), RemoveJobQueue(std::string_view key);
  void SetQuota(std::shared_ptr<const api::Quota> object, const Settings& settings);
  void RemoveQuota(std::string_view name);
  void SetNode(std::shared_ptr<const api::Node> object, const Settings& settings);
  void RemoveNode(std::string_view name);
  bool ChangeVolumes(const VolumeChange& change);  // does any pod care?
  void SetNodeZones(std::string_view node, const NodeZones& zones);
  void SetNodeLost(NodeId node, bool lost), SetNodeForsaken(NodeId node, bool forsaken);
  void SetRefused(QuotaId quota, std::optional<WallTime> since);  // see Quota
  void SetUnconfirmed(JobId job, bool unconfirmed);
  void SetBackoff(JobId job, Reason reason, std::string why, std::vector<std::string> last = {});
  void SetPriorityClass(std::string_view name, std::optional<int32_t> value, bool global_default);
  // --- facts of ours (session and cache) ---
  void SetClaim(TaskId task, const Claim& claim);
  void PlanQuota(QuotaId quota, NodeId node);  // an invalid node: no longer planned
  void BindQuota(QuotaId quota, NodeId node);  // hop 2 in a session; an invalid node: undone
  void SetReserved(QuotaId quota, std::vector<Reservation> reserved, NodeId kept);
  void SetAvoided(NodeId node, ClassId tasks, bool avoided);
  void SetBudget(const std::string& key, std::shared_ptr<const api::PodDisruptionBudget> budget);
  // A spot pod may be asked to leave now, or no longer.
  void SetEvictable(TaskId task, bool evictable);

  // Recounts what the facts since the last call touch. Cheap when nothing changed.
  void Flush();
  void FlushLedgers();  // the same for quotas and nodes alone: inside a statement

  // Makes the rows that `changed` names, and those touched here, equal to `other`'s. Those of jobs.
  std::vector<JobId> CopyFrom(const Cluster& other, const Touched& changed);
  // Which of the cache's snapshots this is (0: none yet), and when what a queue says last changed.
  uint64_t snapshot_number() const { return snapshot_number_; }
  uint64_t queues_changed() const { return queues_changed_; }
  void SetSnapshotNumber(uint64_t number) { snapshot_number_ = number; }
  Touched TakeTouched();
  void ReleaseFreed();

  bool MayUse(QueueId queue, const Quota& quota) const;  // may jobs of `queue` use `quota`?
  std::string Dump() const;   // everything derived as sorted text: equal clusters, equal dumps
  std::string Audit() const;  // recounts all rows from the facts; "" or the first difference

 private:
  Task& Mutable(TaskId id);
  Quota& Mutable(QuotaId id);
  Node& Mutable(NodeId id);
  Job& Mutable(JobId id);
  Queue& Mutable(QueueId id);
  JobQueue& Mutable(JobQueueId id);
  void Dirty(QuotaId id), Dirty(NodeId id), Dirty(JobId id);
  NodeId RefNode(std::string_view name);
  QueueId RefQueue(std::string_view name);
  void UnrefNode(NodeId id), UnrefQueue(QueueId id), FreeIfUnused(QueueId id);
  void FreeIfUnused(NodeId id), FreeIfUnused(QuotaId id), FreeIfUnused(JobId id);
  void Detach(TaskId id), Attach(TaskId id);  // from and to its job, node and quota
  void AssignLine(JobId id), AssignLines(std::string_view namespace_);
  void AssignQueue(JobId id, std::string_view queue),
      SetParent(QueueId id, std::string_view parent);
  void TakeUse(TaskId id), AddUse(TaskId id);  // around what decides where a request is used
  void NoteClaims(TaskId id, const PodFacts* before, const PodFacts* after);
  void TakeFromQueue(QueueId id, QuotaId quota, ClassId of), NoteMoved(const Quota& quota);
  void LeaveCells(NodeId id, const Node& row), MoveInCells(NodeId id, const Node& before);
  void EnterCells(NodeId id), NoteCells(NodeId id, bool grew), NoteShelf(QuotaId id);
  void AskStatic(QuotaId id, NodeId node), Classify(QuotaId id), ClassifyAll();
  void Recount(QuotaId id), Recount(NodeId id), Recount(JobId id), NoteWaiting(JobId id);
  void RecountUse(NodeId id), RecountUses(), RecountState(TaskId id), NoteSets(TaskId id);

  std::shared_ptr<Names> names_;
  Table<TaskId, Task> tasks_;
  Table<JobId, Job> jobs_;
  Table<QueueId, Queue> queues_;
  Table<QuotaId, Quota> quotas_;
  Table<NodeId, Node> nodes_;
  Table<JobQueueId, JobQueue> job_queues_;
  Uses uses_;
  Cells cells_;
  Shelves shelves_;
  Volumes volumes_;
  Attraction attraction_;
  std::set<JobId> waiting_jobs_;
  std::set<TaskId> ungrouped_, unapproved_, with_notes_;
  std::set<QuotaId> with_terms_;
  PriorityClasses priority_classes_;
  Moves moves_;
  std::shared_ptr<const Budgets> budgets_ = std::make_shared<const Budgets>();
  uint64_t static_generation_ = 0, snapshot_number_ = 0, queues_changed_ = 0;
  Touched touched_;
  std::vector<QuotaId> dirty_quotas_;
  std::vector<NodeId> dirty_nodes_;
  std::vector<JobId> dirty_jobs_;
};

}  // namespace sky::model
