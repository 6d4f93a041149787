// SPDX-License-Identifier: Apache-2.0
// A leader dies with writes under way, which reach the server as late as they may: while nobody
// leads, at the last moment when the next one already reads. Two gangs compete for every node; for
// each write of the first one's placing, in both commit orders: no pod is bound twice, no card sold
// twice, one gang runs whole, and the other when that one is gone.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <array>
#include <climits>
#include <nlohmann/json.hpp>

#include "api/keys.h"
#include "lab/replica_for_test.h"
#include "lab/scene_for_test.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

constexpr int kLost = INT_MAX;

testing::Words Words(std::string_view text) { return *testing::ReadWords(text); }

class LateStage : Served {
 public:
  explicit LateStage(framework::CommitOrder order) : order_(order) {
    for (int i = 0; i < 4; ++i) {
      const std::string node = fmt::format("n{}", i);
      Put(testing::MakeNode(node, Words("gpu=8 hca=8")));
      Put(testing::MakeTopology(node, "roce", {"S1"}));
      Put(testing::MakeQuota(fmt::format("q-{}", i), Words("gpu=8 hca=8")));
    }
    api::PriorityClass urgent;
    urgent.metadata.name = "urgent";
    urgent.value = 1000;
    Put(urgent);
    Start();
    Run(2s, 100ms);
  }
  void Start() {
    replicas_.push_back(
        std::make_unique<Replica>(static_cast<int>(replicas_.size()), front, log_, order_));
  }
  void Submit() {
    for (const char* group : {"a", "b"}) Put(testing::MakeGroup(group, 4, {}));
    for (int i = 0; i < 4; ++i)
      for (const char* group : {"a", "b"})
        Put(testing::MakeWorker(group, fmt::format("{}-{}", group, i), Words("gpu=8 hca=8")));
  }
  // The leader dies with its n-th write, which lands after `share` thousandths of the time that the
  // server has for it, or never. False: it wrote less than that.
  bool DieAtWrite(int n, int share) {
    Line& line = replicas_.back()->line;
    line.DieAtWrite(n, [this, share](kube::Request request) {
      if (share == kLost) return;
      const Duration wait = request.timeout * share / 1000;
      request.timeout -= wait;
      server_loop.RunAfter(wait, [this, request] { wire_.Send(request, [](const auto&) {}); });
    });
    for (Duration gone{}; gone < 4s && !line.dead(); gone += 100ms) Run(100ms, 50ms);
    if (!line.dead()) return false;
    line.Die();
    dead_ = replicas_.size();
    return true;
  }
  void Run(Duration time, Duration step) {
    for (Duration gone{}; gone < time; gone += step) {
      c.api->Tick();
      server_loop.Advance(step);
      for (size_t i = dead_; i < replicas_.size(); ++i) replicas_[i]->Advance(step);
    }
    CheckBound();
  }
  // "a on n0 n1 n2 n3; b waits"
  std::string Where() {
    std::string text;
    for (const char* group : {"a", "b"}) {
      std::string nodes;
      for (int i = 0; i < 4; ++i) {
        const Reply pod = c.client->Get(fmt::format("{}/{}-{}", kPods, group, i));
        if (!pod.ok()) continue;
        const std::string node = TextAt(J(pod.body), {"spec", "nodeName"});
        nodes += node.empty() ? "" : " " + node;
      }
      text += fmt::format("{}{}{}", text.empty() ? "" : "; ", group,
                          nodes.empty() ? " waits" : " on" + nodes);
    }
    return text;
  }
  void Edit(const std::string& path, std::string_view patch) {
    EXPECT_TRUE(c.client->Patch(InProcess::PatchType::kMerge, path, J(patch)).ok());
  }
  void Remove(const std::string& group) {
    for (int i = 0; i < 4; ++i)
      c.client->Delete(fmt::format("{}/{}-{}?gracePeriodSeconds=0", kPods, group, i));
    c.client->Delete(kGroups + "/" + group);
  }
  const Replica& leader() const { return *replicas_.back(); }

 private:
  // A pod that has a node keeps it, and no card is sold twice.
  void CheckBound() {
    std::map<std::string, int> pods_on;
    for (const char* group : {"a", "b"})
      for (int i = 0; i < 4; ++i) {
        const std::string name = fmt::format("{}-{}", group, i);
        const Reply pod = c.client->Get(kPods + "/" + name);
        const std::string node = pod.ok() ? TextAt(J(pod.body), {"spec", "nodeName"}) : "";
        if (node.empty()) continue;
        std::string& known = bound_[name];
        EXPECT_TRUE(known.empty() || known == node) << name;
        known = node;
        EXPECT_EQ(++pods_on[node], 1) << node;
      }
  }

  const framework::CommitOrder order_;
  ProcessTransport wire_{server_loop, front};
  std::vector<Sent> log_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  size_t dead_ = 0;
  std::map<std::string, std::string> bound_;
};

struct LateWrites : ::testing::TestWithParam<framework::CommitOrder> {
  LateWrites() { spdlog::set_level(spdlog::level::off); }
  ~LateWrites() override { spdlog::set_level(spdlog::level::info); }
};

// Whether there was an n-th write.
bool DiesAtWrite(framework::CommitOrder order, int n, int share) {
  SCOPED_TRACE(fmt::format("write {}, share {}", n, share));
  LateStage stage(order);
  stage.Submit();
  if (!stage.DieAtWrite(n, share)) return false;
  stage.Start();
  // The next one has reasons to decide otherwise; but what was written is carried out.
  stage.Edit(kGroups + "/b", R"({"spec":{"priorityClassName":"urgent"}})");
  stage.Run(24s, 400ms);
  const std::string a_runs = "a on n0 n1 n2 n3; b waits", b_runs = "a waits; b on n0 n1 n2 n3";
  const bool nothing_written = n == 1 && share == kLost;
  EXPECT_EQ(stage.Where(), nothing_written ? b_runs : a_runs);
  EXPECT_EQ(stage.leader().Audit(), "");
  stage.Remove(nothing_written ? "b" : "a");
  stage.Run(4s, 400ms);
  EXPECT_EQ(stage.Where(), nothing_written ? a_runs : b_runs);
  return true;
}

TEST_P(LateWrites, OfALeaderThatDiedDoNoHarmToTheNext) {
  int n = 1;
  while (n < 100 && DiesAtWrite(GetParam(), n, std::array{0, 500, 999}[n % 3])) ++n;
  EXPECT_GT(n, 9) << "a record, four bindings, four statuses";
  EXPECT_LT(n, 100);
}

TEST_P(LateWrites, ThatAreLostAreMadeUpForByTheNext) {
  for (int n = 1; n < 8; ++n) EXPECT_TRUE(DiesAtWrite(GetParam(), n, kLost));
}

INSTANTIATE_TEST_SUITE_P(Orders, LateWrites, kBothOrders, OrderName);

}  // namespace
}  // namespace sky::lab
