// SPDX-License-Identifier: Apache-2.0
// What a gang takes in a cycle and has to give back, over and over: whoever of those that are asked
// refuses, whichever question it is, and however often, every ledger is what it was, bit for bit,
// and every hook that was told of something was told that it is undone.
#include <gtest/gtest.h>

#include "actions/actions.h"
#include "framework/engine.h"
#include "framework/session.h"
#include "plugins/all_plugins.h"
#include "testing/cluster.h"

namespace sky::actions {
namespace {

using framework::Operation;
using model::Reason;
using model::Verdict;
using testing::Cluster;

enum class Who : uint8_t {
  kTaskToQuota,
  kQuotaToNode,
  kTaskToNode,
  kQuotaReady,
  kQuotaAllocate,
  kCommit,
};
constexpr const char* kNames[] = {"TaskToQuota", "QuotaToNode",   "TaskToNode",
                                  "QuotaReady",  "QuotaAllocate", "Commit"};

// Counts what it is told, as a plugin that keeps its own sums does, and refuses at one place from
// the k-th question of a cycle on.
struct Books {
  Who who = Who::kCommit;
  int refuse_from = 0, asked = 0;
  int64_t told = 0, open = 0, owned = 0;  // operations; those not undone; tasks with a share
  bool Refuses(Who here) { return here == who && ++asked > refuse_from; }
};

class Bookkeeper final : public framework::Plugin {
 public:
  explicit Bookkeeper(Books& books) : books_(books) {}
  std::string_view name() const override { return "bookkeeper"; }
  void OnSessionOpen(framework::Session& session) override {
    const auto verdict = [this](Who who) {
      return books_.Refuses(who) ? Verdict::NotNow(Reason::kEarmarkedForOther) : Verdict::Fit();
    };
    constexpr auto kReads = framework::Reads::kUndeclared;
    session.task_to_quota.AddPredicate("bookkeeper", kReads,
                                       [=](auto, auto) { return verdict(Who::kTaskToQuota); });
    session.quota_to_node.AddPredicate("bookkeeper", kReads,
                                       [=](auto, auto) { return verdict(Who::kQuotaToNode); });
    session.task_to_node.AddPredicate("bookkeeper", kReads,
                                      [=](auto, auto) { return verdict(Who::kTaskToNode); });
    const auto gate = [this](Who who) {
      return [this, who](const framework::JobRound&, framework::Refusals& why) {
        const bool refuses = books_.Refuses(who);
        if (refuses) why.Add(Reason::kEarmarkedForOther);
        return !refuses;
      };
    };
    session.quota_ready.Add("bookkeeper", gate(Who::kQuotaReady));
    session.quota_allocate.Add("bookkeeper", gate(Who::kQuotaAllocate));
    session.handlers.push_back({"bookkeeper",
                                [this](const Operation& operation) { Count(operation, 1); },
                                [this](const Operation& operation) { Count(operation, -1); }});
  }

 private:
  void Count(const Operation& operation, int64_t sign) {
    ++books_.told;
    books_.open += sign;
    if (operation.kind == Operation::Kind::kAllocateTaskToQuota) books_.owned += sign;
  }
  Books& books_;
};

class RolledBack : public ::testing::TestWithParam<Who> {
 protected:
  RolledBack() {
    framework::Registry registry;
    plugins::AddAllPlugins(registry);
    AddAllActions(registry);
    registry.plugins.emplace(
        "bookkeeper",
        framework::PluginKind{[this](const framework::PluginArgs&, const framework::Config&)
                                  -> Result<std::unique_ptr<framework::Plugin>> {
                                return std::make_unique<Bookkeeper>(books);
                              },
                              {},
                              {"taskToQuota.predicate", "quotaToNode.predicate",
                               "taskToNode.predicate", "quotaReady", "quotaAllocate"}});
    auto loaded = framework::LoadConfig(
        "plugins: [{name: gang}, {name: priority}, {name: topology}, {name: predicates}, "
        "{name: quotapredicates}, {name: bookkeeper}]\n"
        "expressions:\n  quotaReady: and(all)\n  quotaAllocate: and(all)\n"
        "  taskToQuota.predicate: joint(all)\n  quotaToNode.predicate: joint(all)\n"
        "  taskToNode.predicate: joint(all)\n",
        "test.yaml", registry.Known());
    SKY_CHECK(loaded.has_value(), "{}", loaded.error().message());
    auto made = framework::Engine::Make(registry, std::move(loaded->config));
    SKY_CHECK(made.has_value(), "{}", made.error().message());
    engine = std::move(*made);
  }

