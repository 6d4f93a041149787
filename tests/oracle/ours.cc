// SPDX-License-Identifier: Apache-2.0
// Each part of predicates and nodeorder alone, as kube-scheduler runs its plugins; that a node is
// Ready is not asked here, since kube-scheduler reads it as taints only.
#include "model/facts.h"
#include "model/volume_rules.h"
#include "plugins/nodeorder/scores.h"
#include "plugins/predicates/predicates.h"
#include "tests/oracle/question.h"

namespace sky::oracle {
namespace {

using model::NodeId;
using model::TaskId;

}  // namespace

Answer Ours(const Question& question) {
  auto names = std::make_shared<model::Names>();
  model::Cluster cluster(names);
  const model::Settings settings;
  for (const api::Node& node : question.nodes)
    cluster.SetNode(std::make_shared<api::Node>(node), settings);
  model::Neighbours neighbours;
  plugins::OtherPods others;
  // Followed pod by pod, so that what is kept up to date is compared, not what is counted once.
  cluster.SetPod(model::MakePodFacts(std::make_shared<api::Pod>(question.pod), settings, *names));
  cluster.Flush();
  const TaskId task = cluster.tasks().Find(question.pod.metadata.uid);
  const auto open = [&] {
    neighbours.Open(cluster);
    others.Open(cluster, neighbours);
  };
  open();
  for (size_t i = 0; i < question.nodes.size(); ++i)
    others.Affinity(task, NodeId(i)), others.Spread(task, NodeId(i));
  for (const api::Pod& pod : question.pods)
    cluster.SetPod(model::MakePodFacts(std::make_shared<api::Pod>(pod), settings, *names));
  cluster.Flush();
  open();

  const auto add = [&](const auto& objects) {
    for (const auto& object : objects) {
      using Object = std::decay_t<decltype(object)>;
      cluster.ChangeVolumes(api::Delta<Object>{api::Delta<Object>::Type::kAdd,
                                               std::make_shared<const Object>(object), nullptr});
    }
  };
  add(question.volumes), add(question.claims), add(question.classes), add(question.limits);

  const api::PodSpec& spec = cluster.tasks()[task].facts->pod->spec;
  const std::map<std::string, std::function<bool(NodeId)>> filters = {
      {"NodeUnschedulable",
       [&](NodeId id) { return plugins::Cordon(cluster.nodes()[id], spec.tolerations).fit(); }},
      {"TaintToleration",
       [&](NodeId id) { return plugins::Taints(cluster.nodes()[id], spec.tolerations).fit(); }},
      {"NodeAffinity",
       [&](NodeId id) { return plugins::NodeLabels(cluster.nodes()[id], spec).fit(); }},
      {"NodePorts", [&](NodeId id) { return plugins::HostPorts(cluster, task, id).fit(); }},
      {"NodeResourcesFit",
       [&](NodeId id) {
         return model::Fits(cluster.tasks()[task].facts->request, cluster.nodes()[id].Idle(),
                            names->resources);
       }},
      {"InterPodAffinity", [&](NodeId id) { return others.Affinity(task, id).fit(); }},
      {"Volumes", [&](NodeId id) { return model::VolumesOn(cluster, task, id, {}).fit(); }},
      {"PodTopologySpread", [&](NodeId id) { return others.Spread(task, id).fit(); }},
  };
  Answer answer;
  for (const auto& [name, admits] : filters) {
    std::vector<std::string>& feasible = answer.feasible[name];
    for (const api::Node& node : question.nodes)
      if (admits(cluster.nodes().Find(node.metadata.name))) feasible.push_back(node.metadata.name);
  }

  std::vector<NodeId> nodes;
  for (const std::string& name : question.candidates) nodes.push_back(cluster.nodes().Find(name));
  const api::NodeAffinity* affinity =
      spec.affinity && spec.affinity->node ? &*spec.affinity->node : nullptr;
  const auto give = [&](const char* name, const plugins::Scores& scores) {
    if (!scores) return;
    for (size_t i = 0; i < nodes.size(); ++i)
      answer.scores[name].emplace(question.candidates[i], (*scores)[i]);
  };
  give("NodeAffinity", plugins::ScoreNodeAffinity(cluster, affinity, nodes));
  give("TaintToleration", plugins::ScoreTaints(cluster, spec.tolerations, nodes));
  give("InterPodAffinity", plugins::ScorePodAffinity(cluster, neighbours, task, nodes));
  give("PodTopologySpread", plugins::ScoreSpread(cluster, neighbours, task, nodes));
  give("LeastAllocated", plugins::ScoreAmounts(cluster, plugins::Amounts::kLeast, task, nodes));
  give("MostAllocated", plugins::ScoreAmounts(cluster, plugins::Amounts::kMost, task, nodes));
  give("BalancedAllocation",
       plugins::ScoreAmounts(cluster, plugins::Amounts::kBalanced, task, nodes));
  return answer;
}

}  // namespace sky::oracle
