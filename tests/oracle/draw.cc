// SPDX-License-Identifier: Apache-2.0
// Few names and small numbers, so that what is drawn meets.
#include <fmt/format.h>

#include "api/json.h"
#include "base/rng.h"
#include "tests/oracle/question.h"

namespace sky::oracle {
namespace {

using Texts = std::vector<std::string>;

const char* const kHostname = "kubernetes.io/hostname";
const Texts kKeys = {"zone", "zone", "rack", kHostname}, kNamespaces = {"d", "e", "f"},
            kClaims = {"c0", "c1", "c2"};

class Drawer {
 public:
  explicit Drawer(uint64_t seed) : rng_(seed) {}

  Question All() {
    Question question;
    const uint64_t nodes = 1 + rng_.Below(7);
    // What this case is about: the rest is rare, or nothing would ever be feasible.
    for (bool& theme : themes_) theme = OneIn(3);
    for (uint64_t i = 0; i < nodes; ++i) question.nodes.push_back(Node(fmt::format("n{}", i)));
    const uint64_t pods = rng_.Below(10);
    for (uint64_t i = 0; i < pods; ++i) {
      api::Pod pod = Pod(fmt::format("p{}", i));
      pod.spec.node_name = Of(question.nodes).metadata.name;
      if (OneIn(8)) pod.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
      question.pods.push_back(std::move(pod));
    }
    incoming_ = true;
    question.pod = Pod("new");
    Volumes(question);
    for (const api::Node& node : question.nodes)
      if (!OneIn(4)) question.candidates.push_back(node.metadata.name);
    return question;
  }

 private:
  enum Theme : uint8_t {
    kTaints,
    kSelectors,
    kPorts,
    kAmounts,
    kAffinity,
    kSpread,
    kVolumes,
    kThemes
  };

  bool OneIn(uint64_t n) { return rng_.Below(n) == 0; }
  bool Has(Theme theme) { return themes_[theme] ? !OneIn(3) : OneIn(12); }
  template <class T>
  const T& Of(const std::vector<T>& all) {
    return all[rng_.Below(all.size())];
  }
  Texts Some(const Texts& all) {
    Texts some;
    for (const std::string& one : all)
      if (OneIn(2)) some.push_back(one);
    if (some.empty()) some.push_back(Of(all));
    return some;
  }
  template <class Fn>
  void Times(uint64_t below, Fn fn) {
    for (uint64_t i = rng_.Below(below); i > 0; --i) fn();
  }
  api::Quantity Amount(const std::string& text) { return *api::Quantity::Parse(text); }

  api::Node Node(const std::string& name) {
    api::Node node;
    node.metadata.name = name;
    node.metadata.uid = "uid-" + name;
    auto& labels = node.metadata.labels;
    if (!OneIn(8)) labels.insert_or_assign(kHostname, OneIn(8) ? "shared" : name);
    if (!OneIn(5)) labels.insert_or_assign("zone", Of<std::string>({"a", "b", "c"}));
    if (!OneIn(3)) labels.insert_or_assign("rack", Of<std::string>({"1", "2", "x"}));
    if (Has(kTaints)) Times(3, [&] { node.spec.taints.push_back(Taint()); });
    node.spec.unschedulable = Has(kTaints) && OneIn(4);
    auto& offered = node.status.allocatable;
    offered.insert_or_assign("cpu", Amount(Of<std::string>({"1", "2", "4", "1500m"})));
    offered.insert_or_assign("memory", Amount(Of<std::string>({"1Gi", "2Gi", "4G"})));
    offered.insert_or_assign("pods", Amount(Of<std::string>({"2", "4", "9"})));
    if (OneIn(2)) offered.insert_or_assign("x.com/gpu", Amount(Of<std::string>({"1", "2"})));
    return node;
  }

  api::Taint Taint() {
    return {Of<std::string>({"k", "l", "node.kubernetes.io/unschedulable"}),
            Of<std::string>({"", "v", "w"}),
            Of<std::string>({"NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"}),
            {}};
  }
  api::Toleration Toleration() {
    api::Toleration toleration;
    toleration.op = Of<std::string>({"", "Equal", "Exists", "Exists"});
    if (toleration.op != "Exists" || !OneIn(5))
      toleration.key = Of<std::string>({"k", "l", "node.kubernetes.io/unschedulable"});
    if (toleration.op != "Exists") toleration.value = Of<std::string>({"", "v", "w"});
    toleration.effect = Of<std::string>({"", "", "NoSchedule", "NoExecute", "PreferNoSchedule"});
    return toleration;
  }

