// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"

namespace sky::api {
namespace {

template <class T>
T Read(std::string_view json) {
  auto value = Decode<T>(json);
  EXPECT_TRUE(value.has_value()) << json << "\n" << value.error().message();
  return value.value_or(T{});
}

template <class T>
std::string Refusal(std::string_view json) {
  const auto value = Decode<T>(json);
  return value ? "accepted" : value.error().message();
}

TEST(Json, ReadsAPodAndSkipsWhatItDoesNotKnow) {
  const Pod pod =
      Read<Pod>(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"w-0","namespace":"a",
    "creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"x"}],"labels":{"b":"2","a":"1"}},
    "spec":{"dnsPolicy":"ClusterFirst","priority":7,"hostNetwork":true,"containers":[
      {"name":"c","resources":{"requests":{"cpu":"500m","nvidia.com/gpu":8,"memory":"1.5Gi"}},
       "ports":[{"hostPort":80}]}],
      "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}]}}}},
    "status":{"phase":"Succeeded"}})");
  EXPECT_EQ(pod.metadata.Key(), "a/w-0");
  EXPECT_EQ(pod.metadata.Label("a"), "1");
  EXPECT_EQ(FormatTime(*pod.metadata.creation_timestamp.at), "2026-01-01T00:00:00Z");
  EXPECT_EQ(pod.spec.priority, 7);
  EXPECT_TRUE(pod.spec.host_network);
  const ResourceList& requests = pod.spec.containers.at(0).resources.requests;
  EXPECT_EQ(requests.at("nvidia.com/gpu").Value(), 8);
  EXPECT_EQ(requests.at("cpu").MilliValue(), 500);
  EXPECT_EQ(requests.at("memory").ToString(), "1536Mi");
  EXPECT_EQ(pod.spec.containers[0].ports.at(0).host_port, 80);
  EXPECT_EQ(pod.spec.affinity->node->required->node_selector_terms.at(0).match_expressions.at(0).op,
            "In");
  EXPECT_TRUE(pod.terminal());
}

TEST(Json, ErrorsNameThePathOfTheValue) {
  EXPECT_EQ(
      Refusal<Pod>(
          R"({"spec":{"containers":[{"name":"a"},{"resources":{"requests":{"cpu":"1K"}}}]}})"),
      "spec.containers[1].resources.requests.cpu: \"1K\" is not a quantity: a number with at most "
      "one suffix is wanted, like 500m, 8, 1.5Gi or 1e3");
  EXPECT_EQ(Refusal<Pod>(R"({"spec":{"overhead":{"nvidia.com/gpu":true}}})"),
            "spec.overhead[nvidia.com/gpu]: a quantity is wanted, got a boolean");
  EXPECT_EQ(Refusal<Pod>(R"({"metadata":{"labels":{"a":1}}})"),
            "metadata.labels.a: a text is wanted, got a number");
  EXPECT_EQ(Refusal<Pod>(R"({"metadata":[]})"), "metadata: an object is wanted, got a list");
  EXPECT_EQ(Refusal<Pod>(R"({"metadata":{"labels":7}})"),
            "metadata.labels: a map is wanted, got a number");
  EXPECT_EQ(Refusal<Pod>(R"({"spec":{"containers":{}}})"),
            "spec.containers: a list is wanted, got an object");
  EXPECT_EQ(Refusal<Pod>(R"({"spec":{"hostNetwork":"true"}})"),
            "spec.hostNetwork: a boolean is wanted, got a text");
  EXPECT_EQ(Refusal<Pod>(R"({"metadata":{"creationTimestamp":"today"}})"),
            "metadata.creationTimestamp: \"today\" is not a time: RFC 3339 is wanted, like "
            "2026-01-01T00:00:00Z");
  EXPECT_EQ(Refusal<PodDisruptionBudget>(R"({"spec":{"minAvailable":true}})"),
            "spec.minAvailable: an integer or a text is wanted, got a boolean");
  EXPECT_EQ(Refusal<Pod>("[]"), "an object is wanted, got a list");
  EXPECT_EQ(Refusal<Pod>("null"), "an object is wanted, got null");
}

TEST(Json, ChecksTheRangeOfIntegers) {
  const auto priority = [](std::string_view number) {
    return Refusal<Pod>(R"({"spec":{"priority":)" + std::string(number) + "}}");
  };
  EXPECT_EQ(priority("2147483647"), "accepted");
  EXPECT_EQ(priority("-2147483648"), "accepted");
  EXPECT_EQ(priority("3.0"), "accepted");
  EXPECT_EQ(priority("2147483648"), "spec.priority: 2147483648 is out of range");
  EXPECT_EQ(priority("-2147483649"), "spec.priority: -2147483649 is out of range");
  EXPECT_EQ(priority("18446744073709551615"), "spec.priority: the number is out of range");
  EXPECT_EQ(priority("1e300"), "spec.priority: the number is out of range");
  EXPECT_EQ(priority("1.5"), "spec.priority: an integer is wanted, got 1.5");
  EXPECT_EQ(Read<ObjectMeta>(R"({"generation":9223372036854775807})").generation,
            9223372036854775807);
}

TEST(Json, ReadsNullAsAbsent) {
  const Pod pod = Read<Pod>(
      R"({"metadata":{"name":null,"creationTimestamp":null,"labels":null},"spec":{"priority":null,
    "affinity":null,"containers":null,"nodeSelector":{"a":null},"overhead":{"cpu":null}},"status":null})");
  Pod expected;
  expected.spec.node_selector["a"] = "";
  expected.spec.overhead["cpu"] = Quantity();
  EXPECT_EQ(pod, expected);
}

