// SPDX-License-Identifier: Apache-2.0
#include "plugins/quotapredicates/quotapredicates.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using model::Reason;
using model::Severity;
using model::Verdict;
using testing::BindsNothing;
using testing::BindsQuotas;
using testing::BindsTasks;
using testing::Cluster;
using testing::OpenSession;

struct QuotaTest : ::testing::Test {
  Cluster c;

  // May the pod use the quota?
  Verdict Hop1(const std::string& pod, const std::string& quota) {
    OpenSession open(c, std::make_unique<QuotaPredicates>());
    return open->task_to_quota.Feasible(open.Task(pod), open.Quota(quota));
  }
  // May the quota sit on the node?
  Verdict Hop2(const std::string& quota, const std::string& node) {
    OpenSession open(c, std::make_unique<QuotaPredicates>());
    return open->quota_to_node.Feasible(open.Quota(quota), open.Node(node));
  }
  int64_t Score(const std::string& pod, const std::string& quota) {
    OpenSession open(c, std::make_unique<QuotaPredicates>());
    const model::QuotaId one[] = {open.Quota(quota)};
    return open->task_to_quota.Scores(open.Task(pod), one)[0];
  }
  void Delete(const std::string& pod) {
    c.Edit<api::Pod>("default/" + pod, [](api::Pod& it) {
      it.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
    });
  }
};

// --- hop 1: whose, and which ---

TEST_F(QuotaTest, AQuotaIsForItsQueueAndForThoseThatItIsSharedWith) {
  c.Queue("other").Queue("third");
  c.Quotas("mine", "gpu=1").Quotas("theirs", "gpu=1 queue=other");
  c.Quotas("shared", "gpu=1 queue=other shared=third,default")
      .Quotas("nobodys", "gpu=1 queue=gone");
  c.Pod("p", "gpu=1");
  EXPECT_TRUE(Hop1("p", "mine").fit());
  EXPECT_TRUE(Hop1("p", "shared").fit());
  EXPECT_EQ(Hop1("p", "theirs"), Verdict::Never(Reason::kQuotaQueueMismatch));
  EXPECT_EQ(Hop1("p", "nobodys"), Verdict::Never(Reason::kQuotaQueueMismatch));
  // The same quotas as its group's queue sees them.
  c.Job("g", 1, "gpu=1", {0, "queue=other"});
  EXPECT_TRUE(Hop1("g-0", "theirs").fit());
  EXPECT_TRUE(Hop1("g-0", "shared").fit());
  EXPECT_EQ(Hop1("g-0", "mine"), Verdict::Never(Reason::kQuotaQueueMismatch));
}

TEST_F(QuotaTest, ADemandedQuotaIsTheOnlyOneAndMustBeItsQueuesToo) {
  c.Queue("other").Quotas("a,b", "gpu=1").Quotas("theirs", "gpu=1 queue=other");
  c.Pod("p", "gpu=1 required=a").Pod("greedy", "gpu=1 required=theirs");
  EXPECT_TRUE(Hop1("p", "a").fit());
  EXPECT_EQ(Hop1("p", "b"), Verdict::Never(Reason::kQuotaNotFound));
  EXPECT_EQ(Hop1("greedy", "theirs"), Verdict::Never(Reason::kQuotaQueueMismatch));
}

// --- hop 1: room ---

struct Room {
  std::string what, quota, pod;
  Severity severity;
  Reason reason = Reason::kNone;
};