  api::Pod Pod(const std::string& name) {
    api::Pod pod;
    pod.metadata.name = name;
    pod.metadata.uid = "uid-" + name;
    pod.metadata.namespace_ = OneIn(3) ? Of(kNamespaces) : "d";
    if (!OneIn(5)) pod.metadata.labels.insert_or_assign("app", Of<std::string>({"x", "x", "y"}));
    if (OneIn(2)) pod.metadata.labels.insert_or_assign("ver", Of<std::string>({"1", "2"}));
    api::Container& container = pod.spec.containers.emplace_back();
    container.name = "c";
    container.image = "i";
    auto& asked = container.resources.requests;
    if (Has(kAmounts))
      asked.insert_or_assign("cpu", Amount(Of<std::string>({"0", "100m", "700m", "1"})));
    if (Has(kAmounts))
      asked.insert_or_assign("memory", Amount(Of<std::string>({"100Mi", "700Mi", "1Gi"})));
    if (Has(kAmounts) && OneIn(3)) asked.insert_or_assign("x.com/gpu", Amount("1"));
    if (Has(kPorts)) Times(3, [&] { container.ports.push_back(Port()); });
    if (OneIn(12)) {
      api::Container& init = pod.spec.init_containers.emplace_back(container);
      init.name = "init";
      if (OneIn(2)) init.restart_policy = "Always";
    }
    if (Has(kTaints)) Times(4, [&] { pod.spec.tolerations.push_back(Toleration()); });
    if (Has(kSelectors) && OneIn(2))
      pod.spec.node_selector.insert_or_assign("zone", Of<std::string>({"a", "b"}));
    api::Affinity affinity;
    if (Has(kSelectors)) affinity.node = NodeAffinity();
    if (Has(kAffinity)) affinity.pod = PodAffinity();
    if (Has(kAffinity)) affinity.pod_anti = PodAffinity();
    if (affinity.node || affinity.pod || affinity.pod_anti) pod.spec.affinity = affinity;
    if (Has(kVolumes)) {
      const uint64_t first = rng_.Below(kClaims.size());
      Times(3, [&] { pod.spec.volumes.push_back(VolumeOf(first, pod.spec.volumes.size())); });
    }
    if (incoming_ && Has(kSpread))
      Times(4, [&] { pod.spec.topology_spread_constraints.push_back(Constraint()); });
    return pod;
  }

  // --- what claims hang on ---
  // Each claim once: kube-scheduler wants a volume for each time that a pod names it.
  api::Volume VolumeOf(uint64_t first, size_t number) {
    api::Volume volume;
    volume.name = fmt::format("v{}", number);
    if (OneIn(8))
      volume.ephemeral.emplace();
    else
      volume.persistent_volume_claim = {kClaims[(first + number) % kClaims.size()]};
    return volume;
  }
  Texts Modes() {
    return OneIn(5) ? Texts{"ReadWriteOncePod"} : Some({"ReadWriteOnce", "ReadWriteMany"});
  }

  void Volumes(Question& question) {
    for (const char* name : {"late", "made", "now"}) {
      if (OneIn(10)) continue;
      api::StorageClass& made = question.classes.emplace_back();
      made.metadata.name = name;
      made.provisioner = name == std::string("late") ? "kubernetes.io/no-provisioner" : "d.com";
      made.volume_binding_mode = name == std::string("now") ? "Immediate" : "WaitForFirstConsumer";
      if (name == std::string("made") && OneIn(2))
        Times(3, [&] {
          auto& term = made.allowed_topologies.emplace_back();
          Times(3, [&] {
            term.match_label_expressions.push_back(
                {Of<std::string>({"zone", "rack"}), "", Some({"a", "b", "1"})});
          });
        });
    }
    const uint64_t volumes = rng_.Below(6);
    for (uint64_t i = 0; i < volumes; ++i) question.volumes.push_back(DrawVolume(i));
    for (const std::string& ns : kNamespaces)
      for (const std::string& name : kClaims)
        if (!OneIn(12)) question.claims.push_back(DrawClaim(ns, name, question.volumes));
    for (const api::Volume& volume : question.pod.spec.volumes)
      if (volume.ephemeral && !OneIn(6)) {
        api::PersistentVolumeClaim claim =
            DrawClaim(question.pod.metadata.namespace_, "new-" + volume.name, question.volumes);
        if (!OneIn(5))
          claim.metadata.owner_references.push_back(
              {"v1", "Pod", "new", OneIn(8) ? "another" : "uid-new", true, false});
        question.claims.push_back(std::move(claim));
      }
    for (const api::Node& node : question.nodes) {
      if (OneIn(2)) continue;
      api::CSINode& limits = question.limits.emplace_back();
      limits.metadata.name = node.metadata.name;
      for (const char* driver : {"d.com", "e.com"})
        if (!OneIn(3)) {
          auto& one = limits.spec.drivers.emplace_back();
          one.name = driver;
          if (!OneIn(4)) one.allocatable = {{static_cast<int32_t>(1 + rng_.Below(3))}};
        }
    }
  }

