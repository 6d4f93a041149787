// SPDX-License-Identifier: Apache-2.0
// A gang's pod is deleted after the n-th write of its start, for every n, and nobody is told which:
// its share and its place are free at once, those that wait for them get them, and nothing of it is
// ever written again.
#include <gtest/gtest.h>

#include "lab/scene_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

class DeletedAtAnyMoment : public ::testing::TestWithParam<framework::CommitOrder> {
 protected:
  void Begin() {
    lab_ = MakeQuietLab(GetParam());
    // Nothing is kept for whoever would come back.
    auto config = framework::DefaultConfig(scheduler::AllKnown().Known());
    config.commit_order = GetParam();
    config.reservation_ttl = Duration::zero();
    lab_->Configure(std::move(config));
    Make(testing::MakeNode("n0", *testing::ReadWords("gpu=8")));
    Make(testing::MakeNode("n1", *testing::ReadWords("gpu=8")));
    for (const char* name : {"q0", "q1"})
      Make(testing::MakeQuota(name, *testing::ReadWords("gpu=8")));
    lab_->StartScheduler();
    lab_->Advance(3s);
    Gang("first", 2);
  }
  void Gang(const std::string& name, int members) {
    Make(testing::MakeGroup(name, members, {}));
    for (int i = 0; i < members; ++i)
      Make(testing::MakeWorker(name, fmt::format("{}-{}", name, i), *testing::ReadWords("gpu=8")));
  }
  template <class T>
  void Make(const T& object) {
    MakeIn(*lab_, object);
  }
  void Delete(const std::string& pod) {
    lab_->Call("DELETE", api::KindOf<api::Pod>().Path("default", pod) + "?gracePeriodSeconds=0");
  }

  std::unique_ptr<Simulation> lab_;
};

TEST_P(DeletedAtAnyMoment, ItsPlaceIsFreeAtOnceAndGoesToWhoWaits) {
  int moments = 0;
  for (bool more = true; more && moments < 50; ++moments) {
    SCOPED_TRACE(fmt::format("after write {}", moments));
    Begin();
    for (int i = 0; more && i < moments; ++i) more = lab_->AdvanceToWrite(5s);
    if (!more) break;
    for (const char* pod : {"first-0", "first-1"}) Delete(pod);
    Gang("second", 2);
    lab_->Advance(10s);
    const model::Cluster rows = lab_->scheduler()->cache().Copy();
    EXPECT_EQ(lab_->scheduler()->cache().Audit(), "");
    for (int i = 0; i < 2; ++i) {
      const auto pod = lab_->Get<api::Pod>("default", fmt::format("second-{}", i));
      EXPECT_NE(pod->spec.node_name, "") << pod->metadata.name;
      const model::Node& node = rows.nodes()[rows.nodes().Find(fmt::format("n{}", i))];
      const model::ResourceId gpu = rows.names().resources.Intern("nvidia.com/gpu");
      EXPECT_EQ(node.used[gpu], 8000);
      EXPECT_EQ(node.committed[gpu], 8000);
      const auto quota = lab_->Get<api::Quota>("", fmt::format("q{}", i));
      ASSERT_EQ(quota->status.tasks.size(), 1u);
      EXPECT_TRUE(quota->status.tasks[0].name.starts_with("second"));
    }
    EXPECT_TRUE(lab_->scheduler()->Idle());
    EXPECT_FALSE(lab_->AdvanceToWrite(30s)) << "and then it is calm";
  }
  // The Placement, two bindings, two pictures, a word on the group: at least so many moments.
  EXPECT_GE(moments, 6);
}

INSTANTIATE_TEST_SUITE_P(BothOrders, DeletedAtAnyMoment, kBothOrders, OrderName);

}  // namespace
}  // namespace sky::lab
