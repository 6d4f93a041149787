// SPDX-License-Identifier: Apache-2.0
// The cluster as text, for equality in tests and for Audit: names instead of ids, everything
// sorted.
#include <algorithm>
#include <sstream>

#include "base/natural.h"
#include "model/cluster.h"
#include "model/zone_text.h"

namespace sky::model {
namespace {

std::string Text(const Resources& amounts, const Names& names) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : amounts)
    parts.push_back(fmt::format("{}={}", names.resources.Name(name), value));
  std::sort(parts.begin(), parts.end());
  return fmt::format("{{{}}}", fmt::join(parts, ","));
}

std::string Text(const JobNotes& notes) {
  return fmt::format("{}/{}/{}/{}/{}/{}/{}", static_cast<int>(notes.topology), notes.pack,
                     notes.max_zones.value_or(-1), fmt::join(notes.task_order, "<"),
                     notes.affinity_key, notes.reservation_ttl.value_or(Duration(-1)).count(),
                     notes.problem);
}

template <class Id, class Table>
std::string NamesOf(const std::vector<Id>& ids, const Table& table) {
  std::vector<std::string> names;
  for (const Id id : ids) names.push_back(table[id].name);
  std::sort(names.begin(), names.end(), NaturalLess{});
  return fmt::format("[{}]", fmt::join(names, ","));
}

template <class Id, class Table>
std::string NameOf(Id id, const Table& table) {
  return id.valid() ? table[id].name : "-";
}

template <class Id, class Table>
std::vector<Id> LiveByName(const Table& table) {
  std::vector<Id> ids;
  for (size_t i = 0; i < table.size(); ++i)
    if (table[Id(i)].live) ids.push_back(Id(i));
  std::sort(ids.begin(), ids.end(),
            [&](Id a, Id b) { return NaturalLess{}(table[a].name, table[b].name); });
  return ids;
}

std::string ShelvesText(const Cluster& cluster, const Queue& queue) {
  std::vector<QuotaId> free, held, partial;
  for (const auto& [quota_class, count] : queue.classes)
    if (const Shelf* shelf = cluster.shelves().Find(quota_class)) {
      for (const auto& [key, quota] : shelf->free) free.push_back(quota);
      held.insert(held.end(), shelf->held.begin(), shelf->held.end());
      partial.insert(partial.end(), shelf->partial.begin(), shelf->partial.end());
    }
  return fmt::format("free={} held={} partial={}", NamesOf(free, cluster.quotas()),
                     NamesOf(held, cluster.quotas()), NamesOf(partial, cluster.quotas()));
}

std::string ReservedText(const Cluster& cluster, const Quota& quota) {
  if (quota.reserved.empty()) return {};
  std::string text = fmt::format(" kept={} reservedSum={}", NameOf(quota.kept, cluster.nodes()),
                                 Text(quota.reserved_sum, cluster.names()));
  for (const Reservation& one : quota.reserved)
    text += fmt::format(" reserved={}/{}/{}/{} until={} leaving={} heir={}", one.job, one.role,
                        one.index.value_or(-1), one.pod,
                        one.expires.time_since_epoch().count() / 1'000'000'000, one.leaving,
                        NameOf(one.heir, cluster.tasks()));
  return text;
}

std::string NodeLine(const Cluster& cluster, NodeId id) {
  const Node& node = cluster.nodes()[id];
  const Names& names = cluster.names();
  return fmt::format(
      "node {} seen={} ready={} lost={} alloc={} used={} releasing={} pledged={} evictable={} "
      "spot={}/{} quotaRequests={} committed={} tasks={} direct={} quotas={} planned={} "
      "zones={}/{} rails={}/{}",
      node.name, node.exists(), node.ready, node.lost, Text(node.allocatable, names),
      Text(node.used, names), Text(node.releasing, names), Text(node.pledged, names),
      Text(node.evictable, names), node.spot.exclusive, node.spot.shared,
      Text(node.quota_requests, names), Text(node.committed, names),
      NamesOf(node.tasks, cluster.tasks()), NamesOf(node.direct, cluster.tasks()),
      NamesOf(node.quotas, cluster.quotas()), NamesOf(node.planned_quotas, cluster.quotas()),
      node.zones.roce.valid() ? ZoneText(names.zones.Name(node.zones.roce)) : "-",
      node.zones.ib.valid() ? ZoneText(names.zones.Name(node.zones.ib)) : "-",
      node.zones.roce_rails.value_or(-1), node.zones.ib_rails.value_or(-1));
}

}  // namespace

