// SPDX-License-Identifier: Apache-2.0
// The reflector's rules one by one, against a transport that is played by hand.
#include "kube/reflector.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_transport.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeTransport;

// Writes down what it is told; an object is {"metadata":{"resourceVersion":"5"}}.
class LogSink final : public ReflectorSink {
 public:
  void BeginReplace() override { log += "begin "; }
  void EndReplace(bool restarted) override { log += restarted ? "end-anew " : "end "; }
  std::string Upsert(std::string_view object) override { return Note("+", object); }
  std::string Remove(std::string_view object) override { return Note("-", object); }
  std::string Take() { return std::exchange(log, {}); }
  std::string log;

 private:
  std::string Note(const char* what, std::string_view object) {
    const auto meta = ParseMeta(object);
    const std::string version = meta ? meta->resource_version : "";
    log += what + version + " ";
    return version;
  }
};

std::string Object(const std::string& version) {
  return R"({"metadata":{"resourceVersion":")" + version + R"("}})";
}
std::string Line(const std::string& type, const std::string& version) {
  return R"({"type":")" + type + R"(","object":)" + Object(version) + "}\n";
}
std::string EndOfList(const std::string& version) {
  return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" + version +
         R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})" + "\n";
}
std::string ErrorLine(int code, const std::string& reason) {
  return fmt::format(R"({{"type":"ERROR","object":{{"kind":"Status","code":{},"reason":"{}"}}}})",
                     code, reason) +
         "\n";
}
std::string Page(const std::string& version) {
  return R"({"metadata":{"resourceVersion":")" + version + R"("},"items":[)" + Object("1") + "]}";
}

class ReflectorTest : public ::testing::Test {
 protected:
  void Begin(ReflectorOptions options = {}) {
    reflector_ = std::make_unique<Reflector>(client_, api::KindOf<api::Queue>(), options, sink_);
    reflector_->Start();
    transport_.loop().RunReady();
  }
  // Listed by pages and watching from version 10.
  void BeginWatching() {
    Begin({.streaming_list = false});
    transport_.Answer(200, Page("10"));
    EXPECT_EQ(sink_.Take(), "begin +1 end ");
    EXPECT_EQ(WatchedFrom(), "10");
  }
  std::string WatchedFrom() {
    return FakeTransport::QueryValue(transport_.stream(), "resourceVersion");
  }
  bool Idle() const { return transport_.calls().empty() && transport_.streams().empty(); }
  // Nothing is asked for at least 0.8 s, and something at most after 1.6 s.
  void ExpectBackoff() {
    EXPECT_TRUE(Idle());
    transport_.loop().Advance(799ms);
    EXPECT_TRUE(Idle());
    transport_.loop().Advance(801ms);
    EXPECT_FALSE(Idle());
  }

  void AdvanceUntilBusy() {
    while (Idle()) transport_.loop().Advance(100ms);
  }

  ManualClock clock_;
  mutable FakeTransport transport_{clock_};
  RawClient client_{transport_};
  LogSink sink_;
  std::unique_ptr<Reflector> reflector_;
};

TEST_F(ReflectorTest, AStreamingListIsTakenAtItsBookmarkAndGoesOnAsAWatch) {
  Begin({.label_selector = "a=b", .field_selector = "c=d"});
  EXPECT_EQ(transport_.stream().path, "/apis/scheduling.infini-ai.com/v1alpha1/queues");
  for (const auto& [name, value] : Pairs{{"watch", "1"},
                                         {"sendInitialEvents", "true"},
                                         {"resourceVersionMatch", "NotOlderThan"},
                                         {"allowWatchBookmarks", "true"},
                                         {"labelSelector", "a=b"},
                                         {"fieldSelector", "c=d"},
                                         {"resourceVersion", ""}})
    EXPECT_EQ(FakeTransport::QueryValue(transport_.stream(), name), value) << name;
  const int seconds = std::stoi(FakeTransport::QueryValue(transport_.stream(), "timeoutSeconds"));
  EXPECT_TRUE(seconds >= 300 && seconds <= 600) << seconds;
  transport_.Write(Line("ADDED", "7") + Line("ADDED", "3"));
  EXPECT_EQ(sink_.Take(), "begin +7 +3 ");
  transport_.Write(EndOfList("9"));
  EXPECT_EQ(sink_.Take(), "end ");
  transport_.Write(Line("MODIFIED", "11") + Line("DELETED", "12"));
  EXPECT_EQ(sink_.Take(), "+11 -12 ");
  transport_.End();
  EXPECT_EQ(WatchedFrom(), "12");
}

