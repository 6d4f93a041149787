// SPDX-License-Identifier: Apache-2.0
// Who counts as whose neighbour, and that counts which follow the moves of a cluster are those of
// a count made from nothing.
#include "model/neighbours.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/rng.h"
#include "model/facts.h"
#include "testing/words.h"

namespace sky::model {
namespace {

api::PodAffinityTerm Term(const std::string& key, api::StringMap labels) {
  api::PodAffinityTerm term;
  term.topology_key = key;
  term.label_selector.emplace().match_labels = std::move(labels);
  return term;
}

api::ObjectMeta Meta(const std::string& ns, api::StringMap labels) {
  api::ObjectMeta meta;
  meta.namespace_ = ns;
  meta.labels = std::move(labels);
  return meta;
}

TEST(PodTerm, WithoutNamespacesItMeansItsOwn) {
  const PodTerm term(Term("zone", {{"app", "x"}}), "d");
  EXPECT_TRUE(term.Matches(Meta("d", {{"app", "x"}, {"more", "y"}})));
  EXPECT_FALSE(term.Matches(Meta("d", {{"app", "y"}})));
  EXPECT_FALSE(term.Matches(Meta("e", {{"app", "x"}})));
}

TEST(PodTerm, ListedAndSelectedNamespacesAreBothMeantAndItsOwnNoLonger) {
  api::PodAffinityTerm written = Term("zone", {});
  written.namespaces = {"f", "e"};
  written.namespace_selector.emplace().match_labels = {{"kubernetes.io/metadata.name", "g"}};
  const PodTerm term(written, "d");
  for (const char* ns : {"e", "f", "g"}) EXPECT_TRUE(term.Matches(Meta(ns, {}))) << ns;
  EXPECT_FALSE(term.Matches(Meta("d", {})));
  written.namespace_selector.emplace();
  EXPECT_TRUE(PodTerm(written, "d").Matches(Meta("h", {}))) << "an empty selector selects all";
  written.namespace_selector->match_labels = {{"team", "a"}};
  EXPECT_FALSE(PodTerm(written, "d").Matches(Meta("h", {}))) << "other labels aren't read";
}

TEST(PodTerm, NoSelectorMeansNobodyAndAnEmptyOneEverybody) {
  api::PodAffinityTerm written = Term("zone", {});
  EXPECT_TRUE(PodTerm(written, "d").Matches(Meta("d", {})));
  written.label_selector.reset();
  EXPECT_FALSE(PodTerm(written, "d").Matches(Meta("d", {})));
}

TEST(PodTerm, EqualTextMeansEqualTerms) {
  api::PodAffinityTerm a = Term("zone", {{"app", "x"}});
  EXPECT_EQ(PodTerm(a, "d").text(), PodTerm(a, "d").text());
  EXPECT_NE(PodTerm(a, "d").text(), PodTerm(a, "e").text()) << "another namespace's own";
  api::PodAffinityTerm b = a;
  b.namespaces = {"e", "d"}, a.namespaces = {"d", "e"};
  EXPECT_EQ(PodTerm(a, "d").text(), PodTerm(b, "f").text()) << "in any order";
  b.topology_key = "rack";
  EXPECT_NE(PodTerm(a, "d").text(), PodTerm(b, "d").text());
  a.label_selector->match_labels = {{"a", "b=c"}}, b = a;
  b.label_selector->match_labels = {{"a", "b"}, {"c", ""}};
  EXPECT_NE(PodTerm(a, "d").text(), PodTerm(b, "d").text());
  a.label_selector.reset(), b = a;
  b.label_selector.emplace();
  EXPECT_NE(PodTerm(a, "d").text(), PodTerm(b, "d").text());
}

TEST(PodTerm, SpreadCountsItsOwnNamespacesPodsThatStay) {
  api::TopologySpreadConstraint written;
  written.label_selector.emplace().match_labels = {{"app", "x"}};
  written.match_label_keys = {"ver", "absent"};
  const PodTerm term(written, Meta("d", {{"app", "x"}, {"ver", "1"}}));
  api::ObjectMeta other = Meta("d", {{"app", "x"}, {"ver", "1"}});
  EXPECT_TRUE(term.Matches(other));
  other.labels["ver"] = "2";
  EXPECT_FALSE(term.Matches(other)) << "another revision";
  other.labels["ver"] = "1", other.deletion_timestamp.at = WallTime{};
  EXPECT_FALSE(term.Matches(other)) << "leaving";
}

TEST(PodTerm, AnEmptySpreadSelectorCountsNobodyButThePodItself) {
  api::TopologySpreadConstraint written;
  written.label_selector.emplace();
  const api::ObjectMeta own = Meta("d", {});
  EXPECT_FALSE(PodTerm(written, own).Matches(own));
  EXPECT_TRUE(CountsItself(written, own));
  written.label_selector.reset();
  EXPECT_FALSE(CountsItself(written, own));
}

// --- the law ---

// A cluster in which anything happens to pods and nodes.
class Town {
 public:
  explicit Town(uint64_t seed) : rng_(seed), cluster(std::make_shared<Names>()) {}

