// SPDX-License-Identifier: Apache-2.0
// /diagnose as people ask for it: a scheduler as a program, on an embedded cluster as another.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/keys.h"
#include "base/files.h"
#include "cli/program_for_test.h"
#include "kube/client.h"
#include "kube/http.h"
#include "kube/kubeconfig.h"

namespace sky::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kObjects = R"(
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: PodGroup
metadata: {name: train, namespace: default}
spec: {queue: default, minMember: 2}
---
apiVersion: v1
kind: Pod
metadata:
  name: train-0
  namespace: default
  annotations: {scheduling.k8s.io/group-name: train}
spec:
  schedulerName: sky-scheduler
  containers: [{name: main, image: x}]
)";

class DiagnoseTest : public ::testing::Test {
 protected:
  DiagnoseTest() : folder_(fs::temp_directory_path() / fmt::format("sky-diagnose-{}", ::getpid())) {
    fs::create_directories(folder_);
    std::string objects(kObjects);
    const std::string_view written = "scheduling.k8s.io/group-name";
    objects.replace(objects.find(written), written.size(), api::key::kGroupName);
    std::ofstream(folder_ / "objects.yaml") << objects;
  }
  ~DiagnoseTest() override {
    http_.reset();
    scheduler_.reset();
    lab_.reset();
    fs::remove_all(folder_);
  }
  static std::string Binary(const std::string& name) {
    return std::string(SKY_BIN_DIR) + "/" + name;
  }

  // Asks again until it is so, for half a minute at most.
  template <class F>
  void Until(F so) const {
    const MonoTime deadline = clock_.Mono() + std::chrono::seconds(30);
    while (!so() && clock_.Mono() < deadline) {
    }
  }
  void Start() {
    lab_ = std::make_unique<Program>(
        std::vector<std::string>{Binary("skyctl"), "lab", "up", "--no-kubelets", "--kubeconfig",
                                 folder_ / "kubeconfig", "-f", folder_ / "objects.yaml"});
    ASSERT_TRUE(lab_->Ready()) << lab_->said();
    scheduler_ = std::make_unique<Program>(
        std::vector<std::string>{Binary("sky-scheduler"), "--kubeconfig", folder_ / "kubeconfig",
                                 "--no-leader-elect", "--http-port-file", folder_ / "port"});
    ASSERT_TRUE(scheduler_->Says("http on ")) << scheduler_->said();
    std::string port;
    Until([&] {
      const auto text = ReadFile(folder_ / "port");
      return text && text->ends_with("\n") && !(port = text->substr(0, text->size() - 1)).empty();
    });
    kube::Access access;
    access.server = "http://127.0.0.1:" + port;
    auto http = kube::HttpClient::Create(access, clock_);
    ASSERT_TRUE(http.has_value());
    http_ = std::move(*http);
  }
  Result<std::string> Get(const std::string& path, kube::Method method = kube::Method::kGet) {
    kube::Client client(*http_);
    return kube::Await<std::string>([&](kube::Done<std::string> done) {
      kube::Request request;
      request.method = method;
      request.path = path;
      client.raw().Call(std::move(request), {}, std::move(done));
    });
  }
  std::string Refused(const std::string& path) {
    const auto answer = Get(path);
    return answer ? "answered" : std::string(CodeName(answer.error().code()));
  }

  const SystemClock clock_;
  const fs::path folder_;
  std::unique_ptr<Program> lab_, scheduler_;
  std::unique_ptr<kube::HttpClient> http_;
};

TEST_F(DiagnoseTest, AnswersWhereAJobStandsAndRefusesWhatIsNoJob) {
  ASSERT_NO_FATAL_FAILURE(Start());
  std::optional<std::string> answer;
  Until([&] {
    const auto got = Get("/diagnose/job/default/train");
    // Its queue is only just being made.
    if (got && json::parse(*got)["reason"] == "NotEnoughPods") answer = *got;
    return answer.has_value();
  });
  ASSERT_TRUE(answer.has_value()) << scheduler_->said();
  const json said = json::parse(*answer);
  EXPECT_EQ(said["state"], "waiting") << said;
  EXPECT_EQ(said["message"], "1 of 2 members can run");
  EXPECT_EQ(said["ladder"][0]["state"], "refused");
  EXPECT_EQ(said["waits"][0]["tasks"], json({"train-0"}));

  // The pod says so itself, on the version that was seen to wait.
  const auto access =
      kube::LoadAccess(kube::AccessOptions::FromEnvironment(folder_ / "kubeconfig"));
  const auto api = kube::HttpClient::Create(*access, clock_).value();
  std::string message;
  Until([&] {
    const auto pod = kube::Await<api::Pod>([&](kube::Done<api::Pod> done) {
      kube::Client(*api).Get<api::Pod>("default", "train-0", {}, std::move(done));
    });
    for (const api::Condition& condition : pod.value().status.conditions)
      if (condition.type == "PodScheduled") message = condition.message;
    return !message.empty();
  });
  EXPECT_EQ(message, "NotEnoughPods: its PodGroup train says more");

  EXPECT_EQ(Refused("/diagnose/job/default/none"), "NotFound");
  EXPECT_EQ(Refused("/diagnose/job/other/train"), "NotFound");
  for (const char* path :
       {"/diagnose/job/default", "/diagnose/job/default/a/b", "/diagnose/node/a/b",
        "/diagnose/job/default/%C3%A9", "/diagnose/job/default/%2e%2e"})
    EXPECT_EQ(Refused(path), "Invalid") << path;
  EXPECT_EQ(Refused("/diagnose/job/default/" + std::string(9000, 'a')), "Invalid");
  EXPECT_FALSE(Get("/diagnose/job/default/train", kube::Method::kPost).has_value());
  EXPECT_EQ(scheduler_->Stop(SIGTERM), 0);
}

}  // namespace
}  // namespace sky::cli
