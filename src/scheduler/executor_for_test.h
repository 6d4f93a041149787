// SPDX-License-Identifier: Apache-2.0
// A gang of two, assumed and submitted to an executor, with a writer that keeps what it is asked
// until the test answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "scheduler/executor.h"
#include "scheduler/fake_writer_for_test.h"
#include "testing/cluster.h"

namespace sky::scheduler {

using namespace std::chrono_literals;
using cache::Written;

struct ExecutorTest : ::testing::Test {
  testing::Cluster c;
  ManualClock clock;
  kube::ManualLoop loop{clock};
  FakeWriter api;
  bool leading = true;
  std::vector<std::string> refused, words, bound, evicted, in_vain;
  int replans = 0, delays = 0, version = 9;
  std::function<void(Status)> pictures;
  std::unique_ptr<Executor> executor;
  cache::Round round;

  // A gang, or one pod, that is to be decided on.
  void Prepare(framework::CommitOrder order, int members = 2) {
    c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=1 hca=1");
    if (members == 1)
      c.Pod("train-0", "gpu=1 hca=1");
    else
      c.Job("train", members, "gpu=1 hca=1");
    ExecutorEvents events;
    events.bound = [this](const cache::RoundEntry& entry, const cache::Round&) {
      bound.push_back(entry.name);
    };
    events.refused = [this](const cache::Round& one, const cache::RoundEntry* entry,
                            model::Reason reason, const std::string& why) {
      refused.push_back(fmt::format("{} {}", entry == nullptr ? one.job : entry->name,
                                    model::ReasonName(reason)));
      words.push_back(why);
    };
    events.in_vain = [this](const cache::Round&, const std::vector<std::string>& nodes) {
      in_vain.insert(in_vain.end(), nodes.begin(), nodes.end());
    };
    events.delayed = [this](const cache::Round&, std::string_view, const std::string&) {
      ++delays;
    };
    events.replan = [this] { ++replans; };
    events.evicted = [this](const cache::Eviction::Victim& victim, const std::string&) {
      evicted.push_back(victim.name);
    };
    events.may_write = [this] { return leading; };
    events.epoch = [] { return int64_t{7}; };
    events.write_pictures = [this](const cache::Round&, std::function<void(Status)> done) {
      pictures = std::move(done);
    };
    executor = std::make_unique<Executor>(loop, c.cache(), api, Executor::Options{order, 60s},
                                          std::move(events));
  }
  void Begin(framework::CommitOrder order = framework::CommitOrder::kPlacementFirst) {
    Prepare(order);
    round = c.Decide().at(0);
    executor->Submit(round);
    if (c.cache().Approve(round.number, c.snapshot())) executor->Approve(round.number);
  }
  // The Placement is taken as written.
  void Acknowledge() { Acknowledge(api.creates); }
  void Acknowledge(FakeWriter::Calls<api::Placement, api::Placement>& calls) {
    ASSERT_EQ(calls.size(), 1u);
    api::Placement stored = calls.front().asked;
    stored.metadata.uid = "placement-1";
    stored.metadata.resource_version = std::to_string(++version);
    FakeWriter::Answer(calls, Result<api::Placement>(stored));
  }
  void BeginBinding() {
    Begin();
    Acknowledge();
    ASSERT_EQ(api.binds.size(), 2u);
  }
  bool Claimed(int i) const {
    const model::Cluster rows = const_cast<ExecutorTest*>(this)->c.cache().Copy();
    const auto task = rows.tasks().Find(round.entries[static_cast<size_t>(i)].uid);
    return task.valid() && rows.tasks()[task].claim.open();
  }
  bool Bound(int i) const {
    const model::Cluster rows = const_cast<ExecutorTest*>(this)->c.cache().Copy();
    return rows.tasks()[rows.tasks().Find(round.entries[static_cast<size_t>(i)].uid)].bound();
  }
  // What a quorum read of member i finds.
  void Read(int i, const std::function<void(api::Pod&)>& change = [](api::Pod&) {}) {
    ASSERT_FALSE(api.pod_reads.empty());
    api::Pod pod = c.Get<api::Pod>(fmt::format("default/train-{}", i));
    change(pod);
    FakeWriter::Answer(api.pod_reads, Result<api::Pod>(pod));
  }
  // The server doesn't take the oldest binding now.
  void Busy(std::chrono::milliseconds retry_after = {}) {
    ASSERT_FALSE(api.binds.empty());
    FakeWriter::Answer(api.binds,
                       Result<Written>(std::unexpected(
                           Error(Code::kTooManyRequests, "later").RetryAfter(retry_after))));
  }
  // The bind action finds that nothing of it holds.
  void GiveUpAll() {
    cache::GivenUp places{round.number, {}, "no", {}};
    for (const cache::RoundEntry& entry : round.entries) places.uids.push_back(entry.uid);
    executor->GiveUp(places);
  }
  // train-0 waits to be sent again, train-1 runs, and what the first was approved by changes.
  void JudgedAgainAfterAChange() {
    FakeWriter::Answer(api.binds, Result<Written>(Written{}));
    c.Edit<api::Node>("n0", [](api::Node& node) { node.metadata.labels["new"] = "label"; });
    loop.Advance(1300ms);
    EXPECT_TRUE(api.binds.empty()) << "by an old word";
    c.Decide();
    ASSERT_EQ(c.result().approved, (std::vector<uint64_t>{round.number}));
    ASSERT_TRUE(c.cache().Approve(round.number, c.snapshot()));
    executor->Approve(round.number);
    ASSERT_EQ(api.binds.size(), 1u);
    EXPECT_EQ(api.binds[0].asked.name, "train-0");
  }
  void Audited() { EXPECT_EQ(c.cache().Audit(), ""); }
};

}  // namespace sky::scheduler
