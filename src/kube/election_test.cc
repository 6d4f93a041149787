// SPDX-License-Identifier: Apache-2.0
// The election step by step, against an API server played by hand; election_law_test.cc lets
// several stand.
#include "kube/election.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_transport.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeTransport;

class ElectionTest : public ::testing::Test {
 protected:
  ElectionTest() {
    ElectionCallbacks callbacks;
    callbacks.on_started = [this](int64_t epoch) { log_ += fmt::format("started {} ", epoch); };
    callbacks.on_stopped = [this](const std::string& why) {
      EXPECT_FALSE(election_->WriteTimeout(clock_.Mono())) << "said before the callback";
      log_ += "stopped ";
      why_ = why;
    };
    election_ = std::make_unique<Election>(client_, Options(), std::move(callbacks));
    election_->Start();
    transport_.loop().RunReady();
  }
  static ElectionOptions Options() { return {.ns = "ns", .name = "sky", .identity = "me"}; }

  static std::string Lease(const std::string& holder, int version, int transitions,
                           const std::string& renewed = "00:00:00", int seconds = 15) {
    return fmt::format(
        R"({{"metadata":{{"name":"sky","namespace":"ns","uid":"u","resourceVersion":"{}"}},"spec":{{)"
        R"("holderIdentity":"{}","leaseTransitions":{},"leaseDurationSeconds":{},"renewTime":"2026-01-01T{}.000000Z"}}}})",
        version, holder, transitions, seconds, renewed);
  }
  // Answers the waiting PUT or POST with what it sent, as stored.
  void Accept(int version) {
    api::Lease lease = Sent();
    lease.metadata.resource_version = fmt::format("{}", version);
    lease.metadata.uid = "u";
    transport_.Answer(200, api::Encode(lease));
  }
  api::Lease Sent() {
    const auto lease = api::Decode<api::Lease>(transport_.next().body);
    EXPECT_TRUE(lease) << transport_.next().body;
    return lease.value_or(api::Lease{});
  }
  void Lead() {
    transport_.Answer(404, "");
    Accept(1);
    EXPECT_EQ(Take(), "started 1 ");
  }
  Method NextMethod() { return transport_.next().method; }
  std::string Take() { return std::exchange(log_, {}); }
  std::optional<Duration> Timeout() { return election_->WriteTimeout(clock_.Mono()); }

  ManualClock clock_;
  FakeTransport transport_{clock_};
  Client client_{transport_};
  std::string log_, why_;
  std::unique_ptr<Election> election_;
};

TEST_F(ElectionTest, AMissingLeaseIsCreatedAndHeld) {
  EXPECT_EQ(NextMethod(), Method::kGet);
  EXPECT_EQ(transport_.next().urgency, Urgency::kLease);
  EXPECT_FALSE(Timeout());
  transport_.Answer(404, "");
  EXPECT_EQ(NextMethod(), Method::kPost);
  const api::Lease sent = Sent();
  EXPECT_EQ(sent.spec.holder_identity, "me");
  EXPECT_EQ(sent.spec.lease_duration_seconds, 15);
  EXPECT_EQ(sent.spec.lease_transitions, 1);
  EXPECT_EQ(sent.spec.acquire_time.at, clock_.Wall());
  EXPECT_EQ(sent.spec.renew_time.at, clock_.Wall());
  Accept(1);
  EXPECT_EQ(Take(), "started 1 ");
  EXPECT_EQ(election_->Epoch(), 1);
  EXPECT_EQ(Timeout(), 4s);
}

TEST_F(ElectionTest, ItIsRenewedEveryRetryPeriodWithoutReading) {
  Lead();
  for (int version = 2; version < 8; ++version) {
    transport_.loop().Advance(1999ms);
    EXPECT_TRUE(transport_.calls().empty());
    transport_.loop().Advance(1ms);
    EXPECT_EQ(NextMethod(), Method::kPut);
    EXPECT_EQ(Sent().metadata.resource_version, fmt::format("{}", version - 1));
    EXPECT_EQ(Sent().spec.lease_transitions, 1);
    EXPECT_EQ(Sent().spec.renew_time.at, clock_.Wall());
    Accept(version);
    EXPECT_EQ(election_->LeaseDeadline(), clock_.Mono() + 15s);
  }
  EXPECT_EQ(Take(), "");
}

