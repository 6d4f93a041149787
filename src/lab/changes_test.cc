// SPDX-License-Identifier: Apache-2.0
#include "lab/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ChangesTest : ::testing::Test {
  TestCluster cluster;
  Look before = Look::At(*cluster.api);

  // What happened since the last call.
  Texts News() {
    const Look now = Look::At(*cluster.api);
    Texts news = now.Since(before);
    before = now;
    return news;
  }
  void Patch(const std::string& path, std::string_view patch) {
    const Reply reply = cluster.client->Patch(InProcess::PatchType::kMerge, path, J(patch));
    ASSERT_TRUE(reply.ok()) << reply.body;
  }
};

TEST_F(ChangesTest, NothingHappenedIsNoLine) { EXPECT_THAT(News(), IsEmpty()); }

TEST_F(ChangesTest, ObjectsComeInTheOrderOfTheirWritesAndGoLast) {
  cluster.Make(kPods, TestCluster::Pod("b"));
  cluster.Make(kQuotas, TestCluster::Quota("q"));
  cluster.Make(kPods, TestCluster::Pod("a"));
  EXPECT_THAT(News(),
              ElementsAre("Pod default/b created", "Quota q created", "Pod default/a created"));
  ASSERT_TRUE(cluster.client->Delete(kQuotas + "/q").ok());
  Patch(kPods + "/a", R"({"metadata":{"labels":{"x":"1"}}})");
  EXPECT_THAT(News(), ElementsAre("Pod default/a: metadata.labels.x=1", "Quota q gone"));
}

TEST_F(ChangesTest, ALineSaysWhichMembersChangedAndToWhat) {
  cluster.Make(kQuotas, TestCluster::Quota("q"));
  News();
  Patch(kQuotas + "/q/status",
        R"({"status":{"phase":"QuotaBound","nodeName":"n0","allocated":{"nvidia.com/gpu":"1"},
            "tasks":[{"name":"a","uid":"1"},{"name":"b","uid":"2"}]}})");
  EXPECT_THAT(News(), ElementsAre("Quota q: status.allocated.nvidia.com/gpu=1, status.nodeName=n0, "
                                  "status.phase=QuotaBound, status.tasks: 2 items"));
  Patch(kQuotas + "/q/status",
        R"({"status":{"nodeName":null,"allocated":{"nvidia.com/gpu":"2"},
            "tasks":[{"name":"a","uid":"1"}]}})");
  EXPECT_THAT(News(),
              ElementsAre("Quota q: status.allocated.nvidia.com/gpu=2, status.tasks: 1 item, "
                          "status.nodeName removed"));
}

TEST_F(ChangesTest, ConditionsAreToldByTheirTypeAndAHeartbeatIsNone) {
  cluster.Make(kGroups, TestCluster::Group("g"));
  News();
  const auto condition = [&](const char* members) {
    Patch(kGroups + "/g/status", std::string(R"({"status":{"conditions":[{)") + members + "}]}}");
  };
  const std::string at = R"(,"lastTransitionTime":"2026-01-01T00:00:00Z")";
  condition((R"("type":"Scheduled","status":"False","reason":"Waits","message":"a")" + at).c_str());
  EXPECT_THAT(News(), ElementsAre("PodGroup default/g: status.conditions.Scheduled=False (Waits)"));
  condition((R"("type":"Scheduled","status":"False","reason":"Waits","message":"b")" + at).c_str());
  EXPECT_THAT(News(), ElementsAre("PodGroup default/g: status.conditions.Scheduled=False (Waits)"))
      << "its message is new";
  condition((R"("type":"Other","status":"True","reason":"R")" + at).c_str());
  EXPECT_THAT(News(), ElementsAre("PodGroup default/g: status.conditions.Other=True (R), "
                                  "status.conditions.Scheduled removed"));
}

TEST_F(ChangesTest, AWriteThatSaysNothingNewIsToldUnlessItIsAHeartbeat) {
  cluster.Make(kPods, TestCluster::Pod("a"));
  cluster.Make(kNodes, TestCluster::Node("n0"));
  const std::string first = "2026-01-01T00:00:00Z", second = "2026-01-01T00:00:10Z";
  const auto beat = [&](const std::string& path, const std::string& time) {
    Patch(path + "/status", R"({"status":{"conditions":[{"type":"Ready","status":"True",
             "reason":"R","lastHeartbeatTime":")" +
                                time + R"("}]}})");
  };
  // When a pod started is a kubelet's small print.
  Patch(kPods + "/a/status", R"({"status":{"startTime":")" + first + R"("}})");
  beat(kNodes + "/n0", first);
  News();
  beat(kNodes + "/n0", second);
  EXPECT_THAT(News(), IsEmpty());
  Patch(kPods + "/a/status", R"({"status":{"startTime":")" + second + R"("}})");
  EXPECT_THAT(News(), ElementsAre("Pod default/a: written again with nothing new"));
}

TEST_F(ChangesTest, SeveralWritesToOneObjectAreOneLineAndACount) {
  cluster.Make(kPods, TestCluster::Pod("a"));
  News();
  for (const char* value : {"1", "2", "3"})
    Patch(kPods + "/a", std::string(R"({"metadata":{"labels":{"x":")") + value + R"("}}})");
  EXPECT_THAT(News(), ElementsAre("Pod default/a: metadata.labels.x=3",
                                  "and 2 more writes to the same objects"));
  Patch(kPods + "/a", R"({"metadata":{"labels":{"x":"4"}}})");
  Patch(kPods + "/a", R"({"metadata":{"labels":{"x":"5"}}})");
  EXPECT_THAT(News(), ElementsAre("Pod default/a: metadata.labels.x=5",
                                  "and 1 more write to the same objects"));
}

TEST_F(ChangesTest, ALongValueIsCut) {
  cluster.Make(kPods, TestCluster::Pod("a"));
  News();
  Patch(kPods + "/a",
        R"({"metadata":{"annotations":{"long":")" + std::string(300, 'x') + R"(","none":""}}})");
  EXPECT_THAT(News(), ElementsAre("Pod default/a: metadata.annotations.long=" +
                                  std::string(100, 'x') + "…, metadata.annotations.none=\"\""));
}

TEST_F(ChangesTest, AnObjectMadeAnewUnderItsNameIsOneThatWentAndOneThatCame) {
  cluster.Make(kQuotas, TestCluster::Quota("q"));
  News();
  ASSERT_TRUE(cluster.client->Delete(kQuotas + "/q").ok());
  cluster.Make(kQuotas, TestCluster::Quota("q"));
  EXPECT_THAT(News(), ElementsAre("Quota q created", "Quota q gone"));
}

}  // namespace
}  // namespace sky::lab