  void Step() {
    const std::string node = fmt::format("n{}", rng_.Below(4));
    const std::string pod = fmt::format("p{}", rng_.Below(6));
    switch (rng_.Below(6)) {
      case 0:
        PutNode(node);
        break;
      case 1:
        cluster.RemoveNode(node);
        break;
      case 2:
        cluster.RemovePod(pod);
        break;
      case 3:
        Claim(pod, node);
        break;
      default:
        PutPod(pod, node);
        break;
    }
    cluster.Flush();
    cluster.ReleaseFreed();
  }

  void PutNode(const std::string& name) {
    auto node = std::make_shared<api::Node>(testing::MakeNode(name, *testing::ReadWords("gpu=8")));
    if (rng_.Below(4) > 0) node->metadata.labels["zone"] = rng_.Below(2) == 0 ? "a" : "b";
    if (rng_.Below(3) > 0) node->metadata.labels["tier"] = "1";
    cluster.SetNode(std::move(node), settings_);
  }
  void PutPod(const std::string& name, const std::string& node) {
    auto pod =
        std::make_shared<api::Pod>(testing::MakeWorker("", name, *testing::ReadWords("gpu=1")));
    pod->metadata.uid = name;
    pod->metadata.labels["app"] = node.empty() || rng_.Below(2) == 0 ? "x" : "y";
    if (rng_.Below(2) == 0) pod->spec.node_name = node;
    if (!node.empty() && rng_.Below(6) == 0) pod->status.phase = "Succeeded";
    if (!node.empty() && rng_.Below(6) == 0) pod->metadata.deletion_timestamp.at = WallTime{};
    if (rng_.Below(2) == 0) {
      api::PodAffinity& anti = pod->spec.affinity.emplace().pod_anti.emplace();
      anti.required = {Term("zone", {{"app", "x"}})};
      if (rng_.Below(2) == 0) anti.required.push_back(anti.required[0]);
      anti.preferred = {{7, Term("zone", {{"app", "y"}})}};
    }
    cluster.SetPod(MakePodFacts(std::move(pod), settings_, cluster.names()));
  }

 private:
  void Claim(const std::string& pod, const std::string& node) {
    const TaskId task = cluster.tasks().Find(pod);
    if (!task.valid() || !cluster.tasks()[task].placeable()) return;
    const NodeId id = cluster.nodes().Find(node);
    if (!id.valid()) return;
    model::Claim claim;
    claim.phase = model::Claim::Phase::kClaimed;
    claim.node = id;
    cluster.SetClaim(task, claim);
  }

  Rng rng_;
  Settings settings_;

