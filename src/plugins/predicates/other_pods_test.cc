// SPDX-License-Identifier: Apache-2.0
// Pod affinity, anti-affinity and topology spread, through whole cycles: who is there, who is only
// planned, who leaves. What single filters say of random clusters is held beside kube-scheduler's
// own by ./run oracle.
#include "plugins/predicates/other_pods.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/json.h"
#include "plugins/predicates/predicates.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;
using testing::OpenSession;

// `metadata` and `spec` are members as users write them.
api::Pod PodOf(const std::string& group, const std::string& name, const std::string& app,
               const std::string& spec) {
  api::Pod pod = testing::MakeWorker(group, name, *testing::ReadWords("gpu=1"));
  const auto said = api::Decode<api::Pod>(R"({"spec":{)" + spec + "}}");
  EXPECT_TRUE(said.has_value()) << said.error().message();
  if (!said) return pod;
  if (!app.empty()) pod.metadata.labels["app"] = app;
  pod.spec.affinity = said->spec.affinity;
  pod.spec.topology_spread_constraints = said->spec.topology_spread_constraints;
  return pod;
}

// A required term on pods with the label app.
std::string Near(const std::string& app, const std::string& key, const char* kind = "podAffinity") {
  return fmt::format(
      R"("affinity":{{"{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[
         {{"topologyKey":"{}","labelSelector":{{"matchLabels":{{"app":"{}"}}}}}}]}}}})",
      kind, key, app);
}
std::string Away(const std::string& app, const std::string& key) {
  return Near(app, key, "podAntiAffinity");
}
std::string Spread(const std::string& app, const std::string& key, int skew,
                   const std::string& more = "") {
  return fmt::format(
      R"("topologySpreadConstraints":[{{"maxSkew":{},"topologyKey":"{}","whenUnsatisfiable":
         "DoNotSchedule","labelSelector":{{"matchLabels":{{"app":"{}"}}}}{}}}])",
      skew, key, app, more);
}

// n0 and n1 in zone a, n2 and n3 in zone b, n4 in none; quotas for all.
struct OtherPodsTest : ::testing::Test {
  OtherPodsTest() {
    c.Nodes("n[0-1]", "gpu=8 label=zone:a").Nodes("n[2-3]", "gpu=8 label=zone:b");
    c.Nodes("n4", "gpu=8").Quotas("q[0-19]", "gpu=1");
  }
  void There(const std::string& name, const std::string& node, const std::string& app,
             const std::string& spec = "") {
    api::Pod pod = PodOf("", name, app, spec);
    pod.spec.scheduler_name = "another";
    pod.spec.node_name = node;
    c.Put(pod);
  }
  void Gang(const std::string& name, int members, const std::string& app, const std::string& spec) {
    c.Put(testing::MakeGroup(name, members, {}));
    for (int i = 0; i < members; ++i) c.Put(PodOf(name, fmt::format("{}-{}", name, i), app, spec));
  }
  Cluster c;
};

TEST_F(OtherPodsTest, AnAffinityGoesWhereTheOthersAre) {
  There("db", "n3", "db");
  c.Put(PodOf("", "web", "", Near("db", "zone")));
  EXPECT_THAT(c.Cycle(), BindsTasks("web", "n3"));
}

TEST_F(OtherPodsTest, AnAffinityWaitsForTheOthersAndWakesWhenTheyCome) {
  c.Put(PodOf("", "web", "", Near("db", "zone")));
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/web"), "PodAffinityMismatch");
  There("db", "n3", "db");
  EXPECT_THAT(c.Cycle(), BindsTasks("web", "n3"));
}

TEST_F(OtherPodsTest, PodsOfAnotherNamespaceArentMeant) {
  api::Pod db = PodOf("", "db", "db", "");
  db.metadata.namespace_ = "other";
  db.spec.scheduler_name = "another", db.spec.node_name = "n3";
  c.Put(db);
  c.Put(PodOf("", "web", "", Near("db", "zone")));
  EXPECT_THAT(c.Cycle(), BindsNothing());
}

TEST_F(OtherPodsTest, TheFirstThatAsksForItsOwnKindGoesAnywhereButWhereTheKeyIsMissing) {
  c.Put(PodOf("", "a", "x", Near("x", "zone")));
  EXPECT_THAT(c.Cycle(), BindsTasks("a", "n0"));
  c.Put(PodOf("", "b", "x", Near("x", "rack")));
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "no node has a rack";
  EXPECT_EQ(c.Why("pod:default/b"), "PodAffinityMismatch");
}

TEST_F(OtherPodsTest, AnAntiAffinityKeepsAwayFromTheWholeDomain) {
  There("a", "n0", "noisy");
  c.Put(PodOf("", "quiet", "", Away("noisy", "zone")));
  EXPECT_THAT(c.Cycle(), BindsTasks("quiet", "n2"));
}

TEST_F(OtherPodsTest, APodWithoutTermsKeepsAwayFromWhoDoesntWantIt) {
  There("a", "n0", "", Away("noisy", "zone"));
  There("b", "n2", "", Away("noisy", "zone"));
  c.Put(PodOf("", "loud", "noisy", ""));
  EXPECT_THAT(c.Cycle(), BindsTasks("loud", "n4"));
}

