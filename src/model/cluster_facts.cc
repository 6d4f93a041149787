// SPDX-License-Identifier: Apache-2.0
// The facts: what objects say and what we decided. Each call links rows, marks what must be
// recounted, and frees rows that nothing names any more.
#include <algorithm>

#include "api/json.h"
#include "api/keys.h"
#include "api/validate.h"
#include "base/natural.h"
#include "model/cluster.h"
#include "model/facts.h"
#include "model/quota_terms.h"

namespace sky::model {
namespace {

bool NodeReady(const api::Node& node) {
  const api::Condition* ready = node.FindCondition("Ready");
  return ready != nullptr && ready->status == "True";
}

// All that a NodeStatic predicate may read of a node.
bool SameStatics(const api::Node& a, const api::Node& b) {
  return a.metadata.labels == b.metadata.labels && a.spec == b.spec &&
         NodeReady(a) == NodeReady(b) && a.metadata.deleting() == b.metadata.deleting();
}

// The rows that a pod is linked to follow from these alone.
bool SameLinks(const PodFacts& a, const PodFacts& b) {
  return a.job_key == b.job_key && a.node_name == b.node_name && a.quota_name == b.quota_name &&
         a.terminal == b.terminal && a.grouping == b.grouping;
}

// Labels that nobody has asked about yet: quotas that differ in them were alike until now.
bool LearnKeys(Names& names, const api::QuotaTerms& terms) {
  const size_t known = names.quota_keys.size();
  for (const std::string& key : KeysReadBy(terms)) names.quota_keys.Intern(key);
  return names.quota_keys.size() != known;
}

// Does no row say anything else because of it? Statuses that others and we write: conditions above
// all. A sleeping job must not wake for them.
bool SameForRows(const PodFacts& a, const PodFacts& b) {
  return SameLinks(a, b) && a.request == b.request && a.priority == b.priority &&
         a.role == b.role && a.index == b.index && a.gated == b.gated && a.deleting == b.deleting &&
         a.tolerates_cordon == b.tolerates_cordon && a.needs_rdma == b.needs_rdma &&
         a.network == b.network && a.required_quota == b.required_quota &&
         a.task_class == b.task_class && a.problem == b.problem &&
         a.pod->status.phase == b.pod->status.phase && a.meta().labels == b.meta().labels &&
         a.meta().annotations == b.meta().annotations;
}

}  // namespace

Task& Cluster::Mutable(TaskId id) { return touched_.tasks.push_back(id), tasks_[id]; }
Quota& Cluster::Mutable(QuotaId id) { return touched_.quotas.push_back(id), quotas_[id]; }
Node& Cluster::Mutable(NodeId id) { return touched_.nodes.push_back(id), nodes_[id]; }
Job& Cluster::Mutable(JobId id) {
  touched_.jobs.push_back(id);
  jobs_[id].tick = Tick();
  return jobs_[id];
}
Queue& Cluster::Mutable(QueueId id) { return touched_.queues.push_back(id), queues_[id]; }
JobQueue& Cluster::Mutable(JobQueueId id) {
  return touched_.job_queues.push_back(id), job_queues_[id];
}
void Cluster::Dirty(QuotaId id) { dirty_quotas_.push_back(id); }
void Cluster::Dirty(NodeId id) { dirty_nodes_.push_back(id); }
void Cluster::Dirty(JobId id) { dirty_jobs_.push_back(id); }

NodeId Cluster::RefNode(std::string_view name) {
  const NodeId id = nodes_.FindOrAdd(name);
  ++Mutable(id).refs;
  return id;
}

void Cluster::UnrefNode(NodeId id) {
  if (!id.valid()) return;
  --Mutable(id).refs;
  FreeIfUnused(id);
}

void Cluster::FreeIfUnused(NodeId id) {
  const Node& node = nodes_[id];
  if (!node.live || node.object || node.refs > 0 || !node.tasks.empty() || !node.quotas.empty() ||
      !node.planned_quotas.empty() || !node.direct.empty())
    return;
  touched_.nodes.push_back(id);
  nodes_.Free(id);
}

void Cluster::FreeIfUnused(QuotaId id) {
  const Quota& quota = quotas_[id];
  if (!quota.live || quota.object || !quota.users.empty()) return;
  const NodeId node = quota.node;
  if (node.valid()) {
    EraseSorted(Mutable(node).quotas, id);
    Dirty(node);
  }
  touched_.quotas.push_back(id);
  quotas_.Free(id);
  NoteShelf(id);
  if (node.valid()) FreeIfUnused(node);
}

void Cluster::FreeIfUnused(JobId id) {
  const Job& job = jobs_[id];
  if (!job.live || job.object || !job.members.empty()) return;
  const QueueId queue = job.queue;
  touched_.jobs.push_back(id);
  jobs_.Free(id);
  NoteWaiting(id);
  UnrefQueue(queue);
}

void Cluster::Detach(TaskId id) {
  Task& task = Mutable(id);
  const JobId job = std::exchange(task.job, JobId{});
  const NodeId node = std::exchange(task.node, NodeId{});
  const QuotaId quota = std::exchange(task.quota, QuotaId{});
  if (job.valid()) {
    EraseSorted(Mutable(job).members, id);
    Dirty(job);
    FreeIfUnused(job);
  }
  if (node.valid()) {
    EraseSorted(Mutable(node).tasks, id);
    Dirty(node);
    FreeIfUnused(node);
  }
  if (quota.valid()) {
    EraseSorted(Mutable(quota).users, id);
    Dirty(quota);
    FreeIfUnused(quota);
  }
}

void Cluster::Attach(TaskId id) {
  Task& task = Mutable(id);
  const PodFacts& facts = *task.facts;
  if (!facts.job_key.empty()) {
    task.job = jobs_.FindOrAdd(facts.job_key);
    Job& job = Mutable(task.job);
    InsertSorted(job.members, id);
    if (facts.grouping == Grouping::kSingle) {
      job.single = true;
      job.notes = ReadJobNotes(facts.meta());
      if (!job.queue.valid()) AssignQueue(task.job, "default");
    }
    Dirty(task.job);
  }
  if (!facts.node_name.empty() && !facts.terminal) {
    task.node = nodes_.FindOrAdd(facts.node_name);
    InsertSorted(Mutable(task.node).tasks, id);
    Dirty(task.node);
    // The claim was for this: the pod is the record from now on.
    if (task.claim.open()) SetClaim(id, Claim{});
    if (!facts.quota_name.empty()) {
      task.quota = quotas_.FindOrAdd(facts.quota_name);
      InsertSorted(Mutable(task.quota).users, id);
      Dirty(task.quota);
    }
  } else if (task.claim.open() && (facts.deleting || facts.terminal || !task.job.valid())) {
    SetClaim(id, Claim{});
  }
}

void Cluster::SetPod(std::shared_ptr<const PodFacts> facts) {
  const std::string& uid = facts->meta().uid;
  // A finished pod that nobody counts as a member is of no interest: it must cost nothing.
  if (facts->terminal && facts->job_key.empty()) return RemovePod(uid);
  TaskId id = tasks_.Find(uid);
  const bool known = id.valid();
  if (known && SameForRows(*tasks_[id].facts, *facts)) {
    Mutable(id).facts = std::move(facts);
    return;
  }
  if (facts->quota_terms && (!known || tasks_[id].facts->task_class != facts->task_class))
    if (const auto terms = ReadQuotaTerms(facts->meta().Annotation(api::key::kPodQuotaAffinity));
        terms && LearnKeys(*names_, *terms))
      ClassifyAll();
  if (known) TakeUse(id);
  if (!known) id = tasks_.FindOrAdd(uid);
  const auto before = std::exchange(Mutable(id).facts, std::move(facts));
  NoteClaims(id, before.get(), tasks_[id].facts.get());
  if (known && SameLinks(*before, *tasks_[id].facts)) {
    const Task& task = tasks_[id];
    if (task.job.valid()) Dirty(task.job);
    if (task.node.valid()) Dirty(task.node);
    if (const QuotaId quota = task.used_quota(); quota.valid()) Dirty(quota);
    if (task.facts->grouping == Grouping::kSingle)
      Mutable(task.job).notes = ReadJobNotes(task.facts->meta());
    if (task.facts->deleting && !task.node.valid()) SetClaim(id, Claim{});
  } else {
    if (known) Detach(id);
    Attach(id);
  }
  AddUse(id);
  RecountState(id);
}

void Cluster::RemovePod(std::string_view uid) {
  const TaskId id = tasks_.Find(uid);
  if (!id.valid()) return;
  SetClaim(id, Claim{});
  NoteClaims(id, tasks_[id].facts.get(), nullptr);
  TakeUse(id);
  Detach(id);
  touched_.tasks.push_back(id);
  tasks_.Free(id);
  NoteSets(id);
}

void Cluster::SetPodGroup(std::shared_ptr<const api::PodGroup> object) {
  const JobId id = jobs_.FindOrAdd(object->metadata.Key());
  Job& job = Mutable(id);
  job.invalid = api::Describe(api::Validate(*object));
  job.notes = ReadJobNotes(object->metadata);
  job.object = std::move(object);
  const std::string& queue = job.object->spec.queue;
  AssignQueue(id, queue.empty() ? "default" : queue);
  AssignLine(id);
  Dirty(id);
}

void Cluster::RemovePodGroup(std::string_view key) {
  const JobId id = jobs_.Find(key);
  if (!id.valid()) return;
  Job& job = Mutable(id);
  job.object = nullptr;
  // Nothing that it said outlives it: a process that starts now would never have heard it.
  job.invalid.clear();
  job.notes = {};
  AssignQueue(id, "");
  AssignLine(id);
  Dirty(id);
  FreeIfUnused(id);
}

void Cluster::SetQuota(std::shared_ptr<const api::Quota> object, const Settings& settings) {
  const QuotaId id = quotas_.FindOrAdd(object->metadata.name);
  const api::QuotaSpec& spec = object->spec;
  std::vector<QueueId> queues;
  for (const std::string& name : spec.shared_queues) InsertSorted(queues, RefQueue(name));
  if (!spec.queue_name.empty()) InsertSorted(queues, RefQueue(spec.queue_name));
  const NodeId status_node =
      object->status.node_name.empty() ? NodeId{} : RefNode(object->status.node_name);

  Quota& quota = Mutable(id);
  const std::vector<QueueId> old_queues = std::exchange(quota.queues, queues);
  const NodeId old_status = std::exchange(quota.status_node, status_node);
  if (!status_node.valid()) quota.refused.reset();  // the refusal is carried out
  const auto old_object = std::exchange(quota.object, std::move(object));
  quota.invalid = api::Describe(api::Validate(*quota.object));
  quota.request = FromList(spec.request, names_->resources);
  quota.shadow = FromList(quota.object->status.shadow_resource, names_->resources);
  quota.listed.clear();
  for (const auto& entry : spec.request)
    InsertSorted(quota.listed, names_->resources.Intern(entry.first));
  quota.spec = SpecOf(spec.node_selector, settings, *names_);
  const ClassId old_class = quota.quota_class;
  if (old_queues != queues) {
    for (const QueueId queue : old_queues) TakeFromQueue(queue, id, old_class);
    quotas_[id].quota_class = ClassId{};
  }
  const std::string asked = StaticNodeOf(*quotas_[id].object);
  AskStatic(id, asked.empty() ? NodeId{} : RefNode(asked));
  Classify(id);
  if (const auto& terms = quotas_[id].object->spec.affinity; terms && terms->quota)
    if (LearnKeys(*names_, *terms->quota)) ClassifyAll();
  // One reference a mention: the old object's mentions go after the new one's came.
  if (old_object) {
    for (const std::string& name : old_object->spec.shared_queues) UnrefQueue(queues_.Find(name));
    if (!old_object->spec.queue_name.empty()) UnrefQueue(queues_.Find(old_object->spec.queue_name));
  }
  UnrefNode(old_status);
  Dirty(id);
}

// Takes the reference to `node` over.
void Cluster::AskStatic(QuotaId id, NodeId node) {
  const NodeId before = std::exchange(Mutable(id).static_node, node);
  if (before.valid() && before != node) EraseSorted(Mutable(before).static_quotas, id);
  if (node.valid() && before != node) InsertSorted(Mutable(node).static_quotas, id);
  UnrefNode(before);
}

void Cluster::ClassifyAll() {
  for (size_t i = 0; i < quotas_.size(); ++i)
    if (quotas_[QuotaId(i)].live && quotas_[QuotaId(i)].object) Classify(QuotaId(i));
}

// Quotas of one class are as good as each other. One that waits to be put on its node isn't like
// those that may go to any.
void Cluster::Classify(QuotaId id) {
  Quota& quota = Mutable(id);
  api::Quota same;
  same.spec = quota.object->spec;
  same.spec.static_bind_node.clear();
  for (const auto& [key, value] : quota.object->metadata.labels)
    if (names_->quota_keys.Has(key)) same.metadata.labels.emplace(key, value);
  if (quota.static_node.valid() && quota.static_node != quota.status_node &&
      !nodes_[quota.static_node].forsaken)
    same.spec.static_bind_node = nodes_[quota.static_node].name;
  const ClassId before =
      std::exchange(quota.quota_class, names_->classes.Intern(api::Encode(same)));
  if (before == quota.quota_class) return;
  for (const QueueId queue : std::vector<QueueId>(quota.queues)) {
    if (before.valid()) TakeFromQueue(queue, id, before);
    InsertSorted(Mutable(queue).quotas, id);
    ++queues_[queue].classes[quotas_[id].quota_class];
  }
  Dirty(id);
}

void Cluster::TakeFromQueue(QueueId id, QuotaId quota, ClassId quota_class) {
  Queue& queue = Mutable(id);
  EraseSorted(queue.quotas, quota);
  const auto of_class = queue.classes.find(quota_class);
  if (--of_class->second == 0) queue.classes.erase(of_class);
}

void Cluster::RemoveQuota(std::string_view name) {
  const QuotaId id = quotas_.Find(name);
  if (!id.valid() || !quotas_[id].object) return;
  if (!quotas_[id].reserved.empty()) SetReserved(id, {}, {});
  Quota& quota = Mutable(id);
  const auto object = std::exchange(quota.object, nullptr);
  for (const QueueId queue : std::exchange(quota.queues, {}))
    TakeFromQueue(queue, id, quota.quota_class);
  const NodeId status_node = std::exchange(quota.status_node, NodeId{});
  quota.request = quota.shadow = Resources{};
  quota.listed.clear();
  quota.invalid.clear();
  quota.refused.reset();
  quota.quota_class = ClassId{};
  AskStatic(id, NodeId{});
  for (const std::string& queue : object->spec.shared_queues) UnrefQueue(queues_.Find(queue));
  if (!object->spec.queue_name.empty()) UnrefQueue(queues_.Find(object->spec.queue_name));
  UnrefNode(status_node);
  Dirty(id);
  // Pods that still use it keep the row, and are counted by it, until they end.
  FreeIfUnused(id);
}

void Cluster::SetNode(std::shared_ptr<const api::Node> object, const Settings& settings) {
  const NodeId id = nodes_.FindOrAdd(object->metadata.name);
  Node& node = Mutable(id);
  const Node before = node;
  const auto known = node.object;
  if (!node.object || !SameStatics(*node.object, *object))
    node.static_generation = ++static_generation_;
  node.object = std::move(object);
  node.allocatable = FromList(node.object->status.allocatable, names_->resources);
  uses_.Offer(before.allocatable, node.allocatable);
  node.ready = NodeReady(*node.object);
  node.unschedulable = node.object->spec.unschedulable;
  node.spec = SpecOf(node.object->metadata.labels, settings, *names_);
  node.problem.clear();
  node.index = NodeIndexOf(node.object->metadata, &node.problem);
  // No predicate reads it, but the order of a gang's ranks rests on it.
  if (node.index != before.index) node.static_generation = ++static_generation_;
  ZoneOverrideOf(node.object->metadata, &node.problem);
  node.pools = SpotPoolsOf(node.object->metadata, &node.problem);
  node.mounts = MountsOf(*node.object, settings.mount_tolerance);
  if (!known || node.ready != before.ready || !(node.allocatable == before.allocatable))
    for (const QuotaId quota : node.static_quotas) Dirty(quota);
  MoveInCells(id, before);
  NoteCells(id, true);
  Dirty(id);
}

void Cluster::RemoveNode(std::string_view name) {
  const NodeId id = nodes_.Find(name);
  if (!id.valid()) return;
  Node& node = Mutable(id);
  const Node before = node;
  node.object = nullptr;
  node.allocatable = Resources{};
  uses_.Offer(before.allocatable, node.allocatable);
  node.ready = false;
  node.mounts.clear();
  node.static_generation = ++static_generation_;
  for (const QuotaId quota : node.static_quotas) Dirty(quota);
  MoveInCells(id, before);
  Dirty(id);
  FreeIfUnused(id);
}

void Cluster::SetNodeZones(std::string_view name, const NodeZones& zones) {
  const bool any = zones.any();
  NodeId id = nodes_.Find(name);
  if (!id.valid() && !any) return;
  if (!id.valid()) id = nodes_.FindOrAdd(name);
  if (nodes_[id].zones == zones) return FreeIfUnused(id);
  Node& node = Mutable(id);
  const Node before = node;
  const bool had = before.zones.any();
  node.zones = zones;
  node.refs += static_cast<int>(any) - static_cast<int>(had);
  node.static_generation = ++static_generation_;
  MoveInCells(id, before);
  FreeIfUnused(id);
}

void Cluster::SetNodeLost(NodeId id, bool lost) {
  if (!nodes_.Live(id) || nodes_[id].lost == lost) return;
  Node& node = Mutable(id);
  node.lost = lost;
  node.static_generation = ++static_generation_;  // who waits for its zone no longer does, or again
  for (const QuotaId quota : nodes_[id].quotas) Dirty(quota);
  // Pods that hang on a dead node don't hold their quota there.
  for (const TaskId task : nodes_[id].tasks)
    if (const QuotaId quota = tasks_[task].quota; quota.valid()) Dirty(quota);
  // Statuses that name it hold again when it is back.
  for (size_t i = 0; i < quotas_.size() && !lost; ++i)
    if (quotas_[QuotaId(i)].live && quotas_[QuotaId(i)].status_node == id) Dirty(QuotaId(i));
}

// Its quotas may go anywhere from now on, or only there again.
void Cluster::SetNodeForsaken(NodeId id, bool forsaken) {
  if (!nodes_.Live(id) || nodes_[id].forsaken == forsaken) return;
  Mutable(id).forsaken = forsaken;
  for (const QuotaId quota : std::vector<QuotaId>(nodes_[id].static_quotas)) {
    Classify(quota);
    Dirty(quota);
  }
}

void Cluster::SetRefused(QuotaId id, std::optional<WallTime> since) {
  Mutable(id).refused = since;
  Dirty(id);
}

void Cluster::SetUnconfirmed(JobId id, bool unconfirmed) {
  if (jobs_.Live(id) && jobs_[id].unconfirmed != unconfirmed) Mutable(id).unconfirmed = unconfirmed;
}

void Cluster::SetBackoff(JobId id, Reason reason, std::string why, std::vector<std::string> last) {
  if (!jobs_.Live(id)) return;
  const Job& now = jobs_[id];
  if (now.backoff == reason && now.backoff_why == why && now.last_nodes == last) return;
  Job& job = Mutable(id);
  job.backoff = reason;
  job.backoff_why = std::move(why);
  job.last_nodes = std::move(last);
}

void Cluster::SetPriorityClass(std::string_view name, std::optional<int32_t> value,
                               bool global_default) {
  const std::string key(name);
  priority_classes_.values.erase(key);
  priority_classes_.global_defaults.erase(key);
  if (value) priority_classes_.values.emplace(key, *value);
  if (value && global_default) priority_classes_.global_defaults.emplace(key, *value);
  // A class is rarely touched and may concern any job.
  for (size_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[JobId(i)].live) Dirty(JobId(i));
}

void Cluster::SetClaim(TaskId id, const Claim& claim) {
  Task& task = Mutable(id);
  if (task.claim == claim) return;
  TakeUse(id);
  const Claim before = std::exchange(task.claim, claim);
  AddUse(id);
  if (before.quota.valid() && before.quota != claim.quota) {
    EraseSorted(Mutable(before.quota).users, id);
    Dirty(before.quota);
  }
  if (claim.quota.valid()) {
    InsertSorted(Mutable(claim.quota).users, id);
    Dirty(claim.quota);
  }
  const auto direct = [](const Claim& one) { return one.quota.valid() ? NodeId{} : one.node; };
  if (const NodeId there = direct(before); there.valid()) {
    EraseSorted(Mutable(there).direct, id);
    Dirty(there);
  }
  if (const NodeId there = direct(claim); there.valid()) {
    InsertSorted(Mutable(there).direct, id);
    Dirty(there);
  }
  if (task.job.valid()) Dirty(task.job);
  RecountState(id);
  if (before.quota.valid() && before.quota != claim.quota) FreeIfUnused(before.quota);
  if (const NodeId there = direct(before); there.valid()) FreeIfUnused(there);
}

void Cluster::PlanQuota(QuotaId id, NodeId node) {
  Quota& quota = Mutable(id);
  const NodeId before = std::exchange(quota.planned, node);
  NoteMoved(quota);
  if (before.valid()) {
    EraseSorted(Mutable(before).planned_quotas, id);
    Dirty(before);
  }
  if (node.valid()) {
    InsertSorted(Mutable(node).planned_quotas, id);
    Dirty(node);
  }
  NoteShelf(id);
}

void Cluster::BindQuota(QuotaId id, NodeId node) {
  Mutable(id).chosen = node;
  Dirty(id);
}

}  // namespace sky::model
