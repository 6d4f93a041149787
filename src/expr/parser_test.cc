// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "expr/expression.h"
#include "expr/generators_for_test.h"

namespace sky::expr {
namespace {

using ::testing::HasSubstr;

std::string Nested(int levels) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += "and(";
  return text + "a" + std::string(static_cast<size_t>(levels), ')');
}

TEST(Parse, ReadsNamesCallsWeightsAndAll) {
  const Expression e = *Parse(" sum( topology*10 , max(binpack*0.5,\n node-order.v2), all ) ");
  Expression topology = Expression::Name("topology"), binpack = Expression::Name("binpack");
  topology.weight = Weight{10'000};
  binpack.weight = Weight{500};
  EXPECT_EQ(e,
            Expression::Call(
                Op::kSum,
                {topology, Expression::Call(Op::kMax, {binpack, Expression::Name("node-order.v2")}),
                 Expression::All()}));
  EXPECT_EQ(e.arguments[0].at, (Position{1, 7}));
  EXPECT_EQ(e.arguments[0].weight_at, (Position{1, 15}));
  EXPECT_EQ(e.arguments[1].arguments[1].at, (Position{2, 2}));
}

TEST(Parse, ASingleNameIsAnExpression) { EXPECT_EQ(*Parse("gang"), Expression::Name("gang")); }

TEST(Parse, KeepsAWrittenWeightOfOneApartFromNone) {
  EXPECT_NE(*Parse("sum(a*1)"), *Parse("sum(a)"));
  EXPECT_EQ(Print(*Parse("sum(a*1.000, b*0.250)")), "sum(a*1, b*0.25)");
}

struct Bad {
  std::string text;
  Position at;
  std::string says;
};

TEST(Parse, RefusesWithPositionAndAdvice) {
  const std::vector<Bad> bads = {
      {"", {1, 1}, "empty"},
      {" \n ", {2, 2}, "empty"},
      {"joint()", {1, 7}, "at least one argument"},
      {"joint(a,)", {1, 9}, "not ')'"},
      {"joint(a b)", {1, 9}, "',' or ')'"},
      {"joint(a,\n  b", {1, 6}, "never closed"},
      {"joint(a))", {1, 9}, "after the end"},
      {"a, b", {1, 2}, "joint(a, b)"},
      {"join(a)", {1, 1}, "did you mean 'joint'?"},
      {"frobnicate(a)", {1, 1}, "no operator"},
      {"and(or, b)", {1, 5}, "write or(…)"},
      {"sum(a*)", {1, 7}, "must follow '*'"},
      {"sum(a*b)", {1, 7}, "must follow '*'"},
      {"sum(a*-1)", {1, 7}, "'-' has no meaning"},
      {"sum(a*010)", {1, 7}, "begins with a zero"},
      {"sum(a*0x10)", {1, 7}, "no weight"},
      {"sum(a*1e3)", {1, 7}, "no weight"},
      {"sum(a*1.)", {1, 7}, "no weight"},
      {"sum(a*1.2.3)", {1, 7}, "no weight"},
      {"sum(a*.5)", {1, 7}, "'.' has no meaning"},
      {"sum(a*1.2345)", {1, 7}, "at most three decimals"},
      {"sum(a*1000000.001)", {1, 7}, "greatest weight"},
      {"sum(a*99999999999999999999999)", {1, 7}, "greatest weight"},
      {"sum(10*a)", {1, 5}, "follows its name"},
      {"and(a; b)", {1, 6}, "';' has no meaning"},
      {"and(\xc3\xa4)", {1, 5}, "byte 0xc3"},
      {std::string("and(a\0)", 7), {1, 6}, "byte 0x00"},
  };
  for (const Bad& bad : bads) {
    const auto parsed = Parse(bad.text);
    ASSERT_FALSE(parsed.has_value()) << bad.text;
    EXPECT_EQ(parsed.error().at, bad.at) << bad.text << ": " << parsed.error().ToError().message();
    EXPECT_THAT(parsed.error().message, HasSubstr(bad.says)) << bad.text;
  }
}

TEST(Parse, FiftyLevelsWorkAndTenThousandFailCleanly) {
  const Expression fifty = *Parse(Nested(50));
  EXPECT_EQ(Print(fifty), Nested(50));
  EXPECT_TRUE(Check(fifty, Type::kBool).has_value());
  const auto deep = Parse(Nested(10'000));
  ASSERT_FALSE(deep.has_value());
  EXPECT_THAT(deep.error().message, HasSubstr("nested deeper than 100 levels"));
  EXPECT_EQ(deep.error().at, (Position{1, 4 * kMaxDepth + 1}));
}

TEST(Parse, RefusesATextThatIsTooLong) {
  const auto parsed = Parse("a" + std::string(kMaxTextBytes, ' '));
  ASSERT_FALSE(parsed.has_value());
  EXPECT_THAT(parsed.error().message, HasSubstr("65537 bytes"));
}

TEST(Parse, AProblemReadsAsAnError) {
  const Error error = Parse("and(a").error().ToError();
  EXPECT_EQ(error.code(), Code::kInvalid);
  EXPECT_EQ(error.message(), "line 1, column 4: this '(' of 'and' is never closed");
}

RC_GTEST_PROP(Print, ThenParseIsTheSameExpression, ()) {
  const Expression e = *testing_only::AnyExpression();
  const std::string text = Print(e);
  const auto again = Parse(text);
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == e);
  RC_ASSERT(Print(*again) == text);
}

RC_GTEST_PROP(Parse, NeverDiesAndItsProblemsLieInTheText, ()) {
  const auto letter = rc::gen::element<std::string>("and", "sum", "all", "a", "(", ")", ",", "*",
                                                    "1", ".5", " ", "\n", "-");
  std::string text;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(letter))
    text += part;
  const auto parsed = Parse(text);
  if (parsed) {
    RC_ASSERT(*Parse(Print(*parsed)) == *parsed);
  } else {
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    RC_ASSERT(parsed.error().at.line >= 1 && parsed.error().at.line <= lines);
    RC_ASSERT(parsed.error().at.column >= 1 &&
              parsed.error().at.column <= static_cast<int>(text.size()) + 1);
  }
}

}  // namespace
}  // namespace sky::expr