TEST_F(ElectionTest, AThrottledAttemptWaitsAsLongAsTheServerSays) {
  // Reads are repeated by the client while there is time; here there isn't.
  transport_.Answer(429, "", 8s);
  transport_.loop().Advance(7999ms);
  EXPECT_TRUE(transport_.calls().empty());
  transport_.loop().Advance(1ms);
  Lead();
  transport_.loop().Advance(2s);
  EXPECT_EQ(NextMethod(), Method::kPut);
  transport_.Answer(429, "", 5s);
  transport_.loop().Advance(4999ms);
  EXPECT_TRUE(transport_.calls().empty());
  transport_.loop().Advance(1ms);
  transport_.Answer(200, Lease("me", 1, 1));
  EXPECT_EQ(NextMethod(), Method::kPut);
  Accept(2);
  EXPECT_EQ(Take(), "") << "still the same term";
  EXPECT_EQ(Timeout(), 4s);
}

TEST_F(ElectionTest, TheLeaseCountsFromTheSendingOfTheRenewal) {
  Lead();
  transport_.loop().Advance(2s);
  const MonoTime sent = clock_.Mono();
  transport_.loop().Advance(3s);
  Accept(2);
  EXPECT_EQ(election_->LeaseDeadline(), sent + 15s);
  // The next one is due at once.
  transport_.loop().RunReady();
  EXPECT_EQ(NextMethod(), Method::kPut);
}

TEST_F(ElectionTest, WritesEndASecondBeforeTheLeaseAndNoneBeginsAfterTheRenewDeadline) {
  Lead();
  const MonoTime renewed = clock_.Mono();
  EXPECT_EQ(election_->WriteTimeout(renewed + 9999ms), 4s);
  EXPECT_EQ(election_->WriteTimeout(renewed + 10s), std::nullopt)
      << "even if the loop hasn't noticed yet";
}

TEST_F(ElectionTest, ARenewalThatHangsEndsTheTermAtTheRenewDeadline) {
  Lead();
  transport_.loop().Advance(9999ms);
  EXPECT_EQ(Take(), "");
  transport_.loop().Advance(1ms);
  EXPECT_EQ(Take(), "stopped ");
  EXPECT_EQ(why_, "it wasn't renewed within 10s");
  // The hanging PUT comes through after all: it is ours, but a new term with a higher epoch.
  Accept(2);
  transport_.loop().RunReady();
  EXPECT_EQ(NextMethod(), Method::kGet);
  transport_.Answer(200, Lease("me", 2, 1));
  EXPECT_EQ(Sent().spec.lease_transitions, 2);
  Accept(3);
  EXPECT_EQ(Take(), "started 2 ");
}

TEST_F(ElectionTest, AFailedRenewalIsReadAndWrittenAgain) {
  Lead();
  transport_.loop().Advance(2s);
  transport_.Break(Code::kUnknownOutcome);
  transport_.loop().Advance(2s);
  EXPECT_EQ(NextMethod(), Method::kGet);
  transport_.Answer(200, Lease("me", 7, 1));
  EXPECT_EQ(NextMethod(), Method::kPut);
  EXPECT_EQ(Sent().metadata.resource_version, "7");
  Accept(8);
  EXPECT_EQ(Take(), "");
  EXPECT_EQ(election_->LeaseDeadline(), clock_.Mono() + 15s);
}