  // A cycle over the cache; how many rounds it committed.
  size_t Cycle() {
    books.asked = 0;
    for (const auto& stale : c.cache().TakeStaleGroups()) {
      const model::Cluster copy = c.cache().Copy();
      c.cache().ConfirmGroup(stale, copy.jobs()[copy.jobs().Find(stale.key)].object);
    }
    c.cache().UpdateSnapshot(c.snapshot());
    ++cycle;
    // Longer than any nap: it is planned each time.
    now.mono += std::chrono::minutes(2);
    now.wall += std::chrono::minutes(2);
    const auto commit = [&](cache::Round& round) -> std::expected<uint64_t, cache::Refusal> {
      if (books.Refuses(Who::kCommit))
        return std::unexpected(cache::Refusal{Reason::kPlacementConflict, "no"});
      return c.cache().Assume(round, c.snapshot());
    };
    return engine->Run(c.snapshot(), now, cycle, commit).committed.size();
  }

  Cluster c;
  Books books;
  std::unique_ptr<framework::Engine> engine;
  Instant now{};
  uint64_t cycle = 0;
};

TEST_P(RolledBack, ManyCyclesLeaveNoTraceWhicheverQuestionIsRefused) {
  c.Leaf("S1", "n[0-3]", "gpu=8 hca=8").Quotas("q[0-3]", "gpu=8 hca=8");
  c.Job("train", 4, "gpu=8 hca=8").Quotas("p[0-1]", "gpu=1");
  c.Nodes("spare", "gpu=2").Job("plain", 2, "gpu=1 select=kubernetes.io/hostname:spare");
  books.who = GetParam();
  EXPECT_EQ(Cycle(), 0u);  // and the groups are confirmed
  const std::string before = c.cache().Copy().Dump();
  int64_t most = 0;
  for (int i = 0; i < 200; ++i) {
    // A gate is asked once for each job; a predicate refuses from its first question on, or its
    // second …, which is always before the fourth member has a place.
    books.refuse_from = GetParam() >= Who::kQuotaReady ? 0 : i % 4;
    const int64_t told = books.told;
    ASSERT_EQ(Cycle(), 0u) << "cycle " << i;
    most = std::max(most, books.told - told);
    ASSERT_EQ(books.open, 0) << "cycle " << i;
    ASSERT_EQ(books.owned, 0);
    ASSERT_EQ(c.cache().Copy().Dump(), before) << "cycle " << i;
    ASSERT_EQ(c.snapshot().Audit(), "");
    for (const char* name : {"n0", "n1", "n2", "n3", "spare"}) {
      const model::Node& node = c.snapshot().nodes()[c.snapshot().nodes().Find(name)];
      ASSERT_EQ(node.committed, model::Resources{}) << node.name;
      ASSERT_EQ(node.QuotaIdle(), node.allocatable);
    }
  }
  if (GetParam() >= Who::kQuotaReady) {
    EXPECT_GT(most, 0) << "something was taken, and given back";
  }
  // Nobody refuses any more, and the nodes have news: both start, as if nothing had been.
  for (const char* name : {"n0", "n1", "n2", "n3", "spare"})
    c.Edit<api::Node>(name, [](api::Node& node) { node.metadata.labels["now"] = "free"; });
  books.refuse_from = 1'000'000;
  EXPECT_EQ(Cycle(), 2u);
  EXPECT_EQ(books.owned, 6);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, RolledBack,
                         ::testing::Values(Who::kTaskToQuota, Who::kQuotaToNode, Who::kTaskToNode,
                                           Who::kQuotaReady, Who::kQuotaAllocate, Who::kCommit),
                         [](const auto& one) { return kNames[static_cast<size_t>(one.param)]; });

// The case itself: a gang of four where three fit, and then the fourth place.
TEST(RolledBackGang, StartsWhenTheMissingPlaceComesAfterAThousandCycles) {
  Cluster c;
  c.Leaf("S1", "n[0-2]", "gpu=8 hca=8").Leaf("S1", "n3", "gpu=4 hca=8");
  c.Quotas("q[0-3]", "gpu=8 hca=8").Job("train", 4, "gpu=8 hca=8");
  c.Cycle();
  for (int i = 0; i < 1000; ++i) {
    // A word of its own wakes it each time.
    c.Edit<api::PodGroup>("default/train", [&](api::PodGroup& group) {
      group.metadata.annotations["example.com/tick"] = std::to_string(i);
    });
    ASSERT_TRUE(c.Cycle().empty());
    ASSERT_TRUE(c.result().asleep.empty()) << "it was planned, not skipped";
    for (const char* name : {"n0", "n1", "n2", "n3"}) {
      const model::Node& node = c.snapshot().nodes()[c.snapshot().nodes().Find(name)];
      ASSERT_EQ(node.committed, model::Resources{});
      ASSERT_EQ(node.QuotaIdle(), node.allocatable);
    }
  }
  c.Edit<api::Node>("n3", [](api::Node& node) {
    node.status.allocatable["nvidia.com/gpu"] = api::Quantity::Units(8);
  });
  EXPECT_EQ(c.Cycle().size(), 4u);
}

}  // namespace
}  // namespace sky::actions
