// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace sky::kube {
namespace {

std::vector<std::string> Split(const std::vector<std::string>& chunks, LineSplitter& splitter) {
  std::vector<std::string> lines;
  for (const std::string& chunk : chunks)
    EXPECT_TRUE(splitter.Feed(chunk, [&](std::string_view line) {
      lines.emplace_back(line);
      return true;
    }));
  return lines;
}

TEST(LineSplitterTest, CompleteLinesComeAtOnceAndTheRestWaits) {
  LineSplitter splitter;
  EXPECT_EQ(Split({"one\ntwo\nthr"}, splitter), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(splitter.pending(), 3u);
  EXPECT_EQ(Split({"ee\n"}, splitter), (std::vector<std::string>{"three"}));
  EXPECT_EQ(splitter.pending(), 0u);
}

TEST(LineSplitterTest, EmptyLinesAndCarriageReturnsAreDropped) {
  LineSplitter splitter;
  EXPECT_EQ(Split({"\n\r\n", "a\r", "\n\n"}, splitter), (std::vector<std::string>{"a"}));
}

TEST(LineSplitterTest, NothingComesAfterTheReaderStopped) {
  LineSplitter splitter;
  int lines = 0;
  EXPECT_TRUE(splitter.Feed("a\nb\nc", [&](std::string_view) { return ++lines < 1; }));
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(splitter.pending(), 0u);
}

TEST(LineSplitterTest, ALineLongerThanAllowedIsAnErrorAndAnAllowedOneIsNot) {
  LineSplitter splitter(10);
  const auto ignore = [](std::string_view) { return true; };
  EXPECT_TRUE(splitter.Feed("0123456789\n", ignore));
  EXPECT_TRUE(splitter.Feed("01234", ignore));
  EXPECT_EQ(splitter.Feed("567890", ignore).error().code(), Code::kInvalid);
}

RC_GTEST_PROP(LineSplitterTest, LinesDoNotDependOnHowTheStreamIsCut, ()) {
  std::string text;
  std::vector<std::string> expected;
  for (const int length : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 40))) {
    const std::string line(static_cast<size_t>(length), 'x');
    text += line + "\n";
    if (length > 0) expected.push_back(line);
  }
  std::vector<std::string> chunks;
  for (size_t at = 0; at < text.size();) {
    const auto length = *rc::gen::inRange<size_t>(1, 60);
    chunks.push_back(text.substr(at, length));
    at += length;
  }
  LineSplitter splitter;
  RC_ASSERT(Split(chunks, splitter) == expected);
}

TEST(WatchLineTest, TypeAndObjectAreReadInAnyOrder) {
  for (
      const char* line :
      {R"({"type":"ADDED","object":{"a":[1,{"b":"}"}]}})",
       R"({"object":{"a":[1,{"b":"}"}]},"type":"ADDED"})",
       R"( { "extra" : [ {} ], "type" : "ADDED", "object" : {"a":[1,{"b":"}"}]} , "more":null } )"}) {
    const auto event = ParseWatchLine(line);
    ASSERT_TRUE(event) << event.error().message();
    EXPECT_EQ(event->type, WatchEvent::Type::kAdded);
    EXPECT_EQ(event->object, R"({"a":[1,{"b":"}"}]})");
  }
}

TEST(WatchLineTest, TheObjectIsAPartOfTheLine) {
  const std::string line = R"({"type":"MODIFIED","object":{"x":1}})";
  const auto event = ParseWatchLine(line);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->object.data(), line.data() + line.find("{\"x\""));
}

TEST(WatchLineTest, UnknownTypesAreToldAsSuch) {
  const auto event = ParseWatchLine(R"({"type":"SHUFFLED","object":{}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEvent::Type::kUnknown);
  EXPECT_EQ(event->type_text, "SHUFFLED");
}

TEST(WatchLineTest, WhatIsNoEventIsAnError) {
  for (const char* line :
       {"", "x", "[]", "{}", "null", R"({"type":"ADDED"})", R"({"object":{}})",
        R"({"type":1,"object":{}})", R"({"type":"ADDED","object":[]})",
        R"({"type":"ADDED","object":"x"})", R"({"type":"ADDED","object":{})",
        R"({"type":"ADDED","object":{}} x)", R"({"type":"ADDED","object":{}}{})", "\xff\xfe"})
    EXPECT_FALSE(ParseWatchLine(line)) << line;
}

TEST(ParseMetaTest, TheMetadataOfABookmarkAndOfAnObjectAreRead) {
  const auto meta = ParseMeta(
      R"({"kind":"Queue","metadata":{"resourceVersion":"abc","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{}})");
  ASSERT_TRUE(meta) << meta.error().message();
  EXPECT_EQ(meta->resource_version, "abc");
  EXPECT_EQ(meta->Annotation(kInitialEventsEnd), "true");
  EXPECT_FALSE(ParseMeta(R"({"kind":"Queue"})"));
  EXPECT_FALSE(ParseMeta(R"({"metadata":null})"));
  EXPECT_FALSE(ParseMeta(R"({"metadata":{"name":7}})"));
}

TEST(ParseListPageTest, ItemsVersionAndContinueAreRead) {
  const auto page = ParseListPage(
      R"({"kind":"QueueList","metadata":{"resourceVersion":"17","continue":"abc","remainingItemCount":3},)"
      R"("items":[{"a":1}, {"b":"]"}]})");
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_EQ(page->resource_version, "17");
  EXPECT_EQ(page->continue_token, "abc");
  EXPECT_EQ(page->items, (std::vector<std::string_view>{R"({"a":1})", R"({"b":"]"})"}));
}

TEST(ParseListPageTest, AListWithoutItemsIsEmpty) {
  for (const char* text : {R"({"metadata":{"resourceVersion":"1"}})",
                           R"({"metadata":{"resourceVersion":"1"},"items":null})",
                           R"({"items":[],"metadata":{"resourceVersion":"1"}})"}) {
    const auto page = ParseListPage(text);
    ASSERT_TRUE(page) << text << ": " << page.error().message();
    EXPECT_TRUE(page->items.empty());
    EXPECT_EQ(page->continue_token, "");
  }
}

TEST(ParseListPageTest, WhatIsNoListIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"metadata":{},"items":[]})",
                           R"({"metadata":{"resourceVersion":"1"},"items":[1]})",
                           R"({"metadata":{"resourceVersion":"1"},"items":{}})",
                           R"({"metadata":{"resourceVersion":"1"},"items":[{})",
                           R"({"metadata":{"resourceVersion":1},"items":[]})"})
    EXPECT_FALSE(ParseListPage(text)) << text;
}

}  // namespace
}  // namespace sky::kube
