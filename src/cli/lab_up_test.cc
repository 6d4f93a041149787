// SPDX-License-Identifier: Apache-2.0
// skyctl lab up as a program: its files, its exit codes, its server, and kubelets beside it.
#include "cli/lab_up.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/program_for_test.h"
#include "kube/client.h"
#include "kube/http.h"
#include "kube/informer.h"
#include "kube/kubeconfig.h"

namespace sky::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class LabUp : public ::testing::Test {
 protected:
  LabUp() : folder_(fs::temp_directory_path() / fmt::format("sky-lab-up-{}", ::getpid())) {
    fs::create_directories(folder_);
  }
  ~LabUp() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(Path(name)) << text;
  }
  std::unique_ptr<Program> Start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), SKY_BIN_DIR "/skyctl");
    return std::make_unique<Program>(std::move(arguments));
  }
  std::unique_ptr<Program> Up(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"lab", "up", "--kubeconfig", Path("kubeconfig")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Start(std::move(arguments));
  }

  const fs::path folder_;
};

// A client by the kubeconfig that was written.
class Client {
 public:
  explicit Client(const std::string& kubeconfig) {
    const auto access = kube::LoadAccess(kube::AccessOptions::FromEnvironment(kubeconfig));
    EXPECT_TRUE(access.has_value());
    http_ = kube::HttpClient::Create(*access, clock_).value();
    client_ = std::make_unique<kube::Client>(*http_);
  }
  template <class T>
  Result<T> Get(std::string_view ns, std::string_view name) {
    return kube::Await<T>(
        [&](kube::Done<T> done) { client_->Get<T>(ns, name, {}, std::move(done)); });
  }
  // Follows the pods until that one runs.
  bool SeesPodRun(std::string_view name) {
    std::promise<void> runs;
    auto seen = runs.get_future();
    bool told = false;
    kube::Informer<api::Pod> pods(*client_, {},
                                  {.on_delta =
                                       [&](const api::Delta<api::Pod>& delta) {
                                         if (delta.object->metadata.name == name &&
                                             delta.object->status.phase == "Running" &&
                                             !std::exchange(told, true))
                                           runs.set_value();
                                       },
                                   .on_synced = {},
                                   .on_bad = {}});
    pods.Start();
    const bool in_time = seen.wait_for(seconds(60)) == std::future_status::ready;
    Shutdown();
    return in_time;
  }
  void Shutdown() { http_->Shutdown(); }  // so that informers may go
  kube::Client& kube() { return *client_; }
  Result<std::string> Call(kube::Method method, std::string path, std::string body = "") {
    return kube::Await<std::string>([&](kube::Done<std::string> done) {
      kube::Request request;
      request.method = method;
      request.path = std::move(path);
      request.body = std::move(body);
      request.content_type = "application/json";
      client_->raw().Call(std::move(request), {}, std::move(done));
    });
  }

 private:
  SystemClock clock_;
  std::unique_ptr<kube::HttpClient> http_;
  std::unique_ptr<kube::Client> client_;
};

// The names of the quotas, as a client follows them.
class Followed {
 public:
  explicit Followed(Client& client)
      : quotas_(client.kube(), {},
                {.on_delta = [this](const api::Delta<api::Quota>& delta) { OnDelta(delta); },
                 .on_synced = {},
                 .on_bad = {}}) {
    quotas_.Start();
  }

  // False: not even after a while.
  bool Become(const std::set<std::string>& names) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(60), [&] { return names_ == names; });
  }

 private:
  void OnDelta(const api::Delta<api::Quota>& delta) {
    const std::lock_guard lock(mutex_);
    const api::ObjectMeta& meta = delta.object->metadata;
    if (delta.type == api::Delta<api::Quota>::Type::kDelete) {
      names_.erase(meta.name);
      return changed_.notify_all();
    }
    names_.insert(meta.name);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> names_;
  kube::Informer<api::Quota> quotas_;
};

constexpr std::string_view kApplied = R"(
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: 4, pods: 10}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p}
  spec: {nodeName: n0, containers: [{name: m, image: i}]}
- apiVersion: scheduling.infini-ai.com/v1alpha1
  kind: Quota
  metadata: {name: q}
  spec: {queueName: default, request: {cpu: 1}}
)";

TEST_F(LabUp, ServesItsObjectsUntilItIsTold) {
  Write("objects.yaml", kApplied);
  const auto lab = Up({"--no-kubelets", "-f", Path("objects.yaml")});
  ASSERT_TRUE(lab->Ready()) << lab->said();
  Client client(Path("kubeconfig"));
  EXPECT_EQ(client.Get<api::Quota>("", "q")->status.phase, "QuotaEmpty");
  EXPECT_EQ(client.Get<api::Pod>("default", "p")->status.phase, "Pending");
  EXPECT_EQ(client.Get<api::Pod>("default", "none").error().code(), Code::kNotFound);
  EXPECT_EQ(lab->Stop(SIGTERM), 0);
}

