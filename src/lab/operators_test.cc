// SPDX-License-Identifier: Apache-2.0
// Every operator recombines callbacks in the configuration: each has a witness here, a script in
// which the cluster does what the operator says, and something else with another one.
#include <gtest/gtest.h>

#include <map>

#include "lab/contrast_for_test.h"

namespace sky::lab::operators {
namespace {

using expr::Expression;
using framework::Config;

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (size_t op = 0; op < expr::kOpCount; ++op)
    names.emplace_back(expr::OpName(static_cast<expr::Op>(op)));
  return names;
}

struct Recombined {
  std::string with, without;  // the expressions of the two
  Witness witness;
};

// Gang has no say but at one gate, beside another plugin that has nothing against half a gang.
constexpr const char* kGangAtOneGate =
    "expressions:\n  jobValid: joint(backoff)\n  jobReady: and(backoff)\n"
    "  quotaAllocate: and(topology)\n";

Recombined OfAnd() {
  return {"  quotaReady: and(gang, quotapredicates)",
          "  quotaReady: or(gang, quotapredicates)",
          {kGangAtOneGate, kHalfAGang, "expect train placed 0\n", "expect train placed 2\n"}};
}
Recombined OfOr() {
  return {"  quotaReady: or(gang, quotapredicates)",
          "  quotaReady: and(gang, quotapredicates)",
          {kGangAtOneGate, kHalfAGang, "expect train placed 2\n", "expect train placed 0\n"}};
}

// No node suits the pod for two reasons. Asked together, the first in the order of the plugins is
// the reason; asked one after another, the first that is named.
const std::string kTwoVetoes =
    std::string("nodes n0 gpu=8 taint=theirs\nquotas q gpu=1\n") + kMounts;

Recombined OfJoint() {
  return {"  taskToNode.predicate: joint(storage, predicates, sylas)",
          "  taskToNode.predicate: or(storage, predicates, sylas)",
          {"expressions:\n", kTwoVetoes, "expect p waits TaintNotTolerated\n",
           "expect p waits StorageNotReady\n"}};
}
Recombined OfFirstNotPass() {
  return {"  taskToNode.predicate: firstNotPass(storage, predicates, sylas)",
          "  taskToNode.predicate: and(storage, predicates, sylas)",
          {"expressions:\n", kTwoVetoes, "expect p waits StorageNotReady\n",
           "expect p waits TaintNotTolerated\n"}};
}

Recombined OfIntersect() {
  Witness witness = SystemSpotPodInTheWay();
  witness.config += "\nexpressions:\n";
  return {"  reclaimable: intersect(gang, conformance)", "  reclaimable: or(gang, conformance)",
          witness};
}
Recombined OfUnion() {
  Witness witness = SystemSpotPodInTheWay();
  witness.config += "\nexpressions:\n";
  std::swap(witness.with, witness.without);
  return {"  reclaimable: union(gang, conformance)", "  reclaimable: or(conformance, gang)",
          witness};
}

// Of ten cards each: binpack gives na 100 points, nb 70, nc 50; quotaaffinity 0, 40, 50.
Witness OfScores(const std::string& with, const std::string& without) {
  return {"expressions:\n  taskToNode.nOrder: sum(sylas)\n", R"(
nodes na,nb,nc gpu=10
pod busy-a gpu=9 node=na scheduler=other
pod busy-b gpu=6 node=nb scheduler=other
pod busy-c gpu=4 node=nc scheduler=other
apply <<END
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: Quota
metadata: {name: b, labels: {at: b}}
spec: {queueName: other, request: {example.com/none: "0"}}
status: {phase: QuotaBound, nodeName: nb}
---
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: Quota
metadata: {name: c, labels: {at: c}}
spec: {queueName: other, request: {example.com/none: "0"}}
status: {phase: QuotaBound, nodeName: nc}
---
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: Quota
metadata: {name: q}
spec:
  queueName: default
  request: {nvidia.com/gpu: "1"}
  affinity:
    quota:
      affinity:
        preferred:
        - {weight: 40, term: {labelSelector: {matchLabels: {at: b}}, topologyKey: node}}
        - {weight: 50, term: {labelSelector: {matchLabels: {at: c}}, topologyKey: node}}
        - {weight: 10, term: {labelSelector: {matchLabels: {at: nowhere}}, topologyKey: node}}
END
pod p gpu=1
tick 2s
)",
          "expect p on " + with + "\n", "expect p on " + without + "\n"};
}

Recombined OfSum() {
  return {"  quotaToNode.nOrder: sum(binpack, quotaaffinity)",
          "  quotaToNode.nOrder: sum(binpack*3, quotaaffinity)", OfScores("nb", "na")};
}
Recombined OfMin() {
  return {"  quotaToNode.nOrder: min(binpack, quotaaffinity)",
          "  quotaToNode.nOrder: sum(binpack, quotaaffinity)", OfScores("nc", "nb")};
}
Recombined OfMax() {
  return {"  quotaToNode.nOrder: max(binpack, quotaaffinity)",
          "  quotaToNode.nOrder: min(binpack, quotaaffinity)", OfScores("na", "nc")};
}

Recombined OfFirst() {
  return {"  queueOrder: first(drf, priority)",
          "  queueOrder: first(priority, drf)",
          {"expressions:\n", R"(
nodes n0 gpu=2
queue high priority=1
queue poor
quotas h-[0-1] gpu=1 queue=high
quotas p-[0-1] gpu=1 queue=poor
job h1 1 gpu=1 queue=high
tick 2s
cordon n0
job h2 1 gpu=1 queue=high
job p1 1 gpu=1 queue=poor
tick 2s
uncordon n0
tick 2s
)",
           "expect p1 placed 1\nexpect h2 placed 0\n", "expect p1 placed 0\nexpect h2 placed 1\n"}};
}

std::map<std::string, Recombined, std::less<>> OfOperators() {
  return {{"and", OfAnd()},     {"or", OfOr()},
          {"joint", OfJoint()}, {"intersect", OfIntersect()},
          {"union", OfUnion()}, {"sum", OfSum()},
          {"min", OfMin()},     {"max", OfMax()},
          {"first", OfFirst()}, {"firstNotPass", OfFirstNotPass()}};
}

class EveryOperator : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryOperator, CombinesEveryCallbackThatItFitsAndTheClusterRuns) {
  const expr::Op op = *expr::FindOp(GetParam());
  Config config = ConfigOf("");
  for (const framework::Callback& callback : framework::AllCallbacks())
    if (expr::Fits(op, callback.type))
      config.expressions[std::string(callback.name)] = Expression::Call(op, {Expression::All()});
  Play life(config);
  EXPECT_EQ(life.Failures(kLife), 0) << life.shown();
}

TEST_P(EveryOperator, DecidesAsItSays) {
  const auto recombined = OfOperators();
  const auto found = recombined.find(GetParam());
  ASSERT_NE(found, recombined.end()) << GetParam() << " has no witness: write one";
  const auto& [with, without, witness] = found->second;
  ExpectContrast(ConfigOf(witness.config + with), ConfigOf(witness.config + without), witness);
}

INSTANTIATE_TEST_SUITE_P(Switches, EveryOperator, ::testing::ValuesIn(OperatorNames()), SwitchName);

}  // namespace
}  // namespace sky::lab::operators
