// SPDX-License-Identifier: Apache-2.0
#include "kube/events.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_transport.h"

namespace sky::kube {
namespace {

using namespace std::chrono_literals;
using testing::FakeTransport;

class EventsTest : public ::testing::Test {
 protected:
  void Use(EventOptions options) {
    options.controller = "sky-scheduler";
    options.instance = "sky-scheduler-1";
    recorder_ = std::make_unique<EventRecorder>(client_, options);
  }
  EventsTest() { Use({}); }

  static EventNote Note(const std::string& pod, const std::string& reason = "Scheduled") {
    EventNote note;
    note.reason = reason;
    note.action = "Binding";
    note.note = "bound to n1";
    note.regarding = {"v1", "Pod", pod, "ns", "uid-" + pod, ""};
    return note;
  }
  void Record(EventNote note) {
    recorder_->Record(std::move(note));
    transport_.loop().RunReady();
  }
  api::Event Sent() { return api::Decode<api::Event>(transport_.next().body).value(); }
  void Accept() {
    transport_.Answer(201,
                      transport_.next().method == Method::kPost ? transport_.next().body : "{}");
  }

  ManualClock clock_;
  FakeTransport transport_{clock_};
  Client client_{transport_};
  std::unique_ptr<EventRecorder> recorder_;
};

TEST_F(EventsTest, AnEventIsPostedWithAllThatTheApiServerAsksFor) {
  EventNote note = Note("worker-3");
  note.type = EventNote::Type::kWarning;
  note.related = api::ObjectReference{"v1", "Node", "n1", "", "u", ""};
  recorder_->Record(std::move(note));
  EXPECT_TRUE(transport_.calls().empty()) << "never inside the call";
  transport_.loop().RunReady();
  EXPECT_EQ(transport_.next().method, Method::kPost);
  EXPECT_EQ(transport_.next().path, "/apis/events.k8s.io/v1/namespaces/ns/events");
  const api::Event event = Sent();
  EXPECT_TRUE(event.metadata.name.starts_with("worker-3.")) << event.metadata.name;
  EXPECT_EQ(event.metadata.namespace_, "ns");
  EXPECT_EQ(event.event_time.at, clock_.Wall());
  EXPECT_EQ(event.reporting_controller, "sky-scheduler");
  EXPECT_EQ(event.reporting_instance, "sky-scheduler-1");
  EXPECT_EQ(event.action, "Binding");
  EXPECT_EQ(event.reason, "Scheduled");
  EXPECT_EQ(event.note, "bound to n1");
  EXPECT_EQ(event.type, "Warning");
  EXPECT_EQ(event.regarding.name, "worker-3");
  ASSERT_TRUE(event.related);
  EXPECT_EQ(event.related->name, "n1");
  EXPECT_FALSE(event.series);
}

TEST_F(EventsTest, EventsOfObjectsWithoutNamespaceStandInDefault) {
  EventNote note = Note("n1");
  note.regarding.namespace_ = "";
  Record(std::move(note));
  EXPECT_EQ(transport_.next().path, "/apis/events.k8s.io/v1/namespaces/default/events");
}

TEST_F(EventsTest, NamesAreNeverTheSameAndNeverTooLong) {
  Record(Note(std::string(253, 'a'), "One"));
  Record(Note(std::string(253, 'a'), "Two"));
  const std::string first = Sent().metadata.name;
  Accept();
  EXPECT_NE(Sent().metadata.name, first);
  EXPECT_LE(first.size(), 253u);
}

TEST_F(EventsTest, TheFirstRepetitionPatchesTheSeriesAndLaterOnesAreCounted) {
  Record(Note("p"));
  const std::string name = Sent().metadata.name;
  Accept();
  clock_.Advance(1s);
  EventNote again = Note("p");
  again.note = "bound to n2";  // no part of the identity
  Record(std::move(again));
  EXPECT_EQ(transport_.next().method, Method::kPatch);
  EXPECT_TRUE(transport_.next().path.ends_with("/events/" + name));
  EXPECT_EQ(transport_.next().body,
            R"({"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:01.000000Z"}})");
  Accept();
  for (int i = 0; i < 100; ++i) Record(Note("p"));
  EXPECT_TRUE(transport_.calls().empty());
  EXPECT_EQ(recorder_->stats().counted, 101u);
  EXPECT_EQ(recorder_->stats().sent, 2u);
}

TEST_F(EventsTest, ALongSeriesIsToldEveryHalfHourAndALastTimeWhenItEnds) {
  Record(Note("p"));
  Accept();
  Record(Note("p"));
  Accept();
  int patches = 0;
  std::string last;
  const auto answer = [&] {
    while (!transport_.calls().empty()) {
      ++patches;
      last = transport_.next().body;
      Accept();
    }
  };
  for (int minute = 0; minute < 90; ++minute) {
    Record(Note("p"));
    transport_.loop().Advance(1min);
    answer();
  }
  EXPECT_GE(patches, 2);
  EXPECT_LE(patches, 3);
  for (int minute = 0; minute < 10; ++minute) {
    transport_.loop().Advance(1min);
    answer();
  }
  EXPECT_NE(last.find(R"("count":92,)"), std::string::npos) << last;
  transport_.loop().Advance(24h);
  EXPECT_TRUE(transport_.calls().empty()) << "and then nothing";
  Record(Note("p"));
  EXPECT_EQ(transport_.next().method, Method::kPost) << "a new series";
}

TEST_F(EventsTest, AnIdleRecorderHasNoTimer) {
  Record(Note("p"));
  Accept();
  transport_.loop().Advance(24h);
  EXPECT_EQ(transport_.loop().NextDue(), std::nullopt);
}

TEST_F(EventsTest, ARepetitionWhileTheFirstIsUnderWayWaitsForIt) {
  Record(Note("p"));
  for (int i = 0; i < 5; ++i) Record(Note("p"));
  EXPECT_EQ(transport_.calls().size(), 1u);
  Accept();
  EXPECT_EQ(transport_.calls().size(), 1u);
  EXPECT_NE(transport_.next().body.find(R"("count":6,)"), std::string::npos);
}

TEST_F(EventsTest, AnEventThatTheServerForgotIsPostedAgain) {
  Record(Note("p"));
  const std::string name = Sent().metadata.name;
  Accept();
  Record(Note("p"));
  transport_.Answer(404, "");
  EXPECT_EQ(transport_.next().method, Method::kPost);
  EXPECT_NE(Sent().metadata.name, name);
  ASSERT_TRUE(Sent().series);
  EXPECT_EQ(Sent().series->count, 2);
}

TEST_F(EventsTest, PassingTroubleIsTriedAgainAFewTimes) {
  Record(Note("p"));
  for (const Code code : {Code::kUnavailable, Code::kUnknownOutcome}) {
    transport_.Break(code);
    EXPECT_TRUE(transport_.calls().empty());
    transport_.loop().Advance(10s);
    EXPECT_EQ(transport_.calls().size(), 1u);
  }
  transport_.Answer(429, "", 20s);
  transport_.loop().Advance(19s);
  EXPECT_TRUE(transport_.calls().empty());
  transport_.loop().Advance(1s);
  transport_.Break(Code::kUnavailable);
  transport_.loop().Advance(1h);
  EXPECT_TRUE(transport_.calls().empty());
  EXPECT_EQ(recorder_->stats().failed, 1u);
}

TEST_F(EventsTest, APostWhoseAnswerWasLostIsNotMadeTwice) {
  Record(Note("p"));
  const std::string name = Sent().metadata.name;
  transport_.Break(Code::kUnknownOutcome);
  transport_.loop().Advance(10s);
  EXPECT_EQ(Sent().metadata.name, name);
  transport_.Answer(409, R"({"kind":"Status","reason":"AlreadyExists"})");
  Record(Note("p"));
  EXPECT_EQ(transport_.next().method, Method::kPatch);
}

TEST_F(EventsTest, ARefusedEventIsGivenUp) {
  Record(Note("p"));
  transport_.Answer(403, "");
  transport_.loop().Advance(1h);
  EXPECT_TRUE(transport_.calls().empty());
  EXPECT_EQ(recorder_->stats().failed, 1u);
}

TEST_F(EventsTest, OnlySomeAreInFlightAndWhatDoesNotFitIsDropped) {
  Use({.queue = 10, .in_flight = 2});
  for (int i = 0; i < 30; ++i) Record(Note(fmt::format("p{}", i)));
  EXPECT_EQ(transport_.calls().size(), 2u);
  EXPECT_EQ(recorder_->stats().dropped_full, 18u);
  for (int i = 0; i < 12; ++i) Accept();
  EXPECT_TRUE(transport_.calls().empty());
  EXPECT_EQ(recorder_->stats().sent, 12u);
}

TEST_F(EventsTest, ALoopThatIsBusyMakesRecordDropAndNotWait) {
  Use({.queue = 10});
  for (int i = 0; i < 30; ++i) recorder_->Record(Note(fmt::format("p{}", i)));
  EXPECT_EQ(recorder_->stats().dropped_full, 20u);
  transport_.loop().RunReady();
  recorder_->Record(Note("later"));
  EXPECT_EQ(recorder_->stats().dropped_full, 20u);
}

TEST_F(EventsTest, OneObjectCanNotDrownTheOthers) {
  for (int i = 0; i < 40; ++i) {
    Record(Note("loud", fmt::format("Reason{}", i)));
    while (!transport_.calls().empty()) Accept();
  }
  EXPECT_EQ(recorder_->stats().sent, 25u);
  EXPECT_EQ(recorder_->stats().dropped_rate, 15u);
  Record(Note("quiet"));
  EXPECT_EQ(transport_.calls().size(), 1u);
  Accept();
  transport_.loop().Advance(5min);
  Record(Note("loud", "ReasonLater"));
  EXPECT_EQ(transport_.calls().size(), 1u);
}

TEST_F(EventsTest, OfACrowdNotEachIsToldWhatIsNormalButWhatIsWrongIs) {
  Use({.crowd = 3, .crowd_refill = 100ms});
  const auto tell = [&](int from, int to, EventNote::Type type, const char* kind) {
    const uint64_t before = recorder_->stats().sent;
    for (int i = from; i < to; ++i) {
      EventNote note = Note(fmt::format("p{}", i));
      note.type = type;
      note.regarding.kind = kind;
      Record(std::move(note));
      while (!transport_.calls().empty()) Accept();
    }
    return recorder_->stats().sent - before;
  };
  EXPECT_EQ(tell(0, 10, EventNote::Type::kNormal, "Pod"), 3u);
  EXPECT_EQ(recorder_->stats().dropped_rate, 7u);
  EXPECT_EQ(tell(0, 2, EventNote::Type::kNormal, "PodGroup"), 2u) << "a kind's own";
  EXPECT_EQ(tell(0, 10, EventNote::Type::kWarning, "Pod"), 10u);
  transport_.loop().Advance(200ms);
  EXPECT_EQ(tell(10, 20, EventNote::Type::kNormal, "Pod"), 2u);
}

TEST_F(EventsTest, MoreSeriesThanRememberedForgetTheLongestUnused) {
  Use({.series = 3});
  for (const char* pod : {"a", "b", "c", "a", "d"}) {
    Record(Note(pod));
    while (!transport_.calls().empty()) Accept();
    clock_.Advance(1s);
  }
  Record(Note("a"));
  EXPECT_TRUE(transport_.calls().empty()) << "still known";
  Record(Note("b"));
  EXPECT_EQ(transport_.next().method, Method::kPost) << "forgotten";
}

TEST(CutNoteTest, NotesAreCutBetweenCharacters) {
  EXPECT_EQ(CutNote("short"), "short");
  EXPECT_EQ(CutNote(std::string(2000, 'a')).size(), 1024u);
  std::string text;
  while (text.size() < 2000) text += "日";
  const std::string cut = CutNote(text);
  EXPECT_EQ(cut.size(), 1023u);
  EXPECT_EQ(cut, text.substr(0, 1023));
  EXPECT_EQ(CutNote("aé", 2), "a");
  EXPECT_EQ(CutNote("aé", 3), "aé");
  EXPECT_EQ(CutNote("\x80\x80\x80", 2), "");
}

}  // namespace
}  // namespace sky::kube
