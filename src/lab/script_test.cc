// SPDX-License-Identifier: Apache-2.0
#include "lab/script.h"

#include <gtest/gtest.h>

namespace sky::lab {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto script = ReadScript(text, "a.scn");
  return script ? std::string() : script.error().message();
}

TEST(Script, LinesBecomeStatementsWithNamesWordsAndBodies) {
  const auto script = ReadScript(
      "# a cluster\n"
      "leaf S1 n[0-3] gpu=8 hca=8 spec=a100   # four nodes\n"
      "\n"
      "apply refused <<END\n"
      "kind: Quota  # this is YAML's\n"
      "END\n"
      "job train 4 gpu=1 strict\n",
      "a.scn");
  ASSERT_TRUE(script.has_value()) << script.error().message();
  ASSERT_EQ(script->size(), 3u);
  EXPECT_EQ((*script)[0].names, (std::vector<std::string>{"S1", "n[0-3]"}));
  EXPECT_EQ((*script)[0].words, "gpu=8 hca=8 spec=a100");
  EXPECT_EQ((*script)[0].text, "leaf S1 n[0-3] gpu=8 hca=8 spec=a100");
  EXPECT_EQ((*script)[0].line, 2);
  EXPECT_EQ((*script)[1].body, "kind: Quota  # this is YAML's\n");
  EXPECT_EQ((*script)[1].names, std::vector<std::string>{"refused"});
  EXPECT_EQ((*script)[2].line, 7);
  EXPECT_EQ((*script)[2].words, "gpu=1 strict");
}

TEST(Script, AMistypedWordStopsWithItsPlaceAndAdvice) {
  EXPECT_EQ(ErrorOf("cycle\n\ncicle\n").substr(0, 57),
            "a.scn:3: unknown statement \"cicle\"; did you mean 'cycle'?");
  EXPECT_NE(ErrorOf("leaf S1 n0 gpu=8 spek=a100").find("did you mean 'spec'?"), std::string::npos);
  EXPECT_NE(ErrorOf("leaf S1 n0 gpu=many").find("a.scn:1: "), std::string::npos);
  EXPECT_NE(ErrorOf("job train 4 gpu=1 strikt").find("did you mean 'strict'?"), std::string::npos);
  EXPECT_NE(ErrorOf("group train min=2 gpu=1").find("doesn't know the word \"gpu\""),
            std::string::npos);
  EXPECT_NE(ErrorOf("job train").find("needs more words"), std::string::npos);
  EXPECT_NE(ErrorOf("cycle 1 2").find("doesn't know what \"2\" means here"), std::string::npos);
}

TEST(Script, BodiesBelongToTheStatementsThatTakeThem) {
  EXPECT_NE(ErrorOf("apply\n").find("needs a body"), std::string::npos);
  EXPECT_NE(ErrorOf("cycle <<END\nEND\n").find("takes no body"), std::string::npos);
  EXPECT_NE(ErrorOf("cycle\napply <<END\nkind: Pod\n").find("a.scn:2: the body has no end"),
            std::string::npos);
  EXPECT_NE(ErrorOf("apply <<\nEND\n").find("a body is written"), std::string::npos);
}

}  // namespace
}  // namespace sky::lab
