// SPDX-License-Identifier: Apache-2.0
// The front: faults, held events, the log, the /lab paths. In process, under a virtual clock; the
// same over HTTP is in front_http_test.cc.
#include "lab/front.h"

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "lab/test_cluster.h"

namespace sky::lab {
namespace {

using std::chrono::seconds;

// What a client sees of one request.
struct Outcome {
  bool answered = false, dropped = false, streaming = false, ended = false, cut = false;
  server::Response response;
  std::string stream;
  std::function<void()> on_closed;  // called by the fixture, never under somebody's lock
};

class FakeStream final : public server::Stream {
 public:
  explicit FakeStream(std::shared_ptr<Outcome> outcome) : outcome_(std::move(outcome)) {}
  bool Write(std::string piece) override {
    if (closed()) return false;
    outcome_->stream += piece;
    return true;
  }
  void End() override { outcome_->ended = true; }
  void Cut() override { outcome_->cut = true; }
  bool closed() const override { return outcome_->ended || outcome_->cut; }
  void OnClosed(std::function<void()> callback) override {
    outcome_->on_closed = std::move(callback);
  }

 private:
  std::shared_ptr<Outcome> outcome_;
};

class FakeResponder final : public server::Responder {
 public:
  explicit FakeResponder(std::shared_ptr<Outcome> outcome) : outcome_(std::move(outcome)) {}
  void Send(server::Response response) override {
    outcome_->answered = true;
    outcome_->response = std::move(response);
  }
  std::shared_ptr<server::Stream> Start(server::Response) override {
    outcome_->streaming = true;
    return std::make_shared<FakeStream>(outcome_);
  }
  void Drop() override { outcome_->dropped = true; }

 private:
  std::shared_ptr<Outcome> outcome_;
};

class Faulty : public ::testing::Test {
 protected:
  // Everybody hangs up.
  ~Faulty() override {
    for (const auto& outcome : asked_)
      if (outcome->on_closed) std::exchange(outcome->on_closed, nullptr)();
  }
  std::shared_ptr<Outcome> Ask(std::string_view method, const std::string& target,
                               const Json& body = nullptr, std::string_view token = "") {
    auto outcome = asked_.emplace_back(std::make_shared<Outcome>());
    server::Request request =
        c.client->MakeRequest(method, target, body.is_null() ? "" : Dump(body), "application/json");
    if (!token.empty())
      request.headers.push_back({"authorization", fmt::format("Bearer {}", token)});
    front.Serve(std::move(request), std::make_shared<FakeResponder>(outcome));
    return outcome;
  }
  void Wrong(std::string_view faults) {
    const Status added = front.faults().Add(faults);
    ASSERT_TRUE(added.has_value()) << added.error().message();
  }
  void Pass(Duration time) {
    const MonoTime end = c.clock.Mono() + time;
    while (!timers_.empty() && timers_.begin()->first <= end) {
      auto [at, task] = *timers_.begin();
      timers_.erase(timers_.begin());
      c.clock.Advance(at - c.clock.Mono());
      task();
    }
    c.clock.Advance(end - c.clock.Mono());
  }
  Texts Told(const Outcome& outcome) {
    Texts out;
    std::string_view rest = outcome.stream;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      const Json event = J(rest.substr(0, end));
      out.push_back(TextAt(event, {"type"}) + " " + TextAt(event, {"object", "metadata", "name"}));
      rest.remove_prefix(end + 1);
    }
    return out;
  }