TEST(Json, RefusesWhatIsNotAWholeJsonDocument) {
  for (const std::string_view text :
       {"", " ", "{", "{}x", R"({"a":tru})", R"({"a":"\x"})", "{\"a\":\"\xff\"}", "nul"}) {
    EXPECT_TRUE(Refusal<Pod>(text).starts_with("not a JSON document: "))
        << text << ": " << Refusal<Pod>(text);
  }
}

TEST(Json, BoundsTheDepthOfADocument) {
  const std::string deep =
      R"({"spec":{"unknown":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}}";
  EXPECT_TRUE(Refusal<Pod>(deep).starts_with("not a JSON document: ")) << Refusal<Pod>(deep);
}

TEST(Json, RefusesAMemberThatIsGivenTwice) {
  EXPECT_EQ(Refusal<Pod>(R"({"spec":{"nodeName":"a","nodeName":"b"}})"),
            "spec.nodeName: is given twice");
  EXPECT_EQ(Refusal<Pod>(R"({"metadata":{"labels":{"a":"1","a":"2"}}})"),
            "metadata.labels.a: is given twice");
}

TEST(Json, RefusesAnotherKindButNotAMissingOne) {
  EXPECT_EQ(Refusal<Quota>(R"({"kind":"Queue"})"), "kind: \"Quota\" is wanted, got \"Queue\"");
  EXPECT_EQ(Refusal<Event>(R"({"kind":"Event","apiVersion":"v1"})"),
            "apiVersion: \"events.k8s.io/v1\" is wanted, got \"v1\"");
  EXPECT_EQ(Refusal<Quota>(R"({"kind":7})"), "kind: a text is wanted, got a number");
  EXPECT_EQ(Refusal<Quota>("{}"), "accepted");
  EXPECT_EQ(Refusal<Quota>(R"({"kind":"Quota","apiVersion":"scheduling.infini-ai.com/v1alpha1"})"),
            "accepted");
}

TEST(Json, WritesWholeKindsWithTheirNamesAndLeavesZeroOut) {
  Quota quota;
  quota.metadata.name = "q-0";
  quota.spec.request["nvidia.com/gpu"] = Quantity::Units(1);
  quota.status.static_bind_status.emplace();
  EXPECT_EQ(
      Encode(quota),
      R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"Quota","metadata":{"name":"q-0"},)"
      R"("spec":{"request":{"nvidia.com/gpu":"1"}},"status":{"staticBindStatus":{}}})");
  EXPECT_EQ(Encode(QuotaStatus{}), "{}");
  EXPECT_EQ(Encode(Pod{}), R"({"apiVersion":"v1","kind":"Pod"})");
}

TEST(Json, WritesTheIndexesOfAPlacementEvenWhenTheyAreZero) {
  Placement placement;
  placement.spec.entries.emplace_back().task = "w-0";
  EXPECT_EQ(
      Encode(placement),
      R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"Placement","spec":{"round":0,"leaderEpoch":0,)"
      R"("entries":[{"task":"w-0","quota":0,"node":0,"zone":-1}]}})");
}

TEST(Json, KeepsUnknownMembersOfALeaseAndAPlacement) {
  const std::string lease =
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"},"spec":{"holderIdentity":"me",)"
      R"("renewTime":"2026-01-01T00:00:00.123456Z","strategy":"OldestEmulationVersion",)"
      R"("future":{"deep":[1,2.5,null,true,"\"quoted\" ☃"],"a":{}}}})";
  EXPECT_EQ(Encode(Read<Lease>(lease)), lease);
  const Placement placement = Read<Placement>(R"({"spec":{"later":[{"x":-1}],"round":3}})");
  EXPECT_EQ(placement.spec.round, 3);
  EXPECT_EQ(
      Encode(placement),
      R"({"apiVersion":"scheduling.infini-ai.com/v1alpha1","kind":"Placement","spec":{"round":3,"leaderEpoch":0,)"
      R"("entries":[],"later":[{"x":-1}]}})");
}