TEST_F(ReflectorTest, VersionsOfInitialEventsAreNoPosition) {
  Begin();
  transport_.Write(Line("ADDED", "700") + EndOfList("9"));
  clock_.Advance(5s);
  transport_.End();
  EXPECT_EQ(WatchedFrom(), "9");
}

TEST_F(ReflectorTest, AServerThatRefusesStreamingListsIsListedByPagesFromThenOn) {
  Begin();
  transport_.End(Response{422, {}, R"({"kind":"Status","reason":"Invalid"})"});
  EXPECT_EQ(FakeTransport::Query(transport_.next()), "limit=500");
  EXPECT_EQ(transport_.next().timeout, 60s);
  transport_.Answer(200, Page("10"));
  EXPECT_EQ(sink_.Take(), "begin begin +1 end ");
  EXPECT_EQ(WatchedFrom(), "10");
  transport_.Write(ErrorLine(410, "Expired"));
  ExpectBackoff();
  EXPECT_EQ(transport_.calls().size(), 1u) << "pages at once";
}

TEST_F(ReflectorTest, AServerThatIgnoresStreamingListsIsNoticedByItsSilence) {
  Begin();
  transport_.Write(Line("ADDED", "7"));
  transport_.loop().Advance(9s);
  transport_.Write(Line("ADDED", "8"));
  transport_.loop().Advance(9s);
  EXPECT_TRUE(transport_.calls().empty());
  transport_.loop().Advance(1s);
  EXPECT_TRUE(transport_.streams().empty());
  transport_.Answer(200, Page("10"));
  EXPECT_EQ(sink_.Take(), "begin +7 +8 begin +1 end ");
}

TEST_F(ReflectorTest, AStreamingListThatBreaksOffIsFollowedByPagesAndLaterTriedAgain) {
  Begin();
  transport_.Write(Line("ADDED", "7"));
  transport_.End();
  ExpectBackoff();
  transport_.Answer(200, Page("10"));
  EXPECT_EQ(sink_.Take(), "begin +7 begin +1 end ");
  transport_.Write(ErrorLine(410, "Expired"));
  transport_.loop().Advance(5s);
  EXPECT_EQ(FakeTransport::QueryValue(transport_.stream(), "sendInitialEvents"), "true");
}

TEST_F(ReflectorTest, ListsWaitAsLongAsTheServerAsks) {
  Begin();
  transport_.End(Response{429, 20s, ""});
  transport_.loop().Advance(19s);
  EXPECT_TRUE(Idle());
  transport_.loop().Advance(1s);
  EXPECT_EQ(FakeTransport::QueryValue(transport_.stream(), "sendInitialEvents"), "true");

  Begin({.streaming_list = false});
  // RawClient repeats it by itself as long as there is time; without Retry-After it is ours to
  // wait.
  transport_.Answer(429, "");
  ExpectBackoff();
}

TEST_F(ReflectorTest, TheEndOfAGoodStreamIsFollowedAtOnceFromTheLastVersion) {
  BeginWatching();
  transport_.Write(Line("ADDED", "11"));
  transport_.End();
  EXPECT_EQ(WatchedFrom(), "11");
  clock_.Advance(1s);
  transport_.End();
  EXPECT_EQ(WatchedFrom(), "11") << "a second without an event is a good stream too";
  EXPECT_EQ(reflector_->stats().errors, 0u);
}

TEST_F(ReflectorTest, ACutStreamGoesOnFromTheLastWholeLine) {
  BeginWatching();
  transport_.Write(Line("ADDED", "11") + R"({"type":"ADDED","object":{"meta)");
  transport_.End(sky::Fail(Code::kUnknownOutcome, "cut"));
  EXPECT_EQ(WatchedFrom(), "11");
  transport_.Write(Line("ADDED", "12"));
  EXPECT_EQ(sink_.Take(), "+11 +12 ");
}

TEST_F(ReflectorTest, StreamsThatEndAtOnceAreBackedOffAndThenListedAgain) {
  BeginWatching();
  transport_.End();
  ExpectBackoff();
  EXPECT_EQ(WatchedFrom(), "10");
  transport_.End();
  AdvanceUntilBusy();
  EXPECT_EQ(WatchedFrom(), "10");
  transport_.End();
  AdvanceUntilBusy();
  EXPECT_EQ(transport_.calls().size(), 1u);
}

TEST_F(ReflectorTest, AStreamThatRepeatsWhatIsKnownIsNotAGoodOne) {
  BeginWatching();
  transport_.Write(Line("BOOKMARK", "10"));
  transport_.End();
  ExpectBackoff();
}

