// SPDX-License-Identifier: Apache-2.0
#include "framework/plugin_args.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sky::framework {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PluginArgs Given(std::string_view yaml) {
  return PluginArgs("sylas", "sched.yaml", *ReadTree(yaml));
}

TEST(PluginArgs, GiveWhatWasWritten) {
  const PluginArgs args = Given(
      "{on: true, n: -3, w: 2.5, name: low, after: 90s, zero: 0, list: [a, b], by: {rdma: 100}}");
  EXPECT_EQ(*args.Bool("on", false), true);
  EXPECT_EQ(*args.Int("n", 0, -5, 5), -3);
  EXPECT_EQ(*args.Thousandths("w", 0, 0, 10'000), 2500);
  EXPECT_EQ(*args.Text("name", ""), "low");
  EXPECT_EQ(*args.Time("after", 1s), 90s);
  EXPECT_EQ(*args.Time("zero", 1s), 0s);
  EXPECT_THAT(*args.Texts("list", {}), ElementsAre("a", "b"));
  EXPECT_THAT(*args.Ints("by", {}, 0, 100), ElementsAre(std::pair("rdma", 100)));
}

TEST(PluginArgs, FallBackToThePluginsDefaults) {
  const PluginArgs args;
  EXPECT_EQ(*args.Bool("on", true), true);
  EXPECT_EQ(*args.Int("n", 7, 0, 1), 7);  // the fallback is the plugin's own affair
  EXPECT_EQ(*args.Text("name", "x"), "x");
  EXPECT_EQ(*args.Time("after", 5min), 5min);
  EXPECT_THAT(*args.Texts("list", {"z"}), ElementsAre("z"));
  EXPECT_EQ(args.Find("n"), nullptr);
}

TEST(PluginArgs, RefuseAnotherKindOrRangeWithThePosition) {
  const PluginArgs args = Given(
      "on: 1\nn: 11\nw: 0.1234\nneg: -0.5\nname: 5\nafter: 5\nby: {rdma: 101}\nlist: [a, 1]\n"
      "huge: 99999999999999999999");
  const auto says = [](const auto& result) {
    return result ? std::string("fine") : result.error().message();
  };
  EXPECT_EQ(says(args.Bool("on", true)),
            "sched.yaml:1:5: plugin 'sylas': 'on': must be true or false, not the number 1");
  EXPECT_EQ(says(args.Int("n", 0, 0, 10)),
            "sched.yaml:2:4: plugin 'sylas': 'n': must be from 0 to 10, not 11");
  EXPECT_THAT(says(args.Thousandths("w", 0, 0, 1000)), HasSubstr("at most three decimals"));
  EXPECT_THAT(says(args.Thousandths("neg", 0, 0, 1000)),
              HasSubstr("must be from 0 to 1, not -0.5"));
  EXPECT_THAT(says(args.Text("name", "")), HasSubstr("must be a text, not the number 5"));
  EXPECT_THAT(says(args.Time("after", 1s)), HasSubstr("needs a unit: 5s or 5ms"));
  EXPECT_THAT(says(args.Ints("by", {}, 0, 100)),
              HasSubstr("'rdma': must be from 0 to 100, not 101"));
  EXPECT_THAT(says(args.Texts("list", {})),
              HasSubstr("each item: must be a text, not the number 1"));
  EXPECT_THAT(says(args.Int("huge", 0, 0, 10)), HasSubstr("out of range"));
}

TEST(PluginArgs, AreHeldToThePluginsTable) {
  const std::vector<ArgSpec> table = {
      {"weight", ArgType::kInt}, {"strategies", ArgType::kTree}, {"after", ArgType::kDuration}};
  EXPECT_TRUE(Given("{weight: 3, strategies: [{name: low, params: {x: 1}}], after: 0}")
                  .Check(table)
                  .empty());
  const std::vector<Problem> problems =
      Given("wieght: 3\nweight: fast\nafter: soon\nzzz: 1").Check(table);
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(problems[0].message, "plugin 'sylas' has no argument 'wieght'; did you mean 'weight'?");
  EXPECT_EQ(problems[1].at, (Position{2, 9}));
  EXPECT_EQ(problems[1].message, "plugin 'sylas': 'weight': must be an integer, not 'fast'");
  EXPECT_THAT(problems[2].message, HasSubstr("must be a duration"));
  EXPECT_EQ(problems[3].message, "plugin 'sylas' has no argument 'zzz'");
}

TEST(PluginArgs, AreEqualByContentNotByPlace) {
  EXPECT_EQ(Given("{a: 1}"), Given("\n\n{a:   1}"));
  EXPECT_FALSE(Given("{a: 1}") == Given("{a: '1'}"));
}

}  // namespace
}  // namespace sky::framework