TEST_F(LabUp, RunsKubeletsUnlessToldNotTo) {
  Write("objects.yaml", kApplied);
  const auto lab = Up({"-f", Path("objects.yaml")});
  ASSERT_TRUE(lab->Ready()) << lab->said();
  Client client(Path("kubeconfig"));
  EXPECT_TRUE(client.SeesPodRun("p"));
  EXPECT_EQ(lab->Stop(SIGINT), 0);
}

TEST_F(LabUp, LetsKubeletsRunBesideIt) {
  Write("objects.yaml", kApplied);
  const auto lab = Up({"--no-kubelets", "-f", Path("objects.yaml")});
  ASSERT_TRUE(lab->Ready()) << lab->said();
  const auto kubelets = Start({"lab", "kubelets", "--kubeconfig", Path("kubeconfig")});
  ASSERT_TRUE(kubelets->Ready()) << kubelets->said();
  Client client(Path("kubeconfig"));
  EXPECT_TRUE(client.SeesPodRun("p"));
  EXPECT_EQ(kubelets->Stop(SIGTERM), 0);
  EXPECT_EQ(lab->Stop(SIGTERM), 0);
}

TEST_F(LabUp, ClientsOfTheOneBeforeFollowTheNextOne) {
  const auto quotas = [](std::vector<std::string> names) {
    std::string text;
    for (const std::string& name : names)
      text += fmt::format(R"(---
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: Quota
metadata: {{name: {}}}
spec: {{queueName: default, request: {{cpu: 1}}}}
)",
                          name);
    return text;
  };
  Write("before.yaml", quotas({"same", "gone"}));
  Write("after.yaml", quotas({"same", "new"}));
  const auto before = Up({"--no-kubelets", "-f", Path("before.yaml")});
  ASSERT_TRUE(before->Ready()) << before->said();
  Client client(Path("kubeconfig"));
  Followed followed(client);
  ASSERT_TRUE(followed.Become({"gone", "same"}));
  const std::string config = ReadText(Path("kubeconfig"));
  const size_t port = config.find("127.0.0.1:") + 10;
  EXPECT_EQ(before->Stop(SIGTERM), 0);

  const auto after =
      Up({"--no-kubelets", "--port", config.substr(port, config.find('"', port) - port), "-f",
          Path("after.yaml")});
  ASSERT_TRUE(after->Ready()) << after->said();
  EXPECT_TRUE(followed.Become({"new", "same"}));
  ASSERT_TRUE(
      client.Call(kube::Method::kDelete, "/apis/scheduling.infini-ai.com/v1alpha1/quotas/new")
          .has_value());
  EXPECT_TRUE(followed.Become({"same"}));
  client.Shutdown();
  EXPECT_EQ(after->Stop(SIGTERM), 0);
}

TEST_F(LabUp, OverwritesOnlyWhatItWrote) {
  Write("kubeconfig", "apiVersion: v1\nkind: Config\n");
  const auto refused = Up();
  EXPECT_EQ(refused->Wait(), 2);
  EXPECT_NE(refused->said().find("was not written by skyctl lab up"), std::string::npos);
  EXPECT_EQ(ReadText(Path("kubeconfig")), "apiVersion: v1\nkind: Config\n");
  fs::remove(Path("kubeconfig"));
  for (int i = 0; i < 2; ++i) {
    const auto lab = Up();
    ASSERT_TRUE(lab->Ready()) << lab->said();
    EXPECT_EQ(lab->Stop(SIGTERM), 0);
  }
}

TEST_F(LabUp, SaysWhatIsWrongWithItsFiles) {
  Write("bad.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n");
  Write("faults.yaml", "faults: [{match: {}, action: {cuut: true}}]\n");
  const auto said = [&](std::vector<std::string> arguments) {
    const auto lab = Up(std::move(arguments));
    EXPECT_EQ(lab->Wait(), 2);
    return lab->said();
  };
  EXPECT_NE(said({"-f", Path("bad.yaml")})
                .find("bad.yaml: Pod \"p\": Pod \"p\" is invalid: spec.containers"),
            std::string::npos);
  EXPECT_NE(said({"-f", Path("missing.yaml")}).find("missing.yaml: No such file"),
            std::string::npos);
  EXPECT_NE(said({"--faults", Path("faults.yaml")}).find("faults[0].action.cuut"),
            std::string::npos);
}

