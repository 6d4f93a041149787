// SPDX-License-Identifier: Apache-2.0
#include "plugins/priority/priority.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "testing/matchers.h"
#include "testing/open_session.h"

namespace sky::plugins {
namespace {

using testing::Cluster;
using testing::OpenSession;

void AddClass(Cluster& c, const std::string& name, int32_t value) {
  api::PriorityClass one;
  one.metadata.name = name;
  one.value = value;
  c.Put(std::move(one));
}

void SetQueuePriority(Cluster& c, const std::string& name, int32_t priority) {
  c.Edit<api::Queue>(name, [&](api::Queue& queue) { queue.spec.priority = priority; });
}

std::vector<std::string> Ordered(Cluster& c) {
  OpenSession open(c, std::make_unique<Priority>());
  std::vector<std::string> names;
  for (const model::JobId job : open->OrderedJobs([](model::JobId) { return true; }))
    names.push_back(open.rows().jobs()[job].name);
  return names;
}
using Order = std::vector<std::string>;

TEST(Priority, HigherJobsComeFirstThenOlderOnesThenNaturalNames) {
  Cluster c;
  AddClass(c, "high", 100);
  AddClass(c, "low", -5);
  c.Job("a", 1, "gpu=1", {0, "priority=low"}).Job("b", 1, "gpu=1");
  c.Job("c", 1, "gpu=1", {0, "priority=high"});
  c.Job("job-10", 1, "gpu=1").Job("job-9", 1, "gpu=1");
  c.Edit<api::PodGroup>("default/b", [](api::PodGroup& group) {
    group.metadata.creation_timestamp.at = WallTime(std::chrono::hours(1));
  });
  EXPECT_EQ(Ordered(c),
            (Order{"default/c", "default/b", "default/job-9", "default/job-10", "default/a"}));
}

TEST(Priority, AGroupWithoutAClassHasThatOfItsHighestMember) {
  Cluster c;
  c.Job("plain", 2, "gpu=1").Job("urgent", 2, "gpu=1");
  c.Edit<api::Pod>("default/urgent-1", [](api::Pod& pod) { pod.spec.priority = 7; });
  EXPECT_EQ(Ordered(c), (Order{"default/urgent", "default/plain"}));
}

TEST(Priority, TheClassOfTheGroupWinsOverItsPods) {
  Cluster c;
  AddClass(c, "low", 1);
  c.Job("modest", 1, "gpu=1", {0, "priority=low"}).Job("plain", 1, "gpu=1");
  c.Edit<api::Pod>("default/modest-0", [](api::Pod& pod) { pod.spec.priority = 1'000'000; });
  c.Edit<api::Pod>("default/plain-0", [](api::Pod& pod) { pod.spec.priority = 2; });
  EXPECT_EQ(Ordered(c), (Order{"default/plain", "default/modest"}));
}

TEST(Priority, AHigherQueueGoesBeforeAnyJobOfALowerOne) {
  Cluster c;
  AddClass(c, "high", 100);
  c.Queue("first").Queue("last");
  SetQueuePriority(c, "first", 1);
  SetQueuePriority(c, "last", -1);
  c.Job("a", 1, "gpu=1", {0, "queue=last priority=high"});
  c.Job("b", 1, "gpu=1", {0, "priority=high"}).Job("c", 1, "gpu=1", {0, "queue=first"});
  EXPECT_EQ(Ordered(c), (Order{"default/c", "default/b", "default/a"}));
}

// −(−2³¹) fits no int32.
TEST(Priority, TheLowestPriorityComesLast) {
  Cluster c;
  AddClass(c, "lowest", INT32_MIN);
  AddClass(c, "highest", INT32_MAX);
  c.Queue("least");
  SetQueuePriority(c, "least", INT32_MIN);
  c.Job("a", 1, "gpu=1", {0, "queue=least priority=highest"});
  c.Job("b", 1, "gpu=1", {0, "priority=lowest"}).Job("c", 1, "gpu=1");
  c.Job("d", 1, "gpu=1", {0, "priority=highest"});
  EXPECT_EQ(Ordered(c), (Order{"default/d", "default/c", "default/b", "default/a"}));
}

TEST(Priority, AQueueThatIsntThereCountsAsZero) {
  Cluster c;
  c.Queue("some");
  SetQueuePriority(c, "some", -1);
  c.Job("a", 1, "gpu=1", {0, "queue=some"}).Job("b", 1, "gpu=1", {0, "queue=nowhere"});
  EXPECT_EQ(Ordered(c), (Order{"default/b", "default/a"}));
}

// The order is a function of what the jobs are, not of the order in which they came.
RC_GTEST_PROP(Priority, OrdersJobsByQueueThenPriorityThenAgeThenName, (uint64_t seed)) {
  Rng rng(seed);
  Cluster c;
  struct Job {
    std::string name;
    int64_t queue, priority, hour;
  };
  for (int i = 0; i < 3; ++i) {
    AddClass(c, fmt::format("class-{}", i), i * 10);
    c.Queue(fmt::format("queue-{}", i));
    SetQueuePriority(c, fmt::format("queue-{}", i), i);
  }
  std::vector<Job> jobs;
  std::vector<int> numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  while (!numbers.empty()) {
    const auto at = static_cast<ptrdiff_t>(rng.Below(numbers.size()));
    const std::string name = fmt::format("j-{}", numbers[static_cast<size_t>(at)]);
    numbers.erase(numbers.begin() + at);
    const auto of = [&] { return static_cast<int64_t>(rng.Below(3)); };
    const Job job{"default/" + name, of(), of(), of()};
    c.Job(name, 1, "gpu=1",
          {0, fmt::format("queue=queue-{} priority=class-{}", job.queue, job.priority)});
    c.Edit<api::PodGroup>(job.name, [&](api::PodGroup& group) {
      group.metadata.creation_timestamp.at = WallTime(std::chrono::hours(job.hour + 1));
    });
    jobs.push_back(job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    if (a.queue != b.queue) return a.queue > b.queue;
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.hour != b.hour ? a.hour < b.hour : NaturalLess{}(a.name, b.name);
  });
  Order expected;
  for (const Job& job : jobs) expected.push_back(job.name);
  RC_ASSERT(Ordered(c) == expected);
}

}  // namespace
}  // namespace sky::plugins
