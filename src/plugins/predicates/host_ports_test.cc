// SPDX-License-Identifier: Apache-2.0
// Host ports: who holds which, and that two pods of one plan never get the same.
#include <gtest/gtest.h>

#include "api/json.h"
#include "plugins/predicates/predicates.h"
#include "testing/matchers.h"

namespace sky::plugins {
namespace {

using testing::BindsNothing;
using testing::BindsTasks;
using testing::Cluster;

// `spec` has the members of a pod's spec that say its ports; the rest is a worker of `group`.
api::Pod PodOf(const std::string& group, const std::string& name, const std::string& spec) {
  api::Pod pod = testing::MakeWorker(group, name, *testing::ReadWords("gpu=1"));
  const auto said = api::Decode<api::Pod>(R"({"spec":{)" + spec + "}}");
  EXPECT_TRUE(said.has_value()) << said.error().message();
  if (!said) return pod;
  pod.spec.host_network = said->spec.host_network;
  pod.spec.init_containers = said->spec.init_containers;
  for (size_t i = 0; i < said->spec.containers.size(); ++i) {
    if (i > 0) pod.spec.containers.push_back(said->spec.containers[i]);
    pod.spec.containers[i].ports = said->spec.containers[i].ports;
  }
  return pod;
}

// {"hostPort":80,…} of the only container.
std::string Port(const std::string& members) {
  return R"("containers":[{"ports":[{)" + members + "}]}]";
}

struct PortRow {
  std::string what, mine, theirs;
  bool clash;
};

const std::string kHttp = R"("containerPort":80,"hostPort":80)";

const std::vector<PortRow>& Rows() {
  static const std::vector<PortRow> kRows = {
      {"the same port", Port(kHttp), Port(kHttp), true},
      {"another port", Port(kHttp), Port(R"("hostPort":81)"), false},
      {"no port of the host", Port(kHttp), Port(R"("containerPort":80)"), false},
      {"nobody has one", Port(R"("containerPort":80)"), Port(R"("containerPort":80)"), false},
      {"an absent protocol is TCP", Port(kHttp), Port(kHttp + R"(,"protocol":"TCP")"), true},
      {"another protocol", Port(kHttp), Port(kHttp + R"(,"protocol":"UDP")"), false},
      {"the same other protocol", Port(kHttp + R"(,"protocol":"UDP")"),
       Port(kHttp + R"(,"protocol":"UDP")"), true},
      {"an absent address is every address", Port(kHttp), Port(kHttp + R"(,"hostIP":"10.0.0.1")"),
       true},
      {"0.0.0.0 is every address", Port(kHttp + R"(,"hostIP":"0.0.0.0")"),
       Port(kHttp + R"(,"hostIP":"10.0.0.1")"), true},
      {"0.0.0.0 and an absent address", Port(kHttp + R"(,"hostIP":"0.0.0.0")"), Port(kHttp), true},
      {"the same address", Port(kHttp + R"(,"hostIP":"10.0.0.1")"),
       Port(kHttp + R"(,"hostIP":"10.0.0.1")"), true},
      {"two addresses", Port(kHttp + R"(,"hostIP":"10.0.0.1")"),
       Port(kHttp + R"(,"hostIP":"10.0.0.2")"), false},
      {"every address, of another protocol", Port(kHttp),
       Port(kHttp + R"(,"hostIP":"10.0.0.1","protocol":"SCTP")"), false},
      {"the second port of the second container", Port(kHttp),
       R"("containers":[{},{"ports":[{"hostPort":1},{"hostPort":80}]}])", true},
      {"a sidecar holds its port", Port(kHttp),
       R"("initContainers":[{"restartPolicy":"Always","ports":[{"hostPort":80}]}])", true},
      {"an init container is gone before", Port(kHttp),
       R"("initContainers":[{"ports":[{"hostPort":80}]}])", false},
      {"on the host's network a container's port is the host's", Port(kHttp),
       R"("hostNetwork":true,)" + Port(R"("containerPort":80)"), true},
      {"on the host's network, another port", Port(kHttp),
       R"("hostNetwork":true,)" + Port(R"("containerPort":81)"), false},
      {"on the host's network without ports", Port(kHttp), R"("hostNetwork":true)", false},
  };
  return kRows;
}

TEST(HostPorts, ThePortsOfWhoIsThereAlreadyAreTaken) {
  for (const PortRow& row : Rows())
    for (const bool swapped : {false, true}) {
      Cluster c;
      c.Nodes("n0", "gpu=8").Quotas("q0", "gpu=1");
      api::Pod there = PodOf("", "there", swapped ? row.mine : row.theirs);
      there.spec.scheduler_name = "another";  // whoever brought it
      there.spec.node_name = "n0";
      c.Put(there);
      c.Put(PodOf("", "p", swapped ? row.theirs : row.mine));
      EXPECT_EQ(c.Cycle().empty(), row.clash) << row.what << (swapped ? ", swapped" : "");
      EXPECT_EQ(c.Why("pod:default/p"), row.clash ? "PortConflict" : "") << row.what;
    }
}

TEST(HostPorts, TwoPodsOfOnePlanShareANodeOnlyIfTheirPortsAllowIt) {
  for (const PortRow& row : Rows()) {
    Cluster c;
    c.Nodes("n0", "gpu=8").Quotas("q[0-1]", "gpu=1");
    c.Put(testing::MakeGroup("gang", 2, {}));
    c.Put(PodOf("gang", "gang-0", row.mine));
    c.Put(PodOf("gang", "gang-1", row.theirs));
    EXPECT_EQ(c.Cycle().empty(), row.clash) << row.what;
  }
}

TEST(HostPorts, AGangWithOnePortSpreadsOverNodes) {
  Cluster c;
  c.Nodes("n[0-2]", "gpu=8").Quotas("q[0-3]", "gpu=1").Job("web", 3, "gpu=1 hostport=80");
  EXPECT_THAT(c.Cycle(), BindsTasks("web-[0-2]", "n[0-2]"));
  c.Workers("web", 3, 3, "gpu=1 hostport=80");
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("default/web"), "PortConflict");
}

TEST(HostPorts, TheyHoldForRdmaGangsInAZoneToo) {
  Cluster c;
  c.Leaf("S1", "n[0-1]", "gpu=8 hca=8").Leaf("S2", "n[2-4]", "gpu=8 hca=8");
  c.Quotas("q[0-3]", "gpu=1 hca=1").Job("train", 3, "gpu=1 hca=1 hostport=2222");
  EXPECT_THAT(c.Cycle(), BindsTasks("train-[0-2]", "n[2-4]")) << "S1 has only two such places";
}

TEST(HostPorts, TwoGangsOfOneCycleDontTakeTheSamePort) {
  Cluster c;
  c.Nodes("n0", "gpu=8").Quotas("q[0-3]", "gpu=1");
  c.Pod("a", "gpu=1 hostport=80").Pod("b", "gpu=1 hostport=80").Pod("c", "gpu=1 hostport=81");
  EXPECT_THAT(c.Cycle(), BindsTasks("a,c", "n0,n0"));
  EXPECT_EQ(c.Why("pod:default/b"), "PortConflict");
}

TEST(HostPorts, ALeavingPodKeepsItsPortUntilItIsGoneAFinishedOneDoesNot) {
  Cluster c;
  c.Nodes("n0", "gpu=8").Quotas("q[0-3]", "gpu=1").Pod("a", "gpu=1 hostport=80");
  EXPECT_THAT(c.Cycle(), BindsTasks("a", "n0"));
  c.Pod("b", "gpu=1 hostport=80");
  c.Edit<api::Pod>("default/a", [](api::Pod& pod) {
    pod.metadata.deletion_timestamp.at = WallTime(std::chrono::hours(1));
  });
  EXPECT_THAT(c.Cycle(), BindsNothing());
  EXPECT_EQ(c.Why("pod:default/b"), "PortConflict");
  c.Remove<api::Pod>("default/a");
  EXPECT_THAT(c.Cycle(), BindsTasks("b", "n0"));
  c.Finish("default/b");
  c.Pod("c", "gpu=1 hostport=80");
  EXPECT_THAT(c.Cycle(), BindsTasks("c", "n0"));
}

TEST(HostPorts, APodThatOnlyHasAClaimHoldsItsPort) {
  Cluster c;
  c.Nodes("n0", "gpu=8").Quotas("q[0-3]", "gpu=1").Pod("a", "gpu=1 hostport=80");
  ASSERT_EQ(c.Decide().size(), 1u) << "decided, and not a word of it on the wire";
  c.Pod("b", "gpu=1 hostport=80");
  EXPECT_EQ(c.Decide().size(), 0u);
  EXPECT_EQ(c.Why("pod:default/b"), "PortConflict");
}

}  // namespace
}  // namespace sky::plugins