TEST_F(LabUp, TellsWrongUsageFromFailure) {
  EXPECT_EQ(Start({"lab", "up"})->Wait(), 2);
  EXPECT_EQ(Up({"--no-such-flag"})->Wait(), 2);
  EXPECT_EQ(Start({"lab"})->Wait(), 2);
  EXPECT_EQ(Start({})->Wait(), 2);
  EXPECT_EQ(Start({"lab", "up", "--help"})->Wait(), 0);
  const auto run = Start({"lab", "run", "--help"});
  EXPECT_EQ(run->Wait(), 0);
  EXPECT_NE(run->said().find("  tick DURATION\n"), std::string::npos) << run->said();
}

TEST_F(LabUp, SaysWhichCommandsThereAre) {
  const auto said = [&](std::vector<std::string> arguments) {
    const auto program = Start(std::move(arguments));
    EXPECT_EQ(program->Wait(), 2);
    return program->said();
  };
  EXPECT_EQ(
      said({"lab", "runn"}),
      "skyctl lab: no command \"runn\"; did you mean 'run'?; there are: up, kubelets, run, soak\n");
  EXPECT_EQ(said({"explain", "me"}),
            "skyctl: no command \"explain\"; there are: lab, demo, load\n");
  EXPECT_NE(said({"lab"}).find("run a scenario script"), std::string::npos);
  EXPECT_NE(said({"lab", "up", "--kubeconfig", Path("k"), "--port", "65536"}).find("65535"),
            std::string::npos);
}

TEST_F(LabUp, ASchedulerWhoseFlagsCantWorkEndsAtTheStart) {
  const auto lab = Up({"--no-kubelets"});
  ASSERT_TRUE(lab->Ready()) << lab->said();
  for (const auto& [flag, value, words] :
       std::vector<std::array<std::string, 3>>{{"--lease-namespace", "Bad Name", "RFC 1123 label"},
                                               {"--lease-namespace", "", "empty value"},
                                               {"--config", "", "empty value"},
                                               {"--config", folder_, "it is a folder"},
                                               {"--http", "127.0.0.1:65536", "not host:port"},
                                               {"--http-port-file", folder_, "can't be written"},
                                               {"--log-level", "loud", "unknown log level"}}) {
    Program scheduler({std::string(SKY_BIN_DIR) + "/sky-scheduler", "--kubeconfig",
                       Path("kubeconfig"), flag, value});
    EXPECT_EQ(scheduler.Wait(), 2) << flag;
    EXPECT_NE(scheduler.said().find(words), std::string::npos) << scheduler.said();
  }
}

TEST_F(LabUp, ASchedulerThatIsToldToStopSaysThatItGaveTheLeaseUp) {
  const auto lab = Up({"--no-kubelets"});
  ASSERT_TRUE(lab->Ready()) << lab->said();
  Program scheduler({SKY_BIN_DIR "/sky-scheduler", "--kubeconfig", Path("kubeconfig")});
  ASSERT_TRUE(scheduler.Says("leading, epoch")) << scheduler.said();
  EXPECT_EQ(scheduler.Stop(SIGTERM), 0);
  EXPECT_NE(scheduler.said().find(" no longer leading: the lease was given up\n"),
            std::string::npos)
      << scheduler.said();
  EXPECT_EQ(scheduler.said().find(" W "), std::string::npos) << scheduler.said();
}

TEST_F(LabUp, DiesAfterAWriteWhenAFaultSaysSo) {
  Write("faults.yaml", "faults: [{match: {verb: write, nth: 2}, action: {exit: 9}}]\n");
  const auto lab = Up({"--no-kubelets", "--faults", Path("faults.yaml")});
  ASSERT_TRUE(lab->Ready()) << lab->said();
  Client client(Path("kubeconfig"));
  const std::string path = "/api/v1/namespaces";
  EXPECT_TRUE(client.Call(kube::Method::kPost, path, R"({"metadata":{"name":"one"}})").has_value());
  EXPECT_EQ(client.Call(kube::Method::kPost, path, R"({"metadata":{"name":"two"}})").error().code(),
            Code::kUnknownOutcome);
  EXPECT_EQ(lab->Wait(), 9);
}

TEST_F(LabUp, TakesFaultsWhileItRuns) {
  const auto lab = Up({"--no-kubelets"});
  ASSERT_TRUE(lab->Ready()) << lab->said();
  Client client(Path("kubeconfig"));
  EXPECT_TRUE(client
                  .Call(kube::Method::kPost, "/lab/faults",
                        R"({"faults":[{"match":{"verb":"get"},"action":{"refuse":{"code":409}}}]})")
                  .has_value());
  EXPECT_EQ(client.Get<api::Node>("", "n").error().code(), Code::kConflict);
  EXPECT_EQ(client.Get<api::Node>("", "n").error().code(), Code::kNotFound);
  EXPECT_EQ(lab->Stop(SIGTERM), 0);
}

}  // namespace
}  // namespace sky::cli
