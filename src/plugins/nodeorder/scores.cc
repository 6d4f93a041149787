// SPDX-License-Identifier: Apache-2.0
#include "plugins/nodeorder/scores.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "api/selectors.h"

namespace sky::plugins {
namespace {

using model::Neighbours;
using model::NodeId;
using model::PodTerm;
using model::TaskId;

constexpr int64_t kBest = 100;

// The greatest becomes 100, in proportion.
void ByGreatest(std::vector<int64_t>& scores, bool reversed) {
  int64_t most = 0;
  for (const int64_t score : scores) most = std::max(most, score);
  for (int64_t& score : scores) {
    score = most == 0 ? 0 : kBest * score / most;
    if (reversed) score = kBest - score;
  }
}

}  // namespace

Scores ScoreNodeAffinity(const model::Cluster& cluster, const api::NodeAffinity* affinity,
                         Candidates nodes) {
  if (affinity == nullptr || affinity->preferred.empty()) return std::nullopt;
  std::vector<int64_t> scores;
  for (const NodeId id : nodes) {
    const model::Node& node = cluster.nodes()[id];
    int64_t& score = scores.emplace_back(0);
    for (const auto& [weight, term] : affinity->preferred)
      if (api::MatchesNodeTerm(term, node.name, node.object->metadata.labels)) score += weight;
  }
  ByGreatest(scores, false);
  return scores;
}

Scores ScoreTaints(const model::Cluster& cluster, const std::vector<api::Toleration>& tolerations,
                   Candidates nodes) {
  std::vector<int64_t> scores;
  for (const NodeId id : nodes) {
    const auto& taints = cluster.nodes()[id].object->spec.taints;
    scores.push_back(std::ranges::count_if(taints, [&](const api::Taint& taint) {
      return taint.effect == "PreferNoSchedule" &&
             std::ranges::none_of(tolerations, [&](const api::Toleration& toleration) {
               return api::Tolerates(toleration, taint);
             });
    }));
  }
  ByGreatest(scores, true);
  return scores;
}

Scores ScorePodAffinity(const model::Cluster& cluster, Neighbours& neighbours, TaskId task,
                        Candidates nodes) {
  neighbours.Follow(cluster);
  const api::Pod& pod = *cluster.tasks()[task].facts->pod;
  if (neighbours.attracting().empty() && !pod.spec.affinity) return std::nullopt;
  std::vector<int64_t> scores(nodes.size(), 0);
  bool any = false;
  const auto add = [&](const Neighbours::Crowd& crowd, const Neighbours::View& view,
                       int64_t weight) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      const int64_t pods =
          neighbours.Others(crowd, view, task, Neighbours::DomainAt(view, nodes[i]));
      scores[i] += weight * pods;
      any = any || pods != 0;
    }
  };
  const auto prefer = [&](const api::PodAffinity* affinity, int64_t sign) {
    if (affinity == nullptr) return;
    for (const auto& [weight, written] : affinity->preferred) {
      const PodTerm term(written, pod.metadata.namespace_);
      Neighbours::Crowd& crowd = neighbours.Matching(cluster, {term});
      add(crowd, neighbours.ViewOf(cluster, crowd, term.key()), sign * weight);
    }
  };
  prefer(model::AffinityOf(pod), 1);
  prefer(model::AntiAffinityOf(pod), -1);
  for (const auto& [text, crowd] : neighbours.attracting())
    if (crowd.members > 0 && crowd.terms.front().Matches(pod.metadata))
      add(crowd, *crowd.views.begin()->second, 1);
  if (!any) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(scores);
  for (int64_t& score : scores) {
    // The same arithmetic as kube-scheduler's, so that the same point is rounded off.
    const double part =
        most == least ? 0 : static_cast<double>(score - least) / static_cast<double>(most - least);
    score = static_cast<int64_t>(static_cast<double>(kBest) * part);
  }
  return scores;
}

Scores ScoreSpread(const model::Cluster& cluster, Neighbours& neighbours, TaskId task,
                   Candidates nodes) {
  const auto pod = cluster.tasks()[task].facts->pod;
  std::vector<const api::TopologySpreadConstraint*> constraints;
  std::vector<std::string> keys;
  for (const auto& constraint : pod->spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != "ScheduleAnyway") continue;
    constraints.push_back(&constraint);
    keys.push_back(constraint.topology_key);
  }
  if (constraints.empty()) return std::nullopt;
  neighbours.Follow(cluster);
  const model::CountedNodes with_keys{keys, nullptr, nullptr};
  std::vector<bool> admitted;
  for (const NodeId node : nodes) admitted.push_back(with_keys.Admit(cluster.nodes()[node]));
  std::vector<double> sums(nodes.size(), 0);
  for (const auto* constraint : constraints) {
    const PodTerm term(*constraint, pod->metadata);
    Neighbours::Crowd& crowd = neighbours.Matching(cluster, {term});
    const Neighbours::View& view =
        neighbours.ViewOf(cluster, crowd, term.key(), model::NodesOf(*constraint, pod, keys));
    // On its own node each pod counts, whether the node does or not.
    const bool each = term.key() == "kubernetes.io/hostname";
    std::set<int32_t> domains;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (admitted[i]) domains.insert(Neighbours::DomainAt(view, nodes[i]));
    const size_t size =
        each ? static_cast<size_t>(std::ranges::count(admitted, true)) : domains.size();
    const double weight = std::log(static_cast<double>(size + 2));
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!admitted[i]) continue;
      const int64_t pods =
          each ? neighbours.OthersOn(crowd, task, nodes[i])
               : neighbours.Others(crowd, view, task, Neighbours::DomainAt(view, nodes[i]));
      sums[i] += static_cast<double>(pods) * weight + static_cast<double>(constraint->max_skew - 1);
    }
  }
  std::vector<int64_t> scores(nodes.size(), 0);
  int64_t least = INT64_MAX, most = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!admitted[i]) continue;
    scores[i] = std::llround(sums[i]);
    least = std::min(least, scores[i]), most = std::max(most, scores[i]);
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (admitted[i]) scores[i] = most == 0 ? kBest : kBest * (most + least - scores[i]) / most;
  return scores;
}

}  // namespace sky::plugins
