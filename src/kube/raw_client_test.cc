// SPDX-License-Identifier: Apache-2.0
#include "kube/raw_client.h"

#include <gtest/gtest.h>

#include "kube/client.h"
#include "kube/testing/fake_transport.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeTransport;

class RawClientTest : public ::testing::Test {
 protected:
  template <class T>
  auto Note(std::optional<Result<T>>& result) {
    return [&](Result<T> got) {
      EXPECT_FALSE(result) << "told twice";
      result = std::move(got);
    };
  }

  static api::ObjectMeta NamedQ() {
    api::ObjectMeta meta;
    meta.name = "q";
    return meta;
  }

  ManualClock clock_;
  FakeTransport transport_{clock_};
  Client client_{transport_};
  const api::Kind& quota_ = api::KindOf<api::Quota>();
  const api::Kind& pod_ = api::KindOf<api::Pod>();
};

TEST_F(RawClientTest, AGetIsAConsistentReadOfTheObject) {
  std::optional<Result<api::Pod>> pod;
  client_.Get<api::Pod>("ns", "p", {.timeout = 4s}, Note(pod));
  EXPECT_FALSE(pod) << "never inside the call";
  EXPECT_EQ(transport_.next().method, Method::kGet);
  EXPECT_EQ(transport_.next().path, "/api/v1/namespaces/ns/pods/p");
  EXPECT_EQ(FakeTransport::Query(transport_.next()), "");
  EXPECT_EQ(transport_.next().timeout, 4s);
  EXPECT_TRUE(transport_.next().timeout_to_server);
  transport_.Answer(
      200, R"({"metadata":{"name":"p","namespace":"ns","uid":"u"},"spec":{"nodeName":"n1"}})");
  ASSERT_TRUE(pod && *pod);
  EXPECT_EQ((*pod)->spec.node_name, "n1");
}

TEST_F(RawClientTest, ARefusalSaysWhatWasAsked) {
  std::optional<Result<api::Quota>> quota;
  client_.Get<api::Quota>("", "q", {}, Note(quota));
  transport_.Answer(404, R"({"kind":"Status","reason":"NotFound","message":"no q"})");
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->error().code(), Code::kNotFound);
  EXPECT_EQ(quota->error().message(),
            "GET /apis/scheduling.infini-ai.com/v1alpha1/quotas/q: 404 NotFound: no q");
}

TEST_F(RawClientTest, AnAnswerThatDoesNotDecodeIsAnError) {
  std::optional<Result<api::Quota>> quota;
  client_.Get<api::Quota>("", "q", {}, Note(quota));
  transport_.Answer(200, R"({"metadata":7})");
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->error().code(), Code::kInvalid);
}

TEST_F(RawClientTest, CreateUpdateAndPatchSayWhatTheApiServerExpects) {
  const auto ignore = [](auto) {};
  api::Placement placement;
  placement.metadata.name = "job";
  placement.metadata.namespace_ = "ns";
  client_.Create<api::Placement>(placement, {.dry_run = true}, ignore);
  EXPECT_EQ(transport_.next().method, Method::kPost);
  EXPECT_EQ(transport_.next().path,
            "/apis/scheduling.infini-ai.com/v1alpha1/namespaces/ns/placements");
  EXPECT_EQ(transport_.next().content_type, "application/json");
  EXPECT_EQ(FakeTransport::Query(transport_.next()), "dryRun=All");
  transport_.Answer(201, transport_.next().body);

  placement.metadata.resource_version = "5";
  client_.Update<api::Placement>(placement, {}, ignore);
  EXPECT_EQ(transport_.next().method, Method::kPut);
  EXPECT_EQ(transport_.next().path,
            "/apis/scheduling.infini-ai.com/v1alpha1/namespaces/ns/placements/job");
  transport_.Answer(200, transport_.next().body);

  client_.MergePatch<api::Quota>("", "q", Part::kStatus, R"({"status":{}})", {}, ignore);
  EXPECT_EQ(transport_.next().method, Method::kPatch);
  EXPECT_EQ(transport_.next().path, "/apis/scheduling.infini-ai.com/v1alpha1/quotas/q/status");
  EXPECT_EQ(transport_.next().content_type, "application/merge-patch+json");
  transport_.Answer(200, "{}");

  client_.ApplyPatch<api::Quota>("", "q", Part::kObject, "{}",
                                 {.field_manager = "sky", .force = true}, {}, ignore);
  EXPECT_EQ(transport_.next().content_type, "application/apply-patch+yaml");
  EXPECT_EQ(FakeTransport::Query(transport_.next()), "fieldManager=sky&force=true");
}

