// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>

#include "expr/expression.h"
#include "expr/generators_for_test.h"

namespace sky::expr {
namespace {

using ::testing::HasSubstr;

Checked CheckText(std::string_view text, Type type) { return Check(*Parse(text), type); }

TEST(Check, AllowsExactlyTheTableOfOperatorsAndKinds) {
  const std::map<std::string, std::set<Type>> table = {
      {"and", {Type::kBool, Type::kVerdict}},
      {"or", {Type::kBool, Type::kVerdict, Type::kTarget, Type::kSet}},
      {"joint", {Type::kVerdict}},
      {"intersect", {Type::kSet}},
      {"union", {Type::kSet}},
      {"sum", {Type::kScore}},
      {"min", {Type::kScore}},
      {"max", {Type::kScore}},
      {"first", {Type::kTarget, Type::kOrderKey}},
      {"firstNotPass", {Type::kVerdict}},
  };
  ASSERT_EQ(table.size(), kOpCount);
  for (const auto& [name, types] : table) {
    for (size_t i = 0; i < kTypeCount; ++i) {
      const Type type = static_cast<Type>(i);
      EXPECT_EQ(CheckText(name + "(a, all)", type).has_value(), types.contains(type))
          << name << " " << TypeName(type);
    }
  }
}

TEST(Check, SaysWhereTheWrongOperatorStandsAndWhichFit) {
  const Checked checked = CheckText("joint(a, firstNotPass(b,\n   sum(c)))", Type::kVerdict);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().at, (Position{2, 4}));
  EXPECT_EQ(
      checked.error().message,
      "'sum' can't combine values of the kind verdict; these can: and, or, joint, firstNotPass");
}

TEST(Check, AllowsWeightsOnlyBelowSumMinAndMax) {
  EXPECT_TRUE(CheckText("sum(a*2, max(b*3, all*0.5)*0)", Type::kScore).has_value());
  for (const auto& [text, type, column] : {std::tuple("joint(a*2)", Type::kVerdict, 8),
                                           {"a*2", Type::kScore, 2},
                                           {"sum(a)*2", Type::kScore, 7},
                                           {"first(a, b*1)", Type::kOrderKey, 11}}) {
    const Checked checked = CheckText(text, type);
    ASSERT_FALSE(checked.has_value()) << text;
    EXPECT_EQ(checked.error().at, (Position{1, column})) << text;
    EXPECT_THAT(checked.error().message,
                HasSubstr("only the arguments of sum, min and max have weights"));
  }
}

TEST(Check, AllNeedsAnOperatorThatSaysHowToCombine) {
  const Checked checked = CheckText("  all", Type::kSet);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().at, (Position{1, 3}));
  EXPECT_THAT(checked.error().message, HasSubstr("or, intersect, union"));
}

TEST(Check, ANameAloneFitsEveryKind) {
  for (size_t i = 0; i < kTypeCount; ++i)
    EXPECT_TRUE(CheckText("gang", static_cast<Type>(i)).has_value());
}

RC_GTEST_PROP(Check, AcceptsWhatIsBuiltOfFittingOperators, ()) {
  const Type type = static_cast<Type>(*rc::gen::inRange<size_t>(0, kTypeCount));
  RC_ASSERT(Check(*testing_only::ExpressionOf(type), type).has_value());
}

}  // namespace
}  // namespace sky::expr
