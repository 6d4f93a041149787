// SPDX-License-Identifier: Apache-2.0
// 429 with Retry-After on lists, watches and writes: the client comes back no sooner than it was
// told, and nothing is lost. The real client and the real scheduler through the front, under a
// virtual clock; the log of the front says when each request came.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kube/informer.h"
#include "lab/front.h"
#include "lab/process_transport.h"
#include "lab/scene_for_test.h"
#include "lab/test_cluster.h"
#include "scheduler/known.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

struct Asking {
  WallTime at;
  int64_t code;  // 0: of a watch that began
};
std::vector<Asking> Askings(const Front& front, std::string_view verb, std::string_view resource,
                            std::string_view name = "") {
  std::vector<Asking> out;
  const Json log = J(front.Log(0));
  for (const Json& request : log["requests"])
    if (TextAt(request, {"verb"}) == verb && TextAt(request, {"resource"}) == resource &&
        (name.empty() || TextAt(request, {"name"}) == name))
      out.push_back({*ParseTime(TextAt(request, {"time"})), IntAt(request, {"code"}).value_or(-1)});
  return out;
}

class Throttled : public ::testing::Test {
 protected:
  void Wrong(std::string_view faults) {
    const Status added = front.faults().Add(faults);
    ASSERT_TRUE(added.has_value()) << added.error().message();
  }
  void Inform(kube::ReflectorOptions options) {
    kube::InformerCallbacks<api::Quota> callbacks;
    callbacks.on_delta = [this](const api::Delta<api::Quota>& delta) {
      using Type = api::Delta<api::Quota>::Type;
      told +=
          fmt::format("{}{} ", delta.type == Type::kAdd ? "+" : "*", delta.object->metadata.name);
    };
    informer.emplace(client, options, std::move(callbacks));
    informer->Start();
  }
  // "429 at 0s, 200 at 7s"
  std::string Asked(std::string_view verb) {
    std::string text;
    for (const Asking& asking : Askings(front, verb, "quotas"))
      text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", asking.code,
                          FormatDuration(asking.at - began));
    return text;
  }

  TestCluster c;
  const WallTime began = c.clock.Wall();
  kube::ManualLoop loop{c.clock};
  Front front{
      *c.api, c.clock,
      [this](Duration wait, std::function<void()> task) { loop.RunAfter(wait, std::move(task)); },
      [](int) {}};
  ProcessTransport transport{loop, front};
  kube::Client client{transport};
  std::string told;
  std::optional<kube::Informer<api::Quota>> informer;
};

TEST_F(Throttled, PagesOfAListComeNoSoonerThanAsked) {
  for (const char* name : {"a", "b", "c", "d", "e"}) c.Make(kQuotas, TestCluster::Quota(name));
  Wrong(
      "{faults: [{match: {verb: list, resource: quotas, nth: 2, count: 2},"
      " action: {refuse: {code: 429, retryAfter: 7}}}]}");
  Inform({.streaming_list = false, .page_size = 2});
  loop.Advance(60s);
  EXPECT_EQ(Asked("list"), "200 at 0s, 429 at 0s, 429 at 7s, 200 at 14s, 200 at 14s");
  EXPECT_EQ(told, "+a +b +c +d +e ");
  EXPECT_EQ(informer->stats().errors, 0u);
}

TEST_F(Throttled, AListThatIsToldToWaitLongerThanItsDeadlineWaitsAllTheSame) {
  c.Make(kQuotas, TestCluster::Quota("a"));
  Wrong(
      "{faults: [{match: {verb: list, resource: quotas, count: 2},"
      " action: {refuse: {code: 429, retryAfter: 90}}}]}");
  Inform({.streaming_list = false});
  loop.Advance(200s);
  EXPECT_EQ(Asked("list"), "429 at 0s, 429 at 1m30s, 200 at 3m");
  EXPECT_EQ(told, "+a ");
}

TEST_F(Throttled, AnAbsurdWaitIsCutShort) {
  Wrong(
      "{faults: [{match: {verb: [list, watch], resource: quotas},"
      " action: {refuse: {code: 429, retryAfter: 86400}}}]}");
  Inform({.streaming_list = false});
  loop.Advance(301s);
  EXPECT_TRUE(informer->HasSynced()) << Asked("list");
}

TEST_F(Throttled, AStreamingListComesNoSoonerThanAsked) {
  c.Make(kQuotas, TestCluster::Quota("a"));
  Wrong(
      "{faults: [{match: {verb: watch, resource: quotas, count: 2},"
      " action: {refuse: {code: 429, retryAfter: 9}}}]}");
  Inform({});
  loop.Advance(60s);
  EXPECT_EQ(Asked("watch"), "429 at 0s, 429 at 9s, 0 at 18s");
  EXPECT_EQ(told, "+a ");
}

TEST_F(Throttled, AWatchComesNoSoonerThanAskedAndMissesNothing) {
  c.Make(kQuotas, TestCluster::Quota("a"));
  Inform({});
  loop.Advance(10s);
  Wrong(
      "{faults: [{match: {verb: watch, resource: quotas, count: 2},"
      " action: {refuse: {code: 429, retryAfter: 20}}}]}");
  front.CutWatches("quotas");
  c.Make(kQuotas, TestCluster::Quota("b"));
  loop.Advance(30s);
  EXPECT_EQ(told, "+a ");
  c.Make(kQuotas, TestCluster::Quota("c"));
  loop.Advance(30s);
  EXPECT_EQ(Asked("watch"), "0 at 0s, 429 at 10s, 429 at 30s, 0 at 50s");
  EXPECT_EQ(told, "+a +b +c ");
  EXPECT_EQ(informer->stats().lists, 1u) << "the same position again, not a new list";
}

