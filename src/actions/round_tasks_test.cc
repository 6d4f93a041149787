// SPDX-License-Identifier: Apache-2.0
// Which tasks a round holds, and what has room on a node: pod slots, init containers and sidecars,
// leaving pods, strangers, and what the same plan took a moment ago.
#include <gtest/gtest.h>

#include "actions/round_tasks.h"
#include "api/json.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::actions {
namespace {

using model::Reason;
using model::Verdict;
using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;
using testing::OpenSession;

struct RoundTasksTest : ::testing::Test {
  Cluster c;

  // The members that the next round holds, by name.
  std::vector<std::string> Round(const std::string& job) {
    OpenSession open(c);
    std::vector<std::string> names;
    for (const model::TaskId task :
         RoundTasks(*open, open.rows().jobs()[open.Job("default/" + job)]))
      names.push_back(open.rows().tasks()[task].facts->meta().name);
    return names;
  }
  void Roles(const std::string& group, const std::map<std::string, int32_t>& least) {
    c.Edit<api::PodGroup>("default/" + group, [&](api::PodGroup& it) {
      for (const auto& [role, count] : least) it.spec.min_task_member.insert_or_assign(role, count);
    });
  }
};
using Names = std::vector<std::string>;

TEST_F(RoundTasksTest, TheMinimumByRankThenTheExtras) {
  c.Nodes("n0", "gpu=8").Quotas("q[0-7]", "gpu=1").Job("g", 5, "gpu=1", {3, ""});
  EXPECT_EQ(Round("g"), (Names{"g-0", "g-1", "g-2"}));
  ASSERT_EQ(c.Cycle().size(), 3u);
  EXPECT_EQ(Round("g"), (Names{"g-3", "g-4"}));
  ASSERT_EQ(c.Cycle().size(), 2u);
  EXPECT_EQ(Round("g"), Names{});
  for (const char* pod : {"default/g-1", "default/g-2", "default/g-4"}) c.Remove<api::Pod>(pod);
  c.Workers("g", 5, 6, "gpu=1");
  EXPECT_EQ(Round("g"), Names{"g-5"}) << "a repair: what is short of the minimum";
}

TEST_F(RoundTasksTest, MinimaOfRolesComeFirst) {
  c.Job("g", 4, "gpu=1 role=worker", {3, ""});
  c.Put(testing::MakeWorker("g", "g-ps", *testing::ReadWords("gpu=1 role=ps")));
  Roles("g", {{"ps", 1}, {"worker", 1}});
  EXPECT_EQ(Round("g"), (Names{"g-ps", "g-0", "g-1"})) << "by name of the role, then rank";
  c.Edit<api::Pod>("default/g-0", [](api::Pod& pod) { pod.spec.scheduling_gates = {{"wait"}}; });
  EXPECT_EQ(Round("g"), (Names{"g-ps", "g-1", "g-2"})) << "who is gated isn't placed";
}

TEST_F(RoundTasksTest, ASucceededMemberFillsItsRole) {
  c.Nodes("n0", "gpu=8").Quotas("q[0-7]", "gpu=1");
  c.Job("g", 2, "gpu=1 role=worker", {2, ""});
  Roles("g", {{"worker", 2}});
  ASSERT_EQ(c.Cycle().size(), 2u);
  c.Finish("default/g-0");
  c.Remove<api::Pod>("default/g-1");
  c.Workers("g", 2, 3, "gpu=1 role=worker");
  EXPECT_EQ(Round("g"), Names{"g-2"});
}

// --- room ---

struct RoomTest : RoundTasksTest {
  // Has the quota, with the task on it, room on the node?
  Verdict Room(const std::string& pod, const std::string& quota, const std::string& node) {
    OpenSession open(c);
    return FitsRoom(open.rows(), open.Task(pod), open.Quota(quota), open.Node(node));
  }
};

TEST_F(RoomTest, EachNameThatIsAskedIsComparedAndNoOther) {
  c.Nodes("n0", "gpu=2 cpu=4 mem=8Gi");
  struct Row {
    std::string quota, pod;
    Reason reason;
  };
  const std::vector<Row> rows = {
      {"gpu=2", "gpu=2 cpu=4 mem=8Gi", Reason::kNone},
      {"gpu=2", "gpu=2 cpu=4001m", Reason::kInsufficientIdle},
      {"gpu=2", "gpu=2 mem=8589934593", Reason::kInsufficientIdle},
      {"gpu=3", "gpu=1", Reason::kInsufficientIdle},  // the whole share is charged
      {"gpu=2", "rdma/hca=1", Reason::kInsufficientIdle},
      {"gpu=2", "rdma/hca=0", Reason::kNone},
      {"gpu=2", "ephemeral-storage=0", Reason::kNone},
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string pod = fmt::format("p{}", i), quota = fmt::format("q{}", i);
    c.Quotas(quota, rows[i].quota).Pod(pod, rows[i].pod);
    EXPECT_EQ(Room(pod, quota, "n0").reason, rows[i].reason) << rows[i].quota << " " << rows[i].pod;
  }
}

TEST_F(RoomTest, PodsOfEveryoneHoldSlotsUntilTheyAreGone) {
  c.Nodes("n0", "gpu=8 pods=2").Quotas("q[0-3]", "gpu=1").Pod("p", "gpu=1");
  c.Pod("a", "cpu=1 node=n0 scheduler=another");
  EXPECT_TRUE(Room("p", "q0", "n0").fit());
  c.Pod("b", "cpu=0 node=n0");
  EXPECT_EQ(Room("p", "q0", "n0").reason, Reason::kPodSlotsFull);
  EXPECT_EQ(Room("p", "q0", "n0").wanted, 1000);
  EXPECT_EQ(Room("p", "q0", "n0").have, 0);
  c.Edit<api::Pod>("default/b", [](api::Pod& pod) {
    pod.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  EXPECT_FALSE(Room("p", "q0", "n0").fit()) << "a leaving pod holds its slot";
  c.Edit<api::Pod>("default/b", [](api::Pod& pod) { pod.status.phase = "Failed"; });
  EXPECT_TRUE(Room("p", "q0", "n0").fit());
}

TEST_F(RoomTest, PodSlotsAreCountedWithinAPlan) {
  c.Nodes("n0", "gpu=8 pods=2").Nodes("n1", "gpu=8 pods=1").Quotas("q[0-7]", "gpu=1");
  c.Job("four", 4, "gpu=1").Job("three", 3, "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("three-[0-2]", "n0,n0,n1"));
  EXPECT_EQ(c.Why("default/four"), "LargerThanPossible");
  c.Pod("p", "gpu=1");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/p"), "PodSlotsFull");
}

TEST_F(RoomTest, PodSlotsHoldInAZoneAsWell) {
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8 pods=1").Quotas("q[0-7]", "gpu=1 hca=1");
  c.Job("three", 3, "gpu=1 hca=1").Job("two", 2, "gpu=1 hca=1");
  EXPECT_THAT(c.Cycle(), BindsTasks("two-[0-1]", "n[0-1]"));
}

TEST_F(RoomTest, SidecarsAreAddedAndInitContainersAreAFloor) {
  // 1 for the worker, 2 for the sidecar that runs beside it; the init container needs 3 + 2.
  const auto pod = api::Decode<api::Pod>(R"({"metadata":{"name":"p","namespace":"default"},
    "spec":{"schedulerName":"sky-scheduler",
      "initContainers":[
        {"name":"s","restartPolicy":"Always","resources":{"requests":{"nvidia.com/gpu":"2"}}},
        {"name":"i","resources":{"requests":{"nvidia.com/gpu":"3"}}}],
      "containers":[{"name":"c","resources":{"requests":{"nvidia.com/gpu":"1"}}}]}})");
  ASSERT_TRUE(pod.has_value());
  c.Put(*pod);
  c.Nodes("n0", "gpu=4").Quotas("four", "gpu=4").Quotas("five", "gpu=5");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  c.Nodes("n1", "gpu=5");
  EXPECT_THAT(c.Cycle(), BindsTasks("p", "n1"));
}

TEST_F(RoomTest, ALeavingPodsRoomIsWaitedForAndNotUsed) {
  c.Nodes("n0", "gpu=8").Quotas("q", "gpu=4").Pod("p", "gpu=4");
  c.Pod("stranger", "gpu=6 node=n0 scheduler=another");
  EXPECT_EQ(Room("p", "q", "n0").reason, Reason::kInsufficientIdle);
  c.Edit<api::Pod>("default/stranger", [](api::Pod& pod) {
    pod.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  EXPECT_EQ(Room("p", "q", "n0"), Verdict::NotNow(Reason::kWaitingForReleasing, 4000, 2000,
                                                  c.names()->resources.Intern("nvidia.com/gpu")));
  c.Remove<api::Pod>("default/stranger");
  EXPECT_TRUE(Room("p", "q", "n0").fit());
}

TEST_F(RoomTest, AShareIsChargedOnceForAllItsTasksAndMoreOnlyWhereTheyOutgrowIt) {
  c.Nodes("n0", "gpu=8 cpu=8").Quotas("q", "gpu=4 node=n0").Quotas("rest", "gpu=4 node=n0");
  c.Pod("a", "gpu=2 cpu=6 node=n0 quota=q").Pod("p", "gpu=2 cpu=2").Pod("big", "gpu=2 cpu=3");
  EXPECT_TRUE(Room("p", "q", "n0").fit()) << "its cards are charged already, its cpu fits";
  EXPECT_EQ(Room("big", "q", "n0").reason, Reason::kInsufficientIdle) << "cpu isn't";
}

TEST_F(RoomTest, WhatTheNodeCouldNeverHoldIsNever) {
  c.Nodes("n0", "gpu=2").Quotas("q", "gpu=4").Pod("p", "gpu=4");
  EXPECT_EQ(Room("p", "q", "n0").severity, model::Severity::kNever);
  EXPECT_EQ(Room("p", "q", "n0").have, 2000);
}

// An over-bound node (its allocatable fell) takes nobody who asks for what it is short of.
TEST_F(RoomTest, AnOverboundNodeStillTakesWhoAsksForSomethingElse) {
  c.Nodes("n0", "gpu=4").Quotas("big", "gpu=8 node=n0").Quotas("cpus", "cpu=1 node=n0");
  c.Pod("a", "gpu=1").Pod("b", "cpu=1");
  EXPECT_FALSE(Room("a", "big", "n0").fit());
  EXPECT_TRUE(Room("b", "cpus", "n0").fit());
}

}  // namespace
}  // namespace sky::actions
