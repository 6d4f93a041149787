// SPDX-License-Identifier: Apache-2.0
// Terms as people write them (here as JSON), placed by whole cycles: so what is planned but not yet
// bound, the registration in the hops and the reason that people see are tested too.
#include "plugins/quotaaffinity/quotaaffinity.h"

#include <gtest/gtest.h>

#include <set>

#include "api/json.h"
#include "api/keys.h"
#include "testing/matchers.h"

namespace sky::plugins {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;

std::string QuotaTerm(const std::string& label, const std::string& key) {
  return R"({"labelSelector":{"matchLabels":{"app":")" + label + R"("}},"topologyKey":")" + key +
         R"("})";
}
std::string BesideQuota(const std::string& label, const std::string& key) {
  return R"({"affinity":{"required":[)" + QuotaTerm(label, key) + "]}}";
}
std::string Apart(const std::string& label, const std::string& key) {
  return R"({"antiAffinity":{"required":[)" + QuotaTerm(label, key) + "]}}";
}
std::string Rather(const char* set, const std::string& label, const std::string& key) {
  return std::string(R"({")") + set + R"(":{"preferred":[{"weight":5,"term":)" +
         QuotaTerm(label, key) + "}]}}";
}

struct QuotaAffinityTest : ::testing::Test {
  Cluster c;
  QuotaAffinityTest() { c.Leaf("S1", "n[0-1]", "gpu=8").Leaf("S2", "n[2-3]", "gpu=8"); }
  // A quota of 1 GPU with the label app=`app`, and terms about quotas and pods.
  void Quota(const std::string& name, const std::string& app, const std::string& quota = "null",
             const std::string& pod = "null", const char* words = "gpu=1") {
    api::Quota made = testing::MakeQuota(name, *testing::ReadWords(words));
    made.metadata.labels.emplace("app", app);
    const auto said = api::Decode<api::Quota>(R"({"spec":{"affinity":{"quota":)" + quota +
                                              R"(,"podQuota":)" + pod + "}}}");
    EXPECT_TRUE(said.has_value()) << said.error().message();
    made.spec.affinity = said->spec.affinity;
    c.Put(std::move(made));
  }
  // A pod that demands a quota by name ("": any), with its note.
  void Pod(const std::string& name, const std::string& quota, const std::string& note = "",
           const std::string& label = "") {
    api::Pod pod = testing::MakeWorker("", name, *testing::ReadWords("gpu=1"));
    if (!quota.empty())
      pod.metadata.annotations.emplace(std::string(api::key::kRequiredQuota), quota);
    if (!note.empty())
      pod.metadata.annotations.emplace(std::string(api::key::kPodQuotaAffinity), note);
    if (!label.empty()) pod.metadata.labels.emplace("app", label);
    c.Put(std::move(pod));
  }
  // Where a pod of that quota goes, or why it waits.
  std::string Goes(const std::string& pod) {
    for (const testing::Bound& one : c.Cycle())
      if (one.pod == pod) return one.node;
    return c.Why("pod:default/" + pod);
  }
  std::string Uses(const std::string& pod) {
    for (const testing::Bound& one : c.Cycle())
      if (one.pod == pod) return one.quota;
    return c.Why("pod:default/" + pod);
  }
};

TEST_F(QuotaAffinityTest, ARequiredNeighbourIsFollowedToItsNodeOrZone) {
  Quota("data", "data", "null", "null", "gpu=1 node=n3");
  Quota("close", "x", BesideQuota("data", "node"));
  Quota("around", "x", BesideQuota("data", "zone"));
  Pod("a", "close");
  EXPECT_EQ(Goes("a"), "n3");
  c.Edit<api::Node>("n3", [](api::Node& node) { node.spec.unschedulable = true; });
  Pod("b", "around");
  EXPECT_EQ(Goes("b"), "n2") << "of the same zone";
}

TEST_F(QuotaAffinityTest, WhoseNeighbourIsNowhereWaitsAndSaysSo) {
  Quota("close", "x", BesideQuota("data", "node"));
  Quota("data", "data");
  Pod("a", "close");
  EXPECT_EQ(Goes("a"), "QuotaAffinityNotMatch");
  Pod("d", "data");
  const std::string node = Goes("d");
  c.Tick(std::chrono::seconds(2));
  EXPECT_EQ(Goes("a"), node) << "as soon as it is somewhere";
}

TEST_F(QuotaAffinityTest, TheFirstOfThoseWhoAskForEachOtherGoesAnywhere) {
  Quota("one", "one", BesideQuota("two", "node"));
  Quota("two", "two", BesideQuota("one", "node"));
  Pod("a", "one");
  const std::string node = Goes("a");
  EXPECT_EQ(node.substr(0, 1), "n");
  Pod("b", "two");
  EXPECT_EQ(Goes("b"), node);
  Quota("self", "self", BesideQuota("self", "node"));
  Pod("s", "self");
  EXPECT_EQ(Goes("s").substr(0, 1), "n");
}

TEST_F(QuotaAffinityTest, AntiAffinityKeepsBothSidesApartWhoeverAsked) {
  Quota("shy", "shy", Apart("loud", "zone"));
  Quota("loud", "loud");
  for (const auto& [first, second] : {std::pair("shy", "loud"), std::pair("loud", "shy")}) {
    Pod(std::string("first-") + first, first);
    const std::string there = Goes(std::string("first-") + first);
    Pod(std::string("then-") + second, second);
    const std::string other = Goes(std::string("then-") + second);
    EXPECT_TRUE((there < "n2") != (other < "n2")) << there << " and " << other;
    c.Remove<api::Pod>(std::string("default/first-") + first);
    c.Remove<api::Pod>(std::string("default/then-") + second);
    c.Cycle();
  }
}

TEST_F(QuotaAffinityTest, QuotasThatAreApartFromTheirLikeSpreadInOneRound) {
  for (int i = 0; i < 5; ++i) Quota(fmt::format("q{}", i), "q", Apart("q", "node"));
  c.Job("train", 4, "gpu=1");
  const auto bound = c.Cycle();
  ASSERT_EQ(bound.size(), 4u) << c.Why("default/train");
  std::set<std::string> nodes;
  for (const auto& one : bound) nodes.insert(one.node);
  EXPECT_EQ(nodes.size(), 4u);
  c.Job("more", 1, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/more"), "QuotaAffinityNotMatch");
}

TEST_F(QuotaAffinityTest, PreferencesDecideWhereNothingElseDoes) {
  Quota("data", "data", "null", "null", "gpu=1 node=n2");
  Quota("likes", "x", Rather("affinity", "data", "node"));
  Pod("a", "likes");
  EXPECT_EQ(Goes("a"), "n2");
  Quota("dislikes", "y", Rather("antiAffinity", "data", "zone"));
  Pod("b", "dislikes");
  EXPECT_LT(Goes("b"), "n2");
}

TEST_F(QuotaAffinityTest, APodChoosesAmongQuotasByTheirLabels) {
  Quota("a", "plain");
  Quota("b", "fast");
  Pod("p", "", BesideQuota("fast", "node"));
  EXPECT_EQ(Uses("p"), "b");
  Quota("c", "fast");
  Pod("r", "", Apart("fast", "node"));
  EXPECT_EQ(Uses("r"), "a");
  Pod("s", "c", Apart("fast", "node"));
  EXPECT_EQ(Uses("s"), "PodQuotaAffinityNotMatch");
}

TEST_F(QuotaAffinityTest, APodStaysAwayFromTheNodesOfOthersQuotas) {
  Quota("theirs", "loud", "null", "null", "gpu=1 node=n0");
  Quota("mine", "quiet");
  Pod("p", "mine", Apart("loud", "zone"));
  EXPECT_GE(Goes("p"), "n2");
}

TEST_F(QuotaAffinityTest, AQuotaChoosesItsPods) {
  Quota("q", "q", "null", BesideQuota("vip", "node"));
  Pod("p", "q");
  EXPECT_EQ(Uses("p"), "PodQuotaAffinityNotMatch");
  c.Remove<api::Pod>("default/p");
  Pod("v", "q", "", "vip");
  EXPECT_EQ(Uses("v"), "q");
  Quota("calm", "calm", "null", Apart("vip", "node"));
  Pod("w", "calm");
  const std::string away = Goes("w");
  EXPECT_NE(away, c.Get<api::Pod>("default/v").spec.node_name);
}

TEST_F(QuotaAffinityTest, WhoComesBetweenTheDecisionAndItsCommitIsJudgedToo) {
  Quota("shy", "shy", Apart("loud", "node"));
  Quota("loud", "loud");
  Pod("p", "shy");
  c.BeforeCommit([&] {
    c.Edit<api::Quota>("loud", [](api::Quota& quota) { quota.status.node_name = "n0"; });
  });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_NE(Goes("p"), "n0");
  // The same by a pod that somebody binds by hand.
  Quota("calm", "calm", "null", Apart("vip", "node"), "gpu=2");
  c.Pod("w", "gpu=2 required=calm");
  std::string there;
  c.BeforeCommit([&] {
    api::Pod pod = testing::MakeWorker("", "v", *testing::ReadWords("gpu=1"));
    pod.metadata.labels.emplace("app", "vip");
    pod.metadata.annotations.emplace(std::string(api::key::kQuotaName), "loud");
    pod.spec.node_name = "n0";
    pod.status.phase = "Running";
    c.Put(std::move(pod));
  });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_NE(Goes("w"), "n0");
}

TEST_F(QuotaAffinityTest, APodFollowsAQuotaThatIsntItsOwnAndStaysAwayFromLateComers) {
  Quota("data", "data", "null", "null", "gpu=1 queue=other node=n3");
  c.Queue("other");
  Quota("mine", "x", "null", "null", "gpu=1");
  Pod("p", "mine", BesideQuota("data", "node"));
  EXPECT_EQ(Goes("p"), "n3");
  Quota("quiet", "quiet");
  Quota("loud", "loud", "null", "null", "gpu=1 node=n2");
  Pod("q", "quiet", Apart("noise", "zone"));
  const std::string there = Goes("q");
  Quota("noise", "noise");
  Pod("r", "noise");
  const std::string other = Goes("r");
  EXPECT_TRUE((there < "n2") != (other < "n2")) << there << " and " << other;
}

TEST_F(QuotaAffinityTest, AMalformedNoteIsToldAndAsksNothing) {
  Quota("q", "q");
  Pod("p", "", R"({"affinity":{"required":[{"topologyKey":"rack"}]}})");
  EXPECT_EQ(Uses("p"), "q");
  const auto complaints = c.cache().TakeComplaints();
  ASSERT_EQ(complaints.size(), 1u);
  EXPECT_NE(complaints[0].message.find("must be node or zone"), std::string::npos)
      << complaints[0].message;
}

}  // namespace
}  // namespace sky::plugins