TEST_F(RawClientTest, ABindingCarriesUidNodeAndAnnotations) {
  std::optional<Status> done;
  client_.Bind({"ns", "p", "u1"}, "n1", {{"scheduling.infini-ai.com/quota-name", "q"}}, {},
               [&](Status status) { done = status; });
  EXPECT_EQ(transport_.next().path, "/api/v1/namespaces/ns/pods/p/binding");
  EXPECT_EQ(transport_.next().body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"annotations":{)"
            R"("scheduling.infini-ai.com/quota-name":"q"},"name":"p","namespace":"ns","uid":"u1"},)"
            R"("target":{"apiVersion":"v1","kind":"Node","name":"n1"}})");
  transport_.Answer(201, R"({"kind":"Status","status":"Success"})");
  ASSERT_TRUE(done);
  EXPECT_TRUE(*done);
}

TEST_F(RawClientTest, EvictionAndDeletionCarryTheirPreconditions) {
  std::optional<Status> evicted, deleted;
  client_.Evict({"ns", "p", "u1"}, {}, [&](Status status) { evicted = status; });
  EXPECT_EQ(transport_.next().path, "/api/v1/namespaces/ns/pods/p/eviction");
  EXPECT_NE(transport_.next().body.find(R"("deleteOptions":{"preconditions":{"uid":"u1"}})"),
            std::string::npos);
  transport_.Answer(429, R"({"kind":"Status","reason":"TooManyRequests","message":"budget"})");
  EXPECT_EQ(evicted->error().code(), Code::kTooManyRequests);

  client_.Delete<api::Placement>("ns", "job", {.uid = "u2", .resource_version = "7"}, {},
                                 [&](Status status) { deleted = status; });
  EXPECT_EQ(transport_.next().method, Method::kDelete);
  EXPECT_EQ(transport_.next().body, R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{)"
                                    R"("resourceVersion":"7","uid":"u2"}})");
  transport_.Answer(200, "{}");
  EXPECT_TRUE(*deleted);
}

TEST_F(RawClientTest, WhatCanNotBeAskedIsRefusedWithoutSendingAnything) {
  std::vector<Status> results;
  const auto status = [&](Status got) { results.push_back(std::move(got)); };
  const auto text = [&](Result<std::string> got) {
    results.push_back(got ? Status{} : Status(std::unexpected(got.error())));
  };
  client_.Bind({"ns", "p", ""}, "n1", {}, {}, status);
  client_.Bind({"ns", "p", "u"}, "", {}, {}, status);
  client_.Evict({"", "p", "u"}, {}, status);
  client_.raw().Get(quota_, "", "", {}, text);
  client_.raw().Get(quota_, "", "a/b", {}, text);
  client_.raw().Get(quota_, "", "..", {}, text);
  client_.raw().Get(pod_, "", "p", {}, text);
  client_.raw().Create(pod_, "", "{}", {}, text);
  client_.raw().Update(quota_, NamedQ(), Part::kObject, "{}", {}, text);
  client_.raw().Apply(quota_, "", "q", Part::kObject, "{}", {}, {}, text);
  EXPECT_TRUE(results.empty()) << "never inside the call";
  transport_.loop().RunReady();
  EXPECT_TRUE(transport_.calls().empty());
  ASSERT_EQ(results.size(), 10u);
  for (const Status& result : results) EXPECT_EQ(result.error().code(), Code::kInvalid);
}

TEST_F(RawClientTest, NoTimeLeftMeansNotSent) {
  std::optional<Status> done;
  client_.Bind({"ns", "p", "u"}, "n1", {}, {.timeout = 0s}, [&](Status status) { done = status; });
  transport_.loop().RunReady();
  EXPECT_TRUE(transport_.calls().empty());
  EXPECT_EQ(done->error().code(), Code::kCancelled);
}

