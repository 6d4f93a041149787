// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/json.h"
#include "testing/matchers.h"

namespace sky::cache {
namespace {

using testing::Cluster;

struct QueuePictureTest : ::testing::Test {
  Cluster c;
  // What is to be written on the queue, as JSON; "" when it says what it should.
  std::string Wants(const std::string& name = "default") {
    for (const QueuePicture& picture : c.cache().TakeStaleQueues()) {
      if (picture.name != name) continue;
      api::QueueStatus status;
      status.spec_allocated = picture.want;
      return api::Encode(status);
    }
    return "";
  }
  void Written(const std::string& name, const std::string& status) {
    c.Edit<api::Queue>(
        name, [&](api::Queue& queue) { queue.status = *api::Decode<api::QueueStatus>(status); });
  }
};

TEST_F(QueuePictureTest, QuotasAddUpByTheCodeOfTheirSelectorOrTheirNode) {
  c.Nodes("n0", "gpu=8 spec=a100").Nodes("n1", "gpu=8");
  c.Quotas("picky", "gpu=2 spec=h100").Quotas("any[0-1]", "gpu=1").Quotas("there", "gpu=4 node=n0");
  EXPECT_EQ(Wants(), R"({"specAllocated":{"a100":{"allocatable":{"nvidia.com/gpu":"4"}},)"
                     R"("h100":{"allocatable":{"nvidia.com/gpu":"2"}},)"
                     R"("none":{"allocatable":{"nvidia.com/gpu":"2"}}}})");
  EXPECT_EQ(Wants(), "") << "once";
}

TEST_F(QueuePictureTest, AllocatedAndShadowFollowAndCalmReturns) {
  c.Nodes("n0", "gpu=8 spec=a100").Quotas("q", "gpu=4");
  c.Edit<api::Quota>("q", [](api::Quota& quota) {
    quota.status.shadow_resource.emplace("nvidia.com/gpu", api::Quantity::Units(2));
  });
  c.Pod("p", "gpu=3");
  ASSERT_EQ(c.Cycle().size(), 1u);
  const std::string wanted =
      R"({"specAllocated":{"a100":{"allocatable":{"nvidia.com/gpu":"4"},)"
      R"("allocated":{"nvidia.com/gpu":"3"},"shadow":{"nvidia.com/gpu":"2"}}}})";
  EXPECT_EQ(Wants(), wanted);
  Written("default", wanted);
  EXPECT_EQ(Wants(), "");
  c.Finish("default/p");
  EXPECT_EQ(Wants(), R"({"specAllocated":{"none":{"allocatable":{"nvidia.com/gpu":"4"},)"
                     R"("shadow":{"nvidia.com/gpu":"2"}}}})");
}

TEST_F(QueuePictureTest, AQuotaIsItsOwnersAloneAndMovesWithIt) {
  c.Queue("other").Nodes("n0", "gpu=8").Quotas("q", "gpu=4 shared=other");
  EXPECT_NE(Wants("default"), "");
  EXPECT_EQ(Wants("other"), "");
  Written("default", R"({"specAllocated":{"none":{"allocatable":{"nvidia.com/gpu":"4"}}}})");
  EXPECT_EQ(Wants("default"), "");
  c.Remove<api::Quota>("q");
  EXPECT_EQ(Wants("default"), "{}");
}

// Of keys of one length the first of the configuration.
TEST_F(QueuePictureTest, TheLongestKeyOfTheSelectorNamesTheCode) {
  c.Nodes("n0", "gpu=8");
  c.Quotas("q", "gpu=1 spec=short");
  c.Edit<api::Quota>("q", [](api::Quota& quota) {
    quota.spec.node_selector.insert_or_assign("scheduling.infini-ai.com/spec", "long");
  });
  EXPECT_EQ(Wants(), R"({"specAllocated":{"long":{"allocatable":{"nvidia.com/gpu":"1"}}}})");
}

}  // namespace
}  // namespace sky::cache
