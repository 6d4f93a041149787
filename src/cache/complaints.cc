// SPDX-License-Identifier: Apache-2.0
#include "cache/complaints.h"

#include <algorithm>
#include <utility>

#include "api/keys.h"
#include "base/natural.h"
#include "base/text.h"
#include "cache/heirs.h"

namespace sky::cache {
namespace {

using model::Cluster;

constexpr std::string_view kOurs = "scheduling.infini-ai.com/v1alpha1";

Complaint About(std::string_view kind, std::string_view version, const api::ObjectMeta& meta,
                std::string reason, std::string message) {
  Complaint complaint{{}, std::move(reason), std::move(message)};
  complaint.about.kind = kind;
  complaint.about.api_version = version;
  complaint.about.namespace_ = meta.namespace_;
  complaint.about.name = meta.name;
  complaint.about.uid = meta.uid;
  return complaint;
}

// An empty message: nothing to complain of.
Complaint OfTask(const Cluster& cluster, model::TaskId id) {
  const model::Task& task = cluster.tasks()[id];
  const auto say = [&](std::string reason, std::string message) {
    return About("Pod", "v1", task.facts->meta(), std::move(reason), std::move(message));
  };
  if (!task.facts->problem.empty()) return say("InvalidObject", task.facts->problem);
  // The notes of a job of one are its pod's.
  if (task.job.valid() && cluster.jobs()[task.job].single &&
      !cluster.jobs()[task.job].notes.problem.empty())
    return say("InvalidObject", cluster.jobs()[task.job].notes.problem);
  if (InheritsInCircle(cluster, id))
    return say(
        "InvalidObject",
        fmt::format("annotation {}: it names {}, and who names whom comes round in a circle: "
                    "nobody of it takes over a place",
                    api::key::kInheritResourceFrom,
                    CutText(task.facts->meta().Annotation(api::key::kInheritResourceFrom), 80)));
  if (!task.holds_room() || !task.quota.valid()) return {};
  const model::Quota& quota = cluster.quotas()[task.quota];
  if (!quota.exists())
    return say(
        "QuotaNotFound",
        fmt::format("it names quota {}, which doesn't exist: it is counted at its node alone",
                    CutText(quota.name, 80)));
  const bool counted = std::binary_search(quota.tasks.begin(), quota.tasks.end(), id);
  if (counted || !task.job.valid() || cluster.MayUse(cluster.jobs()[task.job].queue, quota))
    return {};
  return say("QuotaQueueMismatch",
             fmt::format("it names quota {}, which its queue may not use: it is counted at its "
                         "node alone",
                         quota.name));
}

Complaint OfJob(const Cluster& cluster, model::JobId id) {
  const model::Job& job = cluster.jobs()[id];
  if (!job.object || job.notes.problem.empty()) return {};
  return About("PodGroup", kOurs, job.object->metadata, "InvalidObject", job.notes.problem);
}

Complaint OfQuota(const Cluster& cluster, model::QuotaId id) {
  const model::Quota& quota = cluster.quotas()[id];
  if (!quota.exists()) return {};
  const api::ObjectMeta& meta = quota.object->metadata;
  if (!quota.invalid.empty()) return About("Quota", kOurs, meta, "InvalidObject", quota.invalid);
  if (const auto queue = cluster.queues().Find(quota.object->spec.queue_name);
      !queue.valid() || !cluster.queues()[queue].exists())
    return About(
        "Quota", kOurs, meta, "QueueNotFound",
        fmt::format("its queue {} doesn't exist: only queues that it is shared with use it",
                    quota.object->spec.queue_name));
  if (quota.refused)
    return About("Quota", kOurs, meta, "StaticRefused",
                 fmt::format("node {} is bound beyond what it has: this quota, the newest without "
                             "tasks, is taken off it",
                             cluster.nodes()[quota.status_node].name));
  if (quota.static_node.valid() && !quota.node.valid() &&
      !cluster.nodes()[quota.static_node].exists())
    return About("Quota", kOurs, meta, "StaticNodeNotReady",
                 fmt::format("it is to be bound to node {}, which doesn't exist: unless the node "
                             "comes, it is like any other quota after a while",
                             cluster.nodes()[quota.static_node].name));
  if (quota.node.valid() && !cluster.nodes()[quota.node].exists())
    return About(
        "Quota", kOurs, meta, "NodeNotReady",
        fmt::format("it is bound to node {}, which doesn't exist: unless the node comes, or "
                    "a pod of the quota is there, it is released after a while",
                    cluster.nodes()[quota.node].name));
  if (!quota.split) return {};
  std::vector<std::string> places;
  for (const model::TaskId user : quota.users)
    if (const model::Task& task = cluster.tasks()[user]; task.holds_room())
      places.push_back(
          fmt::format("{} on {}", task.facts->meta().Key(), cluster.nodes()[task.node].name));
  std::sort(places.begin(), places.end(), NaturalLess{});
  constexpr size_t kShown = 4;
  if (places.size() > kShown) places.resize(kShown);
  return About("Quota", kOurs, meta, "QuotaSplit",
               fmt::format("its live pods are on several nodes ({}): it is left alone until they "
                           "are on one",
                           fmt::join(places, ", ")));
}

Complaint OfQueue(const Cluster& cluster, model::QueueId id) {
  const model::Queue& queue = cluster.queues()[id];
  if (!queue.exists()) return {};
  if (const std::string trouble = model::QueueTrouble(cluster, id); !trouble.empty())
    return About("Queue", kOurs, queue.object->metadata, "InvalidObject", trouble);
  if (queue.parent.valid() && !cluster.queues()[queue.parent].exists())
    return About("Queue", kOurs, queue.object->metadata, "QueueNotFound",
                 fmt::format("its parent {} doesn't exist: its jobs don't start",
                             cluster.queues()[queue.parent].name));
  return {};
}

Complaint OfJobQueue(const Cluster& cluster, model::JobQueueId id) {
  const model::JobQueue& line = cluster.job_queues()[id];
  const auto say = [&](std::string reason, std::string message) {
    return About("JobQueue", kOurs, line.object->metadata, std::move(reason), std::move(message));
  };
  if (!line.invalid.empty()) return say("InvalidObject", line.invalid);
  if (cluster.queues()[line.queue].exists()) return {};
  return say("QueueNotFound", fmt::format("its queue {} doesn't exist", line.object->spec.queue));
}

Complaint OfNode(const Cluster& cluster, model::NodeId id) {
  const model::Node& node = cluster.nodes()[id];
  if (!node.exists() || node.problem.empty()) return {};
  return About("Node", "v1", node.object->metadata, "InvalidObject", node.problem);
}

}  // namespace

void Complaints::Note(const Cluster& cluster, const model::Touched& touched) {
  tasks_.candidates.insert(touched.tasks.begin(), touched.tasks.end());
  jobs_.candidates.insert(touched.jobs.begin(), touched.jobs.end());
  quotas_.candidates.insert(touched.quotas.begin(), touched.quotas.end());
  nodes_.candidates.insert(touched.nodes.begin(), touched.nodes.end());
  job_queues_.candidates.insert(touched.job_queues.begin(), touched.job_queues.end());
  for (const model::QuotaId id : touched.quotas)
    if (cluster.quotas().Live(id))
      tasks_.candidates.insert(cluster.quotas()[id].users.begin(),
                               cluster.quotas()[id].users.end());
  NoteComings(cluster, touched);
}

void Complaints::NoteComings(const Cluster& cluster, const model::Touched& touched) {
  const auto changed = [](auto& missing, auto id, bool there) {
    return there ? missing.erase(id) > 0 : missing.insert(id).second;
  };
  const auto look_at = [&](const std::vector<model::QuotaId>& quotas) {
    quotas_.candidates.insert(quotas.begin(), quotas.end());
  };
  for (const model::QueueId id : touched.queues) {
    queues_.candidates.insert(id);
    const bool live = cluster.queues().Live(id);
    const std::string parent = live && cluster.queues()[id].exists()
                                   ? cluster.queues()[id].object->spec.parent
                                   : std::string();
    // A circle that it opens or closes is the trouble of every queue below it.
    if (std::exchange(parents_[id], parent) != parent)
      for (size_t i = 0; i < cluster.queues().size(); ++i)
        queues_.candidates.insert(model::QueueId(i));
    if (parent.empty()) parents_.erase(id);
    if (!live) {
      missing_queues_.erase(id);
      continue;
    }
    const model::Queue& queue = cluster.queues()[id];
    if (!changed(missing_queues_, id, queue.exists())) continue;
    look_at(queue.quotas);
    for (size_t i = 0; i < cluster.queues().size(); ++i)
      if (cluster.queues()[model::QueueId(i)].parent == id)
        queues_.candidates.insert(model::QueueId(i));
    for (size_t i = 0; i < cluster.job_queues().size(); ++i)
      job_queues_.candidates.insert(model::JobQueueId(i));
  }
  for (const model::NodeId id : touched.nodes) {
    if (!cluster.nodes().Live(id))
      missing_nodes_.erase(id);
    else if (changed(missing_nodes_, id, cluster.nodes()[id].exists()))
      look_at(cluster.nodes()[id].quotas), look_at(cluster.nodes()[id].static_quotas);
  }
}

void Complaints::NoteOf(const api::ObjectReference& object, const std::string& problem) {
  const std::string key = fmt::format("{} {}/{}", object.kind, object.namespace_, object.name);
  if (problem.empty()) {
    rowless_.erase(key);
    return;
  }
  std::string now = object.uid + " " + problem;
  std::string& told = rowless_[key];
  if (told == now) return;
  told = std::move(now);
  fresh_.push_back({object, "InvalidObject", problem});
}

template <class Id, class Examine>
void Complaints::TakeFrom(Kept<Id>& kept, std::vector<Complaint>& out, Examine examine) {
  for (const Id id : std::exchange(kept.candidates, {})) {
    Complaint complaint = examine(id);
    if (complaint.message.empty()) {
      kept.told.erase(id);
      continue;
    }
    std::string& told = kept.told[id];
    std::string now = complaint.about.uid + " " + complaint.message;
    if (told == now) continue;
    told = std::move(now);
    out.push_back(std::move(complaint));
  }
}

std::vector<Complaint> Complaints::Take(const Cluster& cluster) {
  std::vector<Complaint> out = std::exchange(fresh_, {});
  const auto examine = [&](const auto& table, auto of) {
    return [&, of](auto id) { return table.Live(id) ? of(cluster, id) : Complaint{}; };
  };
  TakeFrom(nodes_, out, examine(cluster.nodes(), OfNode));
  TakeFrom(queues_, out, examine(cluster.queues(), OfQueue));
  TakeFrom(job_queues_, out, examine(cluster.job_queues(), OfJobQueue));
  TakeFrom(quotas_, out, examine(cluster.quotas(), OfQuota));
  TakeFrom(jobs_, out, examine(cluster.jobs(), OfJob));
  TakeFrom(tasks_, out, examine(cluster.tasks(), OfTask));
  return out;
}

}  // namespace sky::cache
