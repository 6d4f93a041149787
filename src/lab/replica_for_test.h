// SPDX-License-Identifier: Apache-2.0
// A whole scheduler for tests of elections, crashes and writes that come late: a clock, a line to
// the embedded API server and a place in the election of its own. What it decides with is noted by
// its line. Whoever makes it advances it, on one thread.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lab/process_transport.h"
#include "lab/served_for_test.h"
#include "scheduler/elected.h"
#include "scheduler/feeds.h"
#include "scheduler/known.h"
#include "scheduler/kube_writer.h"

namespace sky::lab {

inline const std::string kLeasePath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

// A binding or a Placement that was sent, and until when it may still land.
struct Sent {
  int by;
  MonoTime at, until;
  std::string what;
};

// The way of one scheduler to the server; what it sends is noted.
class Line final : public kube::Transport {
 public:
  Line(int number, kube::ManualLoop& loop, Front& front, std::vector<Sent>& log)
      : number_(number), loop_(loop), inner_(loop, front), log_(log) {}
  bool renewals_hang = false, down = false;

  // The n-th write from now, and whatever is sent in the same moment, goes to `late` instead of the
  // server; the process is dead then.
  void DieAtWrite(int n, std::function<void(kube::Request)> late) {
    writes_left_ = n;
    late_ = std::move(late);
  }
  bool dead() const { return late_ && writes_left_ <= 0; }
  void Die() { inner_.Die(); }

  void CutStreams() { inner_.CutStreams(); }
  kube::Loop& loop() override { return loop_; }
  void Close(kube::StreamId id) override { inner_.Close(id); }
  kube::StreamId Open(kube::Request request, kube::StreamCallbacks callbacks) override {
    if (!down) return inner_.Open(std::move(request), std::move(callbacks));
    loop_.Post([end = std::make_shared<kube::StreamCallbacks>(std::move(callbacks))] {
      end->on_end(Fail(Code::kUnavailable, "refused"));
    });
    return ++refused_;
  }
  void Send(kube::Request request, kube::Done<kube::Response> done) override {
    const auto answer = std::make_shared<kube::Done<kube::Response>>(std::move(done));
    if (down) return loop_.Post([answer] { (*answer)(Fail(Code::kUnavailable, "refused")); });
    const bool write = request.method != kube::Method::kGet;
    if (late_ && write && !request.path.starts_with(kLeasePath) && --writes_left_ <= 0)
      return late_(std::move(request));
    if (renewals_hang && write && request.path.starts_with(kLeasePath)) {
      loop_.RunAfter(request.timeout,
                     [answer] { (*answer)(Fail(Code::kUnknownOutcome, "no answer in time")); });
      return;
    }
    if (!write || (!request.path.ends_with("/binding") &&
                   request.path.find("/placements") == std::string::npos))
      return inner_.Send(std::move(request), [answer](auto it) { (*answer)(std::move(it)); });
    const size_t entry = log_.size();
    log_.push_back({number_, loop_.Now(), loop_.Now() + request.timeout, request.path});
    EXPECT_TRUE(request.timeout_to_server);
    inner_.Send(std::move(request), [this, answer, entry](Result<kube::Response> it) {
      log_[entry].until = std::min(log_[entry].until, loop_.Now());
      (*answer)(std::move(it));
    });
  }

 private:
  const int number_;
  kube::ManualLoop& loop_;
  ProcessTransport inner_;
  std::vector<Sent>& log_;
  std::function<void(kube::Request)> late_;
  int writes_left_ = 0;
  kube::StreamId refused_ = kube::StreamId{1} << 40;  // no id of the inner transport's
};

class Replica final : public scheduler::EventSink {
 public:
  Replica(int number, Front& front, std::vector<Sent>& log,
          framework::CommitOrder order = framework::CommitOrder::kPlacementFirst)
      : line(number, loop, front, log), client_(line), leadership_(clock) {
    writer_ = std::make_unique<scheduler::KubeWriter>(client_, leadership_, *this);
    framework::Config config = framework::DefaultConfig(scheduler::AllKnown().Known());
    config.commit_order = order;
    auto engine = framework::Engine::Make(scheduler::AllKnown(), std::move(config));
    SKY_CHECK(engine.has_value(), "{}", engine.error().message());
    scheduler_ = std::make_unique<scheduler::Scheduler>(loop, std::move(*engine), *writer_,
                                                        leadership_, scheduler::RunInline);
    feeds_ = std::make_unique<scheduler::Feeds>(client_, *scheduler_);
    kube::ElectionOptions options;
    options.ns = "kube-system";
    options.name = "sky-scheduler";
    options.identity = fmt::format("replica-{}", number);
    options.seed = static_cast<uint64_t>(number) + 1;
    kube::ElectionCallbacks callbacks;
    callbacks.on_started = [this](int64_t) { scheduler_->OnLeadership(true); };
    callbacks.on_stopped = [this](const std::string&) { scheduler_->OnLeadership(false); };
    election_ = std::make_unique<kube::Election>(client_, options, std::move(callbacks));
    leadership_.Use(election_.get());
    feeds_->Start();
    election_->Start();
  }
  ~Replica() override { feeds_->Stop(); }

  void Advance(Duration by) { loop.Advance(by); }
  bool leading() const { return leadership_.leading(); }
  std::string Audit() const { return scheduler_->cache().Audit(); }
  void Note(const cache::ClusterWriter::EventNote&) override {}

  ManualClock clock;
  kube::ManualLoop loop{clock};
  Line line;

 private:
  kube::Client client_;
  scheduler::Elected leadership_;
  std::unique_ptr<scheduler::KubeWriter> writer_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<scheduler::Feeds> feeds_;
  std::unique_ptr<kube::Election> election_;
};

}  // namespace sky::lab
