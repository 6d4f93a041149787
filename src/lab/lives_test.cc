// SPDX-License-Identifier: Apache-2.0
// A server that goes away and another one that comes under its address, with other objects and its
// own versions: whoever watched the first sees all of the second. Over HTTP.
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "kube/http.h"
#include "kube/informer.h"
#include "lab/front.h"
#include "lab/test_cluster.h"
#include "server/http_server.h"

namespace sky::lab {
namespace {

using namespace std::chrono_literals;
using Weights = std::map<std::string, std::string>;  // name of a queue → its uid and weight

const std::string kQueues = "/apis/scheduling.infini-ai.com/v1alpha1/queues";

// One life of the server.
class Life {
 public:
  explicit Life(Revision first, uint16_t port = 0)
      : c({.seed = static_cast<uint64_t>(first), .first_revision = first}) {
    server::HttpServerOptions options;
    options.address = fmt::format("127.0.0.1:{}", port);
    server = std::move(*server::HttpServer::Start(
        options, [this](server::Request request, std::shared_ptr<server::Responder> responder) {
          front.Serve(std::move(request), std::move(responder));
        }));
  }
  ~Life() { server->Stop(); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void Set(const std::string& name, int weight) {
    const Json spec = {{"weight", weight}};
    if (c.client->Get(kQueues + "/" + name).ok()) {
      EXPECT_TRUE(
          c.client->Patch(InProcess::PatchType::kMerge, kQueues + "/" + name, {{"spec", spec}})
              .ok());
      return;
    }
    c.Make(kQueues, {{"apiVersion", "scheduling.infini-ai.com/v1alpha1"},
                     {"kind", "Queue"},
                     {"metadata", {{"name", name}}},
                     {"spec", spec}});
  }

  TestCluster c;  // its clock stands still
  SystemClock clock;
  Front front{*c.api, clock,
              [this](Duration wait, std::function<void()> task) {
                server->RunAfter(wait, std::move(task));
              },
              [](int) {}};
  std::unique_ptr<server::HttpServer> server;
};

// What a client believes, readable from the test's thread.
class Believer {
 public:
  explicit Believer(const std::string& address) {
    kube::Access access;
    access.server = "http://" + address;
    transport_ = std::move(*kube::HttpClient::Create(access, clock_));
    client_.emplace(*transport_);
    kube::InformerCallbacks<api::Queue> callbacks;
    callbacks.on_delta = [this](const api::Delta<api::Queue>& delta) {
      const std::lock_guard lock(mutex_);
      const api::ObjectMeta& meta = delta.object->metadata;
      if (delta.type == api::Delta<api::Queue>::Type::kDelete)
        weights_.erase(meta.name);
      else
        weights_[meta.name] = fmt::format("{} {}", meta.uid, delta.object->spec.weight);
      changed_.notify_all();
    };
    queues_.emplace(*client_, kube::ReflectorOptions{}, std::move(callbacks));
    queues_->Start();
  }
  ~Believer() { transport_->Shutdown(); }
  Believer(const Believer&) = delete;
  Believer& operator=(const Believer&) = delete;

  // What it believes once that is what the server holds, or what it still believes after a while.
  Weights Settled(Life& life) {
    Weights truth;
    const Json list = life.c.Get(kQueues);
    for (const Json& queue : list["items"])
      truth[TextAt(queue, {"metadata", "name"})] = fmt::format(
          "{} {}", TextAt(queue, {"metadata", "uid"}), *IntAt(queue, {"spec", "weight"}));
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 30s, [&] { return weights_ == truth; });
    EXPECT_EQ(weights_, truth);
    return weights_;
  }

 private:
  SystemClock clock_;
  std::unique_ptr<kube::HttpClient> transport_;
  std::optional<kube::Client> client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Weights weights_;
  std::optional<kube::Informer<api::Queue>> queues_;
};

// `changes`: how many the second life has behind it when the client may be back.
void ExpectFollowed(Revision first, Revision second, int changes) {
  auto life = std::make_unique<Life>(first);
  const uint16_t port = life->server->port();
  Believer believer(life->server->address());
  for (int i = 1; i <= 20; ++i) life->Set("same", i);
  life->Set("gone", 1);
  believer.Settled(*life);

  life.reset();
  life = std::make_unique<Life>(second, port);
  for (int i = 1; i <= changes; ++i) life->Set("same", 100 + i);
  life->Set("new", 2);
  believer.Settled(*life);
  life->Set("later", 3);
  EXPECT_EQ(believer.Settled(*life).size(), 3u);
}

TEST(Lives, OneAboveTheFirstIsFollowed) { ExpectFollowed(1'000'000, 2'000'000, 3); }

// As a lab began before, whose versions were always small.
TEST(Lives, OneBelowTheFirstIsFollowed) { ExpectFollowed(1'000'000, 1, 3); }

TEST(Lives, OneThatBeginsAboveIsFollowedHoweverMuchItChanges) {
  ExpectFollowed(1'000'000, 2'000'000, 200);
}

}  // namespace
}  // namespace sky::lab
