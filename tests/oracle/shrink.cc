// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/oracle/question.h"

namespace sky::oracle {
namespace {

using Change = std::function<void(Question&)>;
using Changes = std::vector<Change>;
// Finds the same part in another copy of the question.
template <class T>
using Place = std::function<T&(Question&)>;

template <class T>
void Elements(Changes& changes, const Question& now, const Place<std::vector<T>>& place) {
  Question copy = now;
  for (size_t i = 0; i < place(copy).size(); ++i)
    changes.push_back([=](Question& question) {
      auto& all = place(question);
      all.erase(all.begin() + static_cast<ptrdiff_t>(i));
    });
}

void OfAffinity(Changes& changes, const Question& now, const Place<api::PodAffinity>& place) {
  Elements<api::PodAffinityTerm>(changes, now,
                                 [=](Question& q) -> auto& { return place(q).required; });
  Elements<api::WeightedPodAffinityTerm>(changes, now,
                                         [=](Question& q) -> auto& { return place(q).preferred; });
}

void OfPod(Changes& changes, Question now, const Place<api::Pod>& place) {
  api::Pod& pod = place(now);
  changes.push_back([=](Question& q) { place(q).spec.affinity.reset(); });
  changes.push_back([=](Question& q) { place(q).spec.containers[0].ports.clear(); });
  changes.push_back([=](Question& q) { place(q).spec.containers[0].resources = {}; });
  changes.push_back([=](Question& q) { place(q).spec.init_containers.clear(); });
  changes.push_back([=](Question& q) { place(q).spec.node_selector.clear(); });
  changes.push_back([=](Question& q) { place(q).metadata.deletion_timestamp = {}; });
  for (const auto& [key, value] : pod.metadata.labels)
    changes.push_back([=, name = key](Question& q) { place(q).metadata.labels.erase(name); });
  Elements<api::Toleration>(changes, now,
                            [=](Question& q) -> auto& { return place(q).spec.tolerations; });
  Elements<api::Volume>(changes, now, [=](Question& q) -> auto& { return place(q).spec.volumes; });
  Elements<api::TopologySpreadConstraint>(changes, now, [=](Question& q) -> auto& {
    return place(q).spec.topology_spread_constraints;
  });
  if (!pod.spec.affinity) return;
  if (pod.spec.affinity->node)
    changes.push_back([=](Question& q) { place(q).spec.affinity->node.reset(); });
  if (pod.spec.affinity->pod)
    OfAffinity(changes, now, [=](Question& q) -> auto& { return *place(q).spec.affinity->pod; });
  if (pod.spec.affinity->pod_anti)
    OfAffinity(changes, now,
               [=](Question& q) -> auto& { return *place(q).spec.affinity->pod_anti; });
}

Changes All(const Question& now) {
  Changes changes;
  for (const api::Node& node : now.nodes)
    changes.push_back([name = node.metadata.name](Question& q) {
      std::erase_if(q.nodes, [&](const auto& one) { return one.metadata.name == name; });
      std::erase_if(q.pods, [&](const auto& one) { return one.spec.node_name == name; });
      std::erase(q.candidates, name);
    });
  Elements<api::Pod>(changes, now, [](Question& q) -> auto& { return q.pods; });
  Elements<std::string>(changes, now, [](Question& q) -> auto& { return q.candidates; });
  Elements<api::PersistentVolumeClaim>(changes, now, [](Question& q) -> auto& { return q.claims; });
  Elements<api::PersistentVolume>(changes, now, [](Question& q) -> auto& { return q.volumes; });
  Elements<api::StorageClass>(changes, now, [](Question& q) -> auto& { return q.classes; });
  Elements<api::CSINode>(changes, now, [](Question& q) -> auto& { return q.limits; });
  for (size_t i = 0; i < now.nodes.size(); ++i) {
    changes.push_back([=](Question& q) { q.nodes[i].spec = {}; });
    Elements<api::Taint>(changes, now,
                         [=](Question& q) -> auto& { return q.nodes[i].spec.taints; });
    for (const auto& [key, value] : now.nodes[i].metadata.labels)
      changes.push_back([=, name = key](Question& q) { q.nodes[i].metadata.labels.erase(name); });
  }
  for (size_t i = 0; i < now.pods.size(); ++i)
    OfPod(changes, now, [=](Question& q) -> auto& { return q.pods[i]; });
  OfPod(changes, now, [](Question& q) -> auto& { return q.pod; });
  return changes;
}

}  // namespace

Question Shrink(Question question, const std::function<bool(const Question&)>& differs) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Change& change : All(question)) {
      Question less = question;
      change(less);
      if (ToJson(less) == ToJson(question) || !differs(less)) continue;
      question = std::move(less);
      smaller = true;
      break;
    }
  }
  return question;
}

}  // namespace sky::oracle
