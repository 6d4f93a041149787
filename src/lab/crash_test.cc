// SPDX-License-Identifier: Apache-2.0
// kill -9 after every write, in both commit orders: the scheduler dies when its n-th write is
// stored and not yet answered, for n = 1 to the last, and is started again. The end is the same
// each time, nobody is bound twice, and then it is calm.
#include <gtest/gtest.h>

#include "api/keys.h"
#include "lab/scene_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

struct Scene {
  const char* name;
  std::vector<std::string> groups;  // of four each
  int gpus;                         // a worker and a quota
  framework::CommitOrder order;
};

class Stage {
 public:
  explicit Stage(const Scene& scene) : scene_(scene) {
    lab_ = MakeQuietLab(scene.order);
    const std::string words = fmt::format("gpu={0} hca={0}", scene.gpus);
    for (int i = 0; i < 4; ++i) {
      const std::string node = fmt::format("n{}", i);
      Make(testing::MakeNode(node, *testing::ReadWords("gpu=8 hca=8")));
      Make(testing::MakeTopology(node, "roce", {"S1"}));
      Make(testing::MakeQuota(fmt::format("q-{}", i), *testing::ReadWords(words)));
    }
    api::Queue queue;
    queue.metadata.name = "default";
    queue.spec.weight = 1;
    Make(queue);
    for (const std::string& group : scene.groups) Make(testing::MakeGroup(group, 4, {}));
    for (int i = 0; i < 4; ++i)  // interleaved, as two controllers would create them
      for (const std::string& group : scene.groups)
        Make(
            testing::MakeWorker(group, fmt::format("{}-{}", group, i), *testing::ReadWords(words)));
  }

  // Dies after the n-th write; false: there were fewer, and nobody died.
  bool RunAndDieAfter(int n) {
    lab_->StartScheduler();
    for (int i = 0; i < n; ++i)
      if (!lab_->AdvanceToWrite(10s)) return false;
    lab_->KillScheduler();
    CheckBound();
    lab_->StartScheduler();
    lab_->Advance(10s);
    return true;
  }
  void Run() {
    lab_->StartScheduler();
    lab_->Advance(10s);
  }

  // The places, the pictures and the ledgers, as text.
  std::string End() {
    CheckBound();
    std::string text;
    for (const api::Pod& pod : lab_->List<api::Pod>())
      text += fmt::format("{} on {} by {}\n", pod.metadata.name, pod.spec.node_name,
                          pod.metadata.Annotation(api::key::kQuotaName));
    for (const api::Quota& quota : lab_->List<api::Quota>()) {
      text +=
          fmt::format("{} {} {}", quota.metadata.name, quota.status.phase, quota.status.node_name);
      for (const auto& [name, amount] : quota.status.allocated)
        text += fmt::format(" {}={}", name, amount.ToString());
      for (const api::QuotaTask& task : quota.status.tasks) text += " " + task.name;
      text += "\n";
    }
    const model::Cluster rows = lab_->scheduler()->cache().Copy();
    for (size_t i = 0; i < rows.nodes().size(); ++i) {
      const model::Node& node = rows.nodes()[model::NodeId(i)];
      const auto gpu = rows.names().resources.Intern("nvidia.com/gpu");
      text += fmt::format("{} idle {} quotaIdle {} room {}\n", node.name, node.Idle()[gpu],
                          node.QuotaIdle()[gpu], node.Room()[gpu]);
    }
    text += lab_->scheduler()->cache().Audit();
    // Whoever waits says why; whoever started no longer does.
    for (const api::PodGroup& group : lab_->List<api::PodGroup>())
      for (const api::Condition& condition : group.status.conditions)
        text += fmt::format("{} {}={} {}\n", group.metadata.name, condition.type, condition.status,
                            condition.reason);
    return text;
  }

  // Nothing is written in a minute of quiet, once places are kept for who waits (starveAfter).
  bool Calm() {
    lab_->Advance(40s);
    return !lab_->AdvanceToWrite(60s);
  }

 private:
  template <class T>
  void Make(const T& object) {
    MakeIn(*lab_, object);
  }

  // A pod that has a node keeps it, and no card is sold twice.
  void CheckBound() {
    std::map<std::string, int> cards;
    for (const api::Pod& pod : lab_->List<api::Pod>()) {
      if (pod.spec.node_name.empty()) continue;
      std::string& node = bound_[pod.metadata.name];
      EXPECT_TRUE(node.empty() || node == pod.spec.node_name) << pod.metadata.name;
      node = pod.spec.node_name;
      cards[node] += scene_.gpus;
    }
    for (const auto& [node, used] : cards) EXPECT_LE(used, 8) << node;
  }

  const Scene scene_;
  std::unique_ptr<Simulation> lab_;
  std::map<std::string, std::string> bound_;
};

class Crash : public ::testing::TestWithParam<Scene> {};

TEST_P(Crash, AfterAnyWriteTheEndIsTheSame) {
  Stage whole(GetParam());
  whole.Run();
  const std::string end = whole.End();
  EXPECT_TRUE(whole.Calm());
  EXPECT_NE(end.find("q-3 QuotaBound n3"), std::string::npos) << end;

  int killed = 0;
  for (int n = 1; n < 200; ++n) {
    Stage stage(GetParam());
    if (!stage.RunAndDieAfter(n)) break;
    ++killed;
    EXPECT_EQ(stage.End(), end) << "killed after write " << n;
    EXPECT_TRUE(stage.Calm()) << "killed after write " << n;
  }
  // One Placement, four bindings, four pictures, and a word on each group.
  EXPECT_GE(killed, 9);
  EXPECT_LT(killed, 199);
}

INSTANTIATE_TEST_SUITE_P(
    BothOrders, Crash,
    ::testing::Values(
        Scene{"WorkedExample", {"train"}, 1, framework::CommitOrder::kPlacementFirst},
        Scene{"WorkedExampleQuotaFirst", {"train"}, 1, framework::CommitOrder::kQuotaFirst},
        Scene{"TwoGangs", {"a", "b"}, 8, framework::CommitOrder::kPlacementFirst},
        Scene{"TwoGangsQuotaFirst", {"a", "b"}, 8, framework::CommitOrder::kQuotaFirst}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace sky::lab
