// SPDX-License-Identifier: Apache-2.0
#include "actions/damaged.h"

#include <algorithm>
#include <set>

namespace sky::actions {

using framework::JobRound;
using framework::Refusals;
using framework::Session;
using model::Cluster;
using model::Job;
using model::Node;

namespace {

bool IsDamaged(const Job& job) { return job.bound > 0 && job.ready < job.needed; }

// The cells in which members of the job run, as far as a round with this policy tells them apart.
std::set<model::CellKey> CellsOf(const Cluster& cluster, const Job& job,
                                 const framework::TopologyPolicy& policy) {
  std::set<model::CellKey> cells;
  for (const model::TaskId member : job.ranked) {
    const model::NodeId at = cluster.tasks()[member].node;
    if (!at.valid()) continue;
    const Node& node = cluster.nodes()[at];
    model::CellKey key;
    key.spec = node.spec;
    if (policy.enabled) key.network = policy.network, key.zone = node.zone(policy.network);
    cells.insert(key);
  }
  return cells;
}

}  // namespace

void Damaged::Begin(const Session& session) {
  const Cluster& cluster = session.cluster();
  std::erase_if(troubles_, [&](const auto& one) {
    const model::JobId job = cluster.jobs().Find(one.first);
    return !job.valid() || !IsDamaged(cluster.jobs()[job]);
  });
}

void Damaged::Failed(const Session& session, const JobRound& round, Refusals& why, Want& want) {
  const Job& job = session.cluster().jobs()[round.job];
  if (!IsDamaged(job)) return;
  const MonoTime now = session.now().mono;
  const bool order = why.main == model::Reason::kNodeOrderNotMonotone;
  const auto [at, first] = troubles_.try_emplace(job.name, now, order);
  if (at->second.order != order) at->second = {now, order};
  const Duration left = at->second.since + session.config().reservation_ttl - now;
  if (left > Duration::zero()) {
    want.at_most = std::min(want.at_most, left);
  } else if (order) {
    why.detail = "the order needs a whole restart: no place keeps the ranks in order";
  } else if (const std::string partner = PartnerOf(session, round); !partner.empty()) {
    if (!why.detail.empty()) why.detail += "; ";
    why.detail += fmt::format(
        "{}, damaged too, waits beside it, and neither gives up what it has: restart one of them",
        partner);
  }
}

std::string Damaged::PartnerOf(const Session& session, const JobRound& round) const {
  const Cluster& cluster = session.cluster();
  const Job& job = cluster.jobs()[round.job];
  const std::set<model::CellKey> mine = CellsOf(cluster, job, round.policy);
  for (const auto& [name, trouble] : troubles_) {
    if (name == job.name || session.now().mono < trouble.since + session.config().reservation_ttl)
      continue;
    const Job& other = cluster.jobs()[cluster.jobs().Find(name)];
    const std::set<model::CellKey> theirs = CellsOf(cluster, other, round.policy);
    if (std::ranges::any_of(theirs, [&](const auto& cell) { return mine.contains(cell); }))
      return name;
  }
  return {};
}

}  // namespace sky::actions
