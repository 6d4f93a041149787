// SPDX-License-Identifier: Apache-2.0
// A gang loses a member, whose successor comes a little later; the scheduler dies when its n-th
// write of that story is stored and not yet answered, for every n, or when the member goes. Each
// time the successor is back on its predecessor's node, by the same quota, and it is calm.
#include <gtest/gtest.h>

#include "api/keys.h"
#include "lab/scene_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

class Story {
 public:
  explicit Story(framework::CommitOrder order) : lab_(MakeQuietLab(order)) {
    for (int i = 0; i < 6; ++i) {
      const std::string node = fmt::format("n{}", i);
      MakeIn(*lab_, testing::MakeNode(node, *testing::ReadWords("gpu=8 hca=8")));
      MakeIn(*lab_, testing::MakeTopology(node, "roce", {"S1"}));
    }
    for (int i = 0; i < 5; ++i) MakeIn(*lab_, testing::MakeQuota(fmt::format("q-{}", i), kAsks()));
    api::Queue queue;
    queue.metadata.name = "default";
    queue.spec.weight = 1;
    MakeIn(*lab_, queue);
    MakeIn(*lab_, testing::MakeGroup("train", 4, {}));
    for (int i = 0; i < 4; ++i) Worker(i);
    lab_->StartScheduler();
    lab_->Advance(10s);
  }

  // Dies after the n-th write; false: there were fewer.
  bool Run(int n) {
    left_ = n;
    lab_->Call("DELETE",
               api::KindOf<api::Pod>().Path("default", "train-2") + "?gracePeriodSeconds=0");
    Pass(5s);
    EXPECT_EQ(Kept(), 1u);
    Worker(2);
    Pass(10s);
    EXPECT_EQ(Kept(), 0u);
    return died_;
  }
  // The scheduler isn't there when the member goes.
  void RunUnseen() {
    lab_->KillScheduler();
    lab_->Call("DELETE",
               api::KindOf<api::Pod>().Path("default", "train-2") + "?gracePeriodSeconds=0");
    lab_->StartScheduler();
    lab_->Advance(5s);
    EXPECT_EQ(Kept(), 1u);
    Worker(2);
    lab_->Advance(10s);
  }

  std::string End() {
    std::string text;
    for (const api::Pod& pod : lab_->List<api::Pod>())
      text += fmt::format("{} on {} by {}\n", pod.metadata.name, pod.spec.node_name,
                          pod.metadata.Annotation(api::key::kQuotaName));
    for (const api::Quota& quota : lab_->List<api::Quota>())
      text += fmt::format("{} {} {} tasks {} kept {}\n", quota.metadata.name, quota.status.phase,
                          quota.status.node_name, quota.status.tasks.size(),
                          quota.status.reserved_tasks.size());
    return text + lab_->scheduler()->cache().Audit();
  }
  bool Calm() { return !lab_->AdvanceToWrite(15min); }

 private:
  static testing::Words kAsks() { return *testing::ReadWords("gpu=8 hca=8"); }
  void Worker(int i) {
    MakeIn(*lab_, testing::MakeWorker("train", fmt::format("train-{}", i), kAsks()));
  }
  size_t Kept() { return lab_->Get<api::Quota>("", "q-2")->status.reserved_tasks.size(); }
  void Pass(Duration by) {
    const auto until = lab_->clock().Wall() + by;
    while (left_ > 0 && lab_->AdvanceToWrite(until - lab_->clock().Wall()))
      if (--left_ == 0) {
        died_ = true;
        lab_->KillScheduler();
        lab_->StartScheduler();
      }
    if (until > lab_->clock().Wall()) lab_->Advance(until - lab_->clock().Wall());
  }

  std::unique_ptr<Simulation> lab_;
  int left_ = 0;
  bool died_ = false;
};

class ReservedCrash : public ::testing::TestWithParam<framework::CommitOrder> {};

TEST_P(ReservedCrash, AfterAnyWriteTheSuccessorIsBackInItsPlace) {
  Story whole(GetParam());
  whole.Run(0);
  const std::string end = whole.End();
  EXPECT_NE(end.find("train-2 on n2 by q-2"), std::string::npos) << end;
  EXPECT_TRUE(whole.Calm());
  int killed = 0;
  for (int n = 1; n < 50; ++n) {
    SCOPED_TRACE(fmt::format("killed after write {}", n));
    Story story(GetParam());
    if (!story.Run(n)) break;
    ++killed;
    EXPECT_EQ(story.End(), end);
    EXPECT_TRUE(story.Calm());
  }
  // What is kept, a Placement, a binding and a picture.
  EXPECT_GE(killed, 4);
  EXPECT_LT(killed, 49);
}

TEST_P(ReservedCrash, AMemberThatIsLostWhileNobodyLooksKeepsItsPlaceToo) {
  Story whole(GetParam());
  whole.Run(0);
  Story unseen(GetParam());
  unseen.RunUnseen();
  EXPECT_EQ(unseen.End(), whole.End());
  EXPECT_TRUE(unseen.Calm());
}

INSTANTIATE_TEST_SUITE_P(BothOrders, ReservedCrash, kBothOrders, OrderName);

}  // namespace
}  // namespace sky::lab
