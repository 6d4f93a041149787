// SPDX-License-Identifier: Apache-2.0
// The transport on real sockets. Every wait is for an event, bounded by the request's own timeout.
#include "kube/http.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "kube/client.h"
#include "kube/testing/loopback_server.h"
#include "kube/watch_decoder.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::Chunk;
using testing::ChunkedHead;
using testing::Conn;
using testing::LoopbackServer;
using testing::Seen;

class HttpTest : public ::testing::Test {
 protected:
  std::unique_ptr<HttpClient> Connect(const std::string& url, HttpOptions options = {}) {
    Access access;
    access.server = url;
    access.origin = "a test";
    access.token = token_;
    auto client = HttpClient::Create(access, clock_, options);
    EXPECT_TRUE(client) << client.error().message();
    return std::move(*client);
  }

  static Result<Response> Fetch(Transport& client, Request request) {
    return Await<Response>([&](auto done) { client.Send(std::move(request), std::move(done)); });
  }
  static Request Get(std::string path) {
    Request request;
    request.path = std::move(path);
    request.timeout = 10s;
    return request;
  }
  static Request Post(std::string path, std::string body) {
    Request request = Get(std::move(path));
    request.method = Method::kPost;
    request.content_type = "application/json";
    request.body = std::move(body);
    return request;
  }

  SystemClock clock_;
  Material token_;
};

bool Ok(const Seen&, Conn& conn) {
  conn.Write(Answer(200, "{}"));
  return true;
}

TEST_F(HttpTest, ARequestArrivesAsItWasSaidAndItsAnswerComesBack) {
  LoopbackServer server([](const Seen& seen, Conn& conn) {
    conn.Write(Answer(201, "got " + seen.body));
    return true;
  });
  auto client = Connect(server.url() + "/prefix/");
  Request request = Post("/api/v1/a b", "hello");
  request.query = {{"labelSelector", "a=b,c in (d)"}};
  const auto response = Fetch(*client, request);
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "got hello");
  const Seen seen = server.seen().at(0);
  EXPECT_EQ(seen.method, "POST");
  EXPECT_EQ(seen.target, "/prefix/api/v1/a%20b?labelSelector=a%3Db%2Cc%20in%20%28d%29");
  EXPECT_TRUE(seen.Has("User-Agent: sky-scheduler/"));
  EXPECT_TRUE(seen.Has("Content-Type: application/json\r\n"));
  EXPECT_TRUE(seen.Has("Accept: application/json\r\n"));
  EXPECT_FALSE(seen.Has("Expect:"));
  EXPECT_FALSE(seen.Has("Authorization"));
}

