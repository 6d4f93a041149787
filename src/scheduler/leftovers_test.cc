// SPDX-License-Identifier: Apache-2.0
// A thousand jobs that come, fail to bind and are deleted in the worst moment: between the failed
// attempt and what would be made of it. Nobody is queued again for ever, and nothing of them stays.
#include <gtest/gtest.h>
#include <malloc.h>
#include <spdlog/spdlog.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define SKY_TEST_ASAN 1
#endif
#endif

#include "scheduler/told_for_test.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using cache::Written;

size_t AllocatedBytes() {
#ifdef SKY_TEST_ASAN
  return __sanitizer_get_current_allocated_bytes();
#else
  return mallinfo2().uordblks;
#endif
}

enum class Fate { kRefused, kUnknown, kRefusedAndStillThere };

struct Leftovers : ToldScheduler {
  Leftovers() {
    spdlog::set_level(spdlog::level::off);  // a thousand refusals
    Tell(testing::MakeNode("n0", *testing::ReadWords("gpu=8")));
    Tell(testing::MakeQuota("q0", *testing::ReadWords("gpu=8")));
    Begin();
    loop.Advance(1s);
  }
  ~Leftovers() override { spdlog::set_level(spdlog::level::info); }

  // Whatever else is written is taken; group reads find what was told.
  void Drain(const api::PodGroup& group) {
    while (!api.group_reads.empty())
      FakeWriter::Answer(api.group_reads, Result<api::PodGroup>(group));
    while (!api.quota_patches.empty())
      FakeWriter::Answer(api.quota_patches, Result<Written>(Written{}));
    while (!api.queue_patches.empty())
      FakeWriter::Answer(api.queue_patches, Result<Written>(Written{}));
    while (!api.conditions.empty()) FakeWriter::Answer(api.conditions, Result<Written>(Written{}));
    while (!api.queues.empty()) FakeWriter::Answer(api.queues, Result<Written>(Written{}));
  }
  void Pass(Duration time, const api::PodGroup& group) {
    for (Duration gone{}; gone < time; gone += 10ms) {
      loop.Advance(10ms);
      Drain(group);
    }
  }

  // A gang of one, or a pod without a group, which has no record.
  void OneJob(int number, bool grouped, Fate fate) {
    const std::string name = fmt::format("job-{}", number);
    api::PodGroup group;
    if (grouped) group = Tell(testing::MakeGroup(name, 1, {}));
    const api::Pod pod =
        Tell(testing::MakeWorker(grouped ? name : "", name + "-0", *testing::ReadWords("gpu=8")));
    Pass(60ms, group);
    api::Placement record;
    ASSERT_EQ(api.creates.size(), grouped ? 1u : 0u);
    if (grouped) {
      record = api.creates.front().asked;
      record.metadata.uid = fmt::format("placement-{}", number);
      FakeWriter::Answer(api.creates, Result<api::Placement>(record));
      record = Tell(record);
      Pass(40ms, group);
    }
    ASSERT_EQ(api.binds.size(), 1u);
    FakeWriter::Refuse(api.binds,
                       fate == Fate::kUnknown ? Code::kUnknownOutcome : Code::kForbidden);
    ASSERT_EQ(api.pod_reads.size(), 1u);
    // The attempt has failed, what follows from it isn't decided yet.
    Tell(pod, true);
    if (fate == Fate::kRefusedAndStillThere)  // the read was overtaken by the deletion
      FakeWriter::Answer(api.pod_reads, Result<api::Pod>(pod));
    else
      FakeWriter::Refuse(api.pod_reads, Code::kNotFound);
    Pass(40ms, group);
    if (grouped) {
      // Its record was voided, or stands; group and record go.
      if (!api.updates.empty()) FakeWriter::Answer(api.updates, Result<api::Placement>(record));
      Tell(group, true);
      Pass(20ms, group);
      while (!api.placement_deletes.empty())
        FakeWriter::Answer(api.placement_deletes, Result<Written>(Written{}));
      Tell(record, true);
    }
    Pass(20ms, group);
    EXPECT_TRUE(scheduler->executor().queued() == 0 && scheduler->executor().in_flight() == 0);
    EXPECT_TRUE(api.binds.empty() && api.creates.empty() && api.pod_reads.empty());
    api.events.clear();
  }
  void Quiet() {
    Pass(3min, {});
    EXPECT_TRUE(scheduler->Idle());
    const model::Cluster rows = scheduler->cache().Copy();
    EXPECT_FALSE(rows.quotas()[rows.quotas().Find("q0")].node.valid()) << "the place is free";
    EXPECT_TRUE(rows.waiting_jobs().empty());
    EXPECT_EQ(scheduler->cache().Audit(), "");
  }
};

TEST_F(Leftovers, NothingStaysOfAThousandPodsThatWereDeletedAfterAFailedAttempt) {
  const auto run = [&](int from, int to) {
    for (int i = from; i < to && !HasFailure(); ++i)
      OneJob(i, i % 2 == 0, static_cast<Fate>(i % 3));
    Quiet();
  };
  run(0, 200);  // what is kept once, and rows that are used again
  const size_t rows = scheduler->cache().Copy().tasks().size(), before = AllocatedBytes();
  run(200, 1200);
  EXPECT_EQ(scheduler->cache().Copy().tasks().size(), rows);
  // Less than a byte for each: nothing is kept of any.
  EXPECT_LT(AllocatedBytes(), before + 1000);
}

}  // namespace
}  // namespace sky::scheduler