TEST_F(QuotaTest, AQuotaLimitsTheNamesThatItListsAndNoOthers) {
  const std::vector<Room> rows = {
      {"as much as there is", "gpu=2 hca=2", "gpu=2 hca=2", Severity::kFit},
      {"less than there is", "gpu=2 hca=2", "gpu=1", Severity::kFit},
      {"more than it will ever hold", "gpu=2", "gpu=3", Severity::kNever,
       Reason::kInsufficientQuota},
      {"more of one name", "gpu=2 hca=1", "gpu=2 hca=2", Severity::kNever,
       Reason::kInsufficientQuota},
      {"a name that it doesn't list is the node's matter", "gpu=2", "gpu=2 cpu=900 mem=9Ti",
       Severity::kFit},
      {"a listed zero forbids it", "gpu=2 hca=0", "gpu=2 hca=1", Severity::kNever,
       Reason::kInsufficientQuota},
      {"cpu when it is listed", "cpu=2", "cpu=2001m", Severity::kNever, Reason::kInsufficientQuota},
      {"cpu to the milli", "cpu=2", "cpu=2", Severity::kFit},
      {"a listed name that isn't asked for", "gpu=1 cpu=1", "gpu=1", Severity::kFit},
      {"devices forgive less than a hundredth", "gpu=1995m", "gpu=2", Severity::kFit},
      {"and not a hundredth", "gpu=1990m", "gpu=2", Severity::kNever, Reason::kInsufficientQuota},
      {"cpu forgives nothing", "cpu=1999m", "cpu=2", Severity::kNever, Reason::kInsufficientQuota},
      {"pod slots when they are listed", "gpu=1 pods=0", "gpu=1", Severity::kNever,
       Reason::kInsufficientQuota},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string quota = fmt::format("q{}", i), pod = fmt::format("p{}", i);
    c.Quotas(quota, rows[i].quota).Pod(pod, rows[i].pod);
    const Verdict verdict = Hop1(pod, quota);
    EXPECT_EQ(verdict.severity, rows[i].severity) << rows[i].what;
    EXPECT_EQ(verdict.reason, rows[i].reason) << rows[i].what;
  }
}

TEST_F(QuotaTest, ItsTasksShareItUntilItIsFull) {
  c.Nodes("n0", "gpu=8").Quotas("q", "gpu=2");
  c.Pod("a", "gpu=1 node=n0 quota=q").Pod("p", "gpu=1").Pod("big", "gpu=2");
  EXPECT_TRUE(Hop1("p", "q").fit());
  const Verdict full = Hop1("big", "q");
  EXPECT_EQ(full.severity, Severity::kNotNow) << "it would fit an empty one";
  EXPECT_EQ(full.reason, Reason::kInsufficientQuota);
  EXPECT_EQ(full.wanted, 2000);
  EXPECT_EQ(full.have, 1000);
  EXPECT_EQ(c.names()->resources.Name(full.resource), "nvidia.com/gpu");
  Delete("a");
  EXPECT_EQ(Hop1("big", "q").reason, Reason::kWaitingForReleasing) << "until it is gone";
  c.Remove<api::Pod>("default/a");
  EXPECT_TRUE(Hop1("big", "q").fit());
}

TEST_F(QuotaTest, ShadowIsRoomBesidesTheRequest) {
  c.Quotas("q", "gpu=2").Pod("p", "gpu=3").Pod("big", "gpu=4");
  EXPECT_FALSE(Hop1("p", "q").fit());
  c.Edit<api::Quota>("q", [](api::Quota& quota) {
    quota.status.shadow_resource.insert_or_assign("nvidia.com/gpu", api::Quantity::Units(1));
  });
  EXPECT_TRUE(Hop1("p", "q").fit());
  EXPECT_EQ(Hop1("big", "q").severity, Severity::kNever);
}

