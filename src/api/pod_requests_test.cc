// SPDX-License-Identifier: Apache-2.0
#include "api/pod_requests.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/json.h"

namespace sky::api {
namespace {

using Amounts = std::map<std::string, std::string>;

// The requests of a pod whose spec (and status) is given as JSON.
Amounts Requests(const std::string& spec, const std::string& status = "{}") {
  const auto pod = Decode<Pod>(R"({"spec":)" + spec + R"(,"status":)" + status + "}");
  EXPECT_TRUE(pod.has_value()) << pod.error().message();
  Amounts amounts;
  if (!pod) return amounts;
  for (const auto& [name, amount] : PodRequests(*pod)) amounts[name] = amount.ToString();
  return amounts;
}

std::string Gpu(int count, std::string_view restart_policy = "") {
  return fmt::format(
      R"({{"name":"c","restartPolicy":"{}","resources":{{"requests":{{"nvidia.com/gpu":{}}}}}}})",
      restart_policy, count);
}

std::string Gpus(const std::string& init, const std::string& main) {
  return Requests(R"({"initContainers":[)" + init + R"(],"containers":[)" + main +
                  "]}")["nvidia.com/gpu"];
}

std::string Cpu(const std::string& amount) {
  return R"({"name":"c","resources":{"requests":{"cpu":")" + amount + R"("}}})";
}

TEST(PodRequests, CountsInitContainersAndSidecarsInTheirOrder) {
  EXPECT_EQ(Gpus(Gpu(4), Gpu(1)), "4");
  EXPECT_EQ(Gpus(Gpu(1, "Always"), Gpu(1)), "2");
  EXPECT_EQ(Gpus(Gpu(1, "Always") + "," + Gpu(2), Gpu(1)), "3");
  EXPECT_EQ(Gpus(Gpu(2) + "," + Gpu(1, "Always"), Gpu(1)), "2");
  EXPECT_EQ(Gpus("", Gpu(1) + "," + Gpu(2)), "3");
  EXPECT_EQ(Gpus(Gpu(1, "Always") + "," + Gpu(1, "Always") + "," + Gpu(5), Gpu(1)), "7");
}

TEST(PodRequests, AddsTheOverheadAfterPodLevelResources) {
  EXPECT_EQ(
      Requests(R"({"containers":[)" + Cpu("1") + R"(],"overhead":{"cpu":"250m","memory":"64Mi"}})"),
      (Amounts{{"cpu", "1250m"}, {"memory", "64Mi"}}));
  EXPECT_EQ(Requests(R"({"containers":[)" + Cpu("1") + R"(],"overhead":{"cpu":"250m"},
                      "resources":{"requests":{"cpu":"3"}}})"),
            (Amounts{{"cpu", "3250m"}}));
}

TEST(PodRequests, PodLevelResourcesReplaceCpuMemoryAndHugepagesAlone) {
  EXPECT_EQ(
      Requests(
          R"({"containers":[{"resources":{"requests":{"cpu":"4","memory":"1Gi","nvidia.com/gpu":1}}}],
                      "resources":{"requests":{"cpu":"2","hugepages-2Mi":"4Mi","nvidia.com/gpu":9}}})"),
      (Amounts{
          {"cpu", "2"}, {"memory", "1Gi"}, {"hugepages-2Mi", "4Mi"}, {"nvidia.com/gpu", "1"}}));
}

TEST(PodRequests, LimitsAloneAskForNothing) {
  // The API server copies limits into requests when it creates a pod; a reader must not do it
  // again.
  EXPECT_EQ(Requests(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}]})"),
            Amounts{});
  EXPECT_EQ(
      Requests(
          R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":1},"requests":{"nvidia.com/gpu":1}}}]})"),
      (Amounts{{"nvidia.com/gpu", "1"}}));
}

