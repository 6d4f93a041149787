// SPDX-License-Identifier: Apache-2.0
#include "framework/statement.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "framework/session.h"
#include "testing/random_events.h"

namespace sky::framework {
namespace {

using testing::Cluster;

// A session over the fixture's snapshot, with every plugin left out: statements alone.
struct Bench {
  Cluster cluster;
  Session::Kept kept;
  std::unique_ptr<Session> session;

  void Open() {
    cluster.cache().UpdateSnapshot(cluster.snapshot());
    session = std::make_unique<Session>(
        cluster.snapshot(), cluster.engine().config(), Instant{}, 1,
        [](cache::Round&) -> std::expected<uint64_t, cache::Refusal> { return 1; }, kept);
  }
  const model::Cluster& rows() const { return session->cluster(); }
  std::string Dump() const { return rows().Dump(); }

  // One legal operation at random; false when there is none.
  bool Operate(Statement& statement, Rng& rng) {
    std::vector<std::function<void()>> legal;
    for (size_t t = 0; t < rows().tasks().size(); ++t) {
      const model::TaskId task(t);
      if (!rows().tasks().Live(task)) continue;
      const model::Claim& claim = rows().tasks()[task].claim;
      if (rows().tasks()[task].placeable())
        for (size_t q = 0; q < rows().quotas().size(); ++q)
          if (const model::QuotaId quota(q);
              rows().quotas().Live(quota) && rows().quotas()[quota].usable())
            for (size_t n = 0; n < rows().nodes().size(); ++n)
              if (const model::NodeId node(n); rows().nodes().Live(node))
                legal.push_back([=, this, &statement] {
                  const model::Quota& row = rows().quotas()[quota];
                  const model::NodeId there = row.node.valid() ? row.node : row.planned;
                  statement.AllocateTaskToQuota(task, quota, there.valid() ? there : node);
                });
      if (claim.phase == model::Claim::Phase::kToQuota &&
          !rows().quotas()[claim.quota].node.valid())
        legal.push_back([=, this, &statement] {
          statement.AllocateQuotaToNode(claim.quota, rows().quotas()[claim.quota].planned);
        });
      if (claim.phase == model::Claim::Phase::kClaimed && !claim.approved)
        legal.push_back([=, &statement] { statement.Allocate(task); });
    }
    if (legal.empty()) return false;
    legal[rng.Below(legal.size())]();
    return true;
  }
};

RC_GTEST_PROP(StatementLaw, DiscardAfterAnyPrefixRestoresTheSessionBitForBit, (uint64_t seed)) {
  Bench bench;
  testing::RandomEvents events(bench.cluster, seed);
  events.Begin();
  for (int i = 0; i < 4; ++i) events.Next();
  // Some claims are open already: the bind action's operation has work too.
  bench.cluster.cache().UpdateSnapshot(bench.cluster.snapshot());
  bench.Open();
  Rng rng(seed);
  const std::string before = bench.Dump();
  std::vector<std::string> after;  // after each operation
  std::vector<Operation> done, undone;
  bench.session->handlers.push_back({"witness", [&](const Operation& op) { done.push_back(op); },
                                     [&](const Operation& op) { undone.push_back(op); }});
  {
    Statement statement(*bench.session);
    while (after.size() < 12 && bench.Operate(statement, rng)) after.push_back(bench.Dump());
    RC_ASSERT(statement.Savepoint() == after.size());
    while (!after.empty()) {
      RC_ASSERT(bench.Dump() == after.back());
      after.resize(rng.Below(after.size()));
      statement.RollBackTo(after.size());
    }
  }
  RC_ASSERT(bench.Dump() == before);
  RC_ASSERT(bench.rows().Audit() == "");
  RC_ASSERT(done.size() == undone.size());
  for (size_t i = 0; i < undone.size(); ++i)
    RC_ASSERT(undone[i].kind == done[done.size() - 1 - i].kind);
}

TEST(Statement, ChargesAPlanAtOnceAndGivesItBackWhenItDies) {
  Bench bench;
  bench.cluster.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2").Pod("a", "gpu=1");
  bench.Open();
  const auto task = bench.rows().tasks().Find("uid-4");
  ASSERT_TRUE(task.valid());
  const auto quota = bench.rows().quotas().Find("q0");
  const auto node = bench.rows().nodes().Find("n0");
  const auto gpu = bench.rows().names().resources.Intern("nvidia.com/gpu");
  {
    Statement statement(*bench.session);
    statement.AllocateTaskToQuota(task, quota, node);
    EXPECT_EQ(bench.rows().nodes()[node].Room()[gpu], 6000);
    EXPECT_EQ(bench.rows().nodes()[node].QuotaIdle()[gpu], 8000) << "only planned";
    EXPECT_EQ(bench.rows().tasks()[task].state, model::TaskState::kAllocatedToQuota);
    statement.AllocateQuotaToNode(quota, node);
    EXPECT_EQ(bench.rows().nodes()[node].QuotaIdle()[gpu], 6000);
    EXPECT_EQ(bench.rows().nodes()[node].Room()[gpu], 6000) << "charged once";
  }
  EXPECT_EQ(bench.rows().nodes()[node].Room()[gpu], 8000);
  EXPECT_EQ(bench.rows().tasks()[task].state, model::TaskState::kPending);
}

TEST(Statement, ASavepointKeepsWhatCameBeforeItAndHandlersHearOfTheRestBackwards) {
  Bench bench;
  bench.cluster.Nodes("n[0-1]", "gpu=8").Quotas("q[0-1]", "gpu=2");
  bench.cluster.Pod("a", "gpu=1").Pod("b", "gpu=1");
  bench.Open();
  std::vector<std::string> told;
  const auto note = [&](const char* what) {
    return [&told, what](const Operation& op) {
      told.push_back(std::string(what) + " " + std::string(OperationName(op.kind)));
    };
  };
  bench.session->handlers.push_back({"one", note("do"), note("undo")});
  bench.session->handlers.push_back({"deaf", nullptr, nullptr});
  const auto task = [&](const char* pod) {
    return bench.rows().tasks().Find(
        bench.cluster.Get<api::Pod>(std::string("default/") + pod).metadata.uid);
  };
  const auto quota = [&](const char* name) { return bench.rows().quotas().Find(name); };
  const auto n1 = bench.rows().nodes().Find("n1");
  const std::string before = bench.Dump();
  Statement statement(*bench.session);
  statement.AllocateTaskToQuota(task("a"), quota("q0"), n1);
  const size_t savepoint = statement.Savepoint();
  const std::string at_savepoint = bench.Dump();
  statement.AllocateTaskToQuota(task("b"), quota("q1"), n1);
  statement.AllocateQuotaToNode(quota("q1"), n1);
  EXPECT_EQ(told, (std::vector<std::string>{"do AllocateTaskToQuota", "do AllocateTaskToQuota",
                                            "do AllocateQuotaToNode"}));
  told.clear();
  statement.RollBackTo(savepoint);
  EXPECT_EQ(told,
            (std::vector<std::string>{"undo AllocateQuotaToNode", "undo AllocateTaskToQuota"}));
  EXPECT_EQ(bench.Dump(), at_savepoint);
  statement.RollBackTo(savepoint);
  EXPECT_EQ(bench.Dump(), at_savepoint) << "there is nothing more to undo";
  // It goes on from there as if nothing had been.
  statement.AllocateTaskToQuota(task("b"), quota("q0"), n1);
  EXPECT_EQ(statement.operations().size(), 2u);
  statement.Discard();
  EXPECT_EQ(bench.Dump(), before);
  EXPECT_TRUE(statement.operations().empty());
}

TEST(Statement, TwoTasksOnOneShareComeAndGoOneByOne) {
  Bench bench;
  bench.cluster.Nodes("n0", "gpu=8").Quotas("q0", "gpu=1").Pod("a", "gpu=1").Pod("b", "gpu=1");
  bench.Open();
  const auto task = [&](const char* pod) {
    return bench.rows().tasks().Find(
        bench.cluster.Get<api::Pod>(std::string("default/") + pod).metadata.uid);
  };
  const auto quota = bench.rows().quotas().Find("q0");
  const auto node = bench.rows().nodes().Find("n0");
  const auto gpu = bench.rows().names().resources.Intern("nvidia.com/gpu");
  Statement statement(*bench.session);
  statement.AllocateTaskToQuota(task("a"), quota, node);
  statement.AllocateTaskToQuota(task("b"), quota, node);
  EXPECT_EQ(bench.rows().quotas()[quota].charge[gpu], 2000) << "more than its request: shadow";
  EXPECT_EQ(bench.rows().nodes()[node].Room()[gpu], 6000);
  statement.RollBackTo(1);
  EXPECT_EQ(bench.rows().quotas()[quota].planned, node) << "a still plans on it";
  EXPECT_EQ(bench.rows().nodes()[node].Room()[gpu], 7000);
  statement.RollBackTo(0);
  EXPECT_FALSE(bench.rows().quotas()[quota].planned.valid());
  EXPECT_EQ(bench.rows().nodes()[node].Room()[gpu], 8000);
}

// Who moves a statement into another place moves its duty to undo.
TEST(Statement, MovedAwayItUndoesNothing) {
  Bench bench;
  bench.cluster.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2").Pod("a", "gpu=1");
  bench.Open();
  const std::string before = bench.Dump();
  {
    auto first = std::make_unique<Statement>(*bench.session);
    first->AllocateTaskToQuota(bench.rows().tasks().Find("uid-4"), bench.rows().quotas().Find("q0"),
                               bench.rows().nodes().Find("n0"));
    const std::string planned = bench.Dump();
    const Statement second(std::move(*first));
    first.reset();
    EXPECT_EQ(bench.Dump(), planned);
    EXPECT_EQ(second.operations().size(), 1u);
  }
  EXPECT_EQ(bench.Dump(), before);
}

// However it ends, a second end finds nothing to do: the session and whoever listens hear of each
// operation once, and of its undoing at most once.
TEST(Statement, ASecondEndDoesNothingWhicheverCameFirst) {
  using End = void (*)(Statement&);
  const std::pair<const char*, End> ends[] = {
      {"discard", [](Statement& one) { one.Discard(); }},
      {"keep", [](Statement& one) { one.Keep(); }},
      {"roll back", [](Statement& one) { one.RollBackTo(0); }},
      {"move away", [](Statement& one) { const Statement other(std::move(one)); }}};
  for (const auto& [first_name, first] : ends)
    for (const auto& [second_name, second] : ends) {
      SCOPED_TRACE(fmt::format("{}, then {}", first_name, second_name));
      Bench bench;
      bench.cluster.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2").Pod("a", "gpu=1");
      bench.Open();
      int done = 0, undone = 0;
      bench.session->handlers.push_back(
          {"counts", [&](const Operation&) { ++done; }, [&](const Operation&) { ++undone; }});
      {
        Statement statement(*bench.session);
        const auto quota = bench.rows().quotas().Find("q0");
        const auto node = bench.rows().nodes().Find("n0");
        statement.AllocateTaskToQuota(bench.rows().tasks().Find("uid-4"), quota, node);
        statement.AllocateQuotaToNode(quota, node);
        first(statement);
        const std::string ended = bench.Dump();
        const int told = undone;
        second(statement);
        EXPECT_EQ(bench.Dump(), ended);
        EXPECT_EQ(undone, told);
        EXPECT_TRUE(statement.operations().empty());
      }
      EXPECT_EQ(done, 2);
      EXPECT_EQ(undone, std::string_view(first_name) == "keep" ? 0 : 2);
    }
}

TEST(Statement, WhatIsKeptIsNotUndone) {
  Bench bench;
  bench.cluster.Nodes("n0", "gpu=8").Quotas("q0", "gpu=2").Pod("a", "gpu=1");
  bench.Open();
  const auto task = bench.rows().tasks().Find("uid-4");
  {
    Statement statement(*bench.session);
    statement.AllocateTaskToQuota(task, bench.rows().quotas().Find("q0"),
                                  bench.rows().nodes().Find("n0"));
    statement.Keep();
  }
  EXPECT_TRUE(bench.rows().tasks()[task].claim.open());
}

}  // namespace
}  // namespace sky::framework
