// SPDX-License-Identifier: Apache-2.0
#include "api/selectors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/names.h"

namespace sky::api {
namespace {

using Values = std::vector<std::string>;

SelectorRequirement Requirement(std::string key, std::string op, Values values = {}) {
  return {std::move(key), std::move(op), std::move(values)};
}

bool NodeMatches(SelectorRequirement requirement, const StringMap& labels) {
  NodeSelectorTerm term;
  term.match_expressions = {std::move(requirement)};
  return MatchesNodeTerm(term, "n0", labels);
}

bool FieldMatches(SelectorRequirement requirement, std::string_view node_name) {
  NodeSelectorTerm term;
  term.match_fields = {std::move(requirement)};
  return MatchesNodeTerm(term, node_name, {});
}

bool Selects(std::string_view text, const StringMap& labels) {
  const auto selector = ParseLabelSelector(text);
  EXPECT_TRUE(selector.has_value()) << text << ": " << selector.error().message();
  return selector && Matches(*selector, labels);
}

std::string Refusal(std::string_view text) {
  const auto selector = ParseLabelSelector(text);
  return selector ? "accepted" : selector.error().message();
}

Toleration Tolerate(std::string key, std::string op, std::string value, std::string effect) {
  Toleration toleration;
  toleration.key = std::move(key);
  toleration.op = std::move(op);
  toleration.value = std::move(value);
  toleration.effect = std::move(effect);
  return toleration;
}

Taint MakeTaint(std::string key, std::string value, std::string effect) {
  Taint taint;
  taint.key = std::move(key);
  taint.value = std::move(value);
  taint.effect = std::move(effect);
  return taint;
}

TEST(NodeSelector, SetOperatorsTreatAnAbsentKeyAsKubernetesDoes) {
  const StringMap labels = {{"gpu", "a100"}};
  EXPECT_TRUE(NodeMatches(Requirement("gpu", "In", {"a100", "h100"}), labels));
  EXPECT_FALSE(NodeMatches(Requirement("gpu", "In", {"h100"}), labels));
  EXPECT_FALSE(NodeMatches(Requirement("zone", "In", {"a"}), labels));
  EXPECT_FALSE(NodeMatches(Requirement("gpu", "NotIn", {"a100"}), labels));
  EXPECT_TRUE(NodeMatches(Requirement("zone", "NotIn", {"a"}), labels));
  EXPECT_TRUE(NodeMatches(Requirement("gpu", "Exists"), labels));
  EXPECT_FALSE(NodeMatches(Requirement("zone", "Exists"), labels));
  EXPECT_TRUE(NodeMatches(Requirement("zone", "DoesNotExist"), labels));
  EXPECT_FALSE(NodeMatches(Requirement("gpu", "DoesNotExist"), labels));
}

TEST(NodeSelector, GtAndLtNeedIntegersOnBothSides) {
  const auto gt = [](std::string bound, std::string label) {
    return NodeMatches(Requirement("k", "Gt", {std::move(bound)}), {{"k", std::move(label)}});
  };
  EXPECT_FALSE(gt("150.1", "500"));
  EXPECT_FALSE(gt("5", "5"));
  EXPECT_TRUE(gt("5", "6"));
  EXPECT_TRUE(gt("5", "0x6") == false && gt("5", "1_000") == false);
  EXPECT_FALSE(gt("5", "abc"));
  EXPECT_FALSE(gt("5", "-3"));
  EXPECT_TRUE(gt("5", "007"));
  EXPECT_FALSE(gt("5", "9223372036854775808"));
  EXPECT_TRUE(gt("5", "9223372036854775807"));
  EXPECT_FALSE(gt("9223372036854775808", "9223372036854775807"));
  // "-7" can't be a label's value, so Kubernetes refuses the whole requirement.
  EXPECT_FALSE(gt("-7", "5"));
  EXPECT_FALSE(NodeMatches(Requirement("k", "Gt", {"5"}), {}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "Lt", {"5"}), {}));
  EXPECT_TRUE(NodeMatches(Requirement("k", "Lt", {"5"}), {{"k", "-3"}}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "Lt", {"5"}), {{"k", "5"}}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "Gt", {}), {{"k", "5"}}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "Gt", {"1", "2"}), {{"k", "5"}}));
}

TEST(NodeSelector, ATermThatDoesNotParseMatchesNothing) {
  EXPECT_FALSE(NodeMatches(Requirement("k", "NotIn", {}), {}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "DoesNotExist", {"v"}), {}));
  EXPECT_FALSE(NodeMatches(Requirement("no such key", "DoesNotExist"), {}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "NotIn", {std::string(64, 'a')}), {}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "Near", {"v"}), {{"k", "v"}}));
  EXPECT_FALSE(NodeMatches(Requirement("k", "in", {"v"}), {{"k", "v"}}));
}

