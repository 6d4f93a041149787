// SPDX-License-Identifier: Apache-2.0
// Several processes stand for one lease on an API server that delays, loses and refuses at random,
// forgets the lease now and then, and has clocks that disagree: no two of them ever write at one
// time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <spdlog/spdlog.h>

#include <memory>
#include <vector>

#include "kube/election.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;

// The lease in the API server, and whether the server answers at all.
struct Server {
  std::optional<api::Lease> lease;
  int version = 0;
  bool up = true;
  MonoTime created_at{};

  Response Serve(const Request& request, MonoTime now) {
    if (request.method == Method::kGet) return lease ? Ok() : Response{404, {}, ""};
    api::Lease sent = *api::Decode<api::Lease>(request.body);
    if (request.method == Method::kPost) {
      if (lease) return {409, {}, R"({"kind":"Status","reason":"AlreadyExists"})"};
      sent.metadata.uid = fmt::format("u{}", version);
      created_at = now;
    } else {
      if (!lease) return {404, {}, ""};
      if (lease->metadata.resource_version != sent.metadata.resource_version) return {409, {}, ""};
    }
    sent.metadata.resource_version = fmt::format("{}", ++version);
    lease = sent;
    return Ok();
  }
  Response Ok() const { return {200, {}, api::Encode(*lease)}; }
};

// One process's way to the server: requests take time, and requests or answers may be lost.
class Line final : public Transport {
 public:
  Line(ManualLoop& loop, Server& server, Rng& rng) : loop_(loop), server_(server), rng_(rng) {}
  bool hangs = false;
  int trouble_percent = 0;

  Loop& loop() override { return loop_; }
  StreamId Open(Request, StreamCallbacks) override { return 0; }
  void Close(StreamId) override {}

  void Send(Request request, Done<Response> done) override {
    auto pending = std::make_shared<Done<Response>>(std::move(done));
    const auto finish = [pending](Result<Response> result) {
      if (auto callback = std::exchange(*pending, nullptr)) callback(std::move(result));
    };
    loop_.RunAfter(request.timeout,
                   [finish] { finish(Fail(Code::kUnknownOutcome, "no answer in time")); });
    if (!server_.up) return loop_.Post([finish] { finish(Fail(Code::kUnavailable, "refused")); });
    if (hangs || Unlucky()) return;  // lost on the way there
    // The server gives up what comes later than the caller's timeout, as ?timeout= asks.
    const Duration there = Delay();
    if (there > request.timeout) return;
    loop_.RunAfter(there, [this, finish, request = std::move(request)] {
      if (!server_.up) return finish(Fail(Code::kUnknownOutcome, "cut"));
      Response response = Unlucky() ? Response{500, {}, ""} : server_.Serve(request, loop_.Now());
      if (hangs || Unlucky()) return;  // the answer is lost
      loop_.RunAfter(Delay(), [finish, response = std::move(response)] { finish(response); });
    });
  }

 private:
  bool Unlucky() { return static_cast<int>(rng_.Below(100)) < trouble_percent; }
  Duration Delay() {
    return std::chrono::milliseconds(rng_.Below(10) == 0 && trouble_percent > 0 ? rng_.Below(8000)
                                                                                : rng_.Below(20));
  }

  ManualLoop& loop_;
  Server& server_;
  Rng& rng_;
};

// A process that writes whenever it may, with writes that take as long as they may.
struct Process {
  Process(ManualLoop& loop, Server& server, Rng& rng, int number)
      : line(loop, server, rng),
        client(line),
        election(
            client,
            {.ns = "ns", .name = "sky", .identity = fmt::format("p{}", number), .seed = rng.Next()},
            {[this](int64_t epoch) {
               EXPECT_GT(epoch, last_epoch);
               last_epoch = epoch;
               ++terms;
             },
             nullptr}) {
    election.Start();
  }
  Line line;
  Client client;
  Election election;
  int64_t last_epoch = 0;
  int terms = 0;
};

class Cluster {
 public:
  Cluster(uint64_t seed, int count) : rng(seed) {
    spdlog::set_level(spdlog::level::off);  // thousands of lost leases
    for (int i = 0; i < count; ++i)
      processes.push_back(std::make_unique<Process>(loop, server, rng, i));
  }

  void Run(Duration time) {
    const MonoTime end = clock.Mono() + time;
    while (clock.Mono() < end) {
      loop.Advance(200ms);
      CheckWriters();
    }
  }
  // A write that is sent now may land until its timeout; nobody else may send one before.
  void CheckWriters() {
    for (const auto& process : processes) {
      const auto timeout = process->election.WriteTimeout(clock.Mono());
      if (!timeout) continue;
      RC_ASSERT(*timeout <= 4s);
      if (writer != process.get()) RC_ASSERT(clock.Mono() >= writes_end);
      writer = process.get();
      writes_end = std::max(writes_end, clock.Mono() + *timeout);
      last_write = clock.Mono();
    }
  }

