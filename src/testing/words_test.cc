// SPDX-License-Identifier: Apache-2.0
#include "testing/words.h"

#include <gtest/gtest.h>

namespace sky::testing {
namespace {

TEST(Words, RangesExpandInOrder) {
  EXPECT_EQ(*ExpandNames("n[0-3]"), (std::vector<std::string>{"n0", "n1", "n2", "n3"}));
  EXPECT_EQ(*ExpandNames("a,b[9-10]x"), (std::vector<std::string>{"a", "b9x", "b10x"}));
  EXPECT_FALSE(ExpandNames("n[3-1]").has_value());
  EXPECT_FALSE(ExpandNames("n[a-b]").has_value());
  EXPECT_FALSE(ExpandNames("n[0-").has_value());
}

TEST(Words, AmountsPairsAndFlagsAreToldApart) {
  const auto words = ReadWords("gpu=8 hca=4 rdma/roce=2 spec=a100 strict");
  ASSERT_TRUE(words.has_value());
  EXPECT_EQ(words->amounts.at("nvidia.com/gpu").ToString(), "8");
  EXPECT_EQ(words->amounts.at("rdma/hca").ToString(), "4");
  EXPECT_EQ(words->amounts.at("rdma/roce").ToString(), "2");
  EXPECT_EQ(words->Or("spec", ""), "a100");
  EXPECT_TRUE(words->Has("strict"));
  EXPECT_FALSE(words->Has("pack"));
  EXPECT_FALSE(ReadWords("gpu=many").has_value());
}

TEST(Words, AWorkerAsksDevicesAsRequestAndLimit) {
  const api::Pod pod =
      MakeWorker("train", "train-0", *ReadWords("gpu=1 cpu=2 role=worker select=disk:ssd"));
  EXPECT_EQ(pod.spec.containers[0].resources.requests.size(), 2u);
  EXPECT_EQ(pod.spec.containers[0].resources.limits.size(), 1u);
  EXPECT_EQ(pod.spec.node_selector.at("disk"), "ssd");
  EXPECT_EQ(pod.metadata.Annotation("scheduling.infini-ai.com/group-name"), "train");
}

}  // namespace
}  // namespace sky::testing
