// SPDX-License-Identifier: Apache-2.0
#include "plugins/predicates/other_pods.h"

#include <algorithm>

namespace sky::plugins {

using model::Neighbours;
using model::NodeId;
using model::PodTerm;
using model::Reason;
using model::TaskId;
using model::Verdict;

void OtherPods::Open(const model::Cluster& cluster, Neighbours& neighbours) {
  cluster_ = &cluster;
  neighbours_ = &neighbours;
  demands_.clear();
}

const OtherPods::Demand& OtherPods::DemandOf(TaskId task) {
  const auto& facts = cluster_->tasks()[task].facts;
  Demand& demand = demands_[task.index()];
  if (demand.facts == facts && demand.kinds == neighbours_->kinds()) return demand;
  demand = Demand{facts, neighbours_->kinds(), {}, {}, {}, false, {}};
  ReadAffinity(*facts->pod, demand);
  ReadSpread(facts->pod, demand);
  for (const auto& [text, crowd] : neighbours_->forbidding())
    if (crowd.terms.front().Matches(facts->meta()))
      demand.barred.push_back({&crowd, crowd.views.begin()->second.get()});
  return demand;
}

void OtherPods::ReadAffinity(const api::Pod& pod, Demand& demand) {
  const std::string& own = pod.metadata.namespace_;
  if (const api::PodAffinity* affinity = model::AffinityOf(pod); affinity != nullptr) {
    std::vector<PodTerm> terms;
    for (const api::PodAffinityTerm& term : affinity->required) terms.emplace_back(term, own);
    demand.matches_itself = std::all_of(terms.begin(), terms.end(), [&](const PodTerm& term) {
      return term.Matches(pod.metadata);
    });
    if (!terms.empty()) {
      // Each of them stands for all: pods that match every term are asked for.
      Neighbours::Crowd& crowd = neighbours_->Matching(*cluster_, terms);
      for (const PodTerm& term : terms)
        demand.near.push_back({&crowd, &neighbours_->ViewOf(*cluster_, crowd, term.key())});
    }
  }
  if (const api::PodAffinity* affinity = model::AntiAffinityOf(pod); affinity != nullptr)
    for (const api::PodAffinityTerm& written : affinity->required) {
      const PodTerm term(written, own);
      Neighbours::Crowd& crowd = neighbours_->Matching(*cluster_, {term});
      demand.away.push_back({&crowd, &neighbours_->ViewOf(*cluster_, crowd, term.key())});
    }
}

void OtherPods::ReadSpread(const std::shared_ptr<const api::Pod>& pod, Demand& demand) {
  std::vector<std::string> keys;
  for (const auto& constraint : pod->spec.topology_spread_constraints)
    if (constraint.when_unsatisfiable == "DoNotSchedule") keys.push_back(constraint.topology_key);
  for (const auto& constraint : pod->spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != "DoNotSchedule") continue;
    const PodTerm term(constraint, pod->metadata);
    Neighbours::Crowd& crowd = neighbours_->Matching(*cluster_, {term});
    const model::CountedNodes nodes = model::NodesOf(constraint, pod, keys);
    demand.limits.push_back({{&crowd, &neighbours_->ViewOf(*cluster_, crowd, term.key(), nodes)},
                             constraint.max_skew,
                             constraint.min_domains.value_or(1),
                             model::CountsItself(constraint, pod->metadata) ? 1 : 0});
  }
}

int64_t OtherPods::Others(const Counted& pods, TaskId task, int32_t domain) const {
  return neighbours_->Others(*pods.crowd, *pods.view, task, domain);
}

Verdict OtherPods::Affinity(TaskId task, NodeId node) {
  neighbours_->Follow(*cluster_);
  const api::Pod& pod = *cluster_->tasks()[task].facts->pod;
  if (neighbours_->forbidding().empty() && !pod.spec.affinity) return Verdict::Fit();
  const Demand& demand = DemandOf(task);
  const Verdict refused = Verdict::NotNow(Reason::kPodAffinityMismatch);
  bool found = true, nobody = true;
  for (const Counted& pods : demand.near) {
    const int32_t domain = Neighbours::DomainAt(*pods.view, node);
    if (domain < 0) return refused;
    found = found && Others(pods, task, domain) > 0;
    nobody = nobody && neighbours_->OthersInAll(*pods.crowd, *pods.view, task) == 0;
  }
  // The first of pods that ask for each other has nobody to go to.
  if (!found && !(nobody && demand.matches_itself)) return refused;
  for (const auto* kinds : {&demand.away, &demand.barred})
    for (const Counted& pods : *kinds)
      if (Others(pods, task, Neighbours::DomainAt(*pods.view, node)) > 0) return refused;
  return Verdict::Fit();
}

bool OtherPods::Overfull(const Limit& limit, TaskId task, int32_t domain) const {
  const Neighbours::View& view = *limit.pods.view;
  const int64_t least = view.present < limit.min_domains
                            ? 0
                            : neighbours_->LeastOthers(*limit.pods.crowd, view, task);
  return Others(limit.pods, task, domain) + limit.itself - least > limit.max_skew;
}

Verdict OtherPods::Spread(TaskId task, NodeId node) {
  const api::Pod& pod = *cluster_->tasks()[task].facts->pod;
  if (pod.spec.topology_spread_constraints.empty()) return Verdict::Fit();
  neighbours_->Follow(*cluster_);
  for (const Limit& limit : DemandOf(task).limits) {
    const int32_t domain = Neighbours::DomainAt(*limit.pods.view, node);
    if (domain < 0 || Overfull(limit, task, domain))
      return Verdict::NotNow(Reason::kTopologySpreadMismatch);
  }
  return Verdict::Fit();
}

}  // namespace sky::plugins