TEST(NodeSelector, TermsAreOrRequirementsAreAndAndEmptyOnesMatchNothing) {
  const StringMap labels = {{"a", "1"}, {"b", "2"}};
  NodeSelector selector;
  EXPECT_FALSE(MatchesNodeSelector(selector, "n0", labels));
  selector.node_selector_terms.resize(1);
  EXPECT_FALSE(MatchesNodeSelector(selector, "n0", labels));
  selector.node_selector_terms[0].match_expressions = {Requirement("a", "In", {"1"}),
                                                       Requirement("b", "In", {"3"})};
  EXPECT_FALSE(MatchesNodeSelector(selector, "n0", labels));
  selector.node_selector_terms.emplace_back().match_fields = {
      Requirement("metadata.name", "In", {"n0"})};
  EXPECT_TRUE(MatchesNodeSelector(selector, "n0", labels));
  EXPECT_FALSE(MatchesNodeSelector(selector, "n1", labels));
  selector.node_selector_terms[1].match_expressions = {Requirement("b", "DoesNotExist")};
  EXPECT_FALSE(MatchesNodeSelector(selector, "n0", labels));
}

TEST(NodeSelector, FieldsKnowTheNodesNameAlone) {
  EXPECT_TRUE(FieldMatches(Requirement("metadata.name", "In", {"n0"}), "n0"));
  EXPECT_FALSE(FieldMatches(Requirement("metadata.name", "NotIn", {"n0"}), "n0"));
  EXPECT_TRUE(FieldMatches(Requirement("metadata.name", "NotIn", {"n1"}), "n0"));
  EXPECT_FALSE(FieldMatches(Requirement("metadata.name", "In", {"n0", "n1"}), "n0"));
  EXPECT_FALSE(FieldMatches(Requirement("metadata.name", "Exists"), "n0"));
  EXPECT_FALSE(FieldMatches(Requirement("metadata.namespace", "NotIn", {"n1"}), "n0"));
}

TEST(NodeSelector, NodeSelectorAndRequiredAffinityMustBothHold) {
  const StringMap labels = {{"gpu", "a100"}};
  NodeAffinity affinity;
  EXPECT_TRUE(MatchesNode({}, nullptr, "n0", {}));
  EXPECT_TRUE(MatchesNode({{"gpu", "a100"}}, &affinity, "n0", labels));
  EXPECT_FALSE(MatchesNode({{"gpu", ""}}, nullptr, "n0", {}));
  EXPECT_FALSE(MatchesNode({{"gpu", "h100"}}, &affinity, "n0", labels));
  affinity.required.emplace();
  EXPECT_FALSE(MatchesNode({{"gpu", "a100"}}, &affinity, "n0", labels));
}

TEST(LabelSelector, AnEmptyOneMatchesEverythingABadOneNothing) {
  LabelSelector selector;
  EXPECT_TRUE(Matches(selector, {}));
  selector.match_labels["a"] = "1";
  EXPECT_TRUE(Matches(selector, {{"a", "1"}, {"b", "2"}}));
  EXPECT_FALSE(Matches(selector, {{"a", "2"}}));
  selector.match_labels.clear();
  selector.match_expressions = {Requirement("a", "Gt", {"1"})};
  EXPECT_FALSE(Matches(selector, {{"a", "2"}}));
  EXPECT_EQ(ValidateLabelSelector(selector).error().message(),
            "matchExpressions[0]: \"Gt\" of \"a\" is not one of In, NotIn, Exists, DoesNotExist");
  selector.match_expressions = {Requirement("a", "NotIn", {})};
  EXPECT_FALSE(Matches(selector, {}));
  selector.match_expressions = {Requirement("A B", "DoesNotExist")};
  EXPECT_FALSE(Matches(selector, {}));
}

TEST(LabelSelector, IsReadFromTheTextOfAQuery) {
  const StringMap labels = {{"a", "b"}, {"c", "x"}, {"e", "y"}, {"g", ""}, {"in", "notin"}};
  EXPECT_TRUE(Selects("", {}));
  EXPECT_TRUE(Selects("  ", {}));
  EXPECT_TRUE(Selects("a=b,c!=d,e in (x,y),f notin (z),g,!h", labels));
  EXPECT_TRUE(Selects(" a == b , e in ( x , y ) ", labels));
  EXPECT_TRUE(Selects("g=,g in (),g in (,)", labels));
  EXPECT_TRUE(Selects("in=notin,in in (notin)", labels));
  EXPECT_TRUE(Selects("h!=x,h notin (x)", labels));
  EXPECT_FALSE(Selects("a=b,a=c", labels));
  EXPECT_FALSE(Selects("!a", labels));
  EXPECT_FALSE(Selects("e notin (x,y)", labels));
}

TEST(LabelSelector, ABadTextIsRefusedWithWhatWasWanted) {
  EXPECT_EQ(Refusal("a="), "accepted");
  EXPECT_EQ(Refusal("a,"), "label selector \"a,\": a label's name is wanted, got the end");
  EXPECT_EQ(Refusal("a b"), "label selector \"a b\": =, ==, !=, in or notin is wanted, got \"b\"");
  EXPECT_EQ(Refusal("a in b"), "label selector \"a in b\": \"(\" is wanted, got \"b\"");
  EXPECT_EQ(Refusal("a in (b"),
            "label selector \"a in (b\": \",\" or \")\" is wanted, got the end");
  for (const char* text : {",", "=", "!", "!a=b", "a=b=c", "a>1", "a<1", "a in (b c)", "a in (b))",
                           "a!b", "(a)", "a=(b)", "-a=b", "a=-b", "a=b c", "a/b/c=d", "/a", "!!a"})
    EXPECT_NE(Refusal(text), "accepted") << text;
}