TEST_F(ElectionTest, AConflictIsLookedAtAtOnce) {
  Lead();
  transport_.loop().Advance(2s);
  transport_.Answer(409, "");
  EXPECT_EQ(NextMethod(), Method::kGet);
  transport_.Answer(200, Lease("me", 7, 1));  // somebody labelled it
  Accept(8);
  EXPECT_EQ(Take(), "");
  transport_.loop().Advance(2s);
  transport_.Answer(409, "");
  transport_.Answer(200, Lease("other", 9, 2));
  EXPECT_EQ(Take(), "stopped ");
  EXPECT_TRUE(transport_.calls().empty()) << "waits for the other's lease to expire";
}

TEST_F(ElectionTest, AConflictAfterReadingWaitsForTheNextTurn) {
  Lead();
  transport_.loop().Advance(2s);
  transport_.Answer(409, "");
  transport_.Answer(200, Lease("me", 7, 1));
  transport_.Answer(409, "");
  EXPECT_TRUE(transport_.calls().empty());
  transport_.loop().Advance(2s);
  EXPECT_EQ(NextMethod(), Method::kGet);
}

TEST_F(ElectionTest, AnotherHoldersLeaseExpiresByOurOwnObservationAlone) {
  clock_.StepWall(1h);  // our wall clock is wrong: it doesn't matter
  const MonoTime seen = clock_.Mono();
  transport_.Answer(200, Lease("other", 5, 3));
  while (clock_.Mono() - seen <= 15s) {
    EXPECT_EQ(Take(), "");
    transport_.loop().Advance(100ms);
    if (transport_.calls().empty()) continue;
    ASSERT_EQ(NextMethod(), Method::kGet);
    transport_.Answer(200, Lease("other", 5, 3));
    if (clock_.Mono() - seen <= 15s) {
      EXPECT_TRUE(transport_.calls().empty());
    }
  }
  while (transport_.calls().empty()) transport_.loop().Advance(100ms);
  if (NextMethod() == Method::kGet) transport_.Answer(200, Lease("other", 5, 3));
  EXPECT_EQ(NextMethod(), Method::kPut);
  EXPECT_EQ(Sent().metadata.resource_version, "5");
  EXPECT_EQ(Sent().spec.lease_transitions, 4);
  Accept(6);
  EXPECT_EQ(Take(), "started 4 ");
}

TEST_F(ElectionTest, ALeaseThatIsRenewedNeverExpires) {
  for (int i = 0; i < 100; ++i) {
    transport_.Answer(200, Lease("other", i, 3, fmt::format("00:{:02}:{:02}", i / 60, i % 60)));
    while (transport_.calls().empty()) transport_.loop().Advance(100ms);
    ASSERT_EQ(NextMethod(), Method::kGet);
  }
  EXPECT_EQ(Take(), "");
}

TEST_F(ElectionTest, AReleasedLeaseIsTakenAtOnceAndTheLoserOfARaceWaits) {
  transport_.Answer(200, Lease("", 5, 3, "00:00:00", 1));
  EXPECT_EQ(NextMethod(), Method::kPut);
  EXPECT_EQ(Sent().spec.lease_duration_seconds, 15);
  transport_.Answer(409, "");
  EXPECT_EQ(Take(), "");
  EXPECT_TRUE(transport_.calls().empty());
}

TEST_F(ElectionTest, ADeletedLeaseIsMadeAgainByItsLeaderAndLeftAloneByOthersForItsDuration) {
  Lead();
  transport_.loop().Advance(2s);
  transport_.Answer(404, "");
  transport_.Answer(404, "");
  EXPECT_EQ(NextMethod(), Method::kPost);
  EXPECT_EQ(Sent().spec.lease_transitions, 1);
  EXPECT_EQ(Sent().metadata.uid, "");
  Accept(9);
  EXPECT_EQ(Take(), "") << "the same term goes on";
}

TEST_F(ElectionTest, AStandbyWaitsOutTheLeaseThatItSawBeforeItReplacesADeletedOne) {
  const MonoTime seen = clock_.Mono();
  transport_.Answer(200, Lease("other", 5, 3));
  while (true) {
    while (transport_.calls().empty()) transport_.loop().Advance(100ms);
    if (NextMethod() != Method::kGet) break;
    transport_.Answer(404, "");
  }
  EXPECT_GT(clock_.Mono() - seen, 15s);
  EXPECT_EQ(NextMethod(), Method::kPost);
  EXPECT_EQ(Sent().spec.lease_transitions, 4);
}

