// SPDX-License-Identifier: Apache-2.0
// The last question before a binding is sent: does the node still hold it? What changed since the
// decision voids claims from the last in order, and only for what they ask.
#include <gtest/gtest.h>

#include "api/keys.h"
#include "testing/cluster.h"

namespace sky::cache {
namespace {

using testing::Cluster;

// Two jobs of four GPUs each are decided onto one node of eight; "a" is the first in order.
struct Sending : ::testing::Test {
  Cluster c;
  std::vector<Round> rounds;
  Sending() {
    c.Nodes("n0", "gpu=8 cpu=8").Quotas("q[0-1]", "gpu=4").Queue("other");
    c.Job("a", 1, "gpu=4").Job("b", 1, "gpu=4");
    rounds = c.Decide();
    SKY_CHECK(rounds.size() == 2 && rounds[0].job == "default/a", "{} rounds", rounds.size());
    for (const Round& round : rounds) {
      c.cache().Acknowledge(round.number);
      SKY_CHECK(c.cache().Approve(round.number, c.snapshot()), "round {}", round.number);
    }
  }
  bool May(size_t i) { return c.cache().MayBind(rounds[i], rounds[i].entries[0]) == Send::kNow; }
  void MarkSent(size_t i) { c.cache().MarkSending(rounds[i].number, rounds[i].entries[0].uid); }
  void Offer(const std::string& name, int64_t amount) {
    c.Edit<api::Node>("n0", [&](api::Node& node) {
      node.status.allocatable.insert_or_assign(name, api::Quantity::Units(amount));
    });
  }
};

TEST_F(Sending, WithNothingChangedBothGo) {
  EXPECT_TRUE(May(0));
  MarkSent(0);
  EXPECT_TRUE(May(1));
}

TEST_F(Sending, ANodeThatShrankTakesTheFirstInOrderAndNotTheNext) {
  Offer("nvidia.com/gpu", 4);
  EXPECT_TRUE(May(0)) << "the other one, which wasn't sent yet, gives way";
  MarkSent(0);
  EXPECT_FALSE(May(1));
  c.cache().Drop(rounds[1].number, rounds[1].entries[0].uid);
  c.Audit();
  Offer("nvidia.com/gpu", 3);
  EXPECT_FALSE(May(0));
}

TEST_F(Sending, WhatIsShortAndNotAskedForStopsNobody) {
  Offer("cpu", 0);
  EXPECT_TRUE(May(0));
}

TEST_F(Sending, AStrangersPodThatCameMeanwhileIsCounted) {
  c.Pod("stranger", "gpu=4 node=n0 scheduler=default-scheduler");
  EXPECT_TRUE(May(0));
  MarkSent(0);
  EXPECT_FALSE(May(1));
  c.Remove<api::Pod>("default/stranger");
  EXPECT_TRUE(May(1));
}

TEST_F(Sending, AnEmptyQuotaThatWasBoundByHandIsCounted) {
  c.Quotas("static", "gpu=8 queue=other node=n0");
  EXPECT_FALSE(May(0));
}

TEST_F(Sending, AMachineThatTookTheNameIsMeasuredAnew) {
  c.Remove<api::Node>("n0");
  EXPECT_FALSE(May(0));
  c.Nodes("n0", "gpu=6 cpu=8");
  EXPECT_FALSE(May(0)) << "not what was approved";
  for (const Round& round : rounds) {
    c.cache().UpdateSnapshot(c.snapshot());
    ASSERT_TRUE(c.cache().Approve(round.number, c.snapshot()));
  }
  EXPECT_FALSE(May(0)) << "nobody has judged it anew";
  for (const Round& round : rounds) {
    c.cache().Withdraw(round, {round.entries[0].uid});
    ASSERT_TRUE(c.cache().Approve(round.number, c.snapshot()));
  }
  EXPECT_TRUE(May(0));
  MarkSent(0);
  EXPECT_FALSE(May(1));
}

// F51: what comes back of our own writes makes nobody look again, whether it comes before the
// answer or after it; the same words by another hand do.
TEST_F(Sending, ItsOwnBindingComesBackWithoutStartingACycle) {
  const RoundEntry& entry = rounds[0].entries[0];
  MarkSent(0);
  api::Pod bound = c.Get<api::Pod>("default/" + entry.name);
  bound.spec.node_name = entry.node_name;
  bound.metadata.annotations[std::string(api::key::kQuotaName)] = entry.quota_name;
  const auto tell = [&](const api::Pod& pod) {
    return c.cache().Apply(api::Delta<api::Pod>{api::Delta<api::Pod>::Type::kUpdate,
                                                std::make_shared<const api::Pod>(pod), nullptr});
  };
  EXPECT_EQ(tell(bound), Effect::kQuiet);
  EXPECT_NE(tell(bound), Effect::kRelevant) << "told twice";
  api::Pod other = c.Get<api::Pod>("default/" + rounds[1].entries[0].name);
  c.cache().Drop(rounds[1].number, rounds[1].entries[0].uid);
  other.spec.node_name = entry.node_name;
  EXPECT_EQ(tell(other), Effect::kRelevant) << "bound by another hand: it takes room";
}

}  // namespace
}  // namespace sky::cache