  ManualClock clock;
  ManualLoop loop{clock};
  Rng rng;
  Server server;
  std::vector<std::unique_ptr<Process>> processes;
  Process* writer = nullptr;
  MonoTime writes_end{}, last_write{};
};

RC_GTEST_PROP(ElectionLaw, NoTwoProcessesWriteAtOneTime, (uint64_t seed)) {
  Cluster cluster(seed, 3);
  cluster.Run(20s);
  for (int step = 0; step < 12; ++step) {
    const auto& process = cluster.processes[cluster.rng.Below(3)];
    switch (cluster.rng.Below(7)) {
      case 0:
        process->line.hangs = !process->line.hangs;
        break;
      case 1:
        process->line.trouble_percent = static_cast<int>(cluster.rng.Below(60));
        break;
      case 2:
        cluster.server.up = !cluster.server.up;
        break;
      case 3:
        cluster.clock.StepWall((cluster.rng.Below(2) == 0 ? 1 : -1) * 1h);
        break;
      case 4:  // by an administrator; not before the others had time to see it, which nobody could
               // survive
        if (cluster.clock.Mono() - cluster.server.created_at > 10s) cluster.server.lease.reset();
        break;
      case 5:
        if (cluster.server.lease) {  // somebody else edits it
          cluster.server.lease->spec.holder_identity = "nobody-we-know";
          cluster.server.lease->metadata.resource_version =
              fmt::format("{}", ++cluster.server.version);
        }
        break;
      default:
        break;
    }
    cluster.Run(std::chrono::milliseconds(cluster.rng.Below(12'000)));
  }
  // Calm again: within two lease times (and what a hanging call still takes) somebody leads, and
  // goes on.
  cluster.server.up = true;
  for (const auto& process : cluster.processes) process->line.hangs = false;
  for (const auto& process : cluster.processes) process->line.trouble_percent = 0;
  cluster.Run(35s);
  RC_ASSERT(cluster.last_write == cluster.clock.Mono());
  const Process* leader = cluster.writer;
  cluster.Run(60s);
  RC_ASSERT(cluster.writer == leader);
}

TEST(ElectionLaw, AStandbyWhoseWallClockRunsAheadTakesNothingOver) {
  Cluster cluster(1, 2);
  cluster.Run(10s);
  const Process* leader = cluster.writer;
  ASSERT_NE(leader, nullptr);
  cluster.clock.StepWall(1h);
  cluster.Run(5min);
  EXPECT_EQ(cluster.writer, leader);
  EXPECT_EQ(cluster.processes[0]->terms + cluster.processes[1]->terms, 1);
}

TEST(ElectionLaw, ALeaderWhoseRenewalHangsStopsAndTheOtherGoesOn) {
  Cluster cluster(2, 2);
  cluster.Run(10s);
  Process* leader = cluster.writer;
  ASSERT_NE(leader, nullptr);
  leader->line.hangs = true;
  cluster.Run(60s);
  EXPECT_NE(cluster.writer, leader);
  EXPECT_EQ(cluster.last_write, cluster.clock.Mono());
  EXPECT_FALSE(leader->election.WriteTimeout(cluster.clock.Mono()));
}

TEST(ElectionLaw, AfterTheServerWasDownSomebodyLeadsWithinTwoLeaseTimes) {
  Cluster cluster(3, 2);
  cluster.Run(10s);
  cluster.server.up = false;
  cluster.Run(5min);
  EXPECT_GT(cluster.clock.Mono() - cluster.last_write, 4min);
  cluster.server.up = true;
  cluster.Run(30s);
  EXPECT_EQ(cluster.last_write, cluster.clock.Mono());
}

TEST(ElectionLaw, AReleasedLeaseIsTakenOverWithinSeconds) {
  Cluster cluster(4, 2);
  cluster.Run(10s);
  Process* leader = cluster.writer;
  ASSERT_NE(leader, nullptr);
  const MonoTime released = cluster.clock.Mono();
  leader->election.Release([](const Status& status) { EXPECT_TRUE(status); });
  cluster.writes_end = released;  // the caller settled its writes before, as the contract asks
  while (cluster.writer == leader) cluster.Run(200ms);
  EXPECT_LT(cluster.clock.Mono() - released, 5s);
}

}  // namespace
}  // namespace sky::kube