std::string Cluster::Dump() const {
  std::string text;
  const auto line = [&](std::string one) { text += one + "\n"; };
  for (const NodeId id : LiveByName<NodeId>(nodes_)) line(NodeLine(*this, id));
  for (const QuotaId id : LiveByName<QuotaId>(quotas_)) {
    const Quota& quota = quotas_[id];
    line(fmt::format(
        "quota {} seen={} node={} planned={} static={} split={} request={} sum={} charge={} "
        "tasks={} users={} queues={}{}",
        quota.name, quota.exists(), NameOf(quota.node, nodes_), NameOf(quota.planned, nodes_),
        NameOf(quota.static_node, nodes_), quota.split, Text(quota.request, *names_),
        Text(quota.task_sum, *names_), Text(quota.charge, *names_), NamesOf(quota.tasks, tasks_),
        NamesOf(quota.users, tasks_), NamesOf(quota.queues, queues_), ReservedText(*this, quota)));
  }
  for (const JobId id : LiveByName<JobId>(jobs_)) {
    const Job& job = jobs_[id];
    std::vector<std::string> ranked;
    for (const TaskId task : job.ranked) ranked.push_back(tasks_[task].name);
    line(fmt::format(
        "job {} seen={} queue={} priority={} needed={} ready={} bound={} "
        "whole={} complete={} placeable={} started={} line={} holding={} used={} notes={} "
        "attracts={} ranked=[{}]",
        job.name, job.exists(), NameOf(job.queue, queues_), job.priority, job.needed, job.ready,
        job.bound, job.whole, job.complete, job.placeable, job.started,
        NameOf(job.line, job_queues_), job.holding, Text(job.used, *names_), Text(job.notes),
        NamesOf(std::vector<JobId>(attraction_.Of(job.affinity_key).begin(),
                                   attraction_.Of(job.affinity_key).end()),
                jobs_),
        fmt::join(ranked, ",")));
  }
  for (const QueueId id : LiveByName<QueueId>(queues_))
    line(fmt::format("queue {} seen={} parent={} own={} below={} quotas={} {}", queues_[id].name,
                     queues_[id].exists(), NameOf(queues_[id].parent, queues_),
                     Text(uses_.Of(id).own, *names_), Text(uses_.Of(id).below, *names_),
                     NamesOf(queues_[id].quotas, quotas_), ShelvesText(*this, queues_[id])));
  for (const JobQueueId id : LiveByName<JobQueueId>(job_queues_))
    line(fmt::format("jobQueue {} running={}", job_queues_[id].name, job_queues_[id].running));
  for (const TaskId id : LiveByName<TaskId>(tasks_)) {
    const Task& task = tasks_[id];
    line(fmt::format("task {} job={} node={} quota={} state={} evictable={} claim={}/{}/{}/{}",
                     task.name, NameOf(task.job, jobs_), NameOf(task.node, nodes_),
                     NameOf(task.quota, quotas_), TaskStateName(task.state), task.evictable,
                     static_cast<int>(task.claim.phase), NameOf(task.claim.quota, quotas_),
                     NameOf(task.claim.node, nodes_), task.claim.round));
  }
  std::vector<std::string> cells;
  for (const auto& [key, cell] : cells_.by_key()) {
    std::vector<std::string> members;
    for (const NodeId node : cells_[cell].nodes) members.push_back(nodes_[node].name);
    cells.push_back(fmt::format("cell {}{}/{} [{}]", key.network == Network::kIb ? "ib " : "",
                                key.zone.valid() ? ZoneText(names_->zones.Name(key.zone)) : "",
                                key.spec.valid() ? names_->specs.Name(key.spec) : "",
                                fmt::join(members, ",")));
  }
  std::sort(cells.begin(), cells.end());
  std::vector<std::string> waiting, ungrouped;
  for (const JobId id : waiting_jobs_) waiting.push_back(jobs_[id].name);
  for (const TaskId id : ungrouped_) ungrouped.push_back(tasks_[id].name);
  std::sort(waiting.begin(), waiting.end());
  std::sort(ungrouped.begin(), ungrouped.end());
  return text + fmt::format("{}\nwaiting [{}] ungrouped [{}] offered={}\n", fmt::join(cells, "\n"),
                            fmt::join(waiting, ","), fmt::join(ungrouped, ","),
                            Text(uses_.offered(), *names_));
}

std::string Cluster::Audit() const {
  Cluster recounted = *this;
  recounted.RecountUses();
  for (size_t i = 0; i < quotas_.size(); ++i) recounted.Dirty(QuotaId(i));
  for (size_t i = 0; i < nodes_.size(); ++i) recounted.Dirty(NodeId(i));
  for (size_t i = 0; i < jobs_.size(); ++i) recounted.Dirty(JobId(i));
  recounted.Flush();
  std::istringstream mine(Dump()), theirs(recounted.Dump());
  std::string a, b;
  while (true) {
    const bool more_a = static_cast<bool>(std::getline(mine, a)),
               more_b = static_cast<bool>(std::getline(theirs, b));
    if (!more_a && !more_b) return {};
    if (!more_a || !more_b || a != b)
      return fmt::format("have:    {}\nrecount: {}", more_a ? a : "(end)", more_b ? b : "(end)");
  }
}

}  // namespace sky::model
