// SPDX-License-Identifier: Apache-2.0
// Two whole schedulers, each with a clock, a line to the API server and a place in the election of
// its own, under a stream of small gangs: whatever happens to clocks, renewals, the server or the
// Lease, no binding of one may land after the other has begun, and soon one of them works again.
#include <gtest/gtest.h>

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "lab/replica_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStep = 200ms;

struct Leaders : ::testing::Test, Served {
  ~Leaders() override { spdlog::set_level(spdlog::level::info); }

  std::vector<Sent> log;
  std::vector<std::unique_ptr<Replica>> replicas;
  bool busy = true;  // gangs come
  int made = 0;
  Duration since_made{};

  Leaders() {
    spdlog::set_level(spdlog::level::off);  // thousands of lost renewals
    for (int i = 0; i < 4; ++i) Put(testing::MakeNode(fmt::format("n{}", i), Words("gpu=8")));
    for (int i = 0; i < 16; ++i) Put(testing::MakeQuota(fmt::format("q{}", i), Words("gpu=1")));
    for (int i = 0; i < 2; ++i) replicas.push_back(std::make_unique<Replica>(i, front, log));
    Run(20s);
  }
  static testing::Words Words(std::string_view text) { return *testing::ReadWords(text); }

  // A gang of two every four seconds; those of twenty seconds ago go.
  void NewGang() {
    const std::string name = fmt::format("gang-{}", ++made), old = fmt::format("gang-{}", made - 5);
    for (int i = 0; i < 2; ++i) {
      c.client->Delete(fmt::format("{}/{}-{}?gracePeriodSeconds=0", kPods, old, i));
      Put(testing::MakeWorker(name, fmt::format("{}-{}", name, i), Words("gpu=1")));
    }
    c.client->Delete(kGroups + "/" + old);
    Put(testing::MakeGroup(name, 2, {}));
  }
  void Run(Duration time) {
    for (Duration gone{}; gone < time; gone += kStep) {
      since_made += kStep;
      if (busy && since_made >= 4s) {
        since_made = {};
        NewGang();
      }
      c.api->Tick();
      server_loop.Advance(kStep);
      for (const auto& replica : replicas) replica->Advance(kStep);
    }
  }
  int Leader() const {
    EXPECT_FALSE(replicas[0]->leading() && replicas[1]->leading());
    return replicas[0]->leading() ? 0 : replicas[1]->leading() ? 1 : -1;
  }
  MonoTime Now() const { return c.clock.Mono(); }
  // Of `by` after `since`.
  size_t SentBy(int by, MonoTime since) const {
    return static_cast<size_t>(std::ranges::count_if(
        log, [&](const Sent& sent) { return sent.by == by && sent.at > since; }));
  }
  // Nothing of one was under way when the other sent.
  void ExpectNoOverlap() const {
    for (size_t i = 0; i < log.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        EXPECT_TRUE(log[k].by == log[i].by || log[k].until <= log[i].at)
            << log[k].what << " and " << log[i].what;
  }
  // The last gangs run: somebody works.
  void ExpectAtWork() {
    const int leader = Leader();
    ASSERT_NE(leader, -1);
    EXPECT_GT(SentBy(leader, Now() - 9s), 0u);
    for (const int back : {1, 2}) {
      const Json pod = c.Get(fmt::format("{}/gang-{}-0", kPods, made - back));
      EXPECT_TRUE(pod["spec"].contains("nodeName")) << pod.dump();
    }
    EXPECT_EQ(replicas[static_cast<size_t>(leader)]->Audit(), "");
    ExpectNoOverlap();
  }
};

TEST_F(Leaders, AStandbyWhoseClockIsAnHourAheadTakesNothingOver) {
  ExpectAtWork();
  const int leader = Leader();
  replicas[static_cast<size_t>(1 - leader)]->clock.StepWall(1h);
  Run(40s);
  EXPECT_EQ(Leader(), leader);
  EXPECT_EQ(SentBy(1 - leader, MonoTime{}), 0u);
  replicas[static_cast<size_t>(leader)]->clock.StepWall(-2h);
  Run(30s);
  EXPECT_EQ(Leader(), leader);
  ExpectAtWork();
}

TEST_F(Leaders, ALeaderWhoseRenewalsHangSendsNothingAfterItsDeadlineAndTheOtherGoesOn) {
  const int leader = Leader();
  replicas[static_cast<size_t>(leader)]->line.renewals_hang = true;
  const MonoTime hung = Now();
  Run(60s);
  EXPECT_EQ(SentBy(leader, hung + 10s), 0u) << "the renew deadline is ten seconds";
  EXPECT_EQ(Leader(), 1 - leader);
  EXPECT_GT(SentBy(1 - leader, hung), 0u);
  replicas[static_cast<size_t>(leader)]->line.renewals_hang = false;
  Run(30s);
  EXPECT_EQ(Leader(), 1 - leader) << "it stands behind again";
  ExpectAtWork();
}

TEST_F(Leaders, AfterTheServerWasAwayForFiveMinutesOneLeadsWithinTwoLeaseTimes) {
  for (const auto& replica : replicas) {
    replica->line.down = true;
    replica->line.CutStreams();
  }
  const MonoTime away = Now();
  NewGang();
  busy = false;
  Run(5min);
  busy = true;
  EXPECT_EQ(Leader(), -1);
  EXPECT_EQ(SentBy(0, away) + SentBy(1, away), 0u);
  for (const auto& replica : replicas) replica->line.down = false;
  Run(30s);
  EXPECT_NE(Leader(), -1);
  Run(45s);  // its watches come back after their back-off
  ExpectAtWork();
}

TEST_F(Leaders, ALeaseThatSomebodyEditsOrDeletesCostsTwoLeaseTimesAtMost) {
  for (const bool deleted : {false, true}) {
    const std::string path = kLeasePath + "/sky-scheduler";
    if (deleted)
      EXPECT_TRUE(c.client->Delete(path).ok());
    else
      EXPECT_TRUE(c.client
                      ->Patch(InProcess::PatchType::kMerge, path,
                              J(R"({"spec":{"holderIdentity":"nobody-we-know"}})"))
                      .ok());
    Run(35s);
    ExpectAtWork();
  }
}

}  // namespace
}  // namespace sky::lab
