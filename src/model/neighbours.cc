// SPDX-License-Identifier: Apache-2.0
#include "model/neighbours.h"

#include <algorithm>
#include <utility>

#include "api/json.h"
#include "api/selectors.h"

namespace sky::model {
namespace {

// A crowd that nobody has asked for in so many sessions is forgotten: not before a job that waits
// for it has looked again.
constexpr uint64_t kRemembered = 2048;
// So many terms that nobody holds any more may be left over.
constexpr size_t kUnheld = 64;

void Resize(auto& rows, size_t size, auto value) {
  if (rows.size() < size) rows.resize(size, value);
}

const api::NodeAffinity* NodeAffinityOf(const api::Pod& pod) {
  return pod.spec.affinity && pod.spec.affinity->node ? &*pod.spec.affinity->node : nullptr;
}

uint64_t Mix(uint64_t mark, uint64_t value) {
  mark = (mark ^ value) * 0x9e3779b97f4a7c15ull;
  return mark ^ (mark >> 29);
}

// Of what a task adds: taken away again, the sum of all is what it was before.
template <class Record>
uint64_t MarkOf(size_t task, const Record& record) {
  if (record.shares.empty()) return 0;
  uint64_t mark = Mix(Mix(task + 1, record.node.index()), record.shares.size());
  for (const auto& [crowd, weight] : record.shares)
    mark +=
        Mix(std::hash<std::string>{}(crowd->terms.front().text()), static_cast<uint64_t>(weight));
  return mark;
}

int32_t At(const std::vector<int32_t>& of_node, NodeId node) {
  return node.valid() && node.index() < of_node.size() ? of_node[node.index()] : -1;
}

int64_t SumIn(const Neighbours::View& view, int32_t domain) {
  const auto at = static_cast<size_t>(domain);
  return domain >= 0 && at < view.sums.size() ? view.sums[at] : 0;
}

}  // namespace

std::string CountedNodes::Text() const {
  api::Pod read;
  if (selects) {
    read.spec.node_selector = selects->spec.node_selector;
    if (const api::NodeAffinity* affinity = NodeAffinityOf(*selects))
      read.spec.affinity.emplace().node.emplace().required = affinity->required;
  }
  if (tolerates) read.spec.tolerations = tolerates->spec.tolerations;
  std::string text = fmt::format("{}{}{}", selects != nullptr, tolerates != nullptr,
                                 selects || tolerates ? api::Encode(read) : "");
  for (const std::string& key : keys) text += fmt::format("|{}", key);
  return text;
}

bool CountedNodes::Admit(const Node& node) const {
  if (!node.exists()) return false;
  const api::StringMap& labels = node.object->metadata.labels;
  for (const std::string& key : keys)
    if (!labels.contains(key)) return false;
  if (selects &&
      !api::MatchesNode(selects->spec.node_selector, NodeAffinityOf(*selects), node.name, labels))
    return false;
  return !tolerates ||
         api::FindUntolerated(node.object->spec.taints, tolerates->spec.tolerations) == nullptr;
}

CountedNodes NodesOf(const api::TopologySpreadConstraint& constraint,
                     const std::shared_ptr<const api::Pod>& pod, std::vector<std::string> keys) {
  CountedNodes nodes{std::move(keys), nullptr, nullptr};
  if (constraint.node_affinity_policy != "Ignore") nodes.selects = pod;
  if (constraint.node_taints_policy == "Honor") nodes.tolerates = pod;
  return nodes;
}

template <class Fn>
void Neighbours::EachCrowd(Fn fn) {
  for (auto* crowds : {&matching_, &forbidding_, &attracting_})
    for (auto& [text, crowd] : *crowds) fn(crowd);
}

void Neighbours::Open(const Cluster& cluster) {
  ++session_;
  const size_t stale = std::erase_if(
      matching_, [&](const auto& entry) { return entry.second.asked + kRemembered < session_; });
  size_t unheld = 0;
  for (const auto* crowds : {&forbidding_, &attracting_})
    for (const auto& [text, crowd] : *crowds) unheld += crowd.members == 0 ? 1 : 0;
  if (stale > 0 || unheld > kUnheld) return Rebuild(cluster);
  Follow(cluster);
}

void Neighbours::Follow(const Cluster& cluster) {
  const Moves& moves = cluster.moves();
  if (source_ != moves.id() || read_ < moves.begin()) return Rebuild(cluster);
  if (generation_ != cluster.static_generation()) FollowNodes(cluster);
  while (read_ < moves.end()) Recount(cluster, moves[read_++]);
}

void Neighbours::Rebuild(const Cluster& cluster) {
  source_ = cluster.moves().id();
  read_ = cluster.moves().end();
  generation_ = cluster.static_generation();
  generations_.clear();
  for (size_t i = 0; i < cluster.nodes().size(); ++i)
    generations_.push_back(cluster.nodes()[NodeId(i)].static_generation);
  records_.clear();
  domains_.clear();
  forbidding_.clear();
  attracting_.clear();
  ++kinds_;
  changed_ = Tick();
  for (auto& [text, crowd] : matching_) {
    crowd.by_node.clear();
    crowd.views.clear();
    crowd.members = 0;
  }
  for (size_t i = 0; i < cluster.tasks().size(); ++i) Recount(cluster, TaskId(i));
}

void Neighbours::FollowNodes(const Cluster& cluster) {
  generation_ = cluster.static_generation();
  Resize(generations_, cluster.nodes().size(), uint64_t{0});
  for (size_t i = 0; i < generations_.size(); ++i) {
    const NodeId id(i);
    const Node& node = cluster.nodes()[id];
    if (generations_[i] == node.static_generation) continue;
    generations_[i] = node.static_generation;
    changed_ += Mix(i, node.static_generation);
    EachCrowd([&](Crowd& crowd) {
      for (auto& [text, view] : crowd.views) Leave(*view, crowd, id);
    });
    for (auto& [key, domains] : domains_) {
      Resize(domains.of_node, i + 1, -1);
      domains.of_node[i] = DomainOf(domains, node);
    }
    EachCrowd([&](Crowd& crowd) {
      for (auto& [text, view] : crowd.views) Enter(*view, crowd, node, id);
    });
  }
}

void Neighbours::Recount(const Cluster& cluster, TaskId id) {
  Record now = RecordOf(cluster, id);
  const auto known = records_.find(id.index());
  if (known == records_.end() && now.shares.empty()) return;
  if (known != records_.end()) {
    if (known->second == now) return;
    changed_ -= MarkOf(id.index(), known->second);
    for (const auto& [crowd, weight] : known->second.shares) {
      Add(*crowd, known->second.node, -weight);
      --crowd->members;
    }
    records_.erase(known);
  }
  for (const auto& [crowd, weight] : now.shares) {
    Add(*crowd, now.node, weight);
    ++crowd->members;
  }
  changed_ += MarkOf(id.index(), now);
  if (!now.shares.empty()) records_.emplace(id.index(), std::move(now));
}

Neighbours::Record Neighbours::RecordOf(const Cluster& cluster, TaskId id) {
  if (!cluster.tasks().Live(id)) return {};
  Record record{cluster.PlaceOf(id), {}};
  if (!record.node.valid()) return {};
  const api::Pod& pod = *cluster.tasks()[id].facts->pod;
  for (auto& [text, crowd] : matching_) {
    const auto matches = [&](const PodTerm& term) { return term.Matches(pod.metadata); };
    if (std::all_of(crowd.terms.begin(), crowd.terms.end(), matches))
      record.shares.push_back({&crowd, 1});
  }
  if (pod.spec.affinity) Hold(cluster, pod, record.shares);
  return record;
}

// What the pod's own terms say to others.
void Neighbours::Hold(const Cluster& cluster, const api::Pod& pod, std::vector<Share>& shares) {
  const auto attract = [&](const api::PodAffinityTerm& term, int64_t weight) {
    if (weight != 0)
      shares.push_back(
          {&Holding(cluster, attracting_, PodTerm(term, pod.metadata.namespace_)), weight});
  };
  if (const api::PodAffinity* affinity = AffinityOf(pod)) {
    for (const api::PodAffinityTerm& term : affinity->required) attract(term, 1);
    for (const auto& [weight, term] : affinity->preferred) attract(term, weight);
  }
  if (const api::PodAffinity* affinity = AntiAffinityOf(pod)) {
    for (const api::PodAffinityTerm& term : affinity->required)
      shares.push_back({&Holding(cluster, forbidding_, PodTerm(term, pod.metadata.namespace_)), 1});
    for (const auto& [weight, term] : affinity->preferred) attract(term, -int64_t{weight});
  }
}

Neighbours::Crowd& Neighbours::Holding(const Cluster& cluster, std::map<std::string, Crowd>& crowds,
                                       PodTerm term) {
  const auto [at, added] = crowds.try_emplace(term.text());
  if (added) {
    const std::string key = term.key();
    at->second.terms.push_back(std::move(term));
    ViewOf(cluster, at->second, key);
    ++kinds_;
  }
  return at->second;
}

Neighbours::Crowd& Neighbours::Matching(const Cluster& cluster, const std::vector<PodTerm>& terms) {
  Follow(cluster);
  std::string text;
  for (const PodTerm& term : terms) text += term.text();
  const auto [at, added] = matching_.try_emplace(text);
  Crowd& crowd = at->second;
  crowd.asked = session_;
  if (!added) return crowd;
  crowd.terms = terms;
  for (size_t i = 0; i < cluster.tasks().size(); ++i) {
    const TaskId id(i);
    if (!cluster.tasks().Live(id)) continue;
    const NodeId node = cluster.PlaceOf(id);
    const api::ObjectMeta& pod = cluster.tasks()[id].facts->meta();
    const auto matches = [&](const PodTerm& term) { return term.Matches(pod); };
    if (!node.valid() || !std::all_of(terms.begin(), terms.end(), matches)) continue;
    Record& record = records_[i];
    changed_ -= MarkOf(i, record);
    record.node = node;
    record.shares.push_back({&crowd, 1});
    changed_ += MarkOf(i, record);
    Add(crowd, node, 1);
    ++crowd.members;
  }
  return crowd;
}

Neighbours::View& Neighbours::ViewOf(const Cluster& cluster, Crowd& crowd, const std::string& key,
                                     const CountedNodes& nodes) {
  std::unique_ptr<View>& view = crowd.views[fmt::format("{}|{}", key, nodes.Text())];
  if (view) return *view;
  view = std::make_unique<View>();
  view->domains = &DomainsOf(cluster, key);
  view->nodes = nodes;
  for (size_t i = 0; i < cluster.nodes().size(); ++i)
    Enter(*view, crowd, cluster.nodes()[NodeId(i)], NodeId(i));
  return *view;
}

int32_t Neighbours::DomainAt(const View& view, NodeId node) {
  return At(view.domains->of_node, node);
}

int64_t Neighbours::Others(const Crowd& crowd, const View& view, TaskId task,
                           int32_t domain) const {
  NodeId stands;
  const int64_t own = Own(crowd, task, stands);
  return SumIn(view, domain) - (domain >= 0 && At(view.counted_in, stands) == domain ? own : 0);
}

int64_t Neighbours::OthersOn(const Crowd& crowd, TaskId task, NodeId node) const {
  NodeId stands;
  const int64_t own = Own(crowd, task, stands);
  const int64_t all = node.index() < crowd.by_node.size() ? crowd.by_node[node.index()] : 0;
  return all - (stands == node ? own : 0);
}

int64_t Neighbours::OthersInAll(const Crowd& crowd, const View& view, TaskId task) const {
  NodeId stands;
  const int64_t own = Own(crowd, task, stands);
  return view.total - (At(view.counted_in, stands) >= 0 ? own : 0);
}

int64_t Neighbours::LeastOthers(const Crowd& crowd, const View& view, TaskId task) const {
  if (view.levels.empty()) return 0;
  NodeId stands;
  const int64_t own = Own(crowd, task, stands);
  const int32_t there = At(view.counted_in, stands);
  const int64_t least = view.levels.begin()->first;
  return there < 0 ? least : std::min(least, SumIn(view, there) - own);
}

int64_t Neighbours::Own(const Crowd& crowd, TaskId task, NodeId& node) const {
  const auto known = records_.find(task.index());
  if (known == records_.end()) return 0;
  node = known->second.node;
  int64_t sum = 0;
  for (const auto& [of, weight] : known->second.shares)
    if (of == &crowd) sum += weight;
  return sum;
}

void Neighbours::Add(Crowd& crowd, NodeId node, int64_t weight) {
  Resize(crowd.by_node, node.index() + 1, int64_t{0});
  crowd.by_node[node.index()] += weight;
  for (auto& [text, view] : crowd.views)
    if (node.index() < view->counted_in.size() && view->counted_in[node.index()] >= 0)
      Shift(*view, view->counted_in[node.index()], weight);
}

void Neighbours::Shift(View& view, int32_t domain, int64_t weight) {
  const auto at = static_cast<size_t>(domain);
  if (const auto level = view.levels.find(view.sums[at]); --level->second == 0)
    view.levels.erase(level);
  view.sums[at] += weight;
  ++view.levels[view.sums[at]];
  view.total += weight;
}

void Neighbours::Enter(View& view, const Crowd& crowd, const Node& node, NodeId id) {
  Resize(view.counted_in, id.index() + 1, -1);
  const int32_t domain =
      id.index() < view.domains->of_node.size() ? view.domains->of_node[id.index()] : -1;
  if (domain < 0 || !view.nodes.Admit(node)) return;
  const auto at = static_cast<size_t>(domain);
  view.counted_in[id.index()] = domain;
  Resize(view.sums, at + 1, int64_t{0});
  Resize(view.sizes, at + 1, 0);
  if (view.sizes[at]++ == 0) ++view.present, ++view.levels[view.sums[at]];
  if (id.index() < crowd.by_node.size()) Shift(view, domain, crowd.by_node[id.index()]);
}

void Neighbours::Leave(View& view, const Crowd& crowd, NodeId id) {
  if (id.index() >= view.counted_in.size() || view.counted_in[id.index()] < 0) return;
  const int32_t domain = std::exchange(view.counted_in[id.index()], -1);
  if (id.index() < crowd.by_node.size()) Shift(view, domain, -crowd.by_node[id.index()]);
  const auto at = static_cast<size_t>(domain);
  if (--view.sizes[at] > 0) return;
  --view.present;
  if (const auto level = view.levels.find(view.sums[at]); --level->second == 0)
    view.levels.erase(level);
}

Neighbours::Domains& Neighbours::DomainsOf(const Cluster& cluster, const std::string& key) {
  const auto [at, added] = domains_.try_emplace(key);
  if (added) {
    at->second.key = key;
    for (size_t i = 0; i < cluster.nodes().size(); ++i)
      at->second.of_node.push_back(DomainOf(at->second, cluster.nodes()[NodeId(i)]));
  }
  return at->second;
}

int32_t Neighbours::DomainOf(Domains& domains, const Node& node) {
  if (!node.exists()) return -1;
  const auto label = node.object->metadata.labels.find(domains.key);
  if (label == node.object->metadata.labels.end()) return -1;
  return domains.ids.try_emplace(label->second, static_cast<int32_t>(domains.ids.size()))
      .first->second;
}

}  // namespace sky::model