TEST_F(Throttled, AWriteThatMayBeRepeatedWaitsAndIsStoredOnce) {
  Wrong(
      "{faults: [{match: {verb: create, resource: quotas, count: 2},"
      " action: {refuse: {code: 429, retryAfter: 3}}}]}");
  const api::Quota quota = testing::MakeQuota("q", *testing::ReadWords("gpu=1"));
  std::optional<Result<api::Quota>> made;
  client.Create<api::Quota>(quota, {.timeout = 10s, .retry_throttled = true},
                            [&](Result<api::Quota> got) { made = std::move(got); });
  loop.Advance(10s);
  ASSERT_TRUE(made && made->has_value());
  EXPECT_EQ(Asked("create"), "429 at 0s, 429 at 3s, 201 at 6s");
}

TEST_F(Throttled, AWriteWithoutTimeToWaitIsRefusedAtOnceAndSaysHowLong) {
  Wrong(
      "{faults: [{match: {verb: delete, resource: quotas, count: 0},"
      " action: {refuse: {code: 429, retryAfter: 5}}}]}");
  c.Make(kQuotas, TestCluster::Quota("q"));
  std::optional<Status> gone;
  client.Delete<api::Quota>("", "q", {}, {.timeout = 4s, .retry_throttled = true},
                            [&](Status status) { gone = std::move(status); });
  loop.Advance(1s);
  ASSERT_TRUE(gone && !*gone);
  EXPECT_EQ(gone->error().code(), Code::kTooManyRequests);
  EXPECT_EQ(gone->error().retry_after(), 5s);
  loop.Advance(60s);
  EXPECT_EQ(Asked("delete"), "429 at 0s");
}

// Every write of a gang's way is refused twice, each kind with a wait of its own.
class ThrottledGang : public ::testing::TestWithParam<framework::CommitOrder> {
 protected:
  ThrottledGang() {
    SimulationOptions options;
    options.config = framework::DefaultConfig(scheduler::AllKnown().Known());
    options.config.commit_order = GetParam();
    lab = std::move(*Simulation::Create(std::move(options)));
    for (const char* node : {"n0", "n1"})
      Make(testing::MakeNode(node, *testing::ReadWords("gpu=8")));
    for (const char* quota : {"q-0", "q-1"})
      Make(testing::MakeQuota(quota, *testing::ReadWords("gpu=8")));
    Make(testing::MakeGroup("train", 2, {}));
    for (const char* worker : {"train-0", "train-1"})
      Make(testing::MakeWorker("train", worker, *testing::ReadWords("gpu=8")));
  }
  template <class T>
  void Make(const T& object) {
    MakeIn(*lab, object);
  }
  std::unique_ptr<Simulation> lab;
};

TEST_P(ThrottledGang, LandsWholeAndNoWriteComesSoonerThanAsked) {
  ASSERT_TRUE(lab->front().faults().Add(R"(faults:
- {match: {verb: create, resource: placements, count: 2}, action: {refuse: {code: 429, retryAfter: 2}}}
- {match: {verb: patch, resource: quotas, name: q-0, count: 2}, action: {refuse: {code: 429, retryAfter: 5}}}
- {match: {verb: create, resource: pods, subresource: binding, name: train-0, count: 2}, action: {refuse: {code: 429, retryAfter: 4}}}
- {match: {verb: create, resource: pods, subresource: binding, name: train-1, count: 1}, action: {refuse: {code: 429}}}
)"));
  lab->StartScheduler();
  lab->Advance(60s);
  for (const char* pod : {"train-0", "train-1"})
    EXPECT_NE(lab->Get<api::Pod>("default", pod)->spec.node_name, "") << pod;
  for (const char* quota : {"q-0", "q-1"})
    EXPECT_EQ(lab->Get<api::Quota>("", quota)->status.phase, "QuotaBound") << quota;
  EXPECT_EQ(lab->scheduler()->cache().Audit(), "");

  const auto check = [&](std::string_view verb, std::string_view resource, std::string_view name,
                         const std::vector<int64_t>& codes, Duration wait) {
    const std::vector<Asking> askings = Askings(lab->front(), verb, resource, name);
    std::vector<int64_t> got;
    for (const Asking& asking : askings) got.push_back(asking.code);
    EXPECT_EQ(got, codes) << name;
    for (size_t i = 1; i < askings.size(); ++i)
      EXPECT_GE(askings[i].at - askings[i - 1].at, wait) << name;
  };
  check("create", "placements", "train", {429, 429, 201}, 2s);
  check("create", "pods", "train-0", {429, 429, 201}, 4s);
  check("create", "pods", "train-1", {429, 201}, 1s);  // not told how long: no sooner than this
  check("patch", "quotas", "q-0", {429, 429, 200}, 5s);
}

INSTANTIATE_TEST_SUITE_P(Orders, ThrottledGang,
                         ::testing::Values(framework::CommitOrder::kQuotaFirst,
                                           framework::CommitOrder::kPlacementFirst));

}  // namespace
}  // namespace sky::lab