  TestCluster c;
  std::vector<std::shared_ptr<Outcome>> asked_;
  std::multimap<MonoTime, std::function<void()>> timers_;
  std::optional<int> exited_;
  Front front{*c.api, c.clock,
              [this](Duration wait, std::function<void()> task) {
                timers_.emplace(c.clock.Mono() + wait, std::move(task));
              },
              [this](int code) { exited_ = code; }};
};

TEST_F(Faulty, PassesEverythingThroughWithoutFaults) {
  EXPECT_EQ(Ask("POST", kQuotas, TestCluster::Quota("q"))->response.status, 201);
  EXPECT_EQ(Ask("GET", kQuotas + "/q")->response.status, 200);
  const auto watch = Ask("GET", kQuotas + "?watch=1");
  EXPECT_TRUE(watch->streaming);
  EXPECT_EQ(Told(*watch), Texts{"ADDED q"});
  EXPECT_EQ(Ask("GET", kQuotas + "?watch=1&sendInitialEvents=true")->response.status, 422);
}

TEST_F(Faulty, RefusesTheRequestsThatWereMeant) {
  Wrong(R"(faults:
- match: {verb: create, resource: pods, subresource: binding, name: p, nth: 2, count: 2}
  action: {refuse: {code: 429, retryAfter: 3}}
)");
  c.Make(kPods, TestCluster::Pod("p"));
  const auto bind = [&](const std::string& pod) {
    const Json binding = {{"metadata", {{"name", pod}}}, {"target", {{"name", "n"}}}};
    return Ask("POST", kPods + "/" + pod + "/binding", binding)->response;
  };
  EXPECT_EQ(bind("p").status, 201);
  EXPECT_EQ(bind("other").status, 404);  // not meant, not counted
  const server::Response refused = bind("p");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(TextAt(J(refused.body), {"reason"}), "TooManyRequests");
  EXPECT_EQ(refused.headers.at(0).value, "3");
  EXPECT_EQ(bind("p").status, 429);
  EXPECT_EQ(bind("p").status, 409);
}

TEST_F(Faulty, StoresAndDropsTheAnswerOrDropsTheRequest) {
  Wrong(R"(faults:
- {match: {verb: create, name: stored}, action: {dropAnswer: true}}
- {match: {verb: create, name: lost}, action: {dropRequest: true}}
)");
  EXPECT_TRUE(Ask("POST", kQuotas, TestCluster::Quota("stored"))->dropped);
  EXPECT_TRUE(Ask("POST", kQuotas, TestCluster::Quota("lost"))->dropped);
  EXPECT_EQ(c.client->Get(kQuotas + "/stored").status, 200);
  EXPECT_EQ(c.client->Get(kQuotas + "/lost").status, 404);
}

TEST_F(Faulty, DelaysSoThatTimeoutsRunOut) {
  Wrong(R"(faults:
- {match: {verb: create, count: 0}, action: {delay: 5s}}
- {match: {verb: delete}, action: {delayAnswer: 5s}}
)");
  const auto late = Ask("POST", kQuotas + "?timeout=4s", TestCluster::Quota("late"));
  const auto fine = Ask("POST", kQuotas + "?timeout=10s", TestCluster::Quota("fine"));
  EXPECT_FALSE(fine->answered);
  Pass(seconds(5));
  EXPECT_EQ(late->response.status, 504);
  EXPECT_EQ(fine->response.status, 201);
  EXPECT_EQ(c.client->Get(kQuotas + "/late").status, 404);
  const auto deleted = Ask("DELETE", kQuotas + "/fine");
  EXPECT_FALSE(deleted->answered);
  EXPECT_EQ(c.client->Get(kQuotas + "/fine").status, 404);
  Pass(seconds(5));
  EXPECT_EQ(deleted->response.status, 200);
}

TEST_F(Faulty, CutsEverythingAfterTheNthWriteUntilCleared) {
  Wrong("{faults: [{match: {verb: write, nth: 2}, action: {cut: true}}]}");
  const auto watch = Ask("GET", kQuotas + "?watch=1");
  EXPECT_EQ(Ask("POST", kQuotas, TestCluster::Quota("a"))->response.status, 201);
  EXPECT_TRUE(Ask("POST", kQuotas, TestCluster::Quota("b"))->dropped);
  EXPECT_TRUE(watch->cut);
  EXPECT_TRUE(Ask("GET", kQuotas)->dropped);
  EXPECT_TRUE(BoolAt(J(Ask("GET", "/lab/faults")->response.body), {"cut"}));
  EXPECT_EQ(Ask("DELETE", "/lab/faults")->response.status, 200);
  EXPECT_EQ(J(Ask("GET", kQuotas)->response.body)["items"].size(), 2u);
}

TEST_F(Faulty, ExitsAfterStoring) {
  Wrong("{faults: [{match: {verb: [update, patch]}, action: {exit: 9}}]}");
  c.Make(kQuotas, TestCluster::Quota("a"));
  Ask("GET", kQuotas);
  EXPECT_EQ(exited_, std::nullopt);
  Ask("PUT", kQuotas + "/a", c.Get(kQuotas + "/a"));
  EXPECT_EQ(exited_, 9);
}

TEST_F(Faulty, ChecksTokensOnRequest) {
  Wrong("{faults: [{match: {tokenIsNot: new, count: 0}, action: {refuse: {code: 401}}}]}");
  EXPECT_EQ(Ask("GET", kQuotas, nullptr, "old")->response.status, 401);
  EXPECT_EQ(Ask("GET", kQuotas, nullptr, "new")->response.status, 200);
}

TEST_F(Faulty, HoldsBackTheEventsOfAKind) {
  Wrong("{faults: [{match: {event: true, resource: quotas}, action: {hold: 10s}}]}");
  const auto quotas = Ask("GET", kQuotas + "?watch=1"), pods = Ask("GET", kPods + "?watch=1");
  c.Make(kQuotas, TestCluster::Quota("a"));
  c.Make(kPods, TestCluster::Pod("p"));
  c.Make(kQuotas, TestCluster::Quota("b"));
  EXPECT_EQ(Told(*pods), Texts{"ADDED p"});
  EXPECT_EQ(Told(*quotas), Texts{});
  Pass(seconds(10));
  EXPECT_EQ(Told(*quotas), (Texts{"ADDED a", "ADDED b"}));
  c.Make(kQuotas, TestCluster::Quota("c"));
  EXPECT_EQ(Told(*quotas).size(), 3u);
}

TEST_F(Faulty, HoldsUntilClearedWithoutATime) {
  Wrong("{faults: [{match: {event: true, resource: quotas}, action: {hold: 0s}}]}");
  const auto watch = Ask("GET", kQuotas + "?watch=1");
  c.Make(kQuotas, TestCluster::Quota("a"));
  c.api->CloseWatches();
  Pass(seconds(1000));
  EXPECT_EQ(Told(*watch), Texts{});
  EXPECT_FALSE(watch->ended);
  Ask("DELETE", "/lab/faults");
  EXPECT_EQ(Told(*watch), Texts{"ADDED a"});
  EXPECT_TRUE(watch->ended);
}

TEST_F(Faulty, ReversesAndCutsWatches) {
  Wrong("{faults: [{match: {event: true, resource: quotas, count: 2}, action: {reverse: 2}}]}");
  const auto watch = Ask("GET", kQuotas + "?watch=1");
  for (const char* name : {"a", "b", "c"}) c.Make(kQuotas, TestCluster::Quota(name));
  EXPECT_EQ(Told(*watch), (Texts{"ADDED b", "ADDED a", "ADDED c"}));
  Wrong("{faults: [{match: {event: true, resource: quotas, nth: 2}, action: {cutWatch: true}}]}");
  c.Make(kQuotas, TestCluster::Quota("d"));
  EXPECT_FALSE(watch->cut);
  c.Make(kQuotas, TestCluster::Quota("e"));
  EXPECT_TRUE(watch->cut);
  EXPECT_EQ(Told(*watch).size(), 4u);
  const auto pods = Ask("GET", kPods + "?watch=1"), nodes = Ask("GET", kNodes + "?watch=1");
  Ask("POST", "/lab/cut-watches?resource=pods");
  EXPECT_TRUE(pods->cut);
  EXPECT_FALSE(nodes->cut);
}

TEST_F(Faulty, RemembersWhoAskedWhat) {
  Ask("POST", kQuotas, TestCluster::Quota("q"));
  Ask("GET", kQuotas + "/none");
  const Json requests = J(Ask("GET", "/lab/requests")->response.body)["requests"];
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(TextAt(requests[0], {"verb"}), "create");
  EXPECT_EQ(TextAt(requests[0], {"name"}), "q");
  EXPECT_EQ(TextAt(requests[0], {"agent"}), "tester/1.0");
  EXPECT_EQ(IntAt(requests[1], {"code"}), 404);
  EXPECT_EQ(J(Ask("GET", "/lab/requests?after=1")->response.body)["requests"].size(), 1u);
}

TEST_F(Faulty, ForgetsHistoryOnRequest) {
  c.Make(kQuotas, TestCluster::Quota("a"));
  Ask("POST", "/lab/compact");
  c.Make(kQuotas, TestCluster::Quota("b"));
  const auto watch = Ask("GET", kQuotas + "?watch=1&resourceVersion=1");
  EXPECT_TRUE(watch->streaming);
  EXPECT_NE(watch->stream.find("\"ERROR\""), std::string::npos);
}

TEST_F(Faulty, SaysWhatIsWrongWithAFault) {
  const auto wrong = [&](std::string_view text) {
    const Status added = front.faults().Add(text);
    return added ? "fine" : added.error().message();
  };
  EXPECT_NE(
      wrong("faults: [{match: {verbb: get}, action: {cut: true}}]").find("faults[0].match.verbb"),
      std::string::npos);
  EXPECT_NE(wrong("faults: [{match: {}, action: {hold: 1s}}]").find("events take"),
            std::string::npos);
  EXPECT_NE(wrong("faults: [{match: {event: true}, action: {cut: true}}]").find("events take"),
            std::string::npos);
  EXPECT_NE(wrong("faults: [{match: {}, action: {delay: soon}}]").find("faults[0].action.delay"),
            std::string::npos);
  EXPECT_NE(wrong("faults: [{match: {nth: -1}, action: {cut: true}}]").find("faults[0].match.nth"),
            std::string::npos);
  EXPECT_NE(wrong("faults: [{match: {}, action: {refuse: {code: 200}}}]").find("400 to 599"),
            std::string::npos);
  EXPECT_NE(wrong("fault: []"), "fine");
  EXPECT_NE(wrong("faults: ["), "fine");
  EXPECT_EQ(Ask("POST", "/lab/faults", J(R"({"faults":1})"))->response.status, 400);
  EXPECT_EQ(Ask("POST", "/lab/faults", J(R"({"faults":[{"match":{},"action":{"cut":true}}]})"))
                ->response.status,
            201);
  EXPECT_EQ(Ask("GET", "/lab/nothing")->response.status, 404);
}

}  // namespace
}  // namespace sky::lab