TEST_F(RawClientTest, ReadsAreRepeatedOnACutConnectionUntilTheyRunOutOfTriesOrTime) {
  std::optional<Result<api::Quota>> quota;
  client_.Get<api::Quota>("", "q", {.timeout = 30s}, Note(quota));
  for (int tries = 1; tries < 4; ++tries) {
    transport_.Break(tries == 1 ? Code::kUnavailable : Code::kUnknownOutcome);
    EXPECT_FALSE(quota);
    transport_.loop().Advance(1s);
    EXPECT_EQ(transport_.calls().size(), 1u);
    EXPECT_LT(transport_.next().timeout, 30s);
  }
  transport_.Break(Code::kUnknownOutcome);
  ASSERT_TRUE(quota);
  EXPECT_EQ(quota->error().code(), Code::kUnknownOutcome);

  quota.reset();
  client_.Get<api::Quota>("", "q", {.timeout = 50ms}, Note(quota));
  transport_.Break(Code::kUnknownOutcome);
  EXPECT_TRUE(quota) << "the wait would be longer than the time left";
}

TEST_F(RawClientTest, ReadsWaitForRetryAfterAndWithoutItTheErrorIsTheirs) {
  for (const int status : {429, 500, 503}) {
    std::optional<Result<api::Quota>> quota;
    client_.Get<api::Quota>("", "q", {}, Note(quota));
    transport_.Answer(status, "", 2s);
    transport_.loop().Advance(1999ms);
    EXPECT_TRUE(transport_.calls().empty());
    transport_.loop().Advance(1ms);
    transport_.Answer(200, R"({"metadata":{"name":"q"}})");
    EXPECT_TRUE(quota && *quota) << status;

    quota.reset();
    client_.Get<api::Quota>("", "q", {}, Note(quota));
    transport_.Answer(status, "");
    EXPECT_TRUE(quota && !*quota) << status;
  }
}

TEST_F(RawClientTest, WritesAreNeverRepeatedExceptWhereA429AllowsIt) {
  const PodRef pod{"ns", "p", "u"};
  for (const bool allowed : {false, true}) {
    for (const int status : {0, 429, 500, 503, 409}) {
      std::optional<Status> done;
      client_.Bind(pod, "n1", {}, {.retry_throttled = allowed}, [&](Status got) { done = got; });
      if (status == 0)
        transport_.Break(Code::kUnknownOutcome);
      else
        transport_.Answer(status, "", 1s);
      if (!allowed || status != 429) {
        EXPECT_TRUE(done && !*done) << status;
        continue;
      }
      transport_.loop().Advance(1s);
      transport_.Answer(201, "{}");
      EXPECT_TRUE(done && *done);
    }
  }
}

TEST_F(RawClientTest, AListGoesThroughItsPages) {
  std::optional<Result<ListOf<api::Quota>>> list;
  client_.List<api::Quota>({.label_selector = "a=b", .page_size = 2}, {}, Note(list));
  EXPECT_EQ(FakeTransport::Query(transport_.next()), "labelSelector=a=b&limit=2");
  transport_.Answer(
      200,
      R"({"metadata":{"resourceVersion":"9","continue":"c1"},"items":[)"
      R"({"metadata":{"name":"q1"}},{"metadata":{"name":"q2","uid":"u2"},"spec":{"queueName":4}}]})");
  EXPECT_EQ(FakeTransport::Query(transport_.next()), "labelSelector=a=b&limit=2&continue=c1");
  transport_.Answer(200,
                    R"({"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"q3"}}]})");
  ASSERT_TRUE(list && *list);
  ASSERT_EQ((*list)->items.size(), 2u);
  EXPECT_EQ((*list)->items[1]->metadata.name, "q3");
  ASSERT_EQ((*list)->bad.size(), 1u);
  EXPECT_EQ((*list)->bad[0].key, "q2");
  EXPECT_EQ((*list)->bad[0].uid, "u2");
  EXPECT_EQ((*list)->resource_version, "9");
}

TEST_F(RawClientTest, AnExpiredContinueTokenBeginsTheListAgainInOnePiece) {
  std::optional<Result<ListOf<api::Quota>>> list;
  client_.List<api::Quota>({.page_size = 1}, {}, Note(list));
  transport_.Answer(
      200,
      R"({"metadata":{"resourceVersion":"9","continue":"c1"},"items":[{"metadata":{"name":"q1"}}]})");
  transport_.Answer(410, "");
  EXPECT_EQ(FakeTransport::Query(transport_.next()), "");
  transport_.Answer(
      200, R"({"metadata":{"resourceVersion":"11"},"items":[{"metadata":{"name":"q2"}}]})");
  ASSERT_TRUE(list && *list);
  ASSERT_EQ((*list)->items.size(), 1u);
  EXPECT_EQ((*list)->items[0]->metadata.name, "q2");
}

}  // namespace
}  // namespace sky::kube
