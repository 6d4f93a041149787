// SPDX-License-Identifier: Apache-2.0
// A token that is replaced while the client runs, as kubelets do: the embedded API server refuses
// the old one, and watches, lists and writes go on with the new one, without a restart and without
// losing an event. Over HTTP, with the files of a service account.
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "kube/http.h"
#include "kube/informer.h"
#include "lab/front.h"
#include "lab/test_cluster.h"
#include "server/http_server.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;

// The directory that a pod finds its account in. The files are links into "..data", which is a link
// itself: so all of them change in one rename.
class ServiceAccount {
 public:
  ServiceAccount()
      : directory_(std::filesystem::temp_directory_path() /
                   fmt::format("sky-service-account-{}", getpid())) {
    std::filesystem::create_directories(directory_);
    for (const char* file : {"token", "namespace"})
      std::filesystem::create_symlink(std::filesystem::path("..data") / file, directory_ / file);
  }
  ~ServiceAccount() { std::filesystem::remove_all(directory_); }
  ServiceAccount(const ServiceAccount&) = delete;
  ServiceAccount& operator=(const ServiceAccount&) = delete;

  void Write(const std::string& token) {
    const std::string version = fmt::format("..{}", ++version_);
    std::filesystem::create_directory(directory_ / version);
    std::ofstream(directory_ / version / "token") << token;
    std::ofstream(directory_ / version / "namespace") << "sky-system";
    std::filesystem::create_symlink(version, directory_ / "..new");
    std::filesystem::rename(directory_ / "..new", directory_ / "..data");
  }
  std::string path() const { return directory_.string(); }

 private:
  std::filesystem::path directory_;
  int version_ = 0;
};

// What an informer told, for another thread to wait for.
class Told {
 public:
  template <class T>
  kube::InformerCallbacks<T> Callbacks() {
    kube::InformerCallbacks<T> callbacks;
    callbacks.on_delta = [this](const api::Delta<T>& delta) {
      using Type = api::Delta<T>::Type;
      const char* what = delta.type == Type::kAdd ? "+" : delta.type == Type::kUpdate ? "*" : "-";
      Say(what + delta.object->metadata.name);
    };
    callbacks.on_synced = [this] { Say("synced"); };
    return callbacks;
  }
  void Say(std::string what) {
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(what));
    changed_.notify_all();
  }
  // All since the last call, once there are so many.
  Texts Take(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 20s, [&] { return told_.size() >= count; });
    return std::exchange(told_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Texts told_;
};

class Rotation : public ::testing::Test {
 protected:
  Rotation() {
    server = std::move(*server::HttpServer::Start(
        {}, [this](server::Request request, std::shared_ptr<server::Responder> responder) {
          front.Serve(std::move(request), std::move(responder));
          const std::lock_guard lock(asked_mutex);
          asked.notify_all();
        }));
    account.Write("first");
    Demand("first");
    kube::AccessOptions in_pod;
    in_pod.service_host = "127.0.0.1";
    in_pod.service_port = fmt::format("{}", server->port());
    in_pod.service_account_dir = account.path();
    kube::Access access = *kube::LoadAccess(in_pod);
    access.server = "http://" + server->address();  // the embedded server knows no TLS
    access.ca = {};
    transport = std::move(*kube::HttpClient::Create(access, clock));
    client.emplace(*transport);
  }
  ~Rotation() override {
    transport->Shutdown();
    server->Stop();
  }

  // From now on any other token gets 401.
  void Demand(const std::string& token) {
    front.ClearFaults();
    ASSERT_TRUE(front.faults().Add(fmt::format(
        "{{faults: [{{match: {{tokenIsNot: {}, count: 0}}, action: {{refuse: {{code: 401}}}}}}]}}",
        token)));
  }
  void Inform() {
    quotas.emplace(*client, kube::ReflectorOptions{}, told_quotas.Callbacks<api::Quota>());
    pods.emplace(*client, kube::ReflectorOptions{}, told_pods.Callbacks<api::Pod>());
    quotas->Start();
    pods->Start();
  }
  void Make(const std::string& quota) { c.Make(kQuotas, TestCluster::Quota(quota)); }
  Result<api::Quota> Create(const std::string& name) {
    return kube::Await<api::Quota>([&](auto done) {
      client->Create<api::Quota>(testing::MakeQuota(name, *testing::ReadWords("gpu=1")), {},
                                 std::move(done));
    });
  }
  // The codes of these requests, oldest first; 0 is a watch that began.
  std::vector<int64_t> CodesOf(std::string_view verb, std::string_view resource) {
    std::vector<int64_t> codes;
    const Json log = J(front.Log(0));
    for (const Json& request : log["requests"])
      if (TextAt(request, {"verb"}) == verb && TextAt(request, {"resource"}) == resource)
        codes.push_back(*IntAt(request, {"code"}));
    return codes;
  }