TEST(Json, ReadsAndWritesBothFormsOfIntOrString) {
  const auto budget =
      Read<PodDisruptionBudget>(R"({"spec":{"minAvailable":3,"maxUnavailable":"50%"}})");
  EXPECT_EQ(*budget.spec.min_available, (IntOrString{"3", true}));
  EXPECT_EQ(*budget.spec.max_unavailable, (IntOrString{"50%", false}));
  EXPECT_EQ(Encode(budget), R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget",)"
                            R"("spec":{"minAvailable":3,"maxUnavailable":"50%"}})");
}

TEST(Json, ReadsTimesWithAndWithoutFraction) {
  const auto at = [](std::string_view text) {
    return FormatMicroTime(*Read<Lease>(R"({"spec":{"renewTime":")" + std::string(text) + R"("}})")
                                .spec.renew_time.at);
  };
  EXPECT_EQ(at("2026-01-01T00:00:00Z"), "2026-01-01T00:00:00.000000Z");
  EXPECT_EQ(at("2026-01-01T00:00:00.5Z"), "2026-01-01T00:00:00.500000Z");
  EXPECT_EQ(at("2026-01-01T08:00:00.123456+08:00"), "2026-01-01T00:00:00.123456Z");
}

TEST(Json, ReadsQuantitiesFromNumbersAndTrimsBlanks) {
  const auto cpu = [](std::string_view json) {
    return Read<Node>(R"({"status":{"capacity":{"cpu":)" + std::string(json) + "}}}")
        .status.capacity.at("cpu")
        .ToString();
  };
  EXPECT_EQ(cpu("8"), "8");
  EXPECT_EQ(cpu("1.5"), "1500m");
  EXPECT_EQ(cpu("0.1"), "100m");
  EXPECT_EQ(cpu("1e3"), "1k");
  EXPECT_EQ(cpu("-2"), "-2");
  EXPECT_EQ(cpu("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(cpu(R"("  500m\n")"), "500m");
  EXPECT_TRUE(Refusal<Node>(R"({"status":{"capacity":{"cpu":""}}})")
                  .starts_with("status.capacity.cpu: \"\" is not"));
  EXPECT_TRUE(Refusal<Node>(R"({"status":{"capacity":{"cpu":"  "}}})")
                  .starts_with("status.capacity.cpu: \"\" is not"));
}

// Wherever an amount stands, a text gives what Quantity::Parse gives, or one error with its path.
TEST(Json, ReadsAmountsAlikeInPodsQuotasNodesAndQueues) {
  const std::vector<std::string> texts = {"0.5Gi",
                                          "1.5Ti",
                                          ".5",
                                          "5.",
                                          "+1",
                                          "-1",
                                          "1e3",
                                          "1E3",
                                          "1E",
                                          "1Ei",
                                          "10P",
                                          "100E",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "1e4294967297",
                                          "2E6024865272343",
                                          "1500m",
                                          "0.0001",
                                          "0x10",
                                          "1 Gi",
                                          "\xD9\xA1",
                                          "",
                                          std::string(10'000, '7')};
  const auto check = [](const std::string& text, const auto& object, std::string_view path,
                        const auto& amounts) {
    const auto expected = Quantity::Parse(text);
    ASSERT_EQ(object.has_value(), expected.has_value()) << text;
    if (object) {
      EXPECT_EQ(amounts(*object).at("x"), *expected) << text;
    } else {
      EXPECT_TRUE(object.error().message().starts_with(path)) << object.error().message();
    }
  };
  for (const std::string& text : texts) {
    const std::string list = R"({"x":)" + Quote(text) + "}";
    check(text, Decode<Pod>(R"({"spec":{"containers":[{"resources":{"requests":)" + list + "}}]}}"),
          "spec.containers[0].resources.requests.x: ", [](const Pod& pod) {
            return pod.spec.containers[0].resources.requests;
          });
    check(text, Decode<Quota>(R"({"spec":{"request":)" + list + "}}"),
          "spec.request.x: ", [](const Quota& quota) { return quota.spec.request; });
    check(text, Decode<Node>(R"({"status":{"allocatable":)" + list + "}}"),
          "status.allocatable.x: ", [](const Node& node) { return node.status.allocatable; });
    check(text, Decode<Queue>(R"({"spec":{"capability":)" + list + "}}"),
          "spec.capability.x: ", [](const Queue& queue) { return queue.spec.capability; });
  }
}

TEST(Json, QuotesEveryTextAsValidJson) {
  EXPECT_EQ(Quote("a\"b\\c\n\t\r\x01 é☃"), R"("a\"b\\c\n\t\r\u0001 é☃")");
  EXPECT_EQ(Quote(""), "\"\"");
  EXPECT_EQ(Quote("a\xff"
                  "b\xe2\x98"),
            "\"a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\xEF\xBF\xBD\"");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string quoted = Quote(std::string(1, static_cast<char>(byte)) + "☃");
    EXPECT_TRUE(Decode<ObjectMeta>(R"({"name":)" + quoted + "}").has_value()) << byte;
  }
}

}  // namespace
}  // namespace sky::api
