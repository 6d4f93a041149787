// SPDX-License-Identifier: Apache-2.0
// What follows from the facts. A quota's node: its live pods say, else our open claims, else a pod
// that is still leaving, else its status. From that the ledgers of its node, then the counts of
// jobs.
#include <algorithm>

#include "api/keys.h"
#include "base/natural.h"
#include "model/cluster.h"

namespace sky::model {
namespace {

template <class Id>
std::vector<Id> TakeUnique(std::vector<Id>& dirty) {
  std::vector<Id> ids = std::exchange(dirty, {});
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// launcher, chief and master come first, as their frameworks count them.
int RoleRank(const Job& job, const std::string& role) {
  const auto& order = job.notes.task_order;
  if (const auto found = std::find(order.begin(), order.end(), role); found != order.end())
    return static_cast<int>(found - order.begin());
  if (role == "launcher" || role == "chief" || role == "master") return 10'000;
  return 20'000;
}

// The group's own note, else its first member's.
std::string AffinityKeyOf(const Cluster& cluster, const Job& job) {
  if (!job.notes.affinity_key.empty() || job.ranked.empty()) return job.notes.affinity_key;
  const PodFacts& first = *cluster.tasks()[job.ranked.front()].facts;
  return std::string(first.meta().Annotation(api::key::kTopologyAffinityKey));
}

struct Votes {
  NodeId node;         // where its live pods are
  bool split = false;  // on more than one node
  NodeId claimed;      // where our open claims want it
  NodeId leaving;      // where a terminating pod still holds its room
};

bool Authorised(const Cluster& cluster, const Task& task, const Quota& quota) {
  if (!task.job.valid()) return false;
  // A deleted quota, or a group that was never seen, can't say no: its pods stay counted together.
  const QueueId queue = cluster.jobs()[task.job].queue;
  if (!quota.exists() || !queue.valid() || cluster.MayUse(queue, quota)) return true;
  // Taken by right, as the status that we wrote says; its group has moved to another queue since.
  const auto& taken = quota.object->status.tasks;
  return std::any_of(taken.begin(), taken.end(),
                     [&](const api::QuotaTask& row) { return row.uid == task.name; });
}

Votes CountVotes(const Cluster& cluster, const Quota& quota) {
  Votes votes;
  for (const TaskId id : quota.users) {
    const Task& task = cluster.tasks()[id];
    if (task.claim.open()) {
      if (task.claim.node.valid() && !votes.claimed.valid()) votes.claimed = task.claim.node;
      continue;
    }
    if (!task.holds_room() || !Authorised(cluster, task, quota)) continue;
    if (task.facts->deleting) {
      votes.leaving = task.node;
    } else {
      votes.split = votes.split || (votes.node.valid() && votes.node != task.node);
      if (!votes.node.valid()) votes.node = task.node;
    }
  }
  return votes;
}

NodeId DecideNode(const Cluster& cluster, const Quota& quota, const Votes& votes) {
  if (votes.split) return quota.status_node;
  if (votes.node.valid()) return votes.node;
  if (votes.claimed.valid()) return votes.claimed;
  if (quota.chosen.valid()) return quota.chosen;
  // What hangs on a dead node doesn't hold the quota there.
  if (votes.leaving.valid() && !cluster.nodes()[votes.leaving].lost) return votes.leaving;
  if (!quota.reserved.empty()) return quota.kept;
  if (!quota.status_node.valid() || !quota.exists()) return {};
  // A status that names tasks which are gone is a picture of the past, not a binding; one without
  // tasks was set by another hand (static binding), and holds while its node does.
  const api::QuotaStatus& status = quota.object->status;
  if (quota.refused || cluster.nodes()[quota.status_node].lost) return {};
  const auto& fixed = status.static_bind_status;
  const bool there = fixed && fixed->node_name == status.node_name;
  if (there && fixed->bound && quota.static_node == quota.status_node) return quota.status_node;
  if (!status.tasks.empty() || !status.reserved_tasks.empty()) return {};
  // Its controller wants it there no longer, or another node is asked for.
  if (there && !fixed->bound && quota.object->spec.static_bind_node.empty()) return {};
  if (quota.static_node.valid() && quota.static_node != quota.status_node &&
      !cluster.nodes()[quota.static_node].forsaken)
    return {};
  return quota.status_node;
}

bool Counts(const Cluster& cluster, const Task& task, const Quota& quota, NodeId node) {
  if (task.claim.open()) return true;
  return node.valid() && task.node == node && task.holds_room() && Authorised(cluster, task, quota);
}

}  // namespace

bool Cluster::MayUse(QueueId queue, const Quota& quota) const {
  return std::binary_search(quota.queues.begin(), quota.queues.end(), queue);
}

void Cluster::Recount(QuotaId id) {
  if (!quotas_.Live(id)) return;
  const Votes votes = CountVotes(*this, quotas_[id]);
  const NodeId before = quotas_[id].node;
  const NodeId node = DecideNode(*this, quotas_[id], votes);
  Quota& quota = Mutable(id);
  quota.split = votes.split;
  quota.node = node;
  quota.tasks.clear();
  quota.task_sum = Resources{};
  for (const TaskId user : quota.users) {
    if (tasks_[user].node.valid()) Dirty(tasks_[user].node);  // an orphan there, or no longer one
    if (!Counts(*this, tasks_[user], quota, node)) continue;
    quota.tasks.push_back(user);
    quota.task_sum += tasks_[user].facts->request;
  }
  quota.reserved_sum = Resources{};
  const auto counted = [&](TaskId task) {
    return task.valid() && std::binary_search(quota.tasks.begin(), quota.tasks.end(), task);
  };
  for (const Reservation& one : quota.reserved)
    if (!counted(one.heir) && !counted(tasks_.Find(one.pod_uid))) quota.reserved_sum += one.request;
  quota.charge = Resources::Max(quota.request, quota.task_sum + quota.reserved_sum);
  if (before != node) NoteMoved(quota);
  if (before != node && before.valid()) EraseSorted(Mutable(before).quotas, id);
  if (before != node && node.valid()) InsertSorted(Mutable(node).quotas, id);
  for (const NodeId concerned : {before, node, quota.planned})
    if (concerned.valid()) Dirty(concerned);
  if (before.valid() && before != node) FreeIfUnused(before);
  NoteShelf(id);
}

void Cluster::Recount(NodeId id) {
  if (!nodes_.Live(id)) return;
  Node& node = Mutable(id);
  const Resources requests = node.quota_requests, committed = node.committed, free = node.Free(),
                  evictable = node.evictable;
  const SpotUse spot = node.spot;
  RecountUse(id);
  node.quota_requests = node.committed = Resources{};
  for (const TaskId task_id : node.tasks) {
    const Task& task = tasks_[task_id];
    // Spot pods are charged to nobody: they give way.
    if (task.facts->direct()) continue;
    const bool counted = task.quota.valid() && quotas_[task.quota].node == id &&
                         std::binary_search(quotas_[task.quota].tasks.begin(),
                                            quotas_[task.quota].tasks.end(), task_id);
    if (counted) continue;
    node.committed += task.facts->request;
    if (task.facts->spot == SpotMode::kNone) continue;
    Resources cards;  // a stranger's: at most a card a unit
    cards.Set(task.facts->spot_device, task.facts->spot_asked());
    node.committed += cards;
  }
  for (const QuotaId quota : node.quotas) {
    node.quota_requests += quotas_[quota].request;
    node.committed += quotas_[quota].charge;
  }
  for (const QuotaId quota : node.planned_quotas)
    if (quotas_[quota].node != id) node.committed += quotas_[quota].charge;
  NoteCells(id, AnyLess(node.committed, committed) || AnyLess(node.quota_requests, requests) ||
                    (spot != SpotUse{} &&
                     (AnyLess(free, node.Free()) || AnyLess(evictable, node.evictable))));
}

void Cluster::NoteWaiting(JobId id) {
  if (jobs_.Live(id) && jobs_[id].waiting > 0)
    waiting_jobs_.insert(id);
  else
    waiting_jobs_.erase(id);
  attraction_.Note(id, jobs_.Live(id) ? std::string_view(jobs_[id].affinity_key) : "");
}

// Its tasks that have no node of their own yet.
void Cluster::NoteMoved(const Quota& quota) {
  for (const TaskId user : quota.users)
    if (!tasks_[user].bound()) moves_.Note(user, tasks_.size());
}

NodeId Cluster::PlaceOf(TaskId id) const {
  const Task& task = tasks_[id];
  if (task.bound() || !task.claim.open()) return task.node;
  if (task.claim.node.valid() || !task.claim.quota.valid()) return task.claim.node;
  return quotas_[task.claim.quota].place();
}

void Cluster::NoteSets(TaskId id) {
  moves_.Note(id, tasks_.size());
  const bool waits = tasks_.Live(id) && tasks_[id].facts->grouping == Grouping::kAwaitsGroup &&
                     !tasks_[id].bound() && !tasks_[id].facts->terminal &&
                     !tasks_[id].facts->deleting;
  if (waits)
    ungrouped_.insert(id);
  else
    ungrouped_.erase(id);
  const Claim& claim = tasks_[id].claim;
  const bool held =
      tasks_.Live(id) && claim.open() && claim.phase != Claim::Phase::kToQuota && !claim.approved;
  if (held)
    unapproved_.insert(id);
  else
    unapproved_.erase(id);
  if (tasks_.Live(id) && tasks_[id].facts->quota_terms && !tasks_[id].facts->terminal)
    with_notes_.insert(id);
  else
    with_notes_.erase(id);
}

void Cluster::Recount(JobId id) {
  if (!jobs_.Live(id)) return NoteWaiting(id);
  Job& job = Mutable(id);
  job.ranked.clear();
  job.ready = job.bound = job.placeable = job.waiting = 0;
  job.spot = job.needs_rdma = job.started = job.whole = job.complete = false;
  const bool roles = job.object && !job.object->spec.min_task_member.empty();
  std::map<std::string_view, int64_t> bound_of, ready_of;  // role → members
  int32_t highest = INT32_MIN;
  for (const TaskId member : job.members) {
    const Task& task = tasks_[member];
    const bool succeeded = task.state == TaskState::kSucceeded;
    if (succeeded || (task.bound() && !task.facts->terminal && !task.facts->deleting)) {
      ++job.bound;
      if (roles) ++bound_of[task.facts->role], ++ready_of[task.facts->role];
    }
    if (task.facts->terminal || task.facts->deleting) {
      job.ready += succeeded ? 1 : 0;
      job.started = job.started || succeeded;
      continue;
    }
    job.ranked.push_back(member);
    const bool placed = task.bound() || task.claim.open();
    job.ready += placed ? 1 : 0;
    if (roles && task.claim.open()) ++ready_of[task.facts->role];
    job.started = job.started || placed;
    job.placeable += task.placeable() ? 1 : 0;
    job.waiting += placed ? 0 : 1;
    job.needs_rdma = job.needs_rdma || task.facts->needs_rdma;
    job.spot = job.spot || task.facts->direct();
    highest = std::max(highest, task.facts->priority);
  }
  std::sort(job.ranked.begin(), job.ranked.end(), [&](TaskId a, TaskId b) {
    const PodFacts& x = *tasks_[a].facts;
    const PodFacts& y = *tasks_[b].facts;
    if (x.role != y.role) {
      const int rank_x = RoleRank(job, x.role), rank_y = RoleRank(job, y.role);
      return rank_x != rank_y ? rank_x < rank_y : NaturalLess{}(x.role, y.role);
    }
    const int64_t index_x = x.index.value_or(INT64_MAX), index_y = y.index.value_or(INT64_MAX);
    if (index_x != index_y) return index_x < index_y;
    if (x.meta().name != y.meta().name) return NaturalLess{}(x.meta().name, y.meta().name);
    return x.meta().uid < y.meta().uid;
  });
  job.affinity_key = AffinityKeyOf(*this, job);
  NoteWaiting(id);
  job.needed = 1;
  job.priority = highest == INT32_MIN ? 0 : highest;
  job.priority_class_missing = false;
  job.whole = job.bound >= job.needed;
  job.complete = job.ready >= job.needed;
  if (!job.object) return;
  int64_t minima = 0;
  bool each_bound = true, each_ready = true;
  for (const auto& [role, least] : job.object->spec.min_task_member) {
    minima += least;
    each_bound = each_bound && bound_of[role] >= least;
    each_ready = each_ready && ready_of[role] >= least;
  }
  job.needed = static_cast<int32_t>(
      std::clamp<int64_t>(std::max<int64_t>(job.object->spec.min_member, minima), 1, INT32_MAX));
  job.whole = each_bound && job.bound >= job.needed;
  job.complete = each_ready && job.ready >= job.needed;
  const std::string& wanted = job.object->spec.priority_class_name;
  if (wanted.empty()) return;
  const auto found = priority_classes_.values.find(wanted);
  job.priority_class_missing = found == priority_classes_.values.end();
  job.priority = job.priority_class_missing ? 0 : found->second;
}

void Cluster::RecountState(TaskId id) {
  Task& task = tasks_[id];
  const PodFacts& facts = *task.facts;
  const std::string& phase = facts.pod->status.phase;
  TaskState state = TaskState::kPending;
  if (facts.terminal) {
    state = phase == "Succeeded" ? TaskState::kSucceeded : TaskState::kFailed;
  } else if (facts.deleting) {
    state = TaskState::kReleasing;
  } else if (!facts.node_name.empty()) {
    state = phase == "Running"   ? TaskState::kRunning
            : phase == "Unknown" ? TaskState::kUnknown
                                 : TaskState::kBound;
  } else if (task.claim.open()) {
    switch (task.claim.phase) {
      case Claim::Phase::kToQuota:
        state = TaskState::kAllocatedToQuota;
        break;
      case Claim::Phase::kSending:
        state = TaskState::kBinding;
        break;
      default:
        state = TaskState::kAllocated;
        break;
    }
  } else if (facts.gated) {
    state = TaskState::kGated;
  }
  task.state = state;
  NoteSets(id);
}

void Cluster::FlushLedgers() {
  while (!dirty_quotas_.empty())
    for (const QuotaId id : TakeUnique(dirty_quotas_)) Recount(id);
  while (!dirty_nodes_.empty())
    for (const NodeId id : TakeUnique(dirty_nodes_)) Recount(id);
}

void Cluster::Flush() {
  FlushLedgers();
  for (const JobId id : TakeUnique(dirty_jobs_)) Recount(id);
}

}  // namespace sky::model