TEST_F(OtherPodsTest, WhoDidntWantItIsGoneAndItComes) {
  for (const char* node : {"n0", "n1", "n2", "n3", "n4"})
    There(std::string("at-") + node, node, "", Away("noisy", "kubernetes.io/hostname"));
  for (const char* node : {"n0", "n1", "n2", "n3", "n4"})
    c.Edit<api::Node>(node, [&](api::Node& it) {
      it.metadata.labels["kubernetes.io/hostname"] = it.metadata.name;
    });
  c.Put(PodOf("", "loud", "noisy", ""));
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/loud"), "PodAffinityMismatch");
  c.Edit<api::Pod>("default/at-n3", [](api::Pod& pod) {
    pod.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "a leaving pod is still there";
  c.Remove<api::Pod>("default/at-n3");
  EXPECT_THAT(c.Cycle(), BindsTasks("loud", "n3"));
}

TEST_F(OtherPodsTest, AGangThatDoesntWantItsLikeOnANodeGetsANodeEach) {
  for (const char* node : {"n0", "n1", "n2", "n3", "n4"})
    c.Edit<api::Node>(node, [&](api::Node& it) {
      it.metadata.labels["kubernetes.io/hostname"] = it.metadata.name;
    });
  Gang("g", 5, "g", Away("g", "kubernetes.io/hostname"));
  EXPECT_THAT(c.Cycle(), BindsTasks("g-[0-4]", "n[0-4]"));
  Gang("h", 6, "h", Away("h", "kubernetes.io/hostname"));
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "there are five nodes";
}

TEST_F(OtherPodsTest, TwoPodsOfOneCycleSeeEachOther) {
  c.Put(PodOf("", "a", "x", Away("x", "zone")));
  c.Put(PodOf("", "b", "x", Away("x", "zone")));
  c.Put(PodOf("", "c", "", Near("x", "zone")));
  EXPECT_THAT(c.Cycle(), BindsTasks("a,b,c", "n0,n2,n0"));
}

TEST_F(OtherPodsTest, APodThatOnlyHasAClaimIsThere) {
  c.Put(PodOf("", "a", "x", ""));
  ASSERT_EQ(c.Decide().size(), 1u) << "decided, and not a word of it on the wire";
  c.Put(PodOf("", "b", "", Away("x", "zone")));
  const auto rounds = c.Decide();
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].entries[0].node_name, "n2");
}

TEST_F(OtherPodsTest, APodIsNotItsOwnNeighbour) {
  c.Put(PodOf("", "a", "x", Away("x", "zone")));
  EXPECT_THAT(c.Cycle(), BindsTasks("a", "n0"));
  OpenSession open(c, std::make_unique<Predicates>());
  EXPECT_TRUE(open->task_to_node.Feasible(open.Task("a"), open.Node("n0")).fit());
}

TEST_F(OtherPodsTest, SpreadKeepsDomainsAlikeAndSkipsNodesWithoutOne) {
  for (int i = 0; i < 4; ++i) {
    c.Put(PodOf("", fmt::format("s{}", i), "s", Spread("s", "zone", 1)));
    c.Cycle();
  }
  std::map<std::string, int> zones;
  for (int i = 0; i < 4; ++i) {
    const std::string& node = c.Get<api::Pod>(fmt::format("default/s{}", i)).spec.node_name;
    ASSERT_FALSE(node.empty());
    ++zones[std::string(c.Get<api::Node>(node).metadata.Label("zone"))];
  }
  EXPECT_EQ(zones, (std::map<std::string, int>{{"a", 2}, {"b", 2}}));
}

TEST_F(OtherPodsTest, SpreadWaitsForTheOtherDomainAndSaysSo) {
  There("s0", "n0", "s");
  for (const char* node : {"n2", "n3"}) There(std::string("full-") + node, node, "");
  for (const char* node : {"n2", "n3"})
    c.Edit<api::Node>(node, [](api::Node& it) { it.spec.unschedulable = true; });
  c.Put(PodOf("", "s1", "s", Spread("s", "zone", 1)));
  EXPECT_THAT(c.Cycle(), BindsNothing()) << "a cordoned zone's emptiness counts";
  EXPECT_NE(c.Why("pod:default/s1"), "");
  c.Edit<api::Node>("n3", [](api::Node& it) { it.spec.unschedulable = false; });
  EXPECT_THAT(c.Cycle(), BindsTasks("s1", "n3"));
}

TEST_F(OtherPodsTest, TooFewDomainsCountAsAnEmptyOne) {
  There("s0", "n0", "s");
  There("s1", "n2", "s");
  c.Put(PodOf("", "s2", "s", Spread("s", "zone", 1, R"(,"minDomains":3)")));
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/s2"), "TopologySpreadMismatch");
  c.Edit<api::Node>("n4", [](api::Node& it) { it.metadata.labels["zone"] = "c"; });
  EXPECT_THAT(c.Cycle(), BindsTasks("s2", "n4"));
}

TEST_F(OtherPodsTest, AGangSpreadsOverZones) {
  Gang("g", 6, "g", Spread("g", "zone", 1));
  const auto bound = c.Cycle();
  ASSERT_EQ(bound.size(), 6u) << c.Why("default/g");
  std::map<std::string, int> zones;
  for (const testing::Bound& one : bound)
    ++zones[std::string(c.Get<api::Node>(one.node).metadata.Label("zone"))];
  EXPECT_EQ(zones, (std::map<std::string, int>{{"a", 3}, {"b", 3}}));
}

TEST_F(OtherPodsTest, AGangThatSticksTogetherTakesOneZone) {
  There("x", "n0", "", "");
  Gang("g", 12, "g", Near("g", "zone"));
  const auto bound = c.Cycle();
  ASSERT_EQ(bound.size(), 12u) << c.Why("default/g");
  std::set<std::string> zones;
  for (const testing::Bound& one : bound)
    zones.insert(std::string(c.Get<api::Node>(one.node).metadata.Label("zone")));
  EXPECT_EQ(zones.size(), 1u);
}

}  // namespace
}  // namespace sky::plugins