TEST_F(HttpTest, EveryMethodGoesOutByItsName) {
  LoopbackServer server(Ok);
  auto client = Connect(server.url());
  for (const Method method :
       {Method::kGet, Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    for (const char* body : {"", "x"}) {
      if (method == Method::kGet && *body != '\0') continue;
      Request request = Get("/");
      request.method = method;
      request.body = body;
      ASSERT_TRUE(Fetch(*client, request));
      EXPECT_EQ(server.seen().back().method, MethodName(method));
      EXPECT_EQ(server.seen().back().body, body);
    }
  }
  EXPECT_EQ(server.connections(), 1);  // kept alive
}

TEST_F(HttpTest, ARefusalIsAnAnswerWithItsRetryAfter) {
  LoopbackServer server([](const Seen&, Conn& conn) {
    conn.Write(Answer(429, "busy", "RETRY-after: 7\r\n"));
    return true;
  });
  auto client = Connect(server.url());
  const auto response = Fetch(*client, Get("/"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 429);
  EXPECT_EQ(response->body, "busy");
  EXPECT_EQ(response->retry_after, 7s);
}

TEST_F(HttpTest, WhateverStandsInRetryAfterTheWaitIsBounded) {
  std::string value;
  LoopbackServer server([&](const Seen&, Conn& conn) {
    conn.Write(Answer(429, "", "Retry-After: " + value + "\r\n"));
    return true;
  });
  auto client = Connect(server.url());
  const auto wait = [&](std::string said) {
    value = std::move(said);
    const auto response = Fetch(*client, Get("/"));
    EXPECT_TRUE(response && response->status == 429) << value;
    return response ? response->retry_after : -1ms;
  };
  EXPECT_EQ(wait("1"), 1s);
  EXPECT_EQ(wait("   32"), 32s);
  EXPECT_EQ(wait("86400"), kMostRetryAfter);
  EXPECT_EQ(wait("9223372036854775807"), kMostRetryAfter);
  for (const char* nothing :
       {"", "0", "-7", "soon", "Wed, 32 Foo", "Thu, 01 Jan 2015 00:00:00 GMT", "\xff\xfe"})
    EXPECT_EQ(wait(nothing), 0s) << nothing;
  EXPECT_EQ(wait("Fri, 31 Dec 2117 23:59:59 GMT"), kMostRetryAfter);  // a date will do as well
  EXPECT_LE(wait("99999999999999999999999"), kMostRetryAfter);
}

TEST_F(HttpTest, NobodyListeningIsUnavailable) {
  int port = 0;
  {
    LoopbackServer server(Ok);
    port = server.port();
  }
  auto client = Connect(fmt::format("http://127.0.0.1:{}", port));
  EXPECT_EQ(Fetch(*client, Post("/", "x")).error().code(), Code::kUnavailable);
}

TEST_F(HttpTest, AWriteThatIsCutBeforeItsAnswerIsUnknownAndWasSentOnce) {
  LoopbackServer server([](const Seen& seen, Conn& conn) {
    if (seen.body == "cut") return false;
    return Ok(seen, conn);
  });
  auto client = Connect(server.url());
  // On a kept connection too, where libcurl by itself would send it again.
  ASSERT_TRUE(Fetch(*client, Get("/")));
  EXPECT_EQ(Fetch(*client, Post("/", "cut")).error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(Fetch(*client, Post("/", "cut")).error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(server.seen().size(), 3u);
  Request del = Post("/", "cut");
  del.method = Method::kDelete;
  ASSERT_TRUE(Fetch(*client, Get("/")));
  EXPECT_EQ(Fetch(*client, del).error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(server.seen().size(), 5u);
}

TEST_F(HttpTest, AConnectionThatTheServerClosedMeanwhileCostsNoWrite) {
  for (const char* headers : {"", "Connection: close\r\n"}) {
    LoopbackServer server([&](const Seen&, Conn& conn) {
      conn.Write(Answer(201, "{}", headers));
      return false;
    });
    auto client = Connect(server.url());
    for (size_t i = 1; i <= 3; ++i) {
      const auto response = Fetch(*client, Post("/", "x"));
      ASSERT_TRUE(response) << response.error().message();
      ASSERT_TRUE(server.WaitUntilUnconnected());
      EXPECT_EQ(server.seen().size(), i) << "sent once, on a connection of its own";
    }
    EXPECT_EQ(server.connections(), 3);
  }
}

TEST_F(HttpTest, AListWhoseConnectionIsCutInAPageGoesOnWithThatPage) {
  std::atomic<int> cuts = 0;
  const auto page = [](const char* name, const char* next) {
    return fmt::format(
        R"({{"metadata":{{"resourceVersion":"9","continue":"{}"}},"items":[{{"metadata":{{"name":"{}"}}}}]}})",
        next, name);
  };
  LoopbackServer server([&](const Seen& seen, Conn& conn) {
    const bool first = seen.target.find("continue=") == std::string::npos;
    const std::string body = first ? page("a", "c1") : page("b", "");
    if (first || ++cuts > 2) {
      conn.Write(Answer(200, body));
      return true;
    }
    const std::string whole = Answer(200, body);
    conn.Write(std::string_view(whole).substr(0, whole.size() - 10));
    return false;
  });
  auto http = Connect(server.url());
  Client client(*http);
  std::string told;
  std::promise<Result<std::string>> end;
  RawListCallbacks callbacks;
  callbacks.begin = [&] { told += "begin "; };
  callbacks.item = [&](std::string_view item) { told += ParseMeta(item)->name + " "; };
  callbacks.done = [&](Result<std::string> version) { end.set_value(std::move(version)); };
  client.raw().List(api::KindOf<api::Quota>(), {.page_size = 1}, {}, std::move(callbacks));
  const auto version = end.get_future().get();
  ASSERT_TRUE(version) << version.error().message();
  EXPECT_EQ(*version, "9");
  EXPECT_EQ(told, "begin a b ");
  EXPECT_EQ(server.seen().size(), 4u) << "the page that was cut, twice again";
}

TEST_F(HttpTest, AnAnswerThatStopsHalfWayIsUnknown) {
  LoopbackServer server([](const Seen&, Conn& conn) {
    conn.Write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    return false;
  });
  auto client = Connect(server.url());
  EXPECT_EQ(Fetch(*client, Post("/", "x")).error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(Fetch(*client, Get("/")).error().code(), Code::kUnknownOutcome);
}

TEST_F(HttpTest, TheTimeoutBoundsTheWaitAndGoesOutAndClosesTheConnection) {
  std::promise<void> closed;
  LoopbackServer server([&](const Seen&, Conn& conn) {
    conn.WaitForClose();
    closed.set_value();
    return false;
  });
  auto client = Connect(server.url());
  Request request = Post("/", "x");
  request.timeout = 200ms;
  request.timeout_to_server = true;
  const auto response = Fetch(*client, request);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
  const std::string target = server.seen().at(0).target;
  ASSERT_TRUE(target.starts_with("/?timeout=") && target.ends_with("ms")) << target;
  EXPECT_LE(std::stoi(target.substr(10)), 200);
  EXPECT_EQ(closed.get_future().wait_for(10s), std::future_status::ready);
  request.timeout = 0s;
  EXPECT_EQ(Fetch(*client, request).error().code(), Code::kCancelled);
  EXPECT_EQ(server.seen().size(), 1u);
}

TEST_F(HttpTest, NoMoreThanTheBoundIsOnTheWireAndTheLeasePasses) {
  LoopbackServer* held = nullptr;
  LoopbackServer server([&](const Seen& seen, Conn& conn) {
    if (seen.target == "/held") held->Hold();
    return Ok(seen, conn);
  });
  held = &server;
  auto client = Connect(server.url(), {.max_in_flight = 2});
  std::atomic<int> done = 0;
  for (int i = 0; i < 2; ++i) client->Send(Get("/held"), [&](Result<Response>) { ++done; });
  ASSERT_TRUE(server.WaitForRequests(2));
  std::promise<Result<Response>> queued;
  client->Send(Get("/queued"),
               [&](Result<Response> response) { queued.set_value(std::move(response)); });
  Request late = Get("/late");
  late.timeout = 50ms;
  EXPECT_EQ(Fetch(*client, late).error().code(), Code::kCancelled);
  Request lease = Get("/lease");
  lease.urgency = Urgency::kLease;
  EXPECT_TRUE(Fetch(*client, lease));
  EXPECT_EQ(server.seen().size(), 3u);
  server.Release();
  EXPECT_TRUE(queued.get_future().get());
  EXPECT_EQ(server.seen().size(), 4u);
  client->Shutdown(10s);
  EXPECT_EQ(done, 2);
}

TEST_F(HttpTest, DecisionsPassWhatIsOrdinaryAndKeepTheirOrder) {
  LoopbackServer* held = nullptr;
  LoopbackServer server([&](const Seen& seen, Conn& conn) {
    if (seen.target == "/held") held->Hold();
    return Ok(seen, conn);
  });
  held = &server;
  auto client = Connect(server.url(), {.max_in_flight = 1});
  const auto send = [&](const std::string& target, Urgency urgency) {
    Request request = Get(target);
    request.urgency = urgency;
    client->Send(std::move(request), [](const Result<Response>&) {});
  };
  send("/held", Urgency::kOrdinary);
  ASSERT_TRUE(server.WaitForRequests(1));
  for (const char* name : {"/a", "/b"}) send(name, Urgency::kOrdinary);
  for (const char* name : {"/1", "/2", "/3"}) send(name, Urgency::kDecision);
  send("/c", Urgency::kOrdinary);
  // One more that gives up: then all before it stand in the queue.
  Request last = Get("/last");
  last.timeout = 1ms;
  EXPECT_EQ(Fetch(*client, last).error().code(), Code::kCancelled);
  server.Release();
  client->Shutdown(10s);
  std::vector<std::string> order;
  for (const Seen& seen : server.seen()) order.push_back(seen.target);
  EXPECT_EQ(order, (std::vector<std::string>{"/held", "/1", "/2", "/3", "/a", "/b", "/c"}));
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpTest, ManyRequestsShareFewConnections) {
  LoopbackServer server(Ok);
  auto client = Connect(server.url());
  std::atomic<int> good = 0;
  std::promise<void> all;
  constexpr int kCount = 1000;
  std::atomic<int> ended = 0;
  for (int i = 0; i < kCount; ++i) {
    client->Send(Post("/", "body"), [&](Result<Response> response) {
      if (response && response->ok()) ++good;
      if (++ended == kCount) all.set_value();
    });
  }
  all.get_future().get();
  EXPECT_EQ(good, kCount);
  EXPECT_LE(server.connections(), 32);
}

TEST_F(HttpTest, AnAnswerLargerThanAllowedIsCutOff) {
  LoopbackServer server([](const Seen&, Conn& conn) {
    conn.Write(Answer(200, std::string(100'000, 'x')));
    return true;
  });
  auto client = Connect(server.url(), {.max_response_bytes = 50'000});
  const auto response = Fetch(*client, Get("/"));
  EXPECT_NE(response.error().message().find("longer than 50000"), std::string::npos);
}

struct StreamLog {
  std::mutex mutex;
  std::string bytes;
  std::promise<Result<Response>> end;
  std::promise<void> first;
  std::atomic<int> ends{0};
  StreamCallbacks Callbacks() {
    StreamCallbacks callbacks;
    callbacks.on_bytes = [this](std::string_view got) {
      const std::lock_guard lock(mutex);
      if (bytes.empty()) first.set_value();
      bytes += got;
    };
    callbacks.on_end = [this](Result<Response> response) {
      if (++ends == 1) end.set_value(std::move(response));
    };
    return callbacks;
  }
};

TEST_F(HttpTest, AStreamDeliversItsBytesAsTheyComeAndThenItsEnd) {
  LoopbackServer* held = nullptr;
  LoopbackServer server([&](const Seen&, Conn& conn) {
    conn.Write(ChunkedHead() + Chunk("one,"));
    held->Hold();
    conn.Write(Chunk("two") + Chunk(""));
    return true;
  });
  held = &server;
  StreamLog log;
  auto client = Connect(server.url());
  client->Open(Get("/"), log.Callbacks());
  log.first.get_future().wait();  // before the server has written the rest
  server.Release();
  const auto end = log.end.get_future().get();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_TRUE(end->ok());
  EXPECT_EQ(log.bytes, "one,two");
}

TEST_F(HttpTest, ARefusedStreamEndsWithTheAnswerAndNoBytes) {
  LoopbackServer server([](const Seen&, Conn& conn) {
    conn.Write(Answer(410, "gone"));
    return true;
  });
  StreamLog log;
  auto client = Connect(server.url());
  client->Open(Get("/"), log.Callbacks());
  const auto end = log.end.get_future().get();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, 410);
  EXPECT_EQ(end->body, "gone");
  EXPECT_EQ(log.bytes, "");
}

TEST_F(HttpTest, AClosedStreamEndsOnceAsCancelled) {
  LoopbackServer server([](const Seen&, Conn& conn) {
    conn.Write(ChunkedHead() + Chunk("one"));
    conn.WaitForClose();
    return false;
  });
  StreamLog log;
  auto client = Connect(server.url());
  const StreamId id = client->Open(Get("/"), log.Callbacks());
  log.first.get_future().wait();
  client->Close(id);
  client->Close(id);
  EXPECT_EQ(log.end.get_future().get().error().code(), Code::kCancelled);
  client->Shutdown();
  EXPECT_EQ(log.ends, 1);
}

TEST_F(HttpTest, AStreamClosedInsideItsOwnCallbackEndsAsCancelled) {
  LoopbackServer server([](const Seen&, Conn& conn) {
    for (int i = 0; i < 100; ++i) conn.Write((i == 0 ? ChunkedHead() : "") + Chunk("x"));
    conn.WaitForClose();
    return false;
  });
  auto client = Connect(server.url());
  std::atomic<int> calls = 0;
  std::promise<Result<Response>> end;
  std::promise<StreamId> id;
  auto known = id.get_future().share();
  StreamCallbacks callbacks;
  callbacks.on_bytes = [&](std::string_view) {
    ++calls;
    client->Close(known.get());
  };
  callbacks.on_end = [&](Result<Response> response) { end.set_value(std::move(response)); };
  id.set_value(client->Open(Get("/"), std::move(callbacks)));
  EXPECT_EQ(end.get_future().get().error().code(), Code::kCancelled);
  EXPECT_EQ(calls, 1);
}

TEST_F(HttpTest, StreamsDoNotTakeTheConnectionsOfRequests) {
  LoopbackServer server([](const Seen& seen, Conn& conn) {
    if (seen.target != "/watch") return Ok(seen, conn);
    conn.Write(ChunkedHead());
    conn.WaitForClose();
    return false;
  });
  StreamLog logs[3];
  auto client = Connect(server.url(), {.max_in_flight = 1});
  for (StreamLog& log : logs) client->Open(Get("/watch"), log.Callbacks());
  ASSERT_TRUE(server.WaitForRequests(3));
  EXPECT_TRUE(Fetch(*client, Get("/")));
  client->Shutdown();
  for (StreamLog& log : logs) EXPECT_EQ(log.ends, 1);
}

class TokenFile {
 public:
  TokenFile()
      : path_(std::filesystem::temp_directory_path() / fmt::format("sky-token-{}", getpid())) {}
  ~TokenFile() { std::filesystem::remove(path_); }
  void Write(std::string_view token) const { std::ofstream(path_) << token << '\n'; }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_F(HttpTest, ARefusedTokenIsReadAgainAndTheRequestSentOnceMore) {
  TokenFile file;
  file.Write("first");
  token_.file = file.path();
  std::string accepted = "first";
  LoopbackServer server([&](const Seen& seen, Conn& conn) {
    conn.Write(Answer(seen.Has("Authorization: Bearer " + accepted + "\r\n") ? 200 : 401, ""));
    return true;
  });
  auto client = Connect(server.url());
  EXPECT_EQ(Fetch(*client, Post("/", "x"))->status, 200);
  accepted = "second";
  file.Write("second");
  EXPECT_EQ(Fetch(*client, Post("/", "x"))->status, 200);
  EXPECT_EQ(server.seen().size(), 3u);
  accepted = "third";
  file.Write("another");  // one more try with it, then the caller hears
  EXPECT_EQ(Fetch(*client, Post("/", "x"))->status, 401);
  EXPECT_EQ(server.seen().size(), 5u);
  EXPECT_EQ(Fetch(*client, Post("/", "x"))->status, 401) << "the file has nothing new";
  EXPECT_EQ(server.seen().size(), 6u);
}

TEST_F(HttpTest, ShutdownEndsEveryCallbackOnceWithWhatIsKnown) {
  LoopbackServer* held = nullptr;
  LoopbackServer server([&](const Seen&, Conn&) {
    held->Hold();
    return false;
  });
  held = &server;
  auto client = Connect(server.url(), {.max_in_flight = 1});
  std::vector<Code> codes;  // on the loop's thread, then read after it ended
  const auto note = [&](Result<Response> response) { codes.push_back(response.error().code()); };
  client->Send(Post("/sent", "x"), note);
  ASSERT_TRUE(server.WaitForRequests(1));
  client->Send(Post("/queued", "x"), note);
  StreamCallbacks stream;
  stream.on_bytes = [](std::string_view) {};
  stream.on_end = note;
  client->Open(Get("/stream"), std::move(stream));
  client->Shutdown();
  client->Send(Get("/"), note);
  std::ranges::sort(codes);
  EXPECT_EQ(codes, (std::vector{Code::kUnknownOutcome, Code::kCancelled, Code::kCancelled,
                                Code::kCancelled}));
  EXPECT_EQ(server.seen().at(0).target, "/sent");
}

TEST_F(HttpTest, ADrainLetsWhatWasAskedFinish) {
  LoopbackServer* held = nullptr;
  LoopbackServer server([&](const Seen& seen, Conn& conn) {
    held->Hold();
    return Ok(seen, conn);
  });
  held = &server;
  auto client = Connect(server.url(), {.max_in_flight = 1});
  int good = 0;
  for (int i = 0; i < 3; ++i)
    client->Send(Post("/", "x"),
                 [&](Result<Response> response) { good += response.has_value() ? 1 : 0; });
  ASSERT_TRUE(server.WaitForRequests(1));
  server.Release();
  client->Shutdown(10s);
  EXPECT_EQ(good, 3);
}

TEST_F(HttpTest, ACallThatWaitsToRepeatIsToldOfTheShutdown) {
  LoopbackServer server([](const Seen&, Conn& conn) {
    conn.Write(Answer(429, "", "Retry-After: 1000\r\n"));
    return true;
  });
  auto client = Connect(server.url());
  RawClient raw(*client);
  std::promise<Result<std::string>> answer;
  raw.Get(api::KindOf<api::Node>(), "", "n0", {.timeout = std::chrono::hours(1)},
          [&](Result<std::string> got) { answer.set_value(std::move(got)); });
  ASSERT_TRUE(server.WaitForRequests(1));
  client->Shutdown(10s);
  EXPECT_EQ(answer.get_future().get().error().code(), Code::kCancelled);
}

TEST_F(HttpTest, AProxyGetsWhatIsForAServerBehindIt) {
  LoopbackServer proxy(Ok);
  Access access;
  access.server = "http://10.255.255.1:8080";
  access.proxy_url = proxy.url();
  access.origin = "a test";
  access.token.text = "secret";
  auto client = HttpClient::Create(access, clock_);
  ASSERT_TRUE(client);
  EXPECT_TRUE(Fetch(**client, Get("/version")));
  EXPECT_EQ(proxy.seen().at(0).target, "http://10.255.255.1:8080/version");
  EXPECT_FALSE(proxy.seen().at(0).Has("secret")) << "a token never leaves the machine in the clear";
}

TEST_F(HttpTest, CallsWithoutAnObjectCanBeWaitedForToo) {
  LoopbackServer server(Ok);
  auto http = Connect(server.url());
  Client client(*http);
  const Status bound =
      Await<void>([&](auto done) { client.Bind({"ns", "p", "u"}, "n1", {}, {}, std::move(done)); });
  EXPECT_TRUE(bound) << bound.error().message();
}

TEST_F(HttpTest, AServerThatIsNoUrlIsRefusedAtTheStart) {
  for (const char* url : {"", "10.0.0.1:6443", "ftp://x", "https://"}) {
    Access access;
    access.server = url;
    EXPECT_EQ(HttpClient::Create(access, clock_).error().code(), Code::kInvalid) << url;
  }
}

}  // namespace
}  // namespace sky::kube
