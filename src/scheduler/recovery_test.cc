// SPDX-License-Identifier: Apache-2.0
// A scheduler that starts with a Placement whose pods it hasn't all seen (F17): kinds are read one
// after the other, so a pod that isn't there may only be late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/told_for_test.h"

namespace sky::scheduler {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Recovery : ToldScheduler {
  int cycles = 0;

  // The record of a gang of two; of its pods the list had only the first.
  Recovery() {
    scheduler->after_cycle = [this](const framework::CycleResult&) { ++cycles; };
    for (const char* name : {"n0", "n1"}) {
      Tell(testing::MakeNode(name, *testing::ReadWords("gpu=8")));
      Tell(testing::MakeQuota(std::string("q-") + name, *testing::ReadWords("gpu=8")));
    }
    Tell(testing::MakeGroup("train", 2, *testing::ReadWords("min=2")));
    Tell(Member(0));
    api::Placement record;
    record.metadata.name = "train";
    record.metadata.namespace_ = "default";
    record.spec.pod_group_uid = "uid-train";
    record.spec.round = 1;
    record.spec.nodes = {"n0", "n1"};
    record.spec.quotas = {"q-n0", "q-n1"};
    for (int i = 0; i < 2; ++i) {
      api::PlacementEntry& entry = record.spec.entries.emplace_back();
      entry.task = fmt::format("train-{}", i);
      entry.pod_uid = "uid-" + entry.task;
      entry.quota = entry.node = i;
    }
    Tell(record);
    Begin();
    loop.Advance(5s);
  }

  static api::Pod Member(int i) {
    api::Pod pod =
        testing::MakeWorker("train", fmt::format("train-{}", i), *testing::ReadWords("gpu=8"));
    pod.metadata.uid = "uid-" + pod.metadata.name;
    return pod;
  }
  void Read(Result<api::Pod> answer) {
    ASSERT_THAT(api.pod_reads, SizeIs(1));
    EXPECT_EQ(FakeWriter::Answer(api.pod_reads, std::move(answer)), "default/train-1");
  }
  static Result<api::Pod> No(Code code) { return std::unexpected(Error(code, "no")); }
};

TEST_F(Recovery, APodThatIsOnlyLateKeepsItsPlaceAndNothingIsPlannedBefore) {
  EXPECT_EQ(cycles, 0);
  Read(Member(1));
  loop.Advance(900ms);
  EXPECT_EQ(cycles, 0) << "it is there, and its event is on the way";
  Tell(Member(1));
  loop.Advance(200ms);
  EXPECT_GT(cycles, 0);
  ASSERT_THAT(api.binds, SizeIs(2)) << "the decision is carried out as it was made";
  EXPECT_EQ(api.binds[1].asked.name, "train-1");
  EXPECT_EQ(api.binds[1].asked.node, "n1");
}

TEST_F(Recovery, AReadThatFailsProvesNothingAndIsRepeated) {
  for (const Code code : {Code::kUnknownOutcome, Code::kTooManyRequests}) {
    Read(No(code));
    loop.Advance(1s);
    EXPECT_EQ(cycles, 0);
  }
  Read(Member(1));
}

TEST_F(Recovery, OnlyAReadThatFindsNobodyEndsTheEntry) {
  Read(No(Code::kNotFound));
  loop.Advance(2s);
  EXPECT_GT(cycles, 0);
  EXPECT_THAT(api.binds, IsEmpty()) << "half a gang doesn't begin";
  const model::Cluster rows = scheduler->cache().Copy();
  EXPECT_FALSE(rows.tasks()[rows.tasks().Find("uid-train-0")].claim.open());
}

TEST_F(Recovery, AnotherPodOfThatNameIsNotTheOneOfTheRecord) {
  api::Pod other = Member(1);
  other.metadata.uid = "another";
  Read(other);
  loop.Advance(2s);
  EXPECT_GT(cycles, 0);
  EXPECT_THAT(api.binds, IsEmpty());
}

}  // namespace
}  // namespace sky::scheduler