TEST_F(ElectionTest, ReleaseStepsDownAndGivesTheLeaseBack) {
  Lead();
  std::optional<Status> released;
  election_->Release([&](Status status) { released = status; });
  transport_.loop().RunReady();
  EXPECT_EQ(Take(), "stopped ");
  EXPECT_EQ(why_, "") << "on purpose";
  transport_.Answer(200, Lease("me", 1, 1));
  EXPECT_EQ(NextMethod(), Method::kPut);
  EXPECT_EQ(Sent().spec.holder_identity, "");
  EXPECT_EQ(Sent().spec.lease_duration_seconds, 1);
  EXPECT_EQ(Sent().spec.lease_transitions, 1);
  Accept(2);
  ASSERT_TRUE(released);
  EXPECT_TRUE(*released);
  transport_.loop().Advance(1h);
  EXPECT_TRUE(transport_.calls().empty());
}

TEST_F(ElectionTest, ReleaseWaitsForARenewalThatIsUnderWay) {
  Lead();
  transport_.loop().Advance(2s);
  std::optional<Status> released;
  election_->Release([&](Status status) { released = status; });
  transport_.loop().RunReady();
  EXPECT_EQ(Take(), "stopped ");
  ASSERT_EQ(transport_.calls().size(), 1u);
  Accept(2);
  EXPECT_EQ(NextMethod(), Method::kGet);
  transport_.Answer(200, Lease("other", 3, 2));
  EXPECT_TRUE(released && *released) << "nothing of ours to give back";
  EXPECT_EQ(Take(), "");
}

TEST(ElectionOptionsTest, DurationsThatLetTwoLeadersOverlapAreRefused) {
  const ElectionOptions good{.ns = "ns", .name = "n", .identity = "me"};
  EXPECT_TRUE(CheckElectionOptions(good));
  ElectionOptions bad = good;
  bad.renew_deadline = 11s;
  EXPECT_FALSE(CheckElectionOptions(bad));
  bad = good;
  bad.retry_period = 9s;
  EXPECT_FALSE(CheckElectionOptions(bad));
  bad = good;
  bad.lease_duration = 15500ms;
  EXPECT_FALSE(CheckElectionOptions(bad));
  bad = good;
  bad.identity = "";
  EXPECT_FALSE(CheckElectionOptions(bad));
}

TEST(ElectionOptionsTest, NamesThatTheApiServerWouldRefuseForEverAreRefusedAtOnce) {
  const ElectionOptions good{.ns = "ns", .name = "n.example-1.com", .identity = "me"};
  EXPECT_TRUE(CheckElectionOptions(good));
  for (const std::string& wrong : {std::string(), std::string("Bad Name"), std::string("a_b"),
                                   std::string("-a"), std::string("a/b"), std::string(254, 'a')}) {
    ElectionOptions bad = good;
    bad.ns = wrong;
    const Status ns = CheckElectionOptions(bad);
    ASSERT_FALSE(ns) << wrong;
    EXPECT_EQ(ns.error().code(), Code::kInvalid);
    EXPECT_NE(ns.error().message().find("RFC 1123 label), not \"" + wrong + "\""),
              std::string::npos)
        << ns.error().message();
    bad = good;
    bad.name = wrong;
    const Status name = CheckElectionOptions(bad);
    ASSERT_FALSE(name) << wrong;
    EXPECT_NE(name.error().message().find("RFC 1123 subdomain), not \"" + wrong + "\""),
              std::string::npos)
        << name.error().message();
  }
  ElectionOptions dotted = good;
  dotted.ns = "a.b";
  EXPECT_FALSE(CheckElectionOptions(dotted)) << "a namespace is one label";
}

}  // namespace
}  // namespace sky::kube