TEST_F(QuotaTest, AQuotaThatIsLeavingOrBrokenOrSplitTakesNobody) {
  c.Nodes("n[0-1]", "gpu=8").Quotas("leaving,broken,split", "gpu=4").Pod("p", "gpu=1");
  c.Edit<api::Quota>("leaving", [](api::Quota& quota) {
    quota.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  c.Edit<api::Quota>("broken", [](api::Quota& quota) {
    quota.spec.request.insert_or_assign("cpu", api::Quantity::Units(-1));
  });
  c.Pod("a", "gpu=1 node=n0 quota=split").Pod("b", "gpu=1 node=n1 quota=split");
  for (const char* quota : {"leaving", "broken", "split"})
    EXPECT_EQ(Hop1("p", quota), Verdict::NotNow(Reason::kInsufficientQuota)) << quota;
}

// --- hop 1: tiers ---

TEST_F(QuotaTest, BoundQuotasComeBeforeFreeOnesAndTheBestFitComesFirstInEach) {
  c.Nodes("n0", "gpu=8");
  c.Quotas("free-tight", "gpu=1").Quotas("free-wide", "gpu=4");
  c.Quotas("bound-tight", "gpu=1 node=n0").Quotas("bound-wide", "gpu=4 node=n0");
  c.Quotas("begun", "gpu=2").Pod("a", "gpu=1 node=n0 quota=begun").Pod("p", "gpu=1");
  EXPECT_GT(Score("p", "bound-tight"), Score("p", "bound-wide"));
  EXPECT_GT(Score("p", "bound-wide"), Score("p", "free-tight")) << "the tier before the fit";
  EXPECT_GT(Score("p", "free-tight"), Score("p", "free-wide"));
  EXPECT_EQ(Score("p", "begun"), Score("p", "bound-tight")) << "both are full then";
}

RC_GTEST_PROP(QuotaScore, IsBoundedAndNoFreeQuotaEverBeatsABoundOne, (uint64_t seed)) {
  Rng rng(seed);
  Cluster c;
  c.Nodes("n0", "gpu=8");
  const auto amounts = [&] {
    // Now and then near the end of what int64 holds.
    return fmt::format("gpu={} cpu={}m", rng.Below(9),
                       rng.Below(4) == 0 ? INT64_MAX - static_cast<int64_t>(rng.Below(9))
                                         : static_cast<int64_t>(rng.Below(9000)));
  };
  c.Quotas("bound", amounts() + " node=n0").Quotas("free", amounts()).Pod("p", amounts());
  OpenSession open(c, std::make_unique<QuotaPredicates>());
  const model::QuotaId both[] = {open.Quota("bound"), open.Quota("free")};
  const auto scores = open->task_to_quota.Scores(open.Task("p"), both);
  for (const int64_t score : scores) RC_ASSERT(score >= 0 && score <= 100'000);
  RC_ASSERT(scores[0] > scores[1] || scores[0] == 70'000 || scores[0] == 40'000);
  RC_ASSERT(scores[0] >= 40'000 && scores[0] <= 70'000 && scores[1] <= 30'000);
}

TEST_F(QuotaTest, AWholeCycleTakesTheTiersInTheirOrder) {
  c.Nodes("n[0-2]", "gpu=8").Quotas("free[0-1]", "gpu=1").Quotas("bound", "gpu=1 node=n2");
  const auto taken = [&](const char* pod, const char* words) {
    c.Pod(pod, words);
    const auto bound = c.Cycle();
    return bound.empty() ? c.Why(std::string("pod:default/") + pod) : bound[0].quota;
  };
  EXPECT_EQ(taken("a", "gpu=1 required=free1"), "free1") << "what is demanded before what is bound";
  EXPECT_EQ(taken("b", "gpu=1"), "bound");
  EXPECT_EQ(taken("c", "gpu=1"), "free0");
  EXPECT_EQ(taken("d", "gpu=1"), "InsufficientQuota");
}

// A quota that holds too much of one name (its request was lowered) still serves who asks another.
TEST_F(QuotaTest, AnOverfullNameHoldsOffOnlyWhoAsksForIt) {
  c.Nodes("n0", "gpu=8").Quotas("q", "gpu=4 cpu=8").Pod("a", "gpu=1 cpu=8");
  ASSERT_THAT(c.Cycle(), BindsQuotas("q", "n0"));
  c.Edit<api::Quota>("q", [](api::Quota& quota) {
    quota.spec.request.insert_or_assign("cpu", api::Quantity::Units(4));
  });
  c.Pod("b", "gpu=1 cpu=1").Pod("c", "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("c", "n0"));
  EXPECT_EQ(c.Why("pod:default/b"), "InsufficientQuota");
  EXPECT_FALSE(c.result().conflicted);
}

// --- hop 2 ---

TEST_F(QuotaTest, ANodeMustHaveEveryLabelOfTheSelector) {
  c.Nodes("n0", "gpu=8 spec=a100 label=rack:1").Nodes("n1", "gpu=8 spec=h100");
  c.Quotas("any", "gpu=1").Quotas("a100", "gpu=1 spec=a100");
  EXPECT_TRUE(Hop2("any", "n0").fit());
  EXPECT_TRUE(Hop2("a100", "n0").fit());
  EXPECT_EQ(Hop2("a100", "n1"), Verdict::NotNow(Reason::kNodeSelectorMismatch));
  c.Edit<api::Quota>("a100",
                     [](api::Quota& quota) { quota.spec.node_selector.emplace("rack", "2"); });
  EXPECT_EQ(Hop2("a100", "n0"), Verdict::NotNow(Reason::kNodeSelectorMismatch));
}

TEST_F(QuotaTest, ANodeMustHaveRoomBesideTheQuotasThatAreBoundThere) {
  c.Nodes("n0", "gpu=8 hca=8").Quotas("there", "gpu=6 node=n0");
  const std::vector<std::pair<std::string, Reason>> rows = {
      {"gpu=2", Reason::kNone},
      {"gpu=3", Reason::kInsufficientQuotaIdle},
      {"hca=8", Reason::kNone},
      {"hca=9", Reason::kInsufficientQuotaIdle},
      {"rdma/other=1", Reason::kInsufficientQuotaIdle},
      {"rdma/other=0", Reason::kNone},
      {"gpu=2005m", Reason::kNone},
      {"gpu=2010m", Reason::kInsufficientQuotaIdle},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string name = fmt::format("q{}", i);
    c.Quotas(name, rows[i].first);
    EXPECT_EQ(Hop2(name, "n0").reason, rows[i].second) << rows[i].first;
  }
  EXPECT_TRUE(Hop2("there", "n0").fit()) << "it is counted there already";
  EXPECT_EQ(Hop2("q1", "n0").severity, Severity::kNotNow) << "when the other goes, it may come";
  EXPECT_EQ(Hop2("q3", "n0").severity, Severity::kNever) << "the node never has so much";
  // QuotaIdle isn't Idle: pods of others don't touch it.
  c.Pod("stranger", "gpu=8 scheduler=another node=n0");
  EXPECT_TRUE(Hop2("q0", "n0").fit());
}

TEST_F(QuotaTest, RoomOfAShareWhoseTasksAllLeaveIsWaitedFor) {
  c.Nodes("n0", "gpu=8").Quotas("old", "gpu=6").Quotas("wants", "gpu=4").Quotas("vast", "gpu=9");
  c.Pod("a", "gpu=3 node=n0 quota=old").Pod("b", "gpu=3 node=n0 quota=old");
  EXPECT_EQ(Hop2("wants", "n0").reason, Reason::kInsufficientQuotaIdle);
  Delete("a");
  EXPECT_EQ(Hop2("wants", "n0").reason, Reason::kInsufficientQuotaIdle) << "b stays";
  Delete("b");
  EXPECT_EQ(Hop2("wants", "n0").reason, Reason::kWaitingForReleasing);
  EXPECT_EQ(Hop2("vast", "n0").reason, Reason::kInsufficientQuotaIdle) << "not even then";
}

// --- the gate ---

TEST_F(QuotaTest, TheGateRefusesAQuotaThatCantCarryItsTasks) {
  c.Nodes("n0", "gpu=8").Quotas("q", "gpu=1").Job("train", 2, "gpu=1");
  OpenSession open(c, std::make_unique<QuotaPredicates>());
  framework::JobRound round(*open, open.Job("default/train"));
  framework::Refusals why;
  for (int i = 0; i < 2; ++i) {
    const auto task = open.Task(fmt::format("train-{}", i));
    round.statement.AllocateTaskToQuota(task, open.Quota("q"), open.Node("n0"));
    round.plan.tasks.push_back({task, open.Quota("q"), open.Node("n0"), {}});
    EXPECT_EQ(open->QuotaReady(round, why), i == 0) << i;
  }
  EXPECT_EQ(why.main, Reason::kInsufficientQuota);
}

// What hop 1 forgives, the gate and the commit forgive as well.
TEST_F(QuotaTest, AHundredthOfADeviceIsForgivenAllTheWay) {
  c.Nodes("n0", "gpu=2").Quotas("q", "gpu=1995m").Job("train", 2, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-[0-1]", "n0")) << "one share for the whole gang";
  EXPECT_FALSE(c.result().conflicted);
  c.Pod("late", "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
}

// Pods of one cycle too: the second finds the share that the first has planned.
TEST_F(QuotaTest, JobsOfOneCycleShareAQuota) {
  c.Nodes("n[0-1]", "gpu=8").Quotas("q", "gpu=2").Pod("a", "gpu=1").Pod("b", "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("a,b", "n0"));
}

}  // namespace
}  // namespace sky::plugins
