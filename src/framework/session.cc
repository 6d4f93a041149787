// SPDX-License-Identifier: Apache-2.0
#include "framework/session.h"

#include <algorithm>

#include "framework/callbacks.h"
#include "framework/jobs_in_order.h"
#include "model/zone_text.h"

namespace sky::framework {

using model::JobId;
using model::NodeId;
using model::QuotaId;
using model::TaskId;

Session::Session(model::Cluster& cluster, const Config& config, Instant now, uint64_t cycle,
                 Committer committer, Kept& kept)
    : cluster_(cluster),
      config_(config),
      now_(now),
      cycle_(cycle),
      committer_(std::move(committer)),
      kept_(kept) {}

// Rounds that nobody ended undo themselves.
Session::~Session() = default;

bool Session::Evicts() const {
  return predict_evicted && std::ranges::find(config_.actions, "reclaim") != config_.actions.end();
}

model::Neighbours& Session::neighbours() {
  if (!std::exchange(neighbours_open_, true)) kept_.neighbours.Open(cluster_);
  return kept_.neighbours;
}

void Session::CompileExpressions() {
  const Compiler compile = [&](const std::string& callback, expr::Type type,
                               const std::vector<std::string>& leaves) {
    const auto known = kept_.programs.find(callback);
    if (known != kept_.programs.end() && known->second.first == leaves) return known->second.second;
    const auto expression = config_.expressions.find(callback);
    SKY_CHECK(expression != config_.expressions.end(), "callback {}", callback);
    auto program = expr::Program::Compile(expression->second, type, leaves);
    SKY_CHECK(program.has_value(), "{} was checked when it was loaded: {}", callback,
              program.error().message);
    kept_.programs.insert_or_assign(callback, std::pair(leaves, *program));
    return *program;
  };
  task_to_quota.Compile(compile, nullptr, nullptr);
  quota_to_node.Compile(compile, &kept_.quota_answers, [&](QuotaId quota, NodeId node) {
    return std::pair(cluster_.quotas()[quota].quota_class,
                     cluster_.nodes()[node].static_generation);
  });
  task_to_node.Compile(compile, &kept_.task_answers, [&](TaskId task, NodeId node) {
    return std::pair(cluster_.tasks()[task].facts->node_class,
                     cluster_.nodes()[node].static_generation);
  });
  CompileStages(compile);
}

std::vector<JobId> Session::OrderedJobs(const std::function<bool(JobId)>& wanted) const {
  std::vector<JobId> jobs;
  for (const JobId id : cluster_.waiting_jobs())
    if (wanted(id)) jobs.push_back(id);
  JobsInOrder order(*this, jobs);
  std::vector<JobId> ordered;
  while (const auto next = order.Next()) ordered.push_back(*next);
  return ordered;
}

TopologyPolicy Session::PredicateZone(JobId job) const {
  if (predicate_zone) return predicate_zone(job);
  TopologyPolicy policy;
  for (const auto& [key, cell] : cluster_.cells().by_key())
    if (!key.zone.valid()) policy.cells.push_back(cell);
  return policy;
}

std::set<NodeId> Session::LastNodes(JobId job) const {
  std::set<NodeId> nodes;
  for (const std::string& name : cluster_.jobs()[job].last_nodes)
    if (const NodeId node = cluster_.nodes().Find(name); node.valid()) nodes.insert(node);
  if (keep_for_last) keep_for_last(job, nodes);
  return nodes;
}

cache::Round Session::MakeRound(const JobRound& planned) const {
  const model::Job& job = cluster_.jobs()[planned.job];
  cache::Round round;
  round.job = job.name;
  round.group_uid = job.uid();
  if (job.object) {
    round.namespace_ = job.object->metadata.namespace_;
    round.group = job.object->metadata.name;
  }
  round.priority = job.priority;
  round.started = job.bound > 0;
  round.recorded = job.object != nullptr && !planned.extras;
  for (const PlannedTask& entry : planned.plan.tasks) {
    const model::PodFacts& facts = *cluster_.tasks()[entry.task].facts;
    std::string zone =
        entry.zone.valid() ? model::ZoneText(cluster_.names().zones.Name(entry.zone)) : "";
    round.entries.push_back({entry.task, facts.meta().uid, facts.meta().namespace_,
                             facts.meta().name, facts.role, facts.index, entry.quota,
                             entry.quota.valid() ? cluster_.quotas()[entry.quota].name : "",
                             entry.node, cluster_.nodes()[entry.node].name, std::move(zone)});
  }
  for (const Operation& operation : planned.statement.operations()) {
    if (operation.kind != Operation::Kind::kLiftReservation) continue;
    const model::Quota& quota = cluster_.quotas()[operation.quota];
    const bool still = std::ranges::any_of(
        quota.reserved, [&](const model::Reservation& one) { return one.job == job.name; });
    round.lifted.emplace_back(quota.name, still);
  }
  return round;
}

bool Session::Commit(JobRound& planned) {
  cache::Round round = MakeRound(planned);
  auto number = committer_(round);
  if (!number) {
    Refusals why;
    why.Add(number.error().reason);
    why.detail = number.error().what;
    Refuse(planned.job, std::move(why));
    conflicted_ = true;
    return false;
  }
  planned.statement.Keep();
  for (const cache::RoundEntry& entry : round.entries)
    cluster_.SetClaim(cluster_.tasks().Find(entry.uid),
                      {model::Claim::Phase::kWriting, entry.quota, entry.node, *number, false});
  // The counts of jobs stay those of the opening until the session ends: other rounds own shares
  // that they may have to give back.
  cluster_.FlushLedgers();
  committed_.push_back(std::move(round));
  return true;
}

}  // namespace sky::framework
