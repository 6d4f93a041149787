// SPDX-License-Identifier: Apache-2.0
// Gangs whose members differ, in every order: each is asked for itself, and what one was told
// decides nothing for another. And gangs that come interleaved, in every order too.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/keys.h"
#include "testing/matchers.h"

namespace sky::actions {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Bound;
using testing::Cluster;

struct Kind {
  const char* words;
  std::function<void(api::Pod&)> more;
  std::string node;  // where it must go
};

void OnlyOnHost(api::Pod& pod, const std::string& host) {
  api::NodeSelectorTerm term;
  term.match_expressions.push_back({"kubernetes.io/hostname", "In", {host}});
  pod.spec.affinity.emplace().node.emplace().required.emplace().node_selector_terms.push_back(term);
}

// Members g-0 …, of one role: `order` says which kind each of them is, and so how they are ranked.
std::map<std::string, std::string> Placed(Cluster& c, const std::vector<Kind>& kinds,
                                          const std::vector<size_t>& order) {
  c.Put(testing::MakeGroup("g", static_cast<int>(kinds.size()), {}));
  std::map<std::string, std::string> wanted;
  for (size_t i = 0; i < order.size(); ++i) {
    const Kind& kind = kinds[order[i]];
    api::Pod pod = testing::MakeWorker("g", fmt::format("g-{}", i),
                                       *testing::ReadWords(fmt::format("{} role=w", kind.words)));
    if (kind.more) kind.more(pod);
    c.Put(pod);
    wanted[pod.metadata.name] = kind.node;
  }
  for (const Bound& bound : c.Cycle()) {
    EXPECT_EQ(wanted[bound.pod], bound.node) << bound.pod;
    wanted.erase(bound.pod);
  }
  return wanted;  // who is left without a place
}

void InEveryOrder(const std::vector<Kind>& kinds, const std::function<void(Cluster&)>& draw) {
  std::vector<size_t> order(kinds.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    SCOPED_TRACE(fmt::format("order {}", fmt::join(order, " ")));
    Cluster c;
    draw(c);
    EXPECT_TRUE(Placed(c, kinds, order).empty()) << c.Why("default/g");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Members, OfSeveralSizesAndWishesGoWhereEachOfThemCan) {
  InEveryOrder({{"gpu=8", {}, "n1"},
                {"gpu=1", {}, "n2"},
                {"gpu=1", [](api::Pod& pod) { OnlyOnHost(pod, "n2"); }, "n2"}},
               [](Cluster& c) {
                 c.Nodes("n1", "gpu=8").Nodes("n2", "gpu=2");
                 c.Quotas("wide", "gpu=8").Quotas("q[0-1]", "gpu=1");
               });
}

// The same under a switch, where the search is another.
TEST(Members, OfSeveralSizesAndWishesGoWhereEachOfThemCanInAZone) {
  InEveryOrder({{"gpu=8 hca=1", {}, "n1"},
                {"gpu=1 hca=1", {}, "n2"},
                {"gpu=1 hca=1", [](api::Pod& pod) { OnlyOnHost(pod, "n2"); }, "n2"}},
               [](Cluster& c) {
                 c.Leaf("S1", "n1", "gpu=8 hca=8").Leaf("S1", "n2", "gpu=2 hca=8");
                 c.Quotas("wide", "gpu=8 hca=1").Quotas("q[0-1]", "gpu=1 hca=1");
               });
}

// A filter that has nothing to say of one member speaks of the next.
TEST(Members, EachFilterIsAskedForEachOfThem) {
  const auto tolerates = [](api::Pod& pod) {
    pod.spec.tolerations.push_back({"held", "Exists", "", "", {}});
  };
  InEveryOrder({{"gpu=1 select=disk:ssd", {}, "ssd"},
                {"gpu=1", [](api::Pod& pod) { OnlyOnHost(pod, "port"); }, "port"},
                {"gpu=1 required=mine", tolerates, "held"},
                {"gpu=1 hostport=80", {}, "free"}},
               [](Cluster& c) {
                 c.Nodes("ssd", "gpu=1 label=disk:ssd").Nodes("held", "gpu=1 taint=held");
                 c.Nodes("port", "gpu=2").Nodes("free", "gpu=1");
                 c.Pod("stranger", "gpu=1 hostport=80 scheduler=other node=port");
                 c.Quotas("q[0-2]", "gpu=1").Quotas("mine", "gpu=1");
                 c.Edit<api::Quota>("mine", [](api::Quota& quota) {
                   quota.spec.tolerations.push_back({"held", "Exists", "", "", {}});
                   quota.spec.node_selector.emplace("kubernetes.io/hostname", "held");
                 });
               });
}

TEST(Members, TheOneWithoutAPlaceGivesTheReasonWhicheverRankItHas) {
  for (int odd = 0; odd < 4; ++odd)
    for (const char* words : {"gpu=1", "gpu=1 hca=1"}) {
      Cluster c;
      c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-9]", "gpu=1 hca=1");
      c.Put(testing::MakeGroup("g", 4, {}));
      for (int i = 0; i < 4; ++i)
        c.Put(testing::MakeWorker(
            "g", fmt::format("g-{}", i),
            *testing::ReadWords(fmt::format("{}{}", words, i == odd ? " select=disk:none" : ""))));
      EXPECT_THAT(c.Cycle(), BindsNothing());
      EXPECT_TRUE(c.Why("default/g") == "NodeSelectorMismatch" || c.Why("default/g") == "ZoneFull")
          << c.Why("default/g");
      const auto& why = c.result().refusals.begin()->second;
      EXPECT_EQ(why.who, fmt::format("g-{}", odd));
      EXPECT_EQ(why.counts.at(model::Reason::kNodeSelectorMismatch), 4);
      EXPECT_EQ(why.counts.count(model::Reason::kInsufficientIdle), 0u);
    }
}

TEST(Members, MoreThanTheNodesHoldAreToldHowManyFit) {
  Cluster c;
  c.Nodes("n[0-1]", "gpu=3").Nodes("n2", "gpu=9 taint=held");
  c.Quotas("q[0-9]", "gpu=1").Job("g", 7, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  const auto& why = c.result().refusals.begin()->second;
  EXPECT_EQ(why.main, model::Reason::kTaintNotTolerated) << "a node that could be used, says so";
  c.Remove<api::Node>("n2");
  c.Nodes("n2", "gpu=3"), c.Pod("stranger", "gpu=2 scheduler=other node=n2");
  c.Workers("g", 7, 7, "gpu=1");
  c.Edit<api::PodGroup>("default/g", [](api::PodGroup& group) { group.spec.min_member = 8; });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  const auto& idle = c.result().refusals.begin()->second;
  ASSERT_EQ(idle.main, model::Reason::kInsufficientIdle);
  EXPECT_EQ(idle.examples.at(idle.main).wanted, 8);
  EXPECT_EQ(idle.examples.at(idle.main).have, 7);
}

// A gang that the empty cluster couldn't hold isn't told of what is taken just now: that changes
// all the time, and helps it nothing.
TEST(Members, WhoIsLargerThanPossibleHearsTheSameHoweverFullTheClusterIs) {
  Cluster c;
  c.Nodes("n[0-1]", "gpu=8").Quotas("q[0-9]", "gpu=8").Job("vast", 3, "gpu=8");
  c.Cycle();
  const framework::Refusals empty = c.result().refusals.begin()->second;
  EXPECT_EQ(empty.main, model::Reason::kLargerThanPossible);
  c.Job("one", 1, "gpu=8").Cycle();
  c.Edit<api::PodGroup>("default/vast", [](api::PodGroup& group) {
    group.spec.min_member = 3;
    group.metadata.labels["touched"] = "so that it is planned anew";
  });
  c.Job("two", 1, "gpu=8").Cycle();
  c.Queue("news").Cycle();
  ASSERT_EQ(c.result().refusals.size(), 1u);
  EXPECT_EQ(c.result().refusals.begin()->second, empty);
}

int QuotasOnNodes(const Cluster& c) {
  int all = 0;
  for (size_t q = 0; q < c.snapshot().quotas().size(); ++q)
    all += static_cast<int>(c.snapshot().quotas()[model::QuotaId(q)].node.valid());
  return all;
}

// Pods of two gangs that each need all of it come in every order: whoever is complete first starts
// whole, nobody holds anything before, and the other starts when it has ended.
TEST(Gangs, ThatEachNeedEverythingStartOneAfterTheOtherInEveryOrderOfTheirPods) {
  std::string order = "aaaabbbb";
  int orders = 0;
  do {
    SCOPED_TRACE(order);
    Cluster c;
    c.Nodes("n[1-4]", "gpu=8").Quotas("q[0-7]", "gpu=8");
    c.Put(testing::MakeGroup("a", 4, {}));
    c.Put(testing::MakeGroup("b", 4, {}));
    std::map<char, int> made;
    std::string first;
    for (const char gang : order) {
      const std::string name(1, gang);
      c.Workers(name, made[gang], made[gang], "gpu=8");
      const std::vector<Bound> bound = c.Cycle();
      if (++made[gang] == 4 && first.empty()) {
        first = name;
        EXPECT_THAT(bound, BindsTasks(first + "-[0-3]", "n[1-4]"));
        continue;
      }
      EXPECT_THAT(bound, BindsNothing());
      EXPECT_EQ(QuotasOnNodes(c), first.empty() ? 0 : 4) << "who waits holds none";
    }
    const std::string second = first == "a" ? "b" : "a";
    for (int i = 0; i < 3; ++i) c.Finish(fmt::format("default/{}-{}", first, i));
    EXPECT_THAT(c.Cycle(), BindsNothing()) << "three places aren't four";
    c.Finish(fmt::format("default/{}-3", first));
    EXPECT_THAT(c.Cycle(), BindsTasks(second + "-[0-3]", "n[1-4]"));
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(orders, 70);
}

// Hopeless jobs of every kind, many of each, first in the order: who comes behind starts at once.
TEST(Gangs, BehindAHundredHopelessHeadsStartInTheSameCycle) {
  Cluster c;
  c.Nodes("n[0-1]", "gpu=8").Quotas("q[0-9]", "gpu=8").Queue("without");
  api::PriorityClass high;
  high.metadata.name = "high";
  high.value = 1000;
  c.Put(high);
  for (int i = 0; i < 20; ++i) {
    c.Job(fmt::format("vast{}", i), 8, "gpu=8", {0, "priority=high"});
    c.Job(fmt::format("lonely{}", i), 1, "gpu=8", {0, "priority=high queue=without"});
    c.Job(fmt::format("wish{}", i), 1, "gpu=8 required=none", {0, "priority=high"});
    c.Job(fmt::format("gated{}", i), 1, "gpu=8 gated", {0, "priority=high"});
    c.Job(fmt::format("picky{}", i), 1, "gpu=8 select=disk:tape", {0, "priority=high"});
  }
  c.Job("small", 1, "gpu=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("small-0", "n0"));
  EXPECT_EQ(c.Why("default/vast7"), "LargerThanPossible");
  c.Job("next", 1, "gpu=8");
  EXPECT_THAT(c.Cycle(), BindsTasks("next-0", "n1"));
}

}  // namespace
}  // namespace sky::actions
