// SPDX-License-Identifier: Apache-2.0
#include "server/target.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sky::server {
namespace {

using Strings = std::vector<std::string>;

TEST(Target, SplitsThePathBeforeItDecodesSegments) {
  const auto target = ParseTarget("/apis/g.io/v1/things/a%2Fb%20c/status");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->segments, (Strings{"apis", "g.io", "v1", "things", "a/b c", "status"}));
  EXPECT_TRUE(target->query.empty());
}

TEST(Target, LeavesEmptySegmentsOut) {
  EXPECT_EQ(ParseTarget("//api///v1/")->segments, (Strings{"api", "v1"}));
  EXPECT_TRUE(ParseTarget("/")->segments.empty());
}

TEST(Target, DecodesQueryNamesAndValuesInOrder) {
  const auto target = ParseTarget("/x?labelSelector=a%3Db%2Cc&watch=true&empty=&bare&q=1+2#frag");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->QueryOr("labelSelector"), "a=b,c");
  EXPECT_EQ(target->QueryOr("watch"), "true");
  EXPECT_TRUE(target->HasQuery("empty"));
  EXPECT_TRUE(target->HasQuery("bare"));
  EXPECT_EQ(target->QueryOr("q"), "1 2");
  EXPECT_FALSE(target->HasQuery("missing"));
}

TEST(Target, RefusesWhatNoHonestClientSends) {
  for (const char* bad :
       {"", "*", "http://host/x", "x", "/a%", "/a%4", "/a%zz", "/a%00b", "/../etc", "/a/./b",
        "/a/%2e%2e/b", "/x?a=%", "/x?a=%1", "/x?a%00=1", "/a\x01"})
    EXPECT_FALSE(ParseTarget(bad).has_value()) << bad;
}

RC_GTEST_PROP(Target, ReadsBackWhateverWasEscaped, ()) {
  const auto segments = *rc::gen::container<Strings>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~' + 1))));
  const auto value = *rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '~' + 1));
  std::string text = "/";
  Strings expected;
  for (const std::string& segment : segments) {
    if (segment == "." || segment == "..") continue;
    text += Escape(segment) + "/";
    expected.push_back(segment);
  }
  text += "?key=" + Escape(value);
  const auto target = ParseTarget(text);
  RC_ASSERT(target.has_value());
  RC_ASSERT(target->segments == expected);
  RC_ASSERT(target->QueryOr("key") == value);
}

}  // namespace
}  // namespace sky::server
