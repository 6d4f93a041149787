// SPDX-License-Identifier: Apache-2.0
#include "kube/measured_transport.h"

#include <gtest/gtest.h>

#include "kube/client.h"
#include "kube/testing/fake_transport.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeTransport;

std::string Kind(Method method, std::string path, bool stream = false) {
  Request request;
  request.method = method;
  request.path = std::move(path);
  const RequestKind kind = KindOfRequest(request, stream);
  return kind.verb + " " + kind.resource;
}

TEST(RequestKindTest, IsReadFromThePath) {
  EXPECT_EQ(Kind(Method::kGet, "/api/v1/pods"), "list pods");
  EXPECT_EQ(Kind(Method::kGet, "/api/v1/pods", true), "watch pods");
  EXPECT_EQ(Kind(Method::kGet, "/api/v1/nodes/n1"), "get nodes");
  EXPECT_EQ(Kind(Method::kGet, "/api/v1/namespaces/ns/pods/p"), "get pods");
  EXPECT_EQ(Kind(Method::kGet, "/api/v1/namespaces"), "list namespaces");
  EXPECT_EQ(Kind(Method::kGet, "/api/v1/namespaces/ns"), "get namespaces");
  EXPECT_EQ(Kind(Method::kPost, "/api/v1/namespaces/ns/pods/p/binding"), "create pods/binding");
  EXPECT_EQ(Kind(Method::kPut, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"),
            "update leases");
  EXPECT_EQ(Kind(Method::kPatch, "/apis/scheduling.infini-ai.com/v1alpha1/quotas/q/status"),
            "patch quotas/status");
  EXPECT_EQ(Kind(Method::kDelete, "/apis/g/v1/namespaces/ns/placements/p"), "delete placements");
  EXPECT_EQ(Kind(Method::kDelete, "/apis/g/v1/namespaces/ns/placements"),
            "deletecollection placements");
  for (const char* path : {"", "/", "/version", "/api", "/api/v1", "/apis/g/v1"})
    EXPECT_EQ(Kind(Method::kGet, path), "get other") << path;
}

class MeasuredTransportTest : public ::testing::Test {
 protected:
  // "create pods/binding 201: 1 in 3s"
  std::string Requests() const {
    std::string text;
    for (const auto& [outcome, times] : measured_.stats()->Read().requests)
      text += fmt::format("{} {} {}: {} in {}s\n", outcome.kind.verb, outcome.kind.resource,
                          outcome.code, times.count, times.seconds);
    return text;
  }
  ManualClock clock_;
  FakeTransport transport_{clock_};
  MeasuredTransport measured_{transport_};
  Client client_{measured_};
};

TEST_F(MeasuredTransportTest, EveryTryIsTimedWithItsOutcomeAndRepeatsAreCounted) {
  std::optional<Result<api::Pod>> pod;
  client_.Get<api::Pod>("ns", "p", {}, [&](Result<api::Pod> got) { pod = std::move(got); });
  transport_.loop().Advance(3s);
  transport_.Answer(429, "", 2s);
  transport_.loop().Advance(2s);
  transport_.Break(Code::kUnknownOutcome);
  transport_.loop().Advance(1s);
  EXPECT_FALSE(pod);
  transport_.loop().Advance(1s);
  transport_.Answer(200, R"({"metadata":{"name":"p","namespace":"ns"}})");
  ASSERT_TRUE(pod && *pod);
  EXPECT_EQ(Requests(),
            "get pods 200: 1 in 1.8s\n"
            "get pods 429: 1 in 3s\n"
            "get pods UnknownOutcome: 1 in 0s\n");
  EXPECT_EQ(measured_.stats()->Read().repeats,
            (std::map<RequestKind, uint64_t>{{{"get", "pods"}, 2}}));
}

TEST_F(MeasuredTransportTest, TimesFallIntoEveryBucketThatHoldsThem) {
  for (const Duration took : {Duration(1ms), Duration(5ms), Duration(400ms), Duration(60s)}) {
    client_.Bind({"ns", "p", "u"}, "n1", {}, {.timeout = 90s}, [](const Status&) {});
    transport_.loop().Advance(took);
    transport_.Answer(201, "{}");
  }
  const auto snapshot = measured_.stats()->Read();
  const RequestStats::Times& times = snapshot.requests.at({{"create", "pods/binding"}, "201"});
  EXPECT_EQ(times.count, 4u);
  EXPECT_DOUBLE_EQ(times.seconds, 60.406);
  EXPECT_EQ(times.within, (std::array<uint64_t, 12>{2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3}));
  EXPECT_TRUE(snapshot.repeats.empty());
}

TEST_F(MeasuredTransportTest, AWatchIsCountedWhenItEnds) {
  const auto open = [&] {
    Request request;
    request.path = "/api/v1/pods";
    StreamCallbacks callbacks;
    callbacks.on_bytes = [](std::string_view) {};
    callbacks.on_end = [](const Result<Response>&) {};
    return measured_.Open(std::move(request), std::move(callbacks));
  };
  open();
  clock_.Advance(300s);
  EXPECT_EQ(Requests(), "");
  transport_.End();
  open();
  transport_.End(Response{410, {}, ""});
  measured_.Close(open());
  transport_.loop().RunReady();
  EXPECT_EQ(Requests(),
            "watch pods 200: 1 in 300s\n"
            "watch pods 410: 1 in 0s\n"
            "watch pods Cancelled: 1 in 0s\n");
}

}  // namespace
}  // namespace sky::kube
