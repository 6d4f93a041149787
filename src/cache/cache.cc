// SPDX-License-Identifier: Apache-2.0
// Deltas in and snapshots out; assume.cc holds the commit, picture.cc the statuses.
#include "cache/cache.h"

#include <algorithm>

#include "base/check.h"
#include "model/facts.h"

namespace sky::cache {

using model::Cluster;
using model::NodeId;
using model::QuotaId;
using model::TaskId;

namespace {

// What a pod's new state means: room came or went, or a task can be placed.
bool PodMatters(const model::PodFacts* before, const model::PodFacts& after) {
  const bool ours = after.grouping != model::Grouping::kForeign;
  if (before == nullptr) return ours || !after.node_name.empty();
  if (before->terminal != after.terminal || before->deleting != after.deleting) return true;
  if (before->gated != after.gated || before->job_key != after.job_key) return true;
  if (before->node_name != after.node_name) return true;
  return !(before->request == after.request) || before->task_class != after.task_class;
}

bool SameForUs(const api::Node& a, const api::Node& b, Duration mount_tolerance) {
  const auto ready = [](const api::Node& node) {
    const api::Condition* condition = node.FindCondition("Ready");
    return condition != nullptr && condition->status == "True";
  };
  return a.metadata.uid == b.metadata.uid && a.metadata.labels == b.metadata.labels &&
         a.metadata.annotations == b.metadata.annotations && a.spec == b.spec &&
         a.status.allocatable == b.status.allocatable && ready(a) == ready(b) &&
         a.metadata.deleting() == b.metadata.deleting() &&
         model::MountsOf(a, mount_tolerance) == model::MountsOf(b, mount_tolerance);
}

api::ObjectReference Reference(const api::ObjectMeta& topology) {
  api::ObjectReference reference;
  reference.kind = "NodeTopology";
  reference.api_version = fmt::format("{}/{}", api::kGroup, api::kVersion);
  reference.name = topology.name;
  reference.uid = topology.uid;
  return reference;
}

}  // namespace

Cache::Cache(std::shared_ptr<model::Names> names, model::Settings settings)
    : names_(std::move(names)),
      settings_(std::move(settings)),
      cluster_(names_),
      reservations_(settings_.reservation_ttl),
      wirings_(names_, settings_.zone_hold_down) {}

void Cache::SetNow(Instant now) {
  const std::lock_guard lock(mutex_);
  now_ = now.mono;
  wall_ = now.wall;
  spot_pods_.Judge(cluster_, wall_, settings_.min_run_time);
  if (reservations_.Due(wall_)) JudgeReservations();
}

Effect Cache::Apply(const api::Delta<api::Pod>& delta) {
  using Type = api::Delta<api::Pod>::Type;
  // Parsing what the pod says is the costly part: outside the lock.
  std::shared_ptr<const model::PodFacts> facts;
  if (delta.type != Type::kDelete) facts = model::MakePodFacts(delta.object, settings_, *names_);
  const std::lock_guard lock(mutex_);
  const std::string& uid = delta.object->metadata.uid;
  const TaskId id = cluster_.tasks().Find(uid);
  if (delta.type == Type::kDelete) {
    if (!id.valid()) return Effect::kNothing;
    const std::string job = cluster_.tasks()[id].facts->job_key;
    const auto held = reservations_.HeldBy(cluster_, uid);
    cluster_.RemovePod(uid);
    if (held) reservations_.Lost(cluster_, *held, nullptr, wall_);
    ForgetGone(job);
    return Effect::kRelevant;
  }
  const auto before = id.valid() ? cluster_.tasks()[id].facts : nullptr;
  // Our own binding comes back: nobody gains by it.
  const bool echo = before && id.valid() && before->node_name.empty() &&
                    !facts->node_name.empty() && cluster_.tasks()[id].claim.node.valid() &&
                    cluster_.nodes()[cluster_.tasks()[id].claim.node].name == facts->node_name;
  // An event from before our acknowledged binding must not undo it.
  if (before && !before->node_name.empty() && facts->node_name.empty()) return Effect::kNothing;
  const bool ends = before && facts->terminal && !before->terminal;
  // Its grace may be cut short.
  const bool leaves = facts->deleting && !(before && before->meta().deletion_timestamp ==
                                                         facts->meta().deletion_timestamp);
  auto held = before && (ends || leaves) ? reservations_.HeldBy(cluster_, uid) : std::nullopt;
  cluster_.SetPod(facts);
  if (leaves && !before) held = reservations_.HeldBy(cluster_, uid);
  if (ends && held && facts->pod->status.phase != "Succeeded")
    reservations_.Lost(cluster_, *held, facts->pod.get(), wall_);
  else if (leaves && held && !facts->terminal)
    reservations_.Leaving(cluster_, *held, facts->meta().deletion_timestamp.at.value_or(wall_));
  // Another group's member now: what was decided for the first one ends, unless it may land.
  if (before && before->job_key != facts->job_key &&
      cluster_.tasks()[id].claim.phase != model::Claim::Phase::kSending)
    cluster_.SetClaim(id, model::Claim{});
  if (!before && facts->grouping == model::Grouping::kGroup && facts->node_name.empty()) {
    news_[facts->job_key].member = ++sequence_;
    stale_groups_.insert(facts->job_key);
    cluster_.SetUnconfirmed(cluster_.jobs().Find(facts->job_key), true);
  }
  if (!PodMatters(before.get(), *facts)) return Effect::kQuiet;
  return echo ? Effect::kQuiet : Effect::kRelevant;
}

// Neither a group nor a member is left of it.
void Cache::ForgetGone(const std::string& job) {
  if (cluster_.jobs().Find(job).valid()) return;
  news_.erase(job);
  stale_groups_.erase(job);
}

Effect Cache::Apply(const api::Delta<api::Node>& delta) {
  using Type = api::Delta<api::Node>::Type;
  const std::lock_guard lock(mutex_);
  const std::string& name = delta.object->metadata.name;
  const NodeId id = cluster_.nodes().Find(name);
  if (delta.type == Type::kDelete) {
    if (!id.valid()) return Effect::kNothing;
    if (cluster_.nodes()[id].object &&
        cluster_.nodes()[id].object->metadata.uid != delta.object->metadata.uid)
      return Effect::kNothing;  // a late word about an older machine of the same name
    unready_since_.try_emplace(name, now_);
    cluster_.RemoveNode(name);
    if (!cluster_.nodes().Find(name).valid()) unready_since_.erase(name);
    NoteUsable(name);
    return Effect::kRelevant;
  }
  if (id.valid() && cluster_.nodes()[id].object &&
      SameForUs(*cluster_.nodes()[id].object, *delta.object, settings_.mount_tolerance))
    return Effect::kNothing;
  cluster_.SetNode(delta.object, settings_);
  const NodeId now_id = cluster_.nodes().Find(name);
  if (cluster_.nodes()[now_id].ready) {
    unready_since_.erase(name);
    cluster_.SetNodeLost(now_id, false);
  } else {
    unready_since_.try_emplace(name, now_);
  }
  NoteUsable(name);
  // The node's own annotation counts without a NodeTopology too.
  Rewire(name, nullptr, false);
  return Effect::kRelevant;
}

// By what its topology says, if there is one, and the node itself. Do any nodes have other zones
// now?
bool Cache::Rewire(const std::string& name, std::string* problem, bool at_once) {
  static const api::NodeTopology kNone;
  const auto topology = topologies_.find(name);
  const NodeId id = cluster_.nodes().Find(name);
  const auto node = id.valid() ? cluster_.nodes()[id].object : nullptr;
  std::string told;  // when the topology was applied
  const model::NodeWiring said = model::WiringOf(
      topology == topologies_.end() ? kNone : *topology->second, node ? &node->metadata : nullptr,
      settings_.zone_from_leaf_groups, *names_, problem ? problem : &told);
  return SetZones(wirings_.Set(name, said, now_, at_once));
}

bool Cache::SetZones(const Wirings::Nodes& nodes) {
  bool changed = false;
  for (const std::string& name : nodes) {
    const model::NodeZones zones = wirings_.Of(name);
    const NodeId id = cluster_.nodes().Find(name);
    changed = changed || (id.valid() ? cluster_.nodes()[id].zones != zones : zones.any());
    cluster_.SetNodeZones(name, zones);
  }
  return changed;
}

Effect Cache::Apply(const api::Delta<api::PodGroup>& delta) {
  const std::lock_guard lock(mutex_);
  const std::string key = delta.object->metadata.Key();
  const model::JobId id = cluster_.jobs().Find(key);
  const auto before = id.valid() ? cluster_.jobs()[id].object : nullptr;
  if (delta.type == api::Delta<api::PodGroup>::Type::kDelete) {
    if (!before || before->metadata.uid != delta.object->metadata.uid) return Effect::kNothing;
    cluster_.RemovePodGroup(key);
    ForgetGone(key);
    return Effect::kRelevant;
  }
  news_[key].group = ++sequence_;
  stale_groups_.erase(key);
  cluster_.SetPodGroup(delta.object);
  cluster_.SetUnconfirmed(cluster_.jobs().Find(key), false);
  // Statuses and conditions are others' and our own writing.
  const bool same = before && before->metadata.uid == delta.object->metadata.uid &&
                    before->spec == delta.object->spec &&
                    before->metadata.annotations == delta.object->metadata.annotations &&
                    before->metadata.labels == delta.object->metadata.labels;
  return same ? Effect::kQuiet : Effect::kRelevant;
}

Effect Cache::Apply(const api::Delta<api::Queue>& delta) {
  const std::lock_guard lock(mutex_);
  const model::QueueId id = cluster_.queues().Find(delta.object->metadata.name);
  const auto before = id.valid() ? cluster_.queues()[id].object : nullptr;
  if (delta.type == api::Delta<api::Queue>::Type::kDelete) {
    if (!before || before->metadata.uid != delta.object->metadata.uid) return Effect::kNothing;
    cluster_.RemoveQueue(delta.object->metadata.name);
    return Effect::kRelevant;
  }
  const bool same = before && before->metadata.uid == delta.object->metadata.uid &&
                    before->spec == delta.object->spec &&
                    before->status.state == delta.object->status.state;
  cluster_.SetQueue(delta.object);
  return same ? Effect::kQuiet : Effect::kRelevant;
}

Effect Cache::Apply(const api::Delta<api::JobQueue>& delta) {
  const std::lock_guard lock(mutex_);
  const std::string key = delta.object->metadata.Key();
  const model::JobQueueId id = cluster_.job_queues().Find(key);
  const auto before = id.valid() ? cluster_.job_queues()[id].object : nullptr;
  if (delta.type == api::Delta<api::JobQueue>::Type::kDelete) {
    if (!before || before->metadata.uid != delta.object->metadata.uid) return Effect::kNothing;
    cluster_.RemoveJobQueue(key);
    return Effect::kRelevant;
  }
  cluster_.SetJobQueue(delta.object);
  return before && before->spec == delta.object->spec ? Effect::kQuiet : Effect::kRelevant;
}

Effect Cache::Apply(const api::Delta<api::Quota>& delta) {
  const std::lock_guard lock(mutex_);
  const std::string& name = delta.object->metadata.name;
  const QuotaId id = cluster_.quotas().Find(name);
  const auto before = id.valid() ? cluster_.quotas()[id].object : nullptr;
  if (delta.type == api::Delta<api::Quota>::Type::kDelete) {
    if (!before || before->metadata.uid != delta.object->metadata.uid) return Effect::kNothing;
    cluster_.RemoveQuota(name);
    Settle();
    return Effect::kRelevant;
  }
  const NodeId node_before = id.valid() ? cluster_.quotas()[id].node : NodeId{};
  cluster_.SetQuota(delta.object, settings_);
  // A node that was never seen counts as gone from the moment at which something named it.
  const NodeId named = cluster_.nodes().Find(delta.object->status.node_name);
  if (named.valid() && !cluster_.nodes()[named].exists())
    unready_since_.try_emplace(delta.object->status.node_name, now_);
  NoteUsable(model::StaticNodeOf(*delta.object));
  Settle();
  const bool same = before && before->metadata.uid == delta.object->metadata.uid &&
                    before->spec == delta.object->spec &&
                    before->metadata.deleting() == delta.object->metadata.deleting() &&
                    node_before == cluster_.quotas()[cluster_.quotas().Find(name)].node;
  return same ? Effect::kQuiet : Effect::kRelevant;
}

Effect Cache::Apply(const api::Delta<api::NodeTopology>& delta) {
  const std::lock_guard lock(mutex_);
  const std::string& name = delta.object->metadata.name;
  if (delta.type == api::Delta<api::NodeTopology>::Type::kDelete) {
    const auto known = topologies_.find(name);
    if (known == topologies_.end() || known->second->metadata.uid != delta.object->metadata.uid)
      return Effect::kNothing;
    topologies_.erase(known);
    complaints_.NoteOf(Reference(delta.object->metadata), "");
    Rewire(name, nullptr, true);
    return Effect::kRelevant;
  }
  topologies_[name] = delta.object;
  const auto next = wirings_.Next();
  std::string problem;
  const bool changed = Rewire(name, &problem, false);
  complaints_.NoteOf(Reference(delta.object->metadata), problem);
  // A loss that may count later: somebody has to look at the clock.
  return changed || wirings_.Next() != next ? Effect::kRelevant : Effect::kNothing;
}

Effect Cache::Apply(const api::Delta<api::Placement>& delta) {
  const std::lock_guard lock(mutex_);
  const std::string key = delta.object->metadata.Key();
  if (delta.type == api::Delta<api::Placement>::Type::kDelete) {
    const auto known = placements_.find(key);
    if (known == placements_.end() || known->second->metadata.uid != delta.object->metadata.uid)
      return Effect::kNothing;
    placements_.erase(known);
  } else {
    placements_[key] = delta.object;
  }
  return Effect::kQuiet;
}

Effect Cache::Apply(const api::Delta<api::PriorityClass>& delta) {
  const std::lock_guard lock(mutex_);
  const bool gone = delta.type == api::Delta<api::PriorityClass>::Type::kDelete;
  cluster_.SetPriorityClass(delta.object->metadata.name,
                            gone ? std::nullopt : std::optional<int32_t>(delta.object->value),
                            delta.object->global_default);
  return Effect::kRelevant;
}

Effect Cache::Apply(const api::Delta<api::PodDisruptionBudget>& delta) {
  const std::lock_guard lock(mutex_);
  const std::string key = delta.object->metadata.Key();
  const auto known = cluster_.budgets().find(key);
  const bool there = known != cluster_.budgets().end();
  if (delta.type == api::Delta<api::PodDisruptionBudget>::Type::kDelete) {
    if (!there || known->second->metadata.uid != delta.object->metadata.uid)
      return Effect::kNothing;
    cluster_.SetBudget(key, nullptr);
  } else {
    cluster_.SetBudget(key, delta.object);
  }
  spot_pods_.BudgetsChanged();
  return Effect::kRelevant;
}

void Cache::NoteStays(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  spot_pods_.Stays(uid, wall_);
}

void Cache::Settle() {
  cluster_.Flush();
  const model::Touched touched = cluster_.TakeTouched();
  for (const QuotaId id : touched.quotas) picture_candidates_.insert(id);
  for (const NodeId id : touched.nodes)
    if (cluster_.nodes().Live(id) && !cluster_.nodes()[id].static_quotas.empty())
      filled_.insert(id);
  changed_groups_.insert(touched.jobs.begin(), touched.jobs.end());
  NoteQueues(touched);
  complaints_.Note(cluster_, touched);
  spot_pods_.Note(cluster_, touched.tasks);
  if (!touched.tasks.empty() || !touched.jobs.empty() || !touched.quotas.empty() ||
      !touched.nodes.empty() || !touched.job_queues.empty())
    reservations_.Note();
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(changed_.tasks, touched.tasks);
  append(changed_.jobs, touched.jobs);
  append(changed_.queues, touched.queues);
  append(changed_.quotas, touched.quotas);
  append(changed_.nodes, touched.nodes);
  append(changed_.job_queues, touched.job_queues);
  append(changed_.uses, touched.uses);
}

void Cache::JudgeReservations() {
  Settle();
  reservations_.Judge(cluster_, wall_);
  Settle();
}

WallTime Cache::NextReservation() const {
  const std::lock_guard lock(mutex_);
  return reservations_.next();
}

void Cache::AdoptReservations() {
  const std::lock_guard lock(mutex_);
  reservations_.Adopt(cluster_, wall_);
  JudgeReservations();
}

std::optional<std::vector<model::JobId>> Cache::UpdateSnapshot(Cluster& snapshot) {
  const std::lock_guard lock(mutex_);
  JudgeReservations();
  spot_pods_.Judge(cluster_, wall_, settings_.min_run_time);
  Settle();
  std::optional<std::vector<model::JobId>> renewed;
  if (snapshot.snapshot_number() == snapshots_ && snapshots_ != 0)
    renewed = snapshot.CopyFrom(cluster_, changed_);
  else
    snapshot = cluster_;
  snapshot.SetSnapshotNumber(++snapshots_);
  changed_ = model::Touched{};
  cluster_.ReleaseFreed();
  return renewed;
}

bool Cache::SetBackoff(std::string_view job, model::Reason reason, std::string why,
                       std::vector<std::string> last_nodes) {
  const std::lock_guard lock(mutex_);
  const model::JobId id = cluster_.jobs().Find(job);
  cluster_.SetBackoff(id, reason, std::move(why), std::move(last_nodes));
  return id.valid();
}

std::vector<Complaint> Cache::TakeComplaints() {
  const std::lock_guard lock(mutex_);
  Settle();
  return complaints_.Take(cluster_);
}

void Cache::NoteUnreadable(const api::ObjectReference& object, const std::string& why) {
  const std::lock_guard lock(mutex_);
  complaints_.NoteOf(object, why);
}

bool Cache::HasQueue(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const model::QueueId id = cluster_.queues().Find(name);
  return id.valid() && cluster_.queues()[id].exists();
}

std::string Cache::GroupUid(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const model::JobId id = cluster_.jobs().Find(key);
  return id.valid() ? cluster_.jobs()[id].uid() : std::string();
}

Cluster Cache::Copy() const {
  const std::lock_guard lock(mutex_);
  Cluster copy = cluster_;
  copy.Flush();
  return copy;
}

std::string Cache::Audit() const {
  const Cluster copy = Copy();
  return copy.Audit();
}

std::vector<StaleGroup> Cache::TakeStaleGroups(const std::vector<std::string>& also) {
  const std::lock_guard lock(mutex_);
  cluster_.Flush();
  std::vector<StaleGroup> stale;
  for (auto at = stale_groups_.begin(); at != stale_groups_.end();) {
    const model::JobId id = cluster_.jobs().Find(*at);
    // Nobody asks about a group that isn't there, or, unless it may begin so, is still short of
    // members.
    const bool whole =
        id.valid() && cluster_.jobs()[id].object &&
        cluster_.jobs()[id].ready + cluster_.jobs()[id].placeable >= cluster_.jobs()[id].needed;
    if (id.valid() && !whole && std::ranges::find(also, *at) == also.end()) {
      ++at;
      continue;
    }
    if (id.valid()) {
      const size_t slash = at->find('/');
      stale.push_back({*at, at->substr(0, slash), at->substr(slash + 1), sequence_});
    }
    at = stale_groups_.erase(at);
  }
  return stale;
}

Effect Cache::ConfirmGroup(const StaleGroup& read, std::shared_ptr<const api::PodGroup> group) {
  const std::lock_guard lock(mutex_);
  const auto known = news_.find(read.key);
  if (known == news_.end()) return Effect::kNothing;
  // Members that came while the answer was under way: once more.
  if (known->second.member > read.sequence) {
    stale_groups_.insert(read.key);
    return Effect::kQuiet;
  }
  if (known->second.group < read.sequence) {
    known->second.group = read.sequence;
    if (group) cluster_.SetPodGroup(std::move(group));
  }
  cluster_.SetUnconfirmed(cluster_.jobs().Find(read.key), false);
  return Effect::kRelevant;
}

void Cache::ReadFailed(const StaleGroup& read) {
  const std::lock_guard lock(mutex_);
  stale_groups_.insert(read.key);
}

}  // namespace sky::cache
