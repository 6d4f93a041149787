// SPDX-License-Identifier: Apache-2.0
// Watches on HTTP/2, as kube-apiserver serves them: they share a connection, and when it is told to
// go away, what runs finishes there and what comes next takes a new one.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "kube/http.h"
#include "kube/informer.h"
#include "kube/testing/certificates.h"
#include "kube/testing/http2_server.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::Certificate;
using testing::Http2Server;

// What comes from another thread, to be waited for.
class Log {
 public:
  void Say(std::string what) {
    const std::lock_guard lock(mutex_);
    text_ += what + " ";
    changed_.notify_all();
  }
  bool Has(const std::string& text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return text_.find(text) != std::string::npos; });
  }
  int Count(const std::string& word) {
    const std::string all = text();
    int count = 0;
    for (size_t at = all.find(word); at != all.npos; at = all.find(word, at + 1)) ++count;
    return count;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

class Http2Test : public ::testing::Test {
 protected:
  Http2Test() {
    Access access;
    access.server = server_.url();
    access.ca.text = authority_.CertificatePem();
    access.origin = "a test";
    http_ = std::move(*HttpClient::Create(access, clock_));
  }
  ~Http2Test() override { http_->Shutdown(); }

  void Open(const std::string& name) {
    StreamCallbacks callbacks;
    callbacks.on_bytes = [this, name](std::string_view bytes) {
      log_.Say(name + "=" + std::string(bytes));
    };
    callbacks.on_end = [this, name](const Result<Response>& end) {
      log_.Say(name + " ended " + (end ? "well" : std::string(CodeName(end.error().code()))));
    };
    Request request;
    request.path = "/api/v1/pods";
    http_->Open(std::move(request), std::move(callbacks));
  }

  Certificate authority_{"authority", ""};
  Certificate certificate_{"kube-apiserver", "IP:127.0.0.1", &authority_};
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_ = certificate_.ServerContext();
  Http2Server server_{context_.get()};
  SystemClock clock_;
  Log log_;
  std::unique_ptr<HttpClient> http_;
};

TEST_F(Http2Test, WatchesShareAConnection) {
  Open("a");
  const auto a = server_.WaitForRequest(0);
  server_.Head(a);
  server_.Data(a, "1");
  ASSERT_TRUE(log_.Has("a=1"));
  Open("b");
  const auto b = server_.WaitForRequest(1);
  EXPECT_EQ(b.connection, a.connection);
  server_.Head(b);
  server_.Data(b, "1", true);
  EXPECT_TRUE(log_.Has("b ended well"));
  server_.Data(a, "2", true);
  EXPECT_TRUE(log_.Has("a=2 a ended well"));
}

TEST_F(Http2Test, AGoAwayLetsWhatRunsFinishAndTheNextTakesANewConnection) {
  Open("a");
  const auto a = server_.WaitForRequest(0);
  server_.Head(a);
  server_.GoAway(a.connection, a.stream);
  server_.Data(a, "1");
  ASSERT_TRUE(log_.Has("a=1"));
  Open("b");
  const auto b = server_.WaitForRequest(1);
  EXPECT_EQ(b.connection, 2);
  server_.Head(b);
  server_.Data(b, "1");
  EXPECT_TRUE(log_.Has("b=1"));
  server_.Data(a, "2", true);
  EXPECT_TRUE(log_.Has("a=2 a ended well"));
}

TEST_F(Http2Test, AWatchThatTheServerNeverBeganIsAskedAgainOnANewConnection) {
  Open("a");
  const auto a = server_.WaitForRequest(0);
  server_.Head(a);
  server_.Data(a, "1");
  ASSERT_TRUE(log_.Has("a=1"));
  Open("b");
  server_.WaitForRequest(1);
  server_.GoAway(a.connection, a.stream);  // which is older than b's
  const auto b = server_.WaitForRequest(2);
  EXPECT_EQ(b.connection, 2);
  server_.Head(b);
  server_.Data(b, "1", true);
  EXPECT_TRUE(log_.Has("b=1 b ended well"));
  server_.Data(a, "2", true);
  EXPECT_TRUE(log_.Has("a=2 a ended well"));
}

TEST_F(Http2Test, AConnectionThatDiesEndsAllItsWatchesOnce) {
  Open("a");
  const auto a = server_.WaitForRequest(0);
  server_.Head(a);
  server_.Data(a, "half a li");
  ASSERT_TRUE(log_.Has("a=half a li"));
  Open("b");
  server_.Head(server_.WaitForRequest(1));
  server_.Close(a.connection);
  EXPECT_TRUE(log_.Has("a ended UnknownOutcome"));
  EXPECT_TRUE(log_.Has("b ended UnknownOutcome"));
  http_->Shutdown();
  EXPECT_EQ(log_.Count("ended"), 2);
}

// One line of a watch of queues.
std::string EventLine(const std::string& type, const std::string& name, int version,
                      const std::string& more = "") {
  return fmt::format(
      R"({{"type":"{}","object":{{"metadata":{{"name":"{}","uid":"{}","resourceVersion":"{}"{}}}}}}})"
      "\n",
      type, name, name, version, more);
}

TEST_F(Http2Test, AnInformerLosesNothingToAGoAwayNorToADeadConnection) {
  Client client(*http_);
  InformerCallbacks<api::Queue> callbacks;
  callbacks.on_delta = [&](const api::Delta<api::Queue>& delta) {
    log_.Say("+" + delta.object->metadata.name);
  };
  callbacks.on_synced = [&] { log_.Say("synced"); };
  Informer<api::Queue> informer(client, {}, std::move(callbacks));
  informer.Start();
  const auto first = server_.WaitForRequest(0);
  server_.Head(first);
  server_.Data(first, EventLine("ADDED", "a", 1));
  server_.Data(first, EventLine("BOOKMARK", "", 10,
                                R"(,"annotations":{"k8s.io/initial-events-end":"true"})"));
  ASSERT_TRUE(log_.Has("+a synced"));
  server_.GoAway(first.connection, first.stream);
  server_.Data(first, EventLine("ADDED", "b", 11));
  ASSERT_TRUE(log_.Has("+b"));
  const std::string cut = EventLine("ADDED", "c", 12);
  server_.Data(first, cut.substr(0, cut.size() / 2), true);  // the server has shut down

  const auto second = server_.WaitForRequest(1);
  EXPECT_EQ(second.connection, 2);
  server_.Head(second);
  server_.Data(second, cut);
  ASSERT_TRUE(log_.Has("+c"));
  server_.Close(second.connection);

  const auto third = server_.WaitForRequest(2);
  EXPECT_EQ(third.connection, 3);
  server_.Head(third);
  server_.Data(third, EventLine("ADDED", "d", 13));
  EXPECT_TRUE(log_.Has("+d"));
  EXPECT_EQ(log_.text(), "+a synced +b +c +d ");
  EXPECT_EQ(informer.stats().lists, 1u);
  EXPECT_EQ(informer.stats().errors, 0u);
  http_->Shutdown();
}

}  // namespace
}  // namespace sky::kube
