// SPDX-License-Identifier: Apache-2.0
// The transport over TLS, with an authority that is made for the test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "kube/client.h"
#include "kube/http.h"
#include "kube/testing/certificates.h"
#include "kube/testing/loopback_server.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::Certificate;
using testing::Conn;
using testing::LoopbackServer;
using testing::Seen;

bool Welcome(const Seen&, Conn& conn) {
  conn.Write(Answer(200, "{}"));
  return true;
}

class TlsTest : public ::testing::Test {
 protected:
  Access To(const LoopbackServer& server) const {
    Access access;
    access.server = server.url();
    access.origin = "a test";
    access.ca.text = authority_.CertificatePem();
    return access;
  }
  Result<Response> Fetch(const Access& access) {
    auto client = HttpClient::Create(access, clock_);
    EXPECT_TRUE(client) << client.error().message();
    return Await<Response>([&](auto done) {
      Request request;
      request.path = "/";
      (*client)->Send(request, std::move(done));
    });
  }
  static std::string MessageOf(const Result<Response>& result) {
    return result ? "" : result.error().message();
  }

  SystemClock clock_;
  Certificate authority_{"test authority", ""};
  Certificate stranger_{"another authority", ""};
  Certificate by_address_{"server", "IP:127.0.0.1", &authority_};
  Certificate by_name_{"server", "DNS:kubernetes", &authority_};
};

TEST_F(TlsTest, AServerThatTheAuthoritySignedIsTrusted) {
  const auto context = by_address_.ServerContext();
  LoopbackServer server(Welcome, context.get());
  const auto response = Fetch(To(server));
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 200);
}

TEST_F(TlsTest, AServerOfAnotherAuthorityIsNotAndNothingWasSent) {
  const auto context = by_address_.ServerContext();
  LoopbackServer server(Welcome, context.get());
  Access access = To(server);
  access.ca.text = stranger_.CertificatePem();
  const auto response = Fetch(access);
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable);
  EXPECT_NE(response.error().message().find("certificate"), std::string::npos)
      << response.error().message();
  EXPECT_TRUE(server.seen().empty());
}

TEST_F(TlsTest, TheNameMustMatchUnlessAnotherIsGiven) {
  const auto context = by_name_.ServerContext();
  LoopbackServer server(Welcome, context.get());
  Access access = To(server);
  EXPECT_EQ(Fetch(access).error().code(), Code::kUnavailable);
  access.tls_server_name = "kubernetes";
  const auto response = Fetch(access);
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_TRUE(server.seen().at(0).Has(fmt::format("Host: 127.0.0.1:{}\r\n", server.port())));
  access.tls_server_name = "somebody-else";
  EXPECT_EQ(Fetch(access).error().code(), Code::kUnavailable);
}

TEST_F(TlsTest, WithoutVerificationAnyServerWillDo) {
  const auto context = by_name_.ServerContext();
  LoopbackServer server(Welcome, context.get());
  Access access = To(server);
  access.ca = {};
  EXPECT_EQ(Fetch(access).error().code(), Code::kUnavailable);
  access.insecure_skip_tls_verify = true;
  EXPECT_TRUE(Fetch(access)) << MessageOf(Fetch(access));
}

TEST_F(TlsTest, TheClientShowsItsCertificate) {
  const auto context = by_address_.ServerContext(&authority_);
  LoopbackServer server(Welcome, context.get());
  Access access = To(server);
  EXPECT_FALSE(Fetch(access));
  const Certificate user("system:kube-scheduler", "", &authority_);
  access.client_certificate.text = user.CertificatePem();
  access.client_key.text = user.KeyPem();
  EXPECT_TRUE(Fetch(access)) << MessageOf(Fetch(access));
}

TEST_F(TlsTest, ATokenGoesOutOverTls) {
  const auto context = by_address_.ServerContext();
  LoopbackServer server(Welcome, context.get());
  Access access = To(server);
  access.token.text = "secret";
  EXPECT_TRUE(Fetch(access));
  EXPECT_TRUE(server.seen().at(0).Has("Authorization: Bearer secret\r\n"));
}

// The machine's time and then some, so that a minute can pass at once.
class JumpingClock final : public Clock {
 public:
  WallTime Wall() const override { return system_.Wall() + Duration(ahead_); }
  MonoTime Mono() const override { return system_.Mono() + Duration(ahead_); }
  void Jump(Duration by) { ahead_ += by.count(); }

 private:
  SystemClock system_;
  std::atomic<int64_t> ahead_{0};
};

TEST_F(TlsTest, AReplacedCertificateIsShownWithinAMinuteOnANewConnection) {
  const auto context = by_address_.ServerContext(&authority_);
  LoopbackServer server(Welcome, context.get());
  const std::string directory =
      (std::filesystem::temp_directory_path() / fmt::format("sky-tls-{}", getpid())).string();
  std::filesystem::create_directories(directory);
  const auto install = [&](const std::string& name) {
    const Certificate certificate(name, "", &authority_);
    std::ofstream(directory + "/crt") << certificate.CertificatePem();
    std::ofstream(directory + "/key") << certificate.KeyPem();
  };
  install("first");
  Access access = To(server);
  access.client_certificate.file = directory + "/crt";
  access.client_key.file = directory + "/key";
  JumpingClock clock;
  auto client = HttpClient::Create(access, clock);
  ASSERT_TRUE(client) << client.error().message();
  const auto fetch = [&] {
    const auto response = Await<Response>([&](auto done) {
      Request request;
      request.path = "/";
      (*client)->Send(request, std::move(done));
    });
    EXPECT_TRUE(response) << MessageOf(response);
    return fmt::format("{} on {}", server.seen().back().peer, server.seen().back().connection);
  };
  EXPECT_EQ(fetch(), "first on 1");
  install("second");
  EXPECT_EQ(fetch(), "first on 1");
  clock.Jump(60s);
  EXPECT_EQ(fetch(), "second on 2");
  EXPECT_EQ(fetch(), "second on 2");
  std::filesystem::remove_all(directory);
}

// A watch asks for HTTP/2; a server that has only HTTP/1.1 must do, several watches at once too.
TEST_F(TlsTest, WatchesWorkOnAServerWithoutHttp2) {
  const auto context = by_address_.ServerContext();
  LoopbackServer server(
      [](const Seen&, Conn& conn) {
        conn.Write(testing::ChunkedHead() + testing::Chunk("event"));
        conn.WaitForClose();
        return false;
      },
      context.get());
  auto client = HttpClient::Create(To(server), clock_);
  ASSERT_TRUE(client);
  std::promise<void> got[3];
  for (std::promise<void>& promise : got) {
    StreamCallbacks callbacks;
    callbacks.on_bytes = [&promise](std::string_view) { promise.set_value(); };
    callbacks.on_end = [](const Result<Response>&) {};
    (*client)->Open(Request{}, std::move(callbacks));
  }
  for (std::promise<void>& promise : got)
    EXPECT_EQ(promise.get_future().wait_for(10s), std::future_status::ready);
  (*client)->Shutdown();
}

}  // namespace
}  // namespace sky::kube
