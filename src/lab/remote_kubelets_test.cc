// SPDX-License-Identifier: Apache-2.0
// The kubelets behind the real client, through the same front as over HTTP, under a virtual clock.
#include "lab/remote_kubelets.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "lab/front.h"
#include "lab/process_transport.h"
#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using std::chrono::seconds;

class Remote : public ::testing::Test {
 protected:
  Remote() {
    c.Make(kNodes, TestCluster::Node("n1"));
    kubelets.Start();
  }
  void Run(const std::string& name) {
    Json pod = TestCluster::Pod(name);
    pod["metadata"]["annotations"] = {{"lab.infini-ai.com/run-for", "20s"}};
    c.Make(kPods, pod);
    ASSERT_EQ(c.Bind(name, "n1").status, 201);
  }
  Json Status(const std::string& pod) { return c.Get(kPods + "/" + pod)["status"]; }

  TestCluster c;
  kube::ManualLoop loop{c.clock};
  Front front{
      *c.api, c.clock,
      [this](Duration wait, std::function<void()> task) { loop.RunAfter(wait, std::move(task)); },
      [](int) {}};
  ProcessTransport transport{loop, front};
  kube::Client client{transport};
  bool synced = false;
  RemoteKubelets kubelets{client, {}, [this] { synced = true; }};
};

TEST_F(Remote, StartsEndsAndDeletesPods) {
  Run("p");
  loop.Advance(seconds(1));
  EXPECT_TRUE(synced);
  EXPECT_EQ(TextAt(Status("p"), {"phase"}), "Running");
  EXPECT_EQ(Status("p")["conditions"].size(), 5u);  // PodScheduled is still there
  loop.Advance(seconds(20));
  EXPECT_EQ(TextAt(Status("p"), {"phase"}), "Succeeded");
  Run("q");
  loop.Advance(seconds(1));
  c.client->Delete(kPods + "/q");
  loop.Advance(seconds(2));
  EXPECT_EQ(c.client->Get(kPods + "/q").status, 404);
}

TEST_F(Remote, AsksAgainWhenAWriteIsRefused) {
  ASSERT_TRUE(
      front.faults().Add("{faults: [{match: {verb: patch, resource: pods}, "
                         "action: {refuse: {code: 500}}}]}"));
  Run("p");
  loop.Advance(seconds(1));
  EXPECT_EQ(TextAt(Status("p"), {"phase"}), "Pending");
  loop.Advance(seconds(5));
  EXPECT_EQ(TextAt(Status("p"), {"phase"}), "Running");
}

}  // namespace
}  // namespace sky::lab