TEST(PodRequests, APodThatAsksForNothingHasNone) {
  EXPECT_EQ(Requests(R"({"containers":[{"name":"c"}]})"), Amounts{});
  EXPECT_EQ(
      Requests(
          R"({"containers":[{"resources":{"requests":{"nvidia.com/gpu":0,"pods":"1","foo":"2"}}}]})"),
      Amounts{});
}

TEST(PodRequests, SumsFirstAndRoundsOnce) {
  const std::string tiny = Cpu("0.4m");
  EXPECT_EQ(Requests(R"({"containers":[)" + tiny + "," + tiny + "]}"), (Amounts{{"cpu", "1m"}}));
  EXPECT_EQ(Requests(R"({"containers":[)" + tiny + "," + tiny + "," + tiny + "]}"),
            (Amounts{{"cpu", "2m"}}));
  EXPECT_EQ(Requests(R"({"containers":[{"resources":{"requests":{"memory":"0.5"}}},
                      {"resources":{"requests":{"memory":"0.5"}}}]})"),
            (Amounts{{"memory", "1"}}));
  EXPECT_EQ(Requests(R"({"containers":[{"resources":{"requests":{"memory":"1.1Ki"}}}]})"),
            (Amounts{{"memory", "1127"}}));
}

TEST(PodRequests, AResizeInPlaceCountsWhatIsHeldAndWhatIsAsked) {
  const std::string spec = R"({"containers":[)" + Cpu("2") + "]}";
  const std::string held = R"("containerStatuses":[{"name":"c","allocatedResources":{"cpu":"3"},
                            "resources":{"requests":{"cpu":"1","memory":"1Gi"}}}])";
  const std::string waits =
      R"(,"conditions":[{"type":"PodResizePending","status":"True","reason":")";
  EXPECT_EQ(Requests(spec, "{" + held + "}"), (Amounts{{"cpu", "3"}, {"memory", "1Gi"}}));
  const std::string large = R"({"containers":[)" + Cpu("8") + "]}";
  EXPECT_EQ(Requests(large, "{" + held + waits + "Deferred\"}]}"),
            (Amounts{{"cpu", "8"}, {"memory", "1Gi"}}));
  EXPECT_EQ(Requests(large, "{" + held + waits + "Infeasible\"}]}"),
            (Amounts{{"cpu", "3"}, {"memory", "1Gi"}}));
  // No actual resources reported: the status says nothing.
  EXPECT_EQ(
      Requests(spec, R"({"containerStatuses":[{"name":"c","allocatedResources":{"cpu":"9"}}]})"),
      (Amounts{{"cpu", "2"}}));
}

TEST(PodRequests, AResizeOfPodLevelResourcesCountsAlike) {
  const std::string spec = R"({"containers":[{"name":"c"}],"resources":{"requests":{"cpu":"4"}}})";
  const std::string held =
      R"("resources":{"requests":{"cpu":"5"}},"allocatedResources":{"cpu":"6"})";
  EXPECT_EQ(Requests(spec, "{" + held + "}"), (Amounts{{"cpu", "6"}}));
  EXPECT_EQ(Requests(spec, R"({"resources":{"requests":{"cpu":"1"}}})"), (Amounts{{"cpu", "4"}}));
}

TEST(PodRequests, KnowsWhichNamesCount) {
  for (const char* name : {"hugepages-2Mi", "attachable-volumes-aws-ebs", "example.kubernetes.io/x",
                           "nvidia.com/gpu", "rdma/hca", "infini-ai.com/spot-gpu"})
    EXPECT_TRUE(IsScalarResource(name)) << name;
  for (const char* name : {"cpu", "memory", "pods", "foo", "requests.nvidia.com/gpu",
                           "bad_domain/gpu", "a/b/c", "nvidia.com/"})
    EXPECT_FALSE(IsScalarResource(name)) << name;
  EXPECT_TRUE(IsExtendedResource("nvidia.com/gpu"));
  EXPECT_FALSE(IsExtendedResource("example.kubernetes.io/x"));
  EXPECT_FALSE(IsExtendedResource("hugepages-2Mi"));
}

}  // namespace
}  // namespace sky::api