TEST_F(ReflectorTest, BookmarksMoveTheVersionAndNothingElse) {
  BeginWatching();
  transport_.Write(Line("BOOKMARK", "50"));
  EXPECT_EQ(sink_.Take(), "");
  transport_.End();
  EXPECT_EQ(WatchedFrom(), "50");
}

TEST_F(ReflectorTest, VersionsThatAreNoNumbersAreOpaqueAndInNoOrder) {
  BeginWatching();
  for (const char* version :
       {"zebra", "ant", "-1", "00000000000000000000000000000000000001", "9"}) {
    transport_.Write(Line("MODIFIED", version));
    transport_.End();
    EXPECT_EQ(WatchedFrom(), version);
  }
}

TEST_F(ReflectorTest, AnExpiredVersionIsListedAgainAfterBackoffHoweverItIsTold) {
  for (int how = 0; how < 2; ++how) {
    BeginWatching();
    if (how == 0)
      transport_.Write(Line("ADDED", "11") + ErrorLine(410, "Expired") + Line("ADDED", "99"));
    else
      transport_.End(Response{410, {}, R"({"kind":"Status","reason":"Gone"})"});
    EXPECT_EQ(sink_.Take(), how == 0 ? "+11 " : "") << "nothing after the error counts";
    ExpectBackoff();
    EXPECT_EQ(FakeTransport::Query(transport_.next()), "limit=500")
        << "no resourceVersion: a fresh list";
    transport_.Answer(200, Page("20"));
    EXPECT_EQ(sink_.Take(), "begin +1 end ");
    EXPECT_EQ(WatchedFrom(), "20");
    EXPECT_EQ(reflector_->stats().relists, 1u);
    reflector_.reset();
    transport_.loop().RunReady();
  }
}

TEST_F(ReflectorTest, AServerThatSaysExpiredForEverIsAskedLessThanOnceASecond) {
  Begin({.streaming_list = false});
  int requests = 0;
  const MonoTime end = clock_.Mono() + 10min;
  while (clock_.Mono() < end) {
    if (!transport_.calls().empty()) {
      ++requests;
      transport_.Answer(200, Page("10"));
    }
    if (!transport_.streams().empty()) {
      ++requests;
      transport_.End(Response{410, {}, ""});
    }
    transport_.loop().Advance(50ms);
  }
  EXPECT_GT(requests, 20);
  EXPECT_LT(requests, 120);
}

TEST_F(ReflectorTest, PassingTroubleKeepsTheVersion) {
  for (const int status : {429, 500, 503, 401, 403}) {
    BeginWatching();
    transport_.End(Response{status, {}, ""});
    ExpectBackoff();
    EXPECT_EQ(WatchedFrom(), "10") << status;
    reflector_.reset();
    transport_.loop().RunReady();
  }
  for (const Code code : {Code::kUnavailable, Code::kUnknownOutcome}) {
    BeginWatching();
    transport_.End(sky::Fail(code, "refused"));
    ExpectBackoff();
    EXPECT_EQ(WatchedFrom(), "10");
    reflector_.reset();
    transport_.loop().RunReady();
  }
}

TEST_F(ReflectorTest, A429MakesTheWatchWaitAsLongAsItSays) {
  BeginWatching();
  transport_.End(Response{429, 15s, ""});
  transport_.loop().Advance(14s);
  EXPECT_TRUE(Idle());
  transport_.loop().Advance(1s);
  EXPECT_EQ(WatchedFrom(), "10");
}

TEST_F(ReflectorTest, OtherRefusalsOfAWatchMeanANewList) {
  for (const int status : {400, 404, 422}) {
    BeginWatching();
    transport_.End(Response{status, {}, ""});
    ExpectBackoff();
    EXPECT_EQ(transport_.calls().size(), 1u) << status;
    reflector_.reset();
    transport_.calls().clear();
  }
  BeginWatching();
  transport_.End(Response{
      504, {}, R"({"kind":"Status","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})"});
  ExpectBackoff();
  EXPECT_EQ(transport_.calls().size(), 1u);
}

