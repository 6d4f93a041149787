// SPDX-License-Identifier: Apache-2.0
#include "lab/collector.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

Json OwnedBy(Json object, const Json& owner) {
  object["metadata"]["ownerReferences"] = {{{"apiVersion", owner["apiVersion"]},
                                            {"kind", owner["kind"]},
                                            {"name", owner["metadata"]["name"]},
                                            {"uid", owner["metadata"]["uid"]}}};
  return object;
}

class Collecting : public ::testing::Test {
 protected:
  Reply Remove(const char* policy) {
    const Json options = {{"propagationPolicy", policy}};
    return c.client->Delete(kGroups + "/g", &options);
  }
  void MakeFamily() {
    const Json group = c.Make(kGroups, TestCluster::Group("g"));
    c.Make(kPods, OwnedBy(TestCluster::Pod("p"), group));
    c.Make(kPods, TestCluster::Pod("other"));
    c.api->Tick();
  }
  bool There(const std::string& path) { return c.client->Get(path).status == 200; }
  TestCluster c{{.garbage_collector = true}};
};

TEST_F(Collecting, DeletesWhatHasLostItsOwner) {
  MakeFamily();
  EXPECT_TRUE(There(kPods + "/p"));
  Remove("Background");
  c.api->Tick();
  EXPECT_FALSE(There(kPods + "/p"));
  EXPECT_TRUE(There(kPods + "/other"));
}

TEST_F(Collecting, DeletesWhatIsMadeForAnOwnerThatIsGone) {
  const Json group = c.Make(kGroups, TestCluster::Group("g"));
  Remove("Background");
  c.Make(kPods, OwnedBy(TestCluster::Pod("p"), group));
  c.api->Tick();
  EXPECT_FALSE(There(kPods + "/p"));
}

TEST_F(Collecting, DeletesDependentsFirstInTheForeground) {
  MakeFamily();
  c.Bind("p", "n1");  // so that its end takes time
  Remove("Foreground");
  c.api->Tick();
  EXPECT_TRUE(There(kGroups + "/g"));
  EXPECT_NE(Find(c.Get(kPods + "/p"), {"metadata", "deletionTimestamp"}), nullptr);
  const Json now = {{"gracePeriodSeconds", 0}};
  c.client->Delete(kPods + "/p", &now);
  c.api->Tick();
  EXPECT_FALSE(There(kGroups + "/g"));
}

TEST_F(Collecting, LeavesOrphansAlone) {
  MakeFamily();
  Remove("Orphan");
  c.api->Tick();
  EXPECT_FALSE(There(kGroups + "/g"));
  EXPECT_TRUE(c.Get(kPods + "/p")["metadata"]["ownerReferences"].empty());
}

TEST_F(Collecting, EmptiesNamespacesOnTheirWayOut) {
  c.Make("/api/v1/namespaces", J(R"({"metadata":{"name":"work"}})"));
  c.Make("/api/v1/namespaces/work/pods", TestCluster::Pod("p"));
  c.client->Delete("/api/v1/namespaces/work");
  c.api->Tick();
  EXPECT_FALSE(There("/api/v1/namespaces/work"));
}

TEST_F(Collecting, IsCalmOnceItIsDone) {
  MakeFamily();
  Remove("Background");
  c.api->Tick();
  const Revision before = c.api->revision();
  for (int i = 0; i < 5; ++i) c.api->Tick();
  EXPECT_EQ(c.api->revision(), before);
}

TEST(Collector, DoesNothingUnlessAskedFor) {
  TestCluster c;
  const Json group = c.Make(kGroups, TestCluster::Group("g"));
  c.Make(kPods, OwnedBy(TestCluster::Pod("p"), group));
  c.client->Delete(kGroups + "/g");
  c.api->Tick();
  EXPECT_EQ(c.client->Get(kPods + "/p").status, 200);
}

}  // namespace
}  // namespace sky::lab
