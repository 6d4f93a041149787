// SPDX-License-Identifier: Apache-2.0
// What is wrong is said on its owner, once, and again only when it is wrong anew.
#include "cache/complaints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "api/keys.h"
#include "testing/random_events.h"

namespace sky::cache {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace key = api::key;

struct ComplaintsTest : ::testing::Test {
  Cluster c;

  // "Quota q0 QuotaSplit", in the order in which they are told.
  std::vector<std::string> Told() {
    std::vector<std::string> told;
    messages.clear();
    for (const Complaint& complaint : c.cache().TakeComplaints()) {
      const api::ObjectReference& about = complaint.about;
      told.push_back(fmt::format("{} {}{} {}", about.kind,
                                 about.namespace_.empty() ? "" : about.namespace_ + "/", about.name,
                                 complaint.reason));
      messages.push_back(complaint.message);
    }
    return told;
  }
  std::vector<std::string> messages;  // of the last Told
};

TEST_F(ComplaintsTest, ACleanClusterHearsNothing) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Quotas("q[0-1]", "gpu=1 hca=1").Job("g", 2, "gpu=1 hca=1");
  c.Cycle();
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(ComplaintsTest, AMalformedNoteIsToldOnceOnWhoeverCarriesIt) {
  c.Nodes("n0", "gpu=8 index=first").Pod("p", "gpu=1").Job("g", 1, "gpu=1", {0, "zones=none"});
  c.Edit<api::Pod>("default/p", [](api::Pod& pod) {
    pod.metadata.annotations.insert_or_assign(std::string(key::kTaskIndex), "third");
  });
  EXPECT_THAT(Told(), ElementsAre("Node n0 InvalidObject", "PodGroup default/g InvalidObject",
                                  "Pod default/p InvalidObject"));
  for (const char* word : {"first", "none", "third"})
    EXPECT_THAT(messages, ::testing::Contains(::testing::HasSubstr(word))) << "it names the value";
  c.Cycle();
  c.Edit<api::Node>("n0", [](api::Node& node) { node.spec.unschedulable = true; });
  EXPECT_THAT(Told(), IsEmpty()) << "whatever else happens to them";
  c.Edit<api::Node>("n0", [](api::Node& node) {
    node.metadata.annotations.insert_or_assign(std::string(key::kNodeIndex), "second");
  });
  EXPECT_THAT(Told(), ElementsAre("Node n0 InvalidObject")) << "another fault is news";
}

TEST_F(ComplaintsTest, AFaultThatWasMendedAndComesBackIsToldAgain) {
  const auto index = [&](const char* value) {
    c.Edit<api::Node>("n0", [&](api::Node& node) {
      node.metadata.annotations.insert_or_assign(std::string(key::kNodeIndex), value);
    });
  };
  c.Nodes("n0", "gpu=8 index=x");
  EXPECT_THAT(Told(), ElementsAre("Node n0 InvalidObject"));
  index("1");
  EXPECT_THAT(Told(), IsEmpty());
  index("x");
  EXPECT_THAT(Told(), ElementsAre("Node n0 InvalidObject"));
  c.Remove<api::Node>("n0");
  EXPECT_THAT(Told(), IsEmpty());
  c.Nodes("n0", "gpu=8 index=x");
  EXPECT_THAT(Told(), ElementsAre("Node n0 InvalidObject")) << "another machine of that name";
}

TEST_F(ComplaintsTest, AQuotaWhosePodsSitOnSeveralNodesNamesThem) {
  c.Nodes("n[0-9]", "gpu=8").Quotas("q", "gpu=8").Pod("p-0", "gpu=1 node=n0 quota=q");
  EXPECT_THAT(Told(), IsEmpty());
  c.Pod("p-1", "gpu=1 node=n1 quota=q");
  EXPECT_THAT(Told(), ElementsAre("Quota q QuotaSplit"));
  EXPECT_THAT(messages[0], ::testing::HasSubstr("(default/p-0 on n0, default/p-1 on n1)"));
  for (int i = 2; i < 9; ++i)
    c.Pod(fmt::format("p-{}", i), fmt::format("gpu=1 node=n{} quota=q", i));
  Told();
  EXPECT_LT(messages[0].size(), 300u) << "a few are enough for the reader";
  for (int i = 1; i < 9; ++i) c.Remove<api::Pod>(fmt::format("default/p-{}", i));
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(ComplaintsTest, ABoundPodWhoseRecordNamesNoQuotaOfItsOwn) {
  c.Queue("other").Nodes("n0", "gpu=8").Quotas("theirs", "gpu=1 queue=other");
  c.Pod("a", "gpu=1 node=n0 quota=ghost").Pod("b", "gpu=1 node=n0 quota=theirs");
  EXPECT_THAT(Told(),
              ElementsAre("Pod default/a QuotaNotFound", "Pod default/b QuotaQueueMismatch"));
  c.Quotas("ghost", "gpu=1");
  c.Edit<api::Quota>("theirs", [](api::Quota& q) { q.spec.shared_queues = {"default"}; });
  EXPECT_THAT(Told(), IsEmpty());
  c.Remove<api::Quota>("ghost");
  EXPECT_THAT(Told(), ElementsAre("Pod default/a QuotaNotFound")) << "it has gone again";
}

TEST_F(ComplaintsTest, AnUnboundPodsRecordMeansNothing) {
  c.Pod("p", "gpu=1 quota=ghost");
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(ComplaintsTest, AQuotaWhoseQueueOrNodeIsMissingUntilItComes) {
  c.Quotas("q", "gpu=1 queue=later").Quotas("bound", "gpu=1 node=n7");
  EXPECT_THAT(Told(), ElementsAre("Quota q QueueNotFound", "Quota bound NodeNotReady"));
  c.Queue("later").Nodes("n7", "gpu=8");
  EXPECT_THAT(Told(), IsEmpty());
  c.Remove<api::Queue>("later");
  EXPECT_THAT(Told(), ElementsAre("Quota q QueueNotFound"));
  c.Remove<api::Node>("n7");
  EXPECT_THAT(Told(), ElementsAre("Quota bound NodeNotReady"));
}

TEST_F(ComplaintsTest, AQueueWhoseParentIsMissingUntilItComes) {
  c.Queue("below");
  c.Edit<api::Queue>("below", [](api::Queue& it) { it.spec.parent = "above"; });
  EXPECT_THAT(Told(), ElementsAre("Queue below QueueNotFound"));
  EXPECT_EQ(messages[0], "its parent above doesn't exist: its jobs don't start");
  c.Queue("above");
  EXPECT_THAT(Told(), IsEmpty());
  c.Remove<api::Queue>("above");
  EXPECT_THAT(Told(), ElementsAre("Queue below QueueNotFound"));
}

TEST_F(ComplaintsTest, AJobQueueThatBreaksARuleOrFeedsAQueueThatIsMissing) {
  api::JobQueue line;
  line.metadata.name = "line";
  line.metadata.namespace_ = "default";
  line.spec.queue = "later";
  line.spec.job_selector.emplace().match_expressions.push_back({"a", "Nearly", {"b"}});
  c.Put(line);
  EXPECT_THAT(Told(), ElementsAre("JobQueue default/line InvalidObject"));
  EXPECT_THAT(messages[0], ::testing::HasSubstr("must be In, NotIn, Exists or DoesNotExist"));
  line.spec.job_selector->match_expressions.clear();
  c.Put(line);
  EXPECT_THAT(Told(), ElementsAre("JobQueue default/line QueueNotFound"));
  c.Queue("later");
  EXPECT_THAT(Told(), IsEmpty());
  c.Remove<api::Queue>("later");
  EXPECT_THAT(Told(), ElementsAre("JobQueue default/line QueueNotFound"));
  c.Remove<api::JobQueue>("default/line");
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(ComplaintsTest, AnObjectThatBreaksARuleOfItsKindIsToldWithTheRule) {
  c.Quotas("q", "gpu=1");
  c.Edit<api::Quota>("q", [](api::Quota& quota) {
    quota.spec.request.insert_or_assign("nvidia.com/gpu", api::Quantity::Units(-1));
  });
  EXPECT_THAT(Told(), ElementsAre("Quota q InvalidObject"));
  EXPECT_THAT(messages[0], ::testing::HasSubstr("nvidia.com/gpu"));
}

TEST_F(ComplaintsTest, QueuesInACircleEachSaySoAndStopWhenItIsOpened) {
  c.Queue("a").Queue("b").Queue("c");
  const auto parent = [&](const char* queue, const char* above) {
    c.Edit<api::Queue>(queue, [&](api::Queue& it) { it.spec.parent = above; });
  };
  parent("a", "b");
  parent("b", "c");
  EXPECT_THAT(Told(), IsEmpty());
  parent("c", "a");
  EXPECT_THAT(Told(), ElementsAre("Queue a InvalidObject", "Queue b InvalidObject",
                                  "Queue c InvalidObject"));
  parent("c", "");
  EXPECT_THAT(Told(), IsEmpty());
  parent("c", "a");
  EXPECT_EQ(Told().size(), 3u) << "closed again";
  c.Queue("below");
  parent("below", "b");
  EXPECT_THAT(Told(), ElementsAre("Queue below InvalidObject")) << "its parents go round as well";
  parent("a", "");
  EXPECT_THAT(Told(), IsEmpty());
  parent("a", "b");
  EXPECT_EQ(Told().size(), 4u);
}

// Told = what a fresh look at the same cluster would tell, less what was told before.
RC_GTEST_PROP(ComplaintsLaw, AFreshLookKnowsNothingThatWasNotTold, (uint64_t seed)) {
  Cluster cluster;
  testing::RandomEvents events(cluster, seed);
  events.Begin();
  std::set<std::string> told;
  std::string history;
  const auto text = [](const Complaint& one) {
    return one.about.kind + " " + one.about.namespace_ + "/" + one.about.name + ": " + one.message;
  };
  for (int i = 0; i < 12; ++i) {
    history += events.Next() + "\n";
    for (const Complaint& one : cluster.cache().TakeComplaints()) told.insert(text(one));
    RC_ASSERT(cluster.cache().TakeComplaints().empty());
  }
  for (const Complaint& one : cluster.Rebuilt(seed)->TakeComplaints())
    if (!told.contains(text(one))) RC_FAIL(history + "never told: " + text(one));
}

}  // namespace
}  // namespace sky::cache