  // Sizes differ: which of equal ones it would be is chance there.
  api::PersistentVolume DrawVolume(uint64_t number) {
    api::PersistentVolume volume;
    volume.metadata.name = fmt::format("pv{}", number);
    volume.spec.capacity.insert_or_assign("storage",
                                          Amount(fmt::format("{}Gi", (number * 7 + 3) % 13 + 1)));
    volume.spec.access_modes = Modes();
    volume.spec.storage_class_name = Of<std::string>({"late", "late", "made", "now", ""});
    if (OneIn(8)) volume.spec.volume_mode = Of<std::string>({"Block", "Filesystem"});
    volume.status.phase = OneIn(8) ? "Released" : "Available";
    if (OneIn(2)) volume.metadata.labels.insert_or_assign("app", Of<std::string>({"x", "y"}));
    for (const char* label :
         {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"})
      if (OneIn(6))
        volume.metadata.labels.insert_or_assign(label, Of<std::string>({"a", "a__b", "c"}));
    if (OneIn(2)) {
      api::NodeSelector reach;
      Times(3, [&] { reach.node_selector_terms.push_back(NodeTerm()); });
      if (OneIn(2))
        reach.node_selector_terms = {{{{kHostname, "In", Some({"n0", "n1", "n2"})}}, {}}};
      if (!reach.node_selector_terms.empty()) volume.spec.node_affinity = {reach};
    }
    if (OneIn(2))
      volume.spec.csi = {Of<std::string>({"d.com", "e.com"}), Of<std::string>({"h1", "h2", "h3"})};
    return volume;
  }

  api::PersistentVolumeClaim DrawClaim(const std::string& ns, const std::string& name,
                                       std::vector<api::PersistentVolume>& volumes) {
    api::PersistentVolumeClaim claim;
    claim.metadata.namespace_ = ns;
    claim.metadata.name = name;
    claim.metadata.uid = fmt::format("uid-{}-{}", ns, name);
    claim.spec.access_modes = Modes();
    claim.status.phase = OneIn(12) ? "Lost" : "Pending";
    claim.spec.storage_class_name = Of<std::string>({"late", "late", "made", "made", "now", ""});
    if (OneIn(8)) claim.spec.volume_mode = Of<std::string>({"Block", "Filesystem"});
    if (OneIn(6)) claim.spec.selector = Selector();
    claim.spec.resources.requests.insert_or_assign("storage",
                                                   Amount(fmt::format("{}Gi", 1 + rng_.Below(6))));
    if (OneIn(20)) claim.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
    if (OneIn(3) && !volumes.empty()) {
      api::PersistentVolume& volume = volumes[rng_.Below(volumes.size())];
      claim.spec.volume_name = OneIn(10) ? "gone" : volume.metadata.name;
      if (!OneIn(6))
        claim.metadata.annotations.insert_or_assign("pv.kubernetes.io/bind-completed", "yes");
    } else if (OneIn(6)) {
      claim.metadata.annotations.insert_or_assign("volume.kubernetes.io/selected-node",
                                                  Of<std::string>({"n0", "n1"}));
    } else if (OneIn(8) && !volumes.empty() && claim.spec.storage_class_name == "late") {
      // With a provisioner kube-scheduler would have another one made: docs/predicates.md.
      api::PersistentVolume& volume = volumes[rng_.Below(volumes.size())];
      volume.spec.claim_ref.emplace();
      volume.spec.claim_ref->namespace_ = ns;
      volume.spec.claim_ref->name = name;
      if (OneIn(2)) volume.spec.claim_ref->uid = claim.metadata.uid;
    }
    return claim;
  }

  api::ContainerPort Port() {
    api::ContainerPort port;
    port.container_port = 80;
    port.host_port = OneIn(4) ? 0 : static_cast<int32_t>(80 + rng_.Below(2));
    port.protocol = Of<std::string>({"", "TCP", "UDP"});
    port.host_ip = Of<std::string>({"", "0.0.0.0", "10.0.0.1", "10.0.0.2"});
    return port;
  }

  api::NodeSelectorTerm NodeTerm() {
    api::NodeSelectorTerm term;
    Times(3, [&] {
      api::SelectorRequirement one;
      one.key = Of(kKeys);
      one.op = Of<std::string>({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"});
      if (one.op == "In" || one.op == "NotIn") one.values = Some({"a", "b", "1", "n0", "n1"});
      if (one.op == "Gt" || one.op == "Lt") one.values = {Of<std::string>({"1", "2"})};
      term.match_expressions.push_back(one);
    });
    if (OneIn(4))
      term.match_fields.push_back(
          {"metadata.name", Of<std::string>({"In", "NotIn"}), {Of<std::string>({"n0", "n1"})}});
    return term;
  }
  api::NodeAffinity NodeAffinity() {
    api::NodeAffinity affinity;
    if (OneIn(2)) {
      affinity.required.emplace();
      affinity.required->node_selector_terms.push_back(NodeTerm());
      if (OneIn(2)) affinity.required->node_selector_terms.push_back(NodeTerm());
    }
    Times(4, [&] { affinity.preferred.push_back({Weight(), NodeTerm()}); });
    return affinity;
  }
  int32_t Weight() { return static_cast<int32_t>(1 + rng_.Below(100)); }

  api::LabelSelector Selector() {
    api::LabelSelector selector;
    if (OneIn(2)) selector.match_labels.insert_or_assign("app", Of<std::string>({"x", "y"}));
    if (OneIn(3)) {
      api::SelectorRequirement one;
      one.key = Of<std::string>({"app", "ver"});
      one.op = Of<std::string>({"In", "NotIn", "Exists", "DoesNotExist"});
      if (one.op == "In" || one.op == "NotIn") one.values = Some({"x", "1", "2"});
      selector.match_expressions.push_back(one);
    }
    return selector;
  }
  api::PodAffinityTerm Term() {
    api::PodAffinityTerm term;
    term.topology_key = Of(kKeys);
    if (!OneIn(10)) term.label_selector = Selector();
    if (OneIn(4)) term.namespaces = Some(kNamespaces);
    if (OneIn(5)) {
      term.namespace_selector.emplace();
      // An incoming pod's negative ones are misread by kube-scheduler: docs/predicates.md.
      if (!OneIn(3))
        term.namespace_selector->match_expressions.push_back(
            {"kubernetes.io/metadata.name", incoming_ ? "In" : Of<std::string>({"In", "NotIn"}),
             Some(kNamespaces)});
    }
    return term;
  }
  api::PodAffinity PodAffinity() {
    api::PodAffinity affinity;
    Times(3, [&] { affinity.required.push_back(Term()); });
    Times(3, [&] { affinity.preferred.push_back({Weight(), Term()}); });
    return affinity;
  }

  api::TopologySpreadConstraint Constraint() {
    api::TopologySpreadConstraint constraint;
    constraint.max_skew = static_cast<int32_t>(1 + rng_.Below(3));
    constraint.topology_key = Of(kKeys);
    constraint.when_unsatisfiable = Of<std::string>({"DoNotSchedule", "ScheduleAnyway"});
    if (!OneIn(10)) constraint.label_selector = Selector();
    if (constraint.when_unsatisfiable == "DoNotSchedule" && OneIn(3))
      constraint.min_domains = static_cast<int32_t>(1 + rng_.Below(4));
    constraint.node_affinity_policy = Of<std::string>({"", "", "Honor", "Ignore"});
    constraint.node_taints_policy = Of<std::string>({"", "", "Honor", "Ignore"});
    if (constraint.label_selector && OneIn(3)) constraint.match_label_keys = {"ver"};
    return constraint;
  }

  Rng rng_;
  bool themes_[kThemes] = {}, incoming_ = false;
};

template <class T>
std::string Texted(const std::vector<T>& objects) {
  std::string text = "[";
  for (const T& object : objects) text += (text.size() > 1 ? "," : "") + api::Encode(object);
  return text + "]";
}

}  // namespace

Question Draw(uint64_t seed) { return Drawer(seed).All(); }

std::string ToJson(const Question& question) {
  std::string names, namespaces;
  for (const std::string& name : question.candidates)
    names += (names.empty() ? "" : ",") + api::Quote(name);
  for (const std::string& name : kNamespaces)
    namespaces += fmt::format(
        R"({}{{"metadata":{{"name":"{}","labels":{{"kubernetes.io/metadata.name":"{}"}}}}}})",
        namespaces.empty() ? "" : ",", name, name);
  return fmt::format(
      R"({{"nodes":{},"pods":{},"namespaces":[{}],"pod":{},"candidates":[{}],"claims":{},"volumes":{},"classes":{},"limits":{}}})",
      Texted(question.nodes), Texted(question.pods), namespaces, api::Encode(question.pod), names,
      Texted(question.claims), Texted(question.volumes), Texted(question.classes),
      Texted(question.limits));
}

}  // namespace sky::oracle