TEST_F(ReflectorTest, AVersionBelowTheLastOneIsAnotherLifeOfTheServerAndMeansANewList) {
  for (const char* line : {"BOOKMARK", "ADDED", "MODIFIED", "DELETED"}) {
    BeginWatching();
    transport_.Write(Line(line, "9") + Line("ADDED", "11"));
    EXPECT_TRUE(sink_.Take().find("11") == std::string::npos) << "nothing after it is trusted";
    ExpectBackoff();
    ASSERT_EQ(transport_.calls().size(), 1u) << line;
    transport_.Answer(200, Page("3"));
    EXPECT_EQ(sink_.Take(), "begin +1 end-anew ");
    EXPECT_EQ(WatchedFrom(), "3");
    reflector_.reset();
    transport_.loop().RunReady();
  }
}

TEST_F(ReflectorTest, AStreamingListOfAServerThatBeganAnewSaysSo) {
  Begin();
  transport_.Write(EndOfList("100"));
  transport_.Write(Line("BOOKMARK", "20"));
  AdvanceUntilBusy();
  EXPECT_EQ(WatchedFrom(), "") << "not from a version of the other life";
  transport_.Write(Line("ADDED", "21") + EndOfList("30"));
  EXPECT_EQ(sink_.Take(), "begin end begin +21 end-anew ");
  transport_.Write(ErrorLine(410, "Expired"));
  AdvanceUntilBusy();
  transport_.Write(EndOfList("31"));
  EXPECT_EQ(sink_.Take(), "begin end ");
}

TEST_F(ReflectorTest, UnknownEventsAndEmptyLinesAreSkipped) {
  BeginWatching();
  transport_.Write("\n\r\n" + Line("SHUFFLED", "77") + "\n" + Line("ADDED", "11"));
  EXPECT_EQ(sink_.Take(), "+11 ");
}

TEST_F(ReflectorTest, EventsInPiecesAndHugeEventsArriveWhole) {
  BeginWatching();
  const std::string line = Line("ADDED", "11");
  for (size_t i = 0; i < line.size(); ++i) transport_.Write(line.substr(i, 1));
  EXPECT_EQ(sink_.Take(), "+11 ");
  const std::string big =
      R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"12"},"data":")" +
      std::string(size_t{5} << 20, 'x') + "\"}}\n";
  transport_.Write(big.substr(0, big.size() / 2));
  transport_.Write(big.substr(big.size() / 2) + Line("ADDED", "13"));
  EXPECT_EQ(sink_.Take(), "+12 +13 ");
  std::string many;
  for (int i = 100; i < 300; ++i) many += Line("ADDED", fmt::format("{}", i));
  transport_.Write(many.substr(0, many.size() - 5));
  EXPECT_TRUE(sink_.Take().ends_with("+297 +298 "));
}

TEST_F(ReflectorTest, ALineThatIsNoEventIsNotTrusted) {
  BeginWatching();
  transport_.Write(Line("ADDED", "11") + "nonsense\n" + Line("ADDED", "13"));
  EXPECT_EQ(sink_.Take(), "+11 ");
  ExpectBackoff();
  EXPECT_EQ(transport_.calls().size(), 1u) << "listed again";
}

TEST_F(ReflectorTest, AnObjectWithoutVersionLeavesThePositionAlone) {
  BeginWatching();
  transport_.Write(Line("ADDED", "11") + R"({"type":"ADDED","object":{"metadata":{"name":4}}})" +
                   "\n");
  transport_.End();
  EXPECT_EQ(WatchedFrom(), "11");
}

TEST_F(ReflectorTest, ASilentStreamIsBegunAgainAndTwoInARowAreListedAgain) {
  BeginWatching();
  transport_.loop().Advance(2min);
  transport_.Write(Line("BOOKMARK", "50"));
  const auto first = transport_.streams().begin()->first;
  transport_.loop().Advance(2min + 59s);
  EXPECT_EQ(transport_.streams().begin()->first, first);
  transport_.loop().Advance(1s);
  EXPECT_NE(transport_.streams().begin()->first, first);
  EXPECT_EQ(WatchedFrom(), "50");
  transport_.loop().Advance(3min);
  EXPECT_EQ(WatchedFrom(), "50");
  transport_.loop().Advance(3min);
  ExpectBackoff();
  EXPECT_EQ(transport_.calls().size(), 1u);
}

TEST_F(ReflectorTest, AfterStopNothingIsAskedAndNobodyIsTold) {
  BeginWatching();
  reflector_->Stop();
  transport_.loop().Advance(1h);
  EXPECT_TRUE(Idle());

  Begin({.streaming_list = false});
  reflector_->Stop();
  sink_.Take();
  transport_.Answer(200, Page("10"));
  transport_.loop().Advance(1h);
  EXPECT_TRUE(Idle());
  EXPECT_EQ(sink_.Take(), "");
}

}  // namespace
}  // namespace sky::kube
