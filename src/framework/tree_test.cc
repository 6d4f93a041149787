// SPDX-License-Identifier: Apache-2.0
#include "framework/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace sky::framework {
namespace {

using ::testing::HasSubstr;

TEST(ReadTree, RemembersKindsAndPositions) {
  const Tree root = *ReadTree("a: {b: [1, -2.50, true, ~, 'yes', word]}\nc:\nd: \"10\"\n");
  EXPECT_EQ(root.map.size(), 3u);
  const Tree& list = *root.Find("a")->Find("b");
  const std::vector<Tree::Kind> kinds = {Tree::Kind::kInt,  Tree::Kind::kDecimal,
                                         Tree::Kind::kBool, Tree::Kind::kNull,
                                         Tree::Kind::kText, Tree::Kind::kText};
  ASSERT_EQ(list.list.size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(list.list[i].kind, kinds[i]) << i;
  EXPECT_EQ(list.list[1].at, (Position{1, 12}));
  EXPECT_EQ(root.Find("c")->kind, Tree::Kind::kNull);
  EXPECT_EQ(root.Find("c")->at, (Position{2, 1}));
  EXPECT_EQ(root.Find("d")->kind, Tree::Kind::kText);
  EXPECT_EQ(root.Find("e"), nullptr);
}

TEST(ReadTree, AnEmptyDocumentIsNull) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n"})
    EXPECT_EQ(ReadTree(text)->kind, Tree::Kind::kNull) << text;
}

struct Misread {
  std::string text;
  Position at;
  std::string says;
};

TEST(ReadTree, RefusesWhatYamlReadsOtherwiseThanItLooks) {
  const std::vector<Misread> bads = {
      {"a: 1\nb: 2\na: 3\n", {3, 1}, "'a' stands here a second time; the first is in line 1"},
      {"x: {k: 1, k: 2}", {1, 11}, "second time"},
      {"a: yes", {1, 4}, "write true or false"},
      {"a: Off", {1, 4}, "write true or false"},
      {"a: TRUE", {1, 4}, "write true or false"},
      {"a: [010]", {1, 5}, "different numbers"},
      {"a: 0x10", {1, 4}, "different numbers"},
      {"a: 0o17", {1, 4}, "different numbers"},
      {"a: 1_000", {1, 4}, "different numbers"},
      {"a: 1:30", {1, 4}, "different numbers"},
      {"a: 1e3", {1, 4}, "different numbers"},
      {"a: .5", {1, 4}, "different numbers"},
      {"a: +5", {1, 4}, "different numbers"},
      {"a: -0", {1, 4}, "different numbers"},
      {"a: .inf", {1, 4}, "different numbers"},
      {"a: 2026-11-29", {1, 4}, "different numbers"},
      {"a: &x 1\nb: *x", {1, 4}, "anchors"},
      {"a: &x [*x]", {1, 4}, "anchors"},
      {"a: !!int 3", {1, 4}, "tags"},
      {"a: !mine {}", {1, 4}, "tags"},
      {"a: 1\n---\nb: 2\n", {2, 1}, "second document"},
      {"[1]: 2", {1, 1}, "a key must be a word"},
      {"? {a: 1}\n: 2", {1, 3}, "a key must be a word"},
      {": 2", {1, 1}, "a key must be a word"},
      {"a: [1\n", {2, 1}, "this is no YAML"},
      {"a: 1\n b: 2\n", {2, 3}, "this is no YAML"},
  };
  for (const Misread& bad : bads) {
    const auto read = ReadTree(bad.text);
    ASSERT_FALSE(read.has_value()) << bad.text;
    EXPECT_EQ(read.error().at, bad.at) << bad.text << ": " << read.error().message;
    EXPECT_THAT(read.error().message, HasSubstr(bad.says)) << bad.text;
  }
}

TEST(ReadTree, QuotesMakeAnyWordAText) {
  for (const char* word : {"yes", "010", "0x10", "1:30", "null", "10", "~"})
    EXPECT_EQ(*ReadTree("'" + std::string(word) + "'"), Tree::Text(word));
}

TEST(ReadTree, BoundsDepthAndSize) {
  const auto deep = ReadTree(std::string(200, '[') + std::string(200, ']'));
  ASSERT_FALSE(deep.has_value());
  EXPECT_THAT(deep.error().message, HasSubstr("nested deeper than 32 levels"));
  EXPECT_FALSE(ReadTree(std::string(100'000, '[')).has_value());
  const auto large = ReadTree(std::string(kMaxDocumentBytes + 1, ' '));
  ASSERT_FALSE(large.has_value());
  EXPECT_THAT(large.error().message, HasSubstr("1048577 bytes"));
}

TEST(InDocument, FindsABytePlainQuotedFoldedAndLiteral) {
  const std::vector<std::pair<std::string, Position>> documents = {
      {"k: and(a, BAD)", {1, 11}},
      {"k: 'and(a, BAD)'", {1, 12}},
      {"k: \"and(a, BAD)\"", {1, 12}},
      {"k: and(a,\n    BAD)", {2, 5}},
      {"k: >-\n  and(a,\n\n   BAD)", {4, 4}},
      {"k: |\n\n  and(a,\n  BAD)", {4, 3}},
      {"k: >+ # why\n  and(a, BAD)", {2, 10}},
  };
  for (const auto& [document, at] : documents) {
    const Tree root = *ReadTree(document);
    const Tree& scalar = *root.Find("k");
    const std::string& value = scalar.text;
    const size_t offset = value.find("BAD"), line_end = value.rfind('\n', offset);
    const int line = 1 + static_cast<int>(std::count(
                             value.begin(), value.begin() + static_cast<long>(offset), '\n'));
    const size_t begin = line_end == value.npos ? 0 : line_end + 1;
    EXPECT_EQ(InDocument(document, scalar.at, value, {line, 1 + static_cast<int>(offset - begin)}),
              at)
        << document;
  }
}

TEST(InDocument, FallsBackToTheScalarWhereEscapesHideTheBytes) {
  const std::string document = "k: \"\\x61nd(a, BAD)\"";
  EXPECT_EQ(InDocument(document, {1, 4}, "and(a, BAD)", {1, 8}), (Position{1, 4}));
}

std::string PickText() {
  if (*rc::gen::arbitrary<bool>())
    return *rc::gen::element<std::string>("yes", "010", "~", "", "true", "1.5", "- a", "*x",
                                          "joint(a, b)*2", "\xc3\xa4", "on ", "\xef\xbb\xbf",
                                          "\xe2\x80\xa8");
  return *rc::gen::container<std::string>(rc::gen::element('a', 'Z', '0', ' ', '-', ':', '#', '\n',
                                                           '"', '\\', '\x01', '\x04', '\'', '\t'));
}

Tree PickTree(int depth) {
  const int shape = *rc::gen::inRange(0, depth == 0 ? 2 : 4);
  if (shape == 0) return Tree::Text(PickText());
  if (shape == 1)
    return *ReadTree(
        *rc::gen::element<std::string>("null", "true", "7", "-12", "0.50", "[]", "{}"));
  Tree tree = Tree::Map({});
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    if (shape == 2)
      tree.list.push_back(PickTree(depth - 1));
    else
      tree.map.push_back({PickText() + "," + std::to_string(i), {}, PickTree(depth - 1)});
  }
  if (shape == 2) tree.kind = Tree::Kind::kList;
  return tree;
}

RC_GTEST_PROP(PrintTree, ThenReadIsTheSameTree, ()) {
  const Tree tree = PickTree(3);
  const auto again = ReadTree(PrintTree(tree));
  RC_LOG() << PrintTree(tree);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == tree);
}

}  // namespace
}  // namespace sky::framework
