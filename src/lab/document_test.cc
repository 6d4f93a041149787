// SPDX-License-Identifier: Apache-2.0
#include "lab/document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sky::lab {
namespace {

Json Yaml(std::string_view text) {
  const auto documents = ParseYaml(text);
  EXPECT_TRUE(documents.has_value()) << documents.error().message();
  EXPECT_EQ(documents->size(), 1u);
  return documents->front();
}

TEST(ParseJson, NamesDoubledMembersByTheirPath) {
  std::vector<std::string> doubled;
  const auto document = ParseJson(R"({"a":{"b":1,"b":2},"c":[{"d":1,"d":2}],"c":3})", &doubled);
  ASSERT_TRUE(document.has_value());
  EXPECT_EQ(Dump(*document), R"({"a":{"b":2},"c":3})");
  EXPECT_EQ(doubled, (std::vector<std::string>{"a.b", "c.d", "c"}));
}

TEST(ParseJson, RefusesWhatWouldOverflowTheStack) {
  const std::string deep = std::string(300, '[') + std::string(300, ']');
  EXPECT_FALSE(ParseJson(deep).has_value());
  EXPECT_FALSE(ParseJson(std::string(2'000'000, '[')).has_value());
  EXPECT_TRUE(ParseJson(std::string(150, '[') + std::string(150, ']')).has_value());
}

TEST(ParseJson, RefusesNonsense) {
  for (const char* bad : {"", "{", "{\"a\":}", "nul", "[1,]", "{\"a\":1}x", "'a'"})
    EXPECT_FALSE(ParseJson(bad).has_value()) << bad;
}

TEST(Places, OfTheWrongTypeReadAsNothing) {
  Json document = *ParseJson(R"({"a":{"b":"text","n":3},"l":[1,"x"]})");
  EXPECT_EQ(TextAt(document, {"a", "b"}), "text");
  EXPECT_EQ(TextAt(document, {"a", "n"}), "");
  EXPECT_EQ(IntAt(document, {"a", "n"}), 3);
  EXPECT_EQ(IntAt(document, {"a", "b", "c"}), std::nullopt);
  EXPECT_EQ(Find(document, {"l", "0"}), nullptr);
  EXPECT_EQ(TextsAt(document, {"l"}), std::vector<std::string>{"x"});
  EXPECT_EQ(StringsAt(document, {"a"}).size(), 1u);
  MapAt(document, {"a", "b", "c"})["d"] = 1;
  EXPECT_EQ(IntAt(document, {"a", "b", "c", "d"}), 1);
  Erase(document, {"a", "b"});
  Erase(document, {"x", "y"});
  EXPECT_EQ(Find(document, {"a", "b"}), nullptr);
}

TEST(ParseYaml, TypesScalarsAsKubernetesDoes) {
  EXPECT_EQ(
      Yaml("{a: 1, b: -2, c: 0x10, d: 010, e: 1.5, f: '1', g: \"yes\", h: yes, i: off, j: ~, k: , "
           "l: 1e3, m: text, n: 1Gi, o: +4, p: 0}"),
      *ParseJson(R"({"a":1,"b":-2,"c":16,"d":8,"e":1.5,"f":"1","g":"yes","h":true,"i":false,
                           "j":null,"k":null,"l":1000.0,"m":"text","n":"1Gi","o":4,"p":0})"));
}

TEST(ParseYaml, ReadsStreamsAnchorsAndBlocks) {
  const auto documents =
      ParseYaml("---\na: &x {b: 1}\nc: *x\n---\n# nothing\n---\nt: |\n  one\n  two\n");
  ASSERT_TRUE(documents.has_value());
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ(Dump((*documents)[0]), R"({"a":{"b":1},"c":{"b":1}})");
  EXPECT_EQ((*documents)[1]["t"], "one\ntwo\n");
}

TEST(ParseYaml, SaysWhereItIsWrong) {
  const auto place = [](std::string_view text) {
    const auto documents = ParseYaml(text);
    return documents ? "fine" : documents.error().message().substr(0, 17);
  };
  EXPECT_EQ(place("a: 1\na: 2\n"), "line 2, column 1:");
  EXPECT_EQ(place("a: [1,\n"), "line 2, column 1:");
  EXPECT_EQ(place("? [x]\n: 1\n"), "line 1, column 3:");
}

}  // namespace
}  // namespace sky::lab
