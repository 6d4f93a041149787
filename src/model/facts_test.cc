// SPDX-License-Identifier: Apache-2.0
#include "model/facts.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/keys.h"
#include "testing/words.h"

namespace sky::model {
namespace {

namespace key = api::key;

struct Facts : ::testing::Test {
  Names names;
  Settings settings;

  static api::Pod Worker(const std::string& name, const std::string& words = "gpu=1 hca=1",
                         const std::string& group = "train") {
    return testing::MakeWorker(group, name, *testing::ReadWords(words));
  }
  std::shared_ptr<const PodFacts> Of(api::Pod pod) {
    return MakePodFacts(std::make_shared<const api::Pod>(std::move(pod)), settings, names);
  }
};

api::ObjectMeta Noted(std::string_view name, const std::string& value) {
  api::ObjectMeta meta;
  meta.name = "node-7";
  meta.annotations.insert_or_assign(std::string(name), value);
  return meta;
}

TEST_F(Facts, ARequestHasOnePodSlotAndDevicesInThousandths) {
  const auto facts = Of(Worker("w-0", "gpu=2 cpu=1500m mem=1Gi"));
  EXPECT_EQ(facts->request[ResourceNames::kPods], 1000);
  EXPECT_EQ(facts->request[ResourceNames::kCpu], 1500);
  EXPECT_EQ(facts->request[ResourceNames::kMemory], int64_t{1} << 30);
  EXPECT_EQ(facts->request[names.resources.Intern("nvidia.com/gpu")], 2000);
}

TEST_F(Facts, ATasksNetworkFollowsTheDeviceItAsksFor) {
  EXPECT_EQ(Of(Worker("w", "hca=1"))->network, Network::kIb);
  EXPECT_TRUE(Of(Worker("w", "hca=1"))->needs_rdma);
  EXPECT_EQ(Of(Worker("w", "roce=1"))->network, Network::kRoce);
  EXPECT_TRUE(Of(Worker("w", "roce=1"))->needs_rdma);
  EXPECT_FALSE(Of(Worker("w", "gpu=8"))->needs_rdma);
  EXPECT_FALSE(Of(Worker("w", "hca=0"))->needs_rdma);
}

TEST_F(Facts, GlobsNameFamiliesOfResources) {
  EXPECT_TRUE(GlobMatches("rdma/*", "rdma/hca"));
  EXPECT_TRUE(GlobMatches("rdma/roce*", "rdma/roce"));
  EXPECT_TRUE(GlobMatches("*/hca_*_x", "rdma/hca_a_x_x"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_FALSE(GlobMatches("rdma/roce*", "rdma/hca"));
  EXPECT_FALSE(GlobMatches("", "x"));
}

TEST_F(Facts, WhoGroupsAPodFollowsFromItsNotesAndItsOwner) {
  EXPECT_EQ(Of(Worker("w-0"))->grouping, Grouping::kGroup);
  EXPECT_EQ(Of(Worker("w-0"))->job_key, "default/train");
  EXPECT_EQ(Of(Worker("lone", "gpu=1", ""))->job_key, "pod:default/lone");
  EXPECT_EQ(Of(Worker("w-0", "scheduler=other"))->grouping, Grouping::kForeign);

  api::Pod owned = Worker("web-0", "cpu=1", "");
  owned.metadata.owner_references.push_back({"apps/v1", "StatefulSet", "web", "u", true, false});
  EXPECT_EQ(Of(owned)->grouping, Grouping::kAwaitsGroup);
  owned.metadata.owner_references[0].kind = "DaemonSet";
  EXPECT_EQ(Of(owned)->grouping, Grouping::kSingle);

  api::Pod mirror = Worker("static", "cpu=1", "");
  mirror.metadata.annotations["kubernetes.io/config.mirror"] = "hash";
  EXPECT_EQ(Of(mirror)->grouping, Grouping::kForeign);
}

TEST_F(Facts, ARankComesFromTheFirstNoteThatHasOneThenFromTheName) {
  api::Pod pod = Worker("train-12");
  EXPECT_EQ(Of(pod)->index, 12);
  pod.metadata.labels["training.kubeflow.org/replica-index"] = "3";
  EXPECT_EQ(Of(pod)->index, 3);
  pod.metadata.annotations["batch.kubernetes.io/job-completion-index"] = "4";
  EXPECT_EQ(Of(pod)->index, 4);
  pod.metadata.labels["apps.kubernetes.io/pod-index"] = "5";
  EXPECT_EQ(Of(pod)->index, 5);
  pod.metadata.annotations[std::string(key::kTaskIndex)] = "6";
  EXPECT_EQ(Of(pod)->index, 6);
  pod.metadata.labels[std::string(key::kTaskIndex)] = "7";
  EXPECT_EQ(Of(pod)->index, 7);
  EXPECT_EQ(Of(Worker("nameless"))->index, std::nullopt);
}

TEST_F(Facts, ARoleTooLongForOurObjectsIsNamedAndIgnored) {
  api::Pod pod = Worker("train-0");
  pod.metadata.annotations[std::string(key::kTaskRole)] = std::string(253, 'r');
  EXPECT_EQ(Of(pod)->role.size(), 253u);
  EXPECT_EQ(Of(pod)->problem, "");
  pod.metadata.annotations[std::string(key::kTaskRole)] += "r";
  EXPECT_EQ(Of(pod)->role, "");
  EXPECT_NE(Of(pod)->problem.find("at most 253 characters"), std::string::npos);
}

TEST_F(Facts, EveryBadValueIsNamedInWholeCharacters) {
  api::Pod pod = Worker("train-12");
  for (const auto name : {key::kTaskIndex, key::kInheritResourceFrom}) {
    pod.metadata.annotations[std::string(name)] = "train-12";
    EXPECT_NE(Of(pod)->problem.find(name), std::string::npos);
  }
  EXPECT_NE(Of(pod)->problem.find(key::kTaskIndex), std::string::npos) << "the first as well";
  // Whoever quotes it writes JSON: a character that was cut in two would be the end of the program.
  for (size_t before = 76; before < 82; ++before) {
    const std::string full = std::string(before, 'x') + "\uff11\uff11\uff11";
    pod.metadata.annotations[std::string(key::kTaskIndex)] = full;
    const std::string problem = Of(pod)->problem;
    const size_t begin = problem.find('"') + 1, end = problem.find('"', begin);
    const size_t shown = before > 80 ? 80 : before + (80 - before) / 3 * 3;
    EXPECT_EQ(problem.substr(begin, end - begin), full.substr(0, shown)) << before;
  }
}

TEST_F(Facts, AMalformedRankIsNamedAndTheNameIsUsed) {
  for (const std::string bad : {"-1", "1.5", "99999999999999999999", "\uff11", "two", " 1", "+1"}) {
    api::Pod pod = Worker("train-12");
    pod.metadata.annotations[std::string(key::kTaskIndex)] = bad;
    const auto facts = Of(pod);
    EXPECT_EQ(facts->index, 12) << bad;
    EXPECT_NE(facts->problem.find(bad), std::string::npos) << facts->problem;
  }
}

TEST_F(Facts, ANodesIndexIsItsNoteElseItsNumberElseLast) {
  std::string problem;
  EXPECT_EQ(NodeIndexOf(Noted(key::kNodeIndex, "3"), &problem), 3);
  EXPECT_EQ(NodeIndexOf(Noted(key::kNodeIndex, "007"), &problem), 7);
  EXPECT_EQ(NodeIndexOf(Noted("other", "3"), &problem), 7);
  api::ObjectMeta nameless;
  nameless.name = "head";
  EXPECT_EQ(NodeIndexOf(nameless, &problem), Node::kNoIndex);
  EXPECT_EQ(problem, "");
}

TEST_F(Facts, AMalformedNodeIndexIsNamedAndTheNumberIsUsed) {
  for (const std::string bad : {"", "-1", "1.5", "99999999999999999999", "\uff11"}) {
    std::string problem;
    EXPECT_EQ(NodeIndexOf(Noted(key::kNodeIndex, bad), &problem), 7) << bad;
    EXPECT_NE(problem.find("node-index"), std::string::npos) << bad;
  }
}

TEST_F(Facts, TheTopologySwitchTakesTrueAndFalseAndNamesAllElse) {
  EXPECT_EQ(ReadJobNotes(api::ObjectMeta{}).topology, TopologyMode::kAuto);
  EXPECT_EQ(ReadJobNotes(Noted(key::kEnableTopologyScheduling, "true")).topology,
            TopologyMode::kStrict);
  EXPECT_EQ(ReadJobNotes(Noted(key::kEnableTopologyScheduling, "false")).topology,
            TopologyMode::kOff);
  for (const std::string bad : {"TRUE", "yes", "", "1"}) {
    const JobNotes notes = ReadJobNotes(Noted(key::kEnableTopologyScheduling, bad));
    EXPECT_EQ(notes.topology, TopologyMode::kAuto) << bad;
    EXPECT_FALSE(notes.problem.empty()) << bad;
  }
}

TEST_F(Facts, PlacementZonesAndRoleOrderAreReadOrNamed) {
  EXPECT_TRUE(ReadJobNotes(Noted(key::kTopologyPlacement, "pack")).pack);
  EXPECT_FALSE(ReadJobNotes(Noted(key::kTopologyPlacement, "spread")).pack);
  EXPECT_FALSE(ReadJobNotes(Noted(key::kTopologyPlacement, "tight")).problem.empty());
  EXPECT_EQ(ReadJobNotes(Noted(key::kMaxZones, "2")).max_zones, 2);
  for (const std::string bad : {"0", "-1", "two", ""}) {
    EXPECT_EQ(ReadJobNotes(Noted(key::kMaxZones, bad)).max_zones, std::nullopt) << bad;
    EXPECT_FALSE(ReadJobNotes(Noted(key::kMaxZones, bad)).problem.empty()) << bad;
  }
  EXPECT_EQ(ReadJobNotes(Noted(key::kTaskOrder, "chief, worker,,ps ")).task_order,
            (std::vector<std::string>{"chief", "worker", "ps"}));
}

TEST_F(Facts, APodThatInheritsFromItselfOrJoinsAnotherNamespaceSaysSo) {
  api::Pod pod = Worker("w-0");
  pod.metadata.annotations[std::string(key::kInheritResourceFrom)] = "w-0";
  EXPECT_NE(Of(pod)->problem.find("inherit"), std::string::npos);
  EXPECT_NE(Of(Worker("w-0", "gpu=1", "team/train"))->problem.find("own namespace"),
            std::string::npos);
  pod = Worker("w-0");
  pod.metadata.annotations[std::string(key::kQuotaName)] = std::string(300, 'q');
  EXPECT_NE(Of(pod)->problem.find("253"), std::string::npos);
}

TEST_F(Facts, AGroupThatOwnsAPodWithoutBeingNamedByItIsNamed) {
  const auto owned = [&](const std::string& group, const std::string& owner,
                         const std::string& version = "scheduling.infini-ai.com/v1alpha1") {
    api::Pod pod = Worker("w-0", "gpu=1", group);
    pod.metadata.owner_references.push_back({version, "PodGroup", owner, "u", false, false});
    return Of(pod);
  };
  EXPECT_EQ(owned("train", "train")->problem, "");
  EXPECT_EQ(owned("train", "other", "elsewhere.example/v1")->problem, "");
  EXPECT_NE(owned("train", "other")->problem.find("PodGroup other owns"), std::string::npos);
  EXPECT_EQ(owned("train", "other")->job_key, "default/train");
  EXPECT_NE(owned("", "other")->problem.find("PodGroup other owns"), std::string::npos);
  EXPECT_EQ(owned("", "other")->job_key, "pod:default/w-0");
}

TEST_F(Facts, TheSpecCodeIsTheLongestConfiguredKeysValue) {
  const auto name = [&](const api::StringMap& labels) {
    const SpecId spec = SpecOf(labels, settings, names);
    return spec.valid() ? std::string(names.specs.Name(spec)) : std::string("none");
  };
  EXPECT_EQ(name({{"spec", "a100"}, {"nvidia.com/gpu.product", "A100-SXM4"}}), "A100-SXM4");
  EXPECT_EQ(name({{"spec", "a100"}, {"nvidia.com/gpu.product", ""}}), "a100");
  EXPECT_EQ(name({{"kind", "a100"}}), "none");
}

TEST_F(Facts, TasksThatDifferOnlyInWhatTellsReplicasApartAreOneClass) {
  api::Pod a = Worker("train-0"), b = Worker("train-1");
  a.metadata.labels["apps.kubernetes.io/pod-index"] = "0";
  b.metadata.labels["apps.kubernetes.io/pod-index"] = "1";
  EXPECT_EQ(Of(a)->task_class, Of(b)->task_class);
  b.metadata.labels["app"] = "x";
  b.metadata.namespace_ = "other";
  EXPECT_EQ(Of(a)->task_class, Of(b)->task_class) << "nobody reads these";
  for (const std::string other : {"gpu=2 hca=1", "gpu=1 hca=1 select=disk:ssd",
                                  "gpu=1 hca=1 hostport=80", "gpu=1 hca=1 required=q9"})
    EXPECT_NE(Of(a)->task_class, Of(Worker("train-0", other))->task_class) << other;
}

TEST_F(Facts, PodsWithTermsAboutOthersAreOneClassIfTheyAreToThoseTermsAsTheirLikeIs) {
  api::Pod a = Worker("train-0");
  api::TopologySpreadConstraint& constraint = a.spec.topology_spread_constraints.emplace_back();
  constraint.label_selector.emplace().match_labels = {{"app", "x"}};
  constraint.match_label_keys = {"ver"};
  a.metadata.labels["app"] = "x";
  api::Pod b = a;
  b.metadata.labels["apps.kubernetes.io/pod-index"] = "1";
  EXPECT_EQ(Of(a)->task_class, Of(b)->task_class) << "nobody reads this";
  for (const auto& change : std::vector<std::function<void(api::Pod&)>>{
           [](api::Pod& pod) { pod.metadata.labels["app"] = "y"; },
           [](api::Pod& pod) { pod.metadata.labels["ver"] = "2"; },
           [](api::Pod& pod) { pod.metadata.namespace_ = "other"; }}) {
    api::Pod other = a;
    change(other);
    EXPECT_NE(Of(a)->task_class, Of(other)->task_class);
  }
}

struct Zones : Facts {
  std::string problem;
  // Of a node that is alone in the cluster.
  static NodeZones ZonesOf(const api::NodeTopology& topology, const api::ObjectMeta* node,
                           Names& names, std::string* problem, bool leaf_groups = false) {
    const NodeWiring wiring = WiringOf(topology, node, leaf_groups, names, problem);
    const auto zone = [&](Network network, const NetWiring& net) {
      return net.named.valid() ? net.named : ZoneOfSwitches(network, net.live, names);
    };
    NodeZones zones;
    zones.roce = zone(Network::kRoce, wiring.roce);
    zones.ib = zone(Network::kIb, wiring.ib);
    if (!zones.ib.valid()) zones.ib = zones.roce;
    return zones;
  }
  std::string Roce(const NodeZones& zones) const {
    return zones.roce.valid() ? std::string(names.zones.Name(zones.roce)) : "none";
  }
};

TEST_F(Zones, AZoneIsTheSetOfSwitchesInWhateverOrderTheNicsCome) {
  const auto ab =
      ZonesOf(testing::MakeTopology("n", "roce", {"S1", "S2"}), nullptr, names, &problem);
  const auto ba =
      ZonesOf(testing::MakeTopology("n", "roce", {"S2", "S1", "S2"}), nullptr, names, &problem);
  EXPECT_EQ(ab.roce, ba.roce);
  EXPECT_EQ(ab.ib, ab.roce) << "the IB view falls back to RoCE";
  EXPECT_NE(ab.roce,
            ZonesOf(testing::MakeTopology("n", "roce", {"S1"}), nullptr, names, &problem).roce);
}

TEST_F(Zones, NamesThatOnlyLookAlikeJoinedStayApart) {
  const auto one = ZonesOf(testing::MakeTopology("n", "roce", {"S1,S2"}), nullptr, names, &problem);
  const auto two =
      ZonesOf(testing::MakeTopology("n", "roce", {"S1", "S2"}), nullptr, names, &problem);
  EXPECT_NE(one.roce, two.roce);
}

TEST_F(Zones, WithoutASwitchThereIsNoZone) {
  EXPECT_FALSE(
      ZonesOf(testing::MakeTopology("n", "roce", {}), nullptr, names, &problem).roce.valid());
  EXPECT_FALSE(
      ZonesOf(testing::MakeTopology("n", "roce", {""}), nullptr, names, &problem).ib.valid());
}

TEST_F(Zones, AnOverrideHoldsForBothNetworksAndTheNodesComesFirst) {
  api::NodeTopology topology = testing::MakeTopology("n", "ib", {"S1"});
  topology.metadata.labels[std::string(key::kZone)] = "row-b";
  EXPECT_EQ(Roce(ZonesOf(topology, nullptr, names, &problem)), "row-b");
  topology.metadata.annotations[std::string(key::kZoneSource)] = "discovery";
  EXPECT_EQ(Roce(ZonesOf(topology, nullptr, names, &problem)), "none") << "discovery's own label";
  topology.metadata.annotations[std::string(key::kRdmaTopologyKey)] = "pod-2";
  EXPECT_EQ(Roce(ZonesOf(topology, nullptr, names, &problem)), "pod-2");
  const api::ObjectMeta node = Noted(key::kRdmaTopologyKey, "pod-1");
  EXPECT_EQ(Roce(ZonesOf(topology, &node, names, &problem)), "pod-1");
  EXPECT_EQ(problem, "");
}

TEST_F(Zones, AnOverrideWithSpacesIsNamedAndTheSwitchesDecide) {
  for (const std::string bad : {"row b", " row-b", "row-b\n", "\t", " ", ""}) {
    api::NodeTopology topology = testing::MakeTopology("n", "roce", {"S1"});
    topology.metadata.annotations[std::string(key::kRdmaTopologyKey)] = bad;
    std::string named;
    EXPECT_EQ(Roce(ZonesOf(topology, nullptr, names, &named)), "roce#S1") << bad;
    EXPECT_NE(named.find("rdma-topology-key"), std::string::npos) << bad;
    const api::ObjectMeta node = Noted(key::kRdmaTopologyKey, bad);
    std::string of_node;
    EXPECT_EQ(ZoneOverrideOf(node, &of_node), "");
    EXPECT_FALSE(of_node.empty()) << bad;
    EXPECT_EQ(Roce(ZonesOf(testing::MakeTopology("n", "roce", {"S1"}), &node, names, &problem)),
              "roce#S1");
    EXPECT_EQ(problem, "") << "the node's note is the node's";
  }
}

}  // namespace
}  // namespace sky::model