  bool WaitUntil(const std::function<bool()>& ready) {
    std::unique_lock lock(asked_mutex);
    return asked.wait_for(lock, 20s, ready);
  }

  TestCluster c;  // its clock stands still
  SystemClock clock;
  Front front{*c.api, c.clock,  // deadlines are of the server's own clock
              [this](Duration wait, std::function<void()> task) {
                server->RunAfter(wait, std::move(task));
              },
              [](int) {}};
  std::mutex asked_mutex;
  std::condition_variable asked;
  std::unique_ptr<server::HttpServer> server;
  ServiceAccount account;
  std::unique_ptr<kube::HttpClient> transport;
  std::optional<kube::Client> client;
  Told told_quotas, told_pods;
  std::optional<kube::Informer<api::Quota>> quotas;
  std::optional<kube::Informer<api::Pod>> pods;
};

using Codes = std::vector<int64_t>;

TEST_F(Rotation, OpenWatchesGoOnAndBrokenOnesComeBackWithTheNewToken) {
  Make("early");
  Inform();
  EXPECT_EQ(told_quotas.Take(2), (Texts{"+early", "synced"}));
  EXPECT_EQ(told_pods.Take(1), Texts{"synced"});

  account.Write("second");
  Demand("second");
  Make("while-open");
  EXPECT_EQ(told_quotas.Take(1), Texts{"+while-open"});
  EXPECT_EQ(CodesOf("watch", "quotas"), Codes{0}) << "nobody asked again";

  front.CutWatches("");
  Make("in-the-gap");
  c.client->Delete(kQuotas + "/early");
  c.Make(kPods, TestCluster::Pod("p"));
  EXPECT_EQ(told_quotas.Take(2), (Texts{"+in-the-gap", "-early"}));
  EXPECT_EQ(told_pods.Take(1), Texts{"+p"});
  // The first to come back is refused and reads the file; for the other it may have been read.
  EXPECT_EQ(CodesOf("watch", "quotas").back(), 0);
  EXPECT_EQ(CodesOf("watch", "pods").back(), 0);
  EXPECT_TRUE(CodesOf("watch", "quotas") == (Codes{0, 401, 0}) ||
              CodesOf("watch", "pods") == (Codes{0, 401, 0}));
  for (const auto* stats : {&quotas->stats(), &pods->stats()}) {
    EXPECT_EQ(stats->lists, 1u) << "from where they were, not from the beginning";
    EXPECT_EQ(stats->errors, 0u);
  }
}

TEST_F(Rotation, AWriteThatMeetsTheRefusalIsSentOnceMoreAndStoredOnce) {
  ASSERT_TRUE(Create("before"));
  account.Write("second");
  Demand("second");
  ASSERT_TRUE(Create("after"));
  EXPECT_EQ(CodesOf("create", "quotas"), (Codes{201, 401, 201}));
  ASSERT_TRUE(Create("later"));
  EXPECT_EQ(CodesOf("create", "quotas"), (Codes{201, 401, 201, 201})) << "the new one is kept";
}

TEST_F(Rotation, OfManyWritesAtOnceNoneIsLost) {
  constexpr int kCount = 100;
  account.Write("second");
  Demand("second");
  std::latch answers(kCount);
  std::atomic<int> good{0};
  for (int i = 0; i < kCount; ++i)
    client->Create<api::Quota>(
        testing::MakeQuota(fmt::format("q-{}", i), *testing::ReadWords("gpu=1")), {},
        [&](const Result<api::Quota>& made) {
          if (made) ++good;
          answers.count_down();
        });
  answers.wait();
  EXPECT_EQ(good, kCount);
  std::map<int64_t, int> counted;
  for (const int64_t code : CodesOf("create", "quotas")) ++counted[code];
  EXPECT_EQ(counted[201], kCount);
  EXPECT_GT(counted[401], 0);
  EXPECT_LE(counted[401], 32) << "at most those that were on the wire";
  EXPECT_EQ(counted.size(), 2u);
}

TEST_F(Rotation, AServerThatIsAheadOfTheFileIsWaitedFor) {
  Inform();
  EXPECT_EQ(told_quotas.Take(1), Texts{"synced"});
  Demand("second");
  const auto refused = Create("refused");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnauthorized);
  EXPECT_EQ(CodesOf("create", "quotas"), Codes{401}) << "the same token again would be of no use";
  front.CutWatches("quotas");
  // The second shows that the first was understood: the watch waits and asks again.
  ASSERT_TRUE(WaitUntil([&] { return CodesOf("watch", "quotas") == (Codes{0, 401, 401}); }));
  Make("meanwhile");
  account.Write("second");
  EXPECT_EQ(told_quotas.Take(1), Texts{"+meanwhile"});
  EXPECT_EQ(quotas->stats().lists, 1u);
  EXPECT_LE(CodesOf("watch", "quotas").size(), 5u) << "it backs off";
  EXPECT_TRUE(Create("taken"));
}

}  // namespace
}  // namespace sky::lab
