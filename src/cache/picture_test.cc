// SPDX-License-Identifier: Apache-2.0
// What a quota's status shows of more than the API server takes; lab/pictures_test holds the bounds
// against its schema.
#include "cache/picture.h"

#include <gtest/gtest.h>

#include "testing/cluster.h"

namespace sky::cache {
namespace {

using testing::Cluster;

TEST(PictureTest, OfMoreTasksThanFitShowsTheFirstOnes) {
  api::QuotaStatus status;
  for (size_t i = kMostShownTasks + 4; i-- > 0;)
    status.tasks.emplace_back().name = fmt::format("p-{}", i);
  ArrangeTasks(status);
  ASSERT_EQ(status.tasks.size(), kMostShownTasks);
  EXPECT_EQ(status.tasks.front().name, "p-0");
  EXPECT_EQ(status.tasks.back().name, fmt::format("p-{}", kMostShownTasks - 1));
}

TEST(PictureTest, OfATaskWithMoreResourcesThanFitShowsTheFirstOnes) {
  Cluster c;
  c.Nodes("n0", "gpu=8").Quotas("q", "gpu=8");
  std::string many = "gpu=1 node=n0 quota=q";
  for (int i = 10; i < 90; ++i) many += fmt::format(" example.com/r{}=1", i);
  c.Pod("p", many);
  const api::QuotaStatus status = c.cache().PictureOf("q").value().status;
  ASSERT_EQ(status.tasks.size(), 1u);
  ASSERT_EQ(status.tasks[0].request.size(), kMostShownResources);
  EXPECT_EQ(status.tasks[0].request.begin()->first, "example.com/r10");
  EXPECT_EQ(status.allocated.at("nvidia.com/gpu").ToString(), "1");
}

}  // namespace
}  // namespace sky::cache