TEST(FieldSelector, IsReadWithItsEscapes) {
  const auto terms =
      ParseFieldSelector("spec.nodeName=n1,status.phase!=Failed,,x==a\\,b\\=c\\\\,y=");
  ASSERT_TRUE(terms.has_value());
  ASSERT_EQ(terms->size(), 4u);
  const auto is = [&](size_t i, std::string_view path, bool equal, std::string_view value) {
    return terms->at(i).path == path && terms->at(i).equal == equal && terms->at(i).value == value;
  };
  EXPECT_TRUE(is(0, "spec.nodeName", true, "n1"));
  EXPECT_TRUE(is(1, "status.phase", false, "Failed"));
  EXPECT_TRUE(is(2, "x", true, "a,b=c\\"));
  EXPECT_TRUE(is(3, "y", true, ""));
  EXPECT_TRUE(ParseFieldSelector("")->empty());
  for (const char* text : {"a", "a=b=c", "a=\\b", "a=b\\", "a===b", "=", "!=b"})
    EXPECT_FALSE(ParseFieldSelector(text).has_value()) << text;
}

TEST(Toleration, MatchesByKubernetesRules) {
  const Taint gpu = MakeTaint("gpu", "a100", "NoExecute");
  EXPECT_TRUE(Tolerates(Tolerate("gpu", "Equal", "a100", "NoExecute"), gpu));
  EXPECT_TRUE(Tolerates(Tolerate("gpu", "", "a100", ""), gpu));
  EXPECT_FALSE(Tolerates(Tolerate("gpu", "Equal", "", ""), gpu));
  EXPECT_TRUE(Tolerates(Tolerate("gpu", "Equal", "", ""), MakeTaint("gpu", "", "NoSchedule")));
  EXPECT_TRUE(Tolerates(Tolerate("gpu", "Exists", "", ""), gpu));
  EXPECT_TRUE(Tolerates(Tolerate("", "Exists", "", ""), gpu));
  EXPECT_TRUE(Tolerates(Tolerate("", "Exists", "", "NoExecute"), gpu));
  EXPECT_FALSE(Tolerates(Tolerate("", "Exists", "", "NoSchedule"), gpu));
  EXPECT_FALSE(Tolerates(Tolerate("cpu", "Exists", "", ""), gpu));
  EXPECT_FALSE(Tolerates(Tolerate("", "Equal", "a100", ""), gpu));
  EXPECT_FALSE(Tolerates(Tolerate("gpu", "Lt", "9", ""), MakeTaint("gpu", "1", "NoExecute")));
}

TEST(Toleration, OnlyNoScheduleAndNoExecuteHoldATaskOff) {
  const std::vector<Taint> taints = {MakeTaint("a", "", "PreferNoSchedule"),
                                     MakeTaint("b", "", "NoSchedule"),
                                     MakeTaint("c", "", "NoExecute")};
  EXPECT_EQ(FindUntolerated({}, {}), nullptr);
  EXPECT_EQ(FindUntolerated(taints, {}), &taints[1]);
  EXPECT_EQ(FindUntolerated(taints, {Tolerate("b", "Exists", "", "")}), &taints[2]);
  EXPECT_EQ(FindUntolerated(taints, {Tolerate("", "Exists", "", "")}), nullptr);
  EXPECT_EQ(FindUntolerated(taints, {Tolerate("", "Exists", "", "NoSchedule")}), &taints[2]);
}

TEST(Names, FollowKubernetesForms) {
  for (const char* text : {"a", "A-b_c.9", "example.com/gpu", "a.b-c/x"})
    EXPECT_TRUE(IsQualifiedName(text)) << text;
  for (const char* text :
       {"", "/a", "a/", "a/b/c", "-a", "a.", "A.com/x", "a..b/x", "a b", "\xC3\xA9"})
    EXPECT_FALSE(IsQualifiedName(text)) << text;
  EXPECT_TRUE(IsQualifiedName(std::string(253, 'a') + "/" + std::string(63, 'b')));
  EXPECT_FALSE(IsQualifiedName(std::string(254, 'a') + "/b"));
  EXPECT_FALSE(IsQualifiedName(std::string(64, 'a')));
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_FALSE(IsLabelValue("a/b"));
  EXPECT_TRUE(IsDnsSubdomain("n0.example.com"));
  EXPECT_FALSE(IsDnsSubdomain("N0"));
  EXPECT_FALSE(IsDnsSubdomain(""));
  EXPECT_FALSE(IsDnsSubdomain("a_b"));
  EXPECT_TRUE(IsDnsLabel("n0-a"));
  for (const std::string& text : {std::string(), std::string("a.b"), std::string("-a"),
                                  std::string("A"), std::string(64, 'a')})
    EXPECT_FALSE(IsDnsLabel(text)) << text;
}

}  // namespace
}  // namespace sky::api
