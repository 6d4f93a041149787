// SPDX-License-Identifier: Apache-2.0
#include "plugins/drf/drf.h"

#include <gtest/gtest.h>

#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using testing::Cluster;
using testing::OpenSession;

constexpr int64_t kWhole = Drf::kWhole;

TEST(Drf, AShareIsTheLargestPartOfAnythingThatIsOffered) {
  model::ResourceNames names;
  const model::ResourceId gpu = names.Intern("nvidia.com/gpu"), cpu = names.Intern("cpu");
  model::Resources offered, used;
  EXPECT_EQ(Drf::Share(used, offered), 0);
  offered.Set(gpu, 8000), offered.Set(cpu, 64000);
  used.Set(gpu, 2000), used.Set(cpu, 32000);
  EXPECT_EQ(Drf::Share(used, offered), kWhole / 2);
  used.Set(gpu, 8000);
  EXPECT_EQ(Drf::Share(used, offered), kWhole);
  used.Set(names.Intern("nobody/has"), 1);
  EXPECT_EQ(Drf::Share(used, offered), kWhole) << "what nobody offers is a whole";
  used.Set(gpu, INT64_MAX), offered.Set(gpu, 1);
  EXPECT_GT(Drf::Share(used, offered), 1'000'000 * kWhole) << "saturates";
}

struct DrfTest : ::testing::Test {
  Cluster c;
  DrfTest() { c.Nodes("n[0-1]", "gpu=8"); }

  void Queue(const std::string& name, const std::string& parent = "", int32_t weight = 1) {
    api::Queue queue;
    queue.metadata.name = name;
    queue.spec.parent = parent;
    queue.spec.weight = weight;
    c.Put(std::move(queue));
    c.Quotas(name + "-q[0-31]", "gpu=1 queue=" + name);
  }
  void Jobs(const std::string& queue, int count) {
    for (int i = 0; i < count; ++i)
      c.Job(fmt::format("{}-{}", queue, i), 1, "gpu=1", {0, "queue=" + queue});
  }
  std::map<std::string, int> Started() {
    std::map<std::string, int> started;
    for (const testing::Bound& one : c.Cycle()) ++started[one.pod.substr(0, one.pod.find('-'))];
    return started;
  }
};
using Counts = std::map<std::string, int>;

TEST_F(DrfTest, QueuesShareWhatThereIsByWeightWithinOneCycle) {
  Queue("a"), Queue("b", "", 3);
  Jobs("a", 20), Jobs("b", 20);
  EXPECT_EQ(Started(), (Counts{{"a", 4}, {"b", 12}}));
}

TEST_F(DrfTest, AQueueThatUsesLessCatchesUp) {
  Queue("a"), Queue("b");
  Jobs("a", 12);
  EXPECT_EQ(Started(), (Counts{{"a", 12}}));
  Jobs("b", 12);
  for (int i = 0; i < 4; ++i) c.Finish(fmt::format("default/a-{}-0", i));
  c.Job("a-late", 1, "gpu=1", {0, "queue=a"});
  EXPECT_EQ(Started(), (Counts{{"b", 8}})) << "8 and 8";
}

// Parents share first; what one of them has is shared among its children.
TEST_F(DrfTest, ParentsShareBeforeTheirChildrenDo) {
  Queue("left"), Queue("right");
  Queue("l1", "left"), Queue("l2", "left"), Queue("l3", "left"), Queue("r1", "right");
  for (const char* queue : {"l1", "l2", "l3", "r1"}) Jobs(queue, 16);
  const Counts started = Started();
  EXPECT_EQ(started.at("r1"), 8);
  EXPECT_EQ(started.at("l1") + started.at("l2") + started.at("l3"), 8);
  for (const char* queue : {"l1", "l2", "l3"}) EXPECT_GE(started.at(queue), 2) << queue;
}

// A parent's own jobs compete with its children as one more of them.
TEST_F(DrfTest, AParentsOwnJobsAreOneMoreChild) {
  Queue("top"), Queue("child", "top");
  Jobs("top", 16), Jobs("child", 16);
  EXPECT_EQ(Started(), (Counts{{"child", 8}, {"top", 8}}));
}

TEST_F(DrfTest, APriorityComesBeforeAShare) {
  Queue("a"), Queue("b");
  c.Edit<api::Queue>("a", [](api::Queue& queue) { queue.spec.priority = 1; });
  Jobs("a", 12), Jobs("b", 12);
  EXPECT_EQ(Started(), (Counts{{"a", 12}, {"b", 4}}));
}

TEST_F(DrfTest, OfTwoJobsTheOneWithTheSmallerShareGetsItsExtraFirst) {
  Queue("a");
  c.Remove<api::Node>("n1");
  c.Job("wide", 5, "gpu=1", {4, "queue=a"}).Job("slim", 4, "gpu=1", {3, "queue=a"});
  ASSERT_EQ(c.Cycle().size(), 7u);
  EXPECT_THAT(c.Cycle(), testing::BindsTasks("slim-3", "n0")) << "there is one place";
}

}  // namespace
}  // namespace sky::plugins
