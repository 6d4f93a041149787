// SPDX-License-Identifier: Apache-2.0
#include "expr/program.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sky::expr {
namespace {

const std::vector<std::string> kThree = {"a", "b", "c"};

Program CompileOfThree(std::string_view text, Type type) {
  return *Program::Compile(*Parse(text), type, kThree);
}

TEST(Compile, SpellsAllOutInTheOrderOfTheConfiguration) {
  EXPECT_EQ(CompileOfThree("first(all)", Type::kOrderKey),
            CompileOfThree("first(a, b, c)", Type::kOrderKey));
  EXPECT_EQ(CompileOfThree("sum(all*2)", Type::kScore),
            CompileOfThree("sum(a*2, b*2, c*2)", Type::kScore));
}

TEST(Compile, DropsWhoDoesNotTakePart) {
  EXPECT_EQ(CompileOfThree("joint(a, storage, firstNotPass(sylas, drf))", Type::kVerdict),
            CompileOfThree("a", Type::kVerdict));
  EXPECT_TRUE(CompileOfThree("and(storage)", Type::kBool).empty());
  EXPECT_TRUE(Program::Compile(*Parse("joint(all)"), Type::kVerdict, {})->empty());
}

TEST(Compile, FlattensNestedEqualOperators) {
  EXPECT_EQ(CompileOfThree("joint(a, and(b, joint(c)))", Type::kVerdict).nodes().size(), 4u);
  EXPECT_EQ(CompileOfThree("firstNotPass(c, or(b, a))", Type::kVerdict),
            CompileOfThree("or(c, b, a)", Type::kVerdict));
  EXPECT_EQ(CompileOfThree("sum(a, sum(b*2, c))", Type::kScore),
            CompileOfThree("sum(a, b*2, c)", Type::kScore));
}

TEST(Compile, KeepsAWeightedSumTogetherBecauseItRoundsOnce) {
  EXPECT_NE(CompileOfThree("sum(a, sum(b, c)*0.3)", Type::kScore),
            CompileOfThree("sum(a, b*0.3, c*0.3)", Type::kScore));
}

TEST(Compile, UnwrapsAnOperatorOfOneWithoutLosingItsWeight) {
  EXPECT_EQ(CompileOfThree("sum(max(a)*3, b)", Type::kScore),
            CompileOfThree("sum(a*3, b)", Type::kScore));
  EXPECT_EQ(CompileOfThree("sum(max(a*3), b)", Type::kScore),
            CompileOfThree("sum(a*3, b)", Type::kScore));
}

TEST(Compile, PermutedArgumentsGiveTheSameProgramWhereOrderDoesNotMatter) {
  EXPECT_EQ(CompileOfThree("joint(c, or(b, a), a)", Type::kVerdict),
            CompileOfThree("joint(a, or(b, a), c)", Type::kVerdict));
  EXPECT_NE(CompileOfThree("or(b, a)", Type::kVerdict), CompileOfThree("or(a, b)", Type::kVerdict));
}

TEST(Compile, SaysTwiceTheSameOnceButAddsTwice) {
  EXPECT_EQ(CompileOfThree("union(a, b, a)", Type::kSet),
            CompileOfThree("union(a, b)", Type::kSet));
  EXPECT_EQ(CompileOfThree("sum(a, a)", Type::kScore).nodes().size(), 3u);
}

TEST(Compile, FailsAsCheckDoes) {
  const auto program = Program::Compile(*Parse("joint(a, sum(b))"), Type::kVerdict, kThree);
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().at, (Position{1, 10}));
}

}  // namespace
}  // namespace sky::expr
