// SPDX-License-Identifier: Apache-2.0
#include "actions/keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sky::actions {

using framework::Earmark;
using framework::Session;
using model::JobId;
using model::NodeId;
using model::Reason;
using model::TaskId;
using model::Verdict;

namespace {

// What ends with others.
bool EndsWithOthers(Reason reason) {
  switch (reason) {
    case Reason::kInsufficientQuota:
    case Reason::kInsufficientQuotaIdle:
    case Reason::kInsufficientIdle:
    case Reason::kPodSlotsFull:
    case Reason::kWaitingForReleasing:
    case Reason::kZoneFull:
    case Reason::kNodeOrderNotMonotone:
    case Reason::kPortConflict:
    case Reason::kReclaimNoVictim:
    case Reason::kEarmarkedForOther:
      return true;
    default:
      return false;
  }
}

WallTime CreatedAt(const model::Cluster& cluster, const model::Job& job, WallTime now) {
  if (job.object) return job.object->metadata.creation_timestamp.at.value_or(now);
  WallTime last{};
  for (const TaskId task : job.members)
    last = std::max(last, cluster.tasks()[task].facts->meta().creation_timestamp.at.value_or(now));
  return last;
}

void LookAgainIn(Want& want, Duration left) {
  want.at_most = std::min(want.at_most, std::max<Duration>(left, std::chrono::milliseconds(1)));
}

}  // namespace

// Before anybody is planned: who comes before the owner mustn't have its places now either.
void Keeper::TakeUp(Session& session, Capacities& capacities) {
  const model::Cluster& cluster = session.cluster();
  for (const JobId id : cluster.waiting_jobs()) {
    const model::Job& job = cluster.jobs()[id];
    if (!job.object || job.bound > 0 || job.ready >= job.needed || job.spot) continue;
    const auto said = std::ranges::find(job.object->status.conditions, framework::kEarmarkCondition,
                                        &api::Condition::type);
    if (said == job.object->status.conditions.end()) continue;
    const auto read = framework::ReadEarmark(cluster, said->message, job.queue);
    if (!read || (read->quotas_alone() ? session.earmarks().HasQuotas(job.queue)
                                       : session.earmarks().Has(read->spec)))
      continue;
    framework::JobRound round(session, id);
    round.policy = session.PredicateZone(id);
    if (auto mark = Planner(session, round, capacities).ToKeep(&*read))
      Give(session, id, std::move(*mark));
  }
}

void Keeper::Begin(Session& session, Capacities& capacities) {
  framework::Earmarks& earmarks = session.earmarks();
  const model::Cluster& cluster = session.cluster();
  if (!std::exchange(taken_up_, true)) TakeUp(session, capacities);
  earmarks.Begin(cluster);
  earmarks.enforced = true;
  first_.reset();
  again_.clear();
  const auto gone = [&](const std::string& job) { return !cluster.jobs().Find(job).valid(); };
  std::erase_if(passed_over_, gone);
  std::erase_if(had_turn_, gone);
  // Spot pods give way, and successors go back to what is theirs.
  session.task_to_node.bar = [&cluster, &earmarks](TaskId id, NodeId node) {
    const model::Task& task = cluster.tasks()[id];
    if (task.facts->direct() || task.heir_of.valid() || !task.job.valid() ||
        earmarks.Bars(cluster, task.job, node) == nullptr)
      return Verdict::Fit();
    return Verdict::NotNow(Reason::kEarmarkedForOther);
  };
  session.task_to_quota.bar = [&cluster, &earmarks](TaskId id, model::QuotaId quota) {
    const model::Task& task = cluster.tasks()[id];
    return task.job.valid() && !task.heir_of.valid() && earmarks.BarsQuota(cluster, task.job, quota)
               ? Verdict::NotNow(Reason::kEarmarkedForOther)
               : Verdict::Fit();
  };
}

void Keeper::End(Session& session) {
  session.earmarks().enforced = false;
  session.task_to_node.bar = nullptr;
  session.task_to_quota.bar = nullptr;
  // Nobody else wanted one.
  for (const std::string& job : again_) had_turn_.erase(job);
}

void Keeper::NotAdmitted(Session& session, JobId job) {
  if (session.earmarks().Of(job) != nullptr) session.earmarks().Drop(job);
}

// It hasn't begun, and what it lacks others have.
bool Keeper::MayHave(const Session& session, const framework::JobRound& round) const {
  const model::Job& job = session.cluster().jobs()[round.job];
  return !round.extras && job.bound == 0 && job.ready < job.needed && !job.spot &&
         round.plan.why.main != Reason::kLargerThanPossible &&
         round.plan.why.main != Reason::kNoZoneFits &&
         std::ranges::any_of(
             round.plan.why.counts, [](const auto& one) { return EndsWithOthers(one.first); });
}

void Keeper::Failed(Session& session, framework::JobRound& round, Planner& planner, Want& want) {
  Judge(session, round, planner, want);
  Tell(session, round);
}

