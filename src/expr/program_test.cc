// SPDX-License-Identifier: Apache-2.0
#include "expr/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sky::expr {
namespace {

const std::vector<std::string> kLeaves = {"a", "b", "c"};

Program CompileText(std::string_view text, Type type) {
  return *Program::Compile(*Parse(text), type, kLeaves);
}

TEST(Compile, SpellsAllOutInTheOrderOfTheConfiguration) {
  EXPECT_EQ(CompileText("first(all)", Type::kOrderKey),
            CompileText("first(a, b, c)", Type::kOrderKey));
  EXPECT_EQ(CompileText("sum(all*2)", Type::kScore),
            CompileText("sum(a*2, b*2, c*2)", Type::kScore));
}

TEST(Compile, DropsWhoDoesNotTakePart) {
  EXPECT_EQ(CompileText("joint(a, storage, firstNotPass(sylas, drf))", Type::kVerdict),
            CompileText("a", Type::kVerdict));
  EXPECT_TRUE(CompileText("and(storage)", Type::kBool).empty());
  EXPECT_TRUE(Program::Compile(*Parse("joint(all)"), Type::kVerdict, {})->empty());
}

TEST(Compile, FlattensNestedEqualOperators) {
  EXPECT_EQ(CompileText("joint(a, and(b, joint(c)))", Type::kVerdict).nodes().size(), 4u);
  EXPECT_EQ(CompileText("firstNotPass(c, or(b, a))", Type::kVerdict),
            CompileText("or(c, b, a)", Type::kVerdict));
  EXPECT_EQ(CompileText("sum(a, sum(b*2, c))", Type::kScore),
            CompileText("sum(a, b*2, c)", Type::kScore));
}

TEST(Compile, KeepsAWeightedSumTogetherBecauseItRoundsOnce) {
  EXPECT_NE(CompileText("sum(a, sum(b, c)*0.3)", Type::kScore),
            CompileText("sum(a, b*0.3, c*0.3)", Type::kScore));
}

TEST(Compile, UnwrapsAnOperatorOfOneWithoutLosingItsWeight) {
  EXPECT_EQ(CompileText("sum(max(a)*3, b)", Type::kScore),
            CompileText("sum(a*3, b)", Type::kScore));
  EXPECT_EQ(CompileText("sum(max(a*3), b)", Type::kScore),
            CompileText("sum(a*3, b)", Type::kScore));
}

TEST(Compile, PermutedArgumentsGiveTheSameProgramWhereOrderDoesNotMatter) {
  EXPECT_EQ(CompileText("joint(c, or(b, a), a)", Type::kVerdict),
            CompileText("joint(a, or(b, a), c)", Type::kVerdict));
  EXPECT_NE(CompileText("or(b, a)", Type::kVerdict), CompileText("or(a, b)", Type::kVerdict));
}

TEST(Compile, SaysTwiceTheSameOnceButAddsTwice) {
  EXPECT_EQ(CompileText("union(a, b, a)", Type::kSet), CompileText("union(a, b)", Type::kSet));
  EXPECT_EQ(CompileText("sum(a, a)", Type::kScore).nodes().size(), 3u);
}

TEST(Compile, FailsAsCheckDoes) {
  const auto program = Program::Compile(*Parse("joint(a, sum(b))"), Type::kVerdict, kLeaves);
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().at, (Position{1, 10}));
}

}  // namespace
}  // namespace sky::expr