 public:
  Cluster cluster;
};

// All that anybody could ask, as text by labels: ids are of one Neighbours alone.
std::string Told(const Neighbours& neighbours, const Neighbours::Crowd& crowd,
                 const Neighbours::View& view, size_t tasks) {
  std::string text =
      fmt::format("members {} total {} present {}\n", crowd.members, view.total, view.present);
  const std::map<std::string, int32_t> labels(view.domains->ids.begin(), view.domains->ids.end());
  for (size_t i = 0; i <= tasks; ++i) {  // the last is nobody
    const TaskId task(i);
    std::string line;
    for (const auto& [label, domain] : labels)
      if (const int64_t pods = neighbours.Others(crowd, view, task, domain); pods != 0)
        line += fmt::format(" {}={}", label, pods);
    text += fmt::format("without {}: {} all {} least {}\n", i, line,
                        neighbours.OthersInAll(crowd, view, task),
                        neighbours.LeastOthers(crowd, view, task));
  }
  return text;
}

std::string Told(Neighbours& neighbours, const Cluster& cluster) {
  neighbours.Open(cluster);
  std::string text;
  const size_t tasks = cluster.tasks().size();
  const PodTerm term(Term("zone", {{"app", "x"}}), "default");
  Neighbours::Crowd& crowd = neighbours.Matching(cluster, {term});
  text += Told(neighbours, crowd, neighbours.ViewOf(cluster, crowd, "zone"), tasks);
  text +=
      Told(neighbours, crowd,
           neighbours.ViewOf(cluster, crowd, "zone", {{"zone", "tier"}, nullptr, nullptr}), tasks);
  for (const auto* crowds : {&neighbours.forbidding(), &neighbours.attracting()})
    for (const auto& [name, held] : *crowds)
      if (held.members > 0)
        text += name + Told(neighbours, held, *held.views.begin()->second, tasks);
  return text;
}

RC_GTEST_PROP(NeighboursLaw, CountsThatFollowAreCountsFromNothing, (uint64_t seed)) {
  Town town(seed);
  Neighbours followed;
  for (int step = 0; step < 60; ++step) {
    town.Step();
    if (step % 3 != 0) followed.Follow(town.cluster);
    if (step % 2 != 0) continue;
    Neighbours fresh;
    RC_ASSERT(Told(followed, town.cluster) == Told(fresh, town.cluster));
  }
}

TEST(Neighbours, WhatIsUndoneIsNoChange) {
  Town town(5);
  for (int step = 0; step < 40; ++step) town.Step();
  town.PutNode("n0");
  town.PutPod("mover", "");
  town.cluster.Flush();
  Neighbours neighbours;
  Told(neighbours, town.cluster);
  const uint64_t before = neighbours.changed();
  const TaskId mover = town.cluster.tasks().Find("mover");
  model::Claim claim;
  claim.phase = model::Claim::Phase::kClaimed;
  claim.node = town.cluster.nodes().Find("n0");
  town.cluster.SetClaim(mover, claim);
  neighbours.Follow(town.cluster);
  EXPECT_NE(neighbours.changed(), before) << "somebody is there now whom a term is about";
  town.cluster.SetClaim(mover, {});
  neighbours.Follow(town.cluster);
  EXPECT_EQ(neighbours.changed(), before);
}

TEST(Neighbours, AReaderThatFellBehindBeginsAnew) {
  Town town(7);
  Neighbours followed;
  for (int step = 0; step < 30; ++step) town.Step();
  Told(followed, town.cluster);
  for (int step = 0; step < 3000; ++step) town.Step();
  Neighbours fresh;
  EXPECT_EQ(Told(followed, town.cluster), Told(fresh, town.cluster));
}

TEST(Neighbours, AnotherClusterIsCountedForItself) {
  Town one(1), two(2);
  Neighbours followed, fresh;
  for (int step = 0; step < 50; ++step) one.Step(), two.Step();
  Told(followed, one.cluster);
  EXPECT_EQ(Told(followed, two.cluster), Told(fresh, two.cluster));
}

TEST(Neighbours, WhatNobodyAsksForIsForgottenAndCountedAnewWhenItIs) {
  Town town(3);
  Neighbours followed, fresh;
  for (int step = 0; step < 50; ++step) town.Step();
  const std::string before = Told(followed, town.cluster);
  for (int session = 0; session < 2200; ++session) followed.Open(town.cluster);
  EXPECT_EQ(Told(followed, town.cluster), before);
  EXPECT_EQ(Told(fresh, town.cluster), before);
}

}  // namespace
}  // namespace sky::model