// Whoever could have had places that are kept is told for whom.
void Keeper::Tell(const Session& session, framework::JobRound& round) {
  framework::Refusals& why = round.plan.why;
  if (!why.counts.contains(Reason::kEarmarkedForOther)) return;
  // Among what nodes say it is what decides: the others have no room, or never will.
  switch (why.main) {
    case Reason::kZoneFull:
    case Reason::kNoZoneFits:
    case Reason::kNodeOrderNotMonotone:
    case Reason::kLargerThanPossible:
    case Reason::kInsufficientQuota:
    case Reason::kReservedForOther:
      break;
    default:
      why.main = Reason::kEarmarkedForOther;
  }
  const std::string owners = session.earmarks().KeptFor(session.cluster(), round.job);
  if (!owners.empty())
    why.detail += fmt::format("{}places are kept for {}", why.detail.empty() ? "" : "; ", owners);
}

void Keeper::Judge(Session& session, framework::JobRound& round, Planner& planner, Want& want) {
  const model::Cluster& cluster = session.cluster();
  const model::Job& job = cluster.jobs()[round.job];
  Earmark* own = session.earmarks().Of(round.job);
  if (!MayHave(session, round)) return NotAdmitted(session, round.job);
  if (own != nullptr) return Review(session, round, *own, planner, want);
  const WallTime now = session.now().wall;
  const Duration left = CreatedAt(cluster, job, now) + session.config().starve_after - now;
  if (left > Duration::zero() && !passed_over_.contains(job.name)) {
    LookAgainIn(want, left);
    if (!first_)
      first_ = Young{
          round.job, round.policy.network, {round.policy.cells.begin(), round.policy.cells.end()}};
    return;
  }
  if (had_turn_.contains(job.name)) {
    again_.insert(job.name);
    return;
  }
  if (planner.lacks_quotas() && session.earmarks().HasQuotas(job.queue)) return;
  if (auto mark = planner.ToKeep(nullptr); mark && !InVain(round, planner, *mark)) {
    Give(session, round.job, std::move(*mark));
    LookAgainIn(want, session.config().earmark_max.value_or(Duration::max()));
  }
}

// There is room on these nodes for everybody, and still no plan: what its members say of each
// other, for example, is in the way, and nobody's end helps.
bool Keeper::InVain(const framework::JobRound& round, const Planner& planner, const Earmark& mark) {
  const auto& said = round.plan.why.counts;
  return !mark.quotas_alone() && mark.missing == 0 && !planner.cut() &&
         !said.contains(Reason::kReclaimNoVictim) && !said.contains(Reason::kNodeOrderNotMonotone);
}

void Keeper::Review(Session& session, const framework::JobRound& round, Earmark& mark,
                    Planner& planner, Want& want) {
  const framework::Config& config = session.config();
  const MonoTime now = session.now().mono;
  if (config.earmark_max && now - mark.since >= *config.earmark_max) {
    had_turn_.insert(mark.name);
    return session.earmarks().Drop(mark.job);
  }
  const JobId job = mark.job;
  const uint64_t turn = mark.turn;
  const auto same =
      mark.quotas_alone() == planner.lacks_quotas() ? planner.ToKeep(&mark) : std::nullopt;
  if (!same || InVain(round, planner, *same)) {
    session.earmarks().Drop(job);
    if (auto other = planner.ToKeep(nullptr); other && !InVain(round, planner, *other)) {
      other->turn = turn;
      Give(session, job, std::move(*other));
    }
    return;
  }
  if (same->missing < mark.missing) mark.freed = now;
  mark.missing = same->missing;
  mark.quotas = same->quotas;
  mark.demanded = same->demanded;
  if (!mark.quotas_alone() && now - mark.freed >= config.earmark_stall) {
    // Its own spec code counts as free while we look.
    Earmark kept = mark;
    session.earmarks().Drop(job);
    auto other = planner.ToKeep(nullptr);
    const bool better = other && other->missing < kept.missing;
    kept.freed = now;
    if (better) {
      other->turn = turn;
      Give(session, job, std::move(*other));
    } else {
      session.earmarks().Put(session.cluster(), std::move(kept));
    }
    return;
  }
  if (!mark.quotas_alone()) LookAgainIn(want, mark.freed + config.earmark_stall - now);
  if (config.earmark_max) LookAgainIn(want, mark.since + *config.earmark_max - now);
}

void Keeper::Give(Session& session, JobId id, Earmark mark) {
  mark.job = id;
  mark.since = mark.freed = session.now().mono;
  passed_over_.erase(session.cluster().jobs()[id].name);
  had_turn_.clear();
  session.earmarks().Put(session.cluster(), std::move(mark));
}

void Keeper::Started(const Session& session, const framework::JobRound& round) {
  if (!first_ || first_->job == round.job) return;
  const model::Cluster& cluster = session.cluster();
  const bool theirs = std::ranges::any_of(round.plan.tasks, [&](const auto& entry) {
    model::CellKey key = cluster.nodes()[entry.node].cell(first_->network);
    const model::CellId zoned = cluster.cells().Find(key);
    const model::CellId whole = cluster.cells().Find({model::Network::kRoce, {}, key.spec});
    return (zoned.valid() && first_->cells.contains(zoned)) ||
           (whole.valid() && first_->cells.contains(whole));
  });
  if (theirs) passed_over_.insert(cluster.jobs()[first_->job].name);
}

}  // namespace sky::actions
