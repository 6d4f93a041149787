// SPDX-License-Identifier: Apache-2.0
#include "expr/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "expr/generators_for_test.h"

namespace sky::expr {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

enum class Severity { kFit, kNotNow, kNever, kError };
struct Verdict {
  Severity severity = Severity::kFit;
  int reason = 0;
  bool operator==(const Verdict&) const = default;
};
constexpr Verdict kFit{}, kNotNow{Severity::kNotNow, 1}, kNever{Severity::kNever, 2},
    kError{Severity::kError, 3};

const std::vector<std::string> kLeaves = {"a", "b", "c", "d"};

Program CompileText(std::string_view text, Type type) {
  return *Program::Compile(*Parse(text), type, kLeaves);
}

// Leaves a, b, c, d answer these, in that order; the rest abstains. Counts who was asked.
template <class T>
struct Answers {
  std::vector<std::optional<T>> answers;
  std::vector<uint32_t> asked = {};
  std::optional<T> operator()(uint32_t leaf) {
    asked.push_back(leaf);
    return leaf < answers.size() ? answers[leaf] : std::nullopt;
  }
};

std::optional<bool> BoolOf(std::string_view text, std::vector<std::optional<bool>> answers) {
  return EvaluateBool(CompileText(text, Type::kBool), Answers<bool>{std::move(answers)});
}

TEST(Bool, AndWantsAllTrueAndOrAnyTrue) {
  EXPECT_EQ(BoolOf("and(a, b)", {true, true}), true);
  EXPECT_EQ(BoolOf("and(a, b)", {true, false}), false);
  EXPECT_EQ(BoolOf("or(a, b)", {false, true}), true);
  EXPECT_EQ(BoolOf("or(a, b)", {false, false}), false);
  EXPECT_EQ(BoolOf("and(a, or(b, c))", {true, false, true}), true);
}

TEST(Bool, AbstainersAreIgnoredAndAllAbstainingAbstains) {
  EXPECT_EQ(BoolOf("and(a, b)", {std::nullopt, true}), true);
  EXPECT_EQ(BoolOf("or(a, b)", {std::nullopt, false}), false);
  EXPECT_EQ(BoolOf("and(a, or(b, c))", {}), std::nullopt);
  EXPECT_EQ(BoolOf("and(a, or(b, c))", {true}), true);
}

TEST(Bool, OrStopsAtTheFirstTrueAndAndAsksEveryone) {
  Answers<bool> answers{{true, false, true, true}};
  EvaluateBool(CompileText("or(a, b)", Type::kBool), answers);
  EXPECT_THAT(answers.asked, ElementsAre(0));
  answers.asked.clear();
  EvaluateBool(CompileText("and(d, c, b, a)", Type::kBool), answers);
  EXPECT_THAT(answers.asked, ElementsAre(0, 1, 2, 3));
}

struct Judged {
  std::optional<Verdict> verdict;
  std::vector<int> kept;  // reasons
};
Judged Judge(std::string_view text, std::vector<std::optional<Verdict>> answers) {
  Judged judged;
  judged.verdict =
      EvaluateVerdict(CompileText(text, Type::kVerdict), Answers<Verdict>{std::move(answers)},
                      [&](uint32_t, const Verdict& v) { judged.kept.push_back(v.reason); });
  return judged;
}

TEST(Verdict, JointIsTheWorstOfAllAndKeepsEveryReason) {
  for (const char* text :
       {"joint(a, b, c, d)", "and(a, b, c, d)", "joint(d, joint(b, a), c)", "joint(all)"}) {
    const Judged judged = Judge(text, {kNotNow, kError, kFit, kNever});
    EXPECT_EQ(judged.verdict, kError) << text;
    EXPECT_THAT(judged.kept, ElementsAre(1, 3, 2)) << text;
  }
}

TEST(Verdict, EquallyBadVerdictsGiveTheSameResultHoweverTheTextIsOrdered) {
  const Verdict one{Severity::kNotNow, 11}, other{Severity::kNotNow, 22};
  EXPECT_EQ(Judge("joint(a, b)", {one, other}).verdict, one);
  EXPECT_EQ(Judge("joint(b, a)", {one, other}).verdict, one);
}

TEST(Verdict, FirstNotPassStopsAtTheFirstVeto) {
  for (const char* text : {"firstNotPass(c, a, b)", "or(c, a, b)", "or(c, or(a, b))"}) {
    Answers<Verdict> answers{{kNotNow, kError, kFit}};
    EXPECT_EQ(EvaluateVerdict(CompileText(text, Type::kVerdict), answers), kNotNow) << text;
    EXPECT_THAT(answers.asked, ElementsAre(2, 0)) << text;
  }
  EXPECT_EQ(Judge("or(a, b)", {kFit, kFit}).verdict, kFit);
}

TEST(Verdict, AnAskedLeafIsAskedOnceEvenIfNamedTwice) {
  EXPECT_THAT(Judge("joint(a, all, a)", {kNever}).kept, ElementsAre(2));
}

TEST(Verdict, AbstainingStaysAbstainingThroughNesting) {
  EXPECT_EQ(Judge("joint(or(a, b), firstNotPass(c))", {}).verdict, std::nullopt);
  EXPECT_EQ(Judge("joint(or(a, b), firstNotPass(c))", {std::nullopt, std::nullopt, kNever}).verdict,
            kNever);
}

std::optional<Score> ScoreOf(std::string_view text, std::vector<std::optional<int64_t>> answers) {
  return EvaluateScore(CompileText(text, Type::kScore), Answers<int64_t>{std::move(answers)});
}
std::optional<Score> Points(double points) { return Score{static_cast<int64_t>(points * 1000)}; }

TEST(ScoreValue, SumWeighsEachArgument) {
  EXPECT_EQ(ScoreOf("sum(a*10, b)", {100, 30}), Points(1030));
  EXPECT_EQ(ScoreOf("sum(a*0.5, b*0.001)", {75, 1}), Points(37.501));
  EXPECT_EQ(ScoreOf("sum(a, sum(b, c)*2)", {1, 2, 3}), Points(11));
  EXPECT_EQ(ScoreOf("sum(a, a)", {4}), Points(8));
  EXPECT_EQ(ScoreOf("sum(a*0, b)", {100, 5}), Points(5));
}

TEST(ScoreValue, MinAndMaxCompareWhatIsWeighted) {
  EXPECT_EQ(ScoreOf("max(a*10, b)", {9, 80}), Points(90));
  EXPECT_EQ(ScoreOf("min(a*10, b)", {9, 80}), Points(80));
}

TEST(ScoreValue, LeavesAreClampedToZeroAndOneHundred) {
  EXPECT_EQ(ScoreOf("sum(a, b)", {-5, 1'000'000}), Points(100));
  EXPECT_EQ(ScoreOf("a", {std::numeric_limits<int64_t>::max()}), Points(100));
}

TEST(ScoreValue, AbstainingIsNotZero) {
  EXPECT_EQ(ScoreOf("min(a, b)", {std::nullopt, 7}), Points(7));
  EXPECT_EQ(ScoreOf("sum(a, max(b, c))", {}), std::nullopt);
}

TEST(ScoreValue, SaturatesInsteadOfWrapping) {
  std::string text = "a*1000000";
  for (int i = 0; i < 5; ++i) text = "sum(" + text + ", b)*1000000";
  text = "sum(" + text + ", b)";
  EXPECT_EQ(ScoreOf(text, {100, 100}), Score{std::numeric_limits<int64_t>::max()});
}

TEST(ScoreValue, ANestedProductRoundsDownToAThousandth) {
  EXPECT_EQ(ScoreOf("sum(max(a*0.333, b)*0.333, c)", {1, 0, 0}),
            (Score{110}));  // 0.333² = 0.110889
}

TEST(Target, TheFirstThatNamesOneWins) {
  for (const char* text : {"or(b, a)", "first(b, a)", "or(c, first(b, a))"}) {
    const Program program = CompileText(text, Type::kTarget);
    EXPECT_EQ(EvaluateTarget(program, Answers<std::string>{{"n1", "n2"}}), "n2");
    EXPECT_EQ(EvaluateTarget(program, Answers<std::string>{{"n1"}}), "n1");
    EXPECT_EQ(EvaluateTarget(program, Answers<std::string>{}), std::nullopt);
  }
}

using Ids = std::vector<int>;
std::optional<Ids> SetOf(std::string_view text, std::vector<std::optional<Ids>> answers) {
  return EvaluateSet(CompileText(text, Type::kSet), Answers<Ids>{std::move(answers)});
}

TEST(Set, IntersectAndUnionAreOverAll) {
  EXPECT_EQ(SetOf("intersect(a, b, c)", {Ids{1, 2, 3, 5}, Ids{2, 3, 4, 5}, Ids{1, 3, 5}}),
            (Ids{3, 5}));
  EXPECT_EQ(SetOf("union(a, intersect(b, c))", {Ids{1}, Ids{2, 3}, Ids{3, 4}}), (Ids{1, 3}));
}

TEST(Set, AnExplicitEmptySetStaysEmpty) {
  EXPECT_EQ(SetOf("intersect(a, b, c)", {Ids{1}, Ids{2}, Ids{3}}), Ids{});
  EXPECT_EQ(SetOf("intersect(a, b)", {Ids{}, std::nullopt}), Ids{});
  EXPECT_EQ(SetOf("or(a, b)", {Ids{}, Ids{1}}), Ids{});
  EXPECT_EQ(SetOf("union(a, b)", {Ids{}, std::nullopt}), Ids{});
}

TEST(Set, AbstainingIsNotTheEmptySet) {
  EXPECT_EQ(SetOf("intersect(a, b)", {std::nullopt, Ids{4}}), (Ids{4}));
  EXPECT_EQ(SetOf("or(a, b)", {std::nullopt, Ids{1}}), (Ids{1}));
  EXPECT_EQ(SetOf("intersect(all)", {}), std::nullopt);
}

TEST(Set, VictimsOfTheDefaultDoNotDependOnWhoIsAskedFirst) {
  // One plugin says yes to everybody, one protects 1 and 2: the veto counts wherever it stands.
  const std::vector<std::optional<Ids>> answers = {Ids{1, 2, 3}, Ids{3}, Ids{2, 3}};
  for (const char* text : {"intersect(all)", "intersect(b, all)", "intersect(c, b, a)"})
    EXPECT_EQ(SetOf(text, answers), (Ids{3})) << text;
  EXPECT_EQ(SetOf("or(a, b, c)", answers), (Ids{1, 2, 3}));
}

TEST(OrderKeys, CompareByTheFirstKeyThatDiffers) {
  const Program program = CompileText("first(b, first(a, d))", Type::kOrderKey);
  const OrderKey one = EvaluateOrderKey(program, Answers<int64_t>{{5, 1}});
  const OrderKey two = EvaluateOrderKey(program, Answers<int64_t>{{4, 1}});
  EXPECT_THAT(one, ElementsAre(1, 5, 0));
  EXPECT_TRUE(std::is_gt(CompareKeys(one, two)));
  EXPECT_TRUE(std::is_eq(CompareKeys(one, one)));
}

TEST(OrderKeys, NobodyRegisteredIsAnEmptyKey) {
  EXPECT_THAT(EvaluateOrderKey(*Program::Compile(*Parse("first(all)"), Type::kOrderKey, {}),
                               Answers<int64_t>{}),
              IsEmpty());
}

TEST(EvaluateDeath, AProgramOfAnotherKindIsAProgrammingError) {
  EXPECT_DEATH(EvaluateBool(CompileText("a", Type::kVerdict), Answers<bool>{}),
               "program of verdict evaluated as bool");
}

TEST(EvaluateDeath, AnUnsortedSetIsAProgrammingError) {
  EXPECT_DEATH(SetOf("a", {Ids{2, 1}}), "leaf 0 gave a set that isn't sorted");
}

}  // namespace
}  // namespace sky::expr
