// SPDX-License-Identifier: Apache-2.0
// Every plugin and action can be turned off in the configuration. The tables are held against the
// registries: what is new there needs a witness here, a script in which it does what nothing else
// does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lab/contrast_for_test.h"
#include "testing/without_plugin.h"

namespace sky::lab::switches {
namespace {

using framework::Config;
using testing::WithoutPlugin;

using Witnesses = std::map<std::string, Witness, std::less<>>;

// The witness of `name` sees what is gone without it.
void ExpectMissed(const Witnesses& witnesses, const std::string& name,
                  Config (*without)(Config, std::string_view)) {
  const auto witness = witnesses.find(name);
  ASSERT_NE(witness, witnesses.end()) << name << " has no witness: write one";
  const Config config = ConfigOf(witness->second.config);
  ExpectContrast(config, without(config, name), witness->second);
}

std::vector<std::string> PluginNames() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : scheduler::AllKnown().plugins) names.push_back(name);
  return names;
}
std::vector<std::string> ActionNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : scheduler::AllKnown().actions) names.push_back(name);
  return names;
}

// --- plugins ---

constexpr const char* kHigh = R"(
apply <<END
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
END
)";

Witness OfPriority() {
  return {"", std::string(kHigh) + R"(
nodes n0 gpu=1
cordon n0
quotas q-[0-1] gpu=1
job older 1 gpu=1
tick 2s
job urgent 1 gpu=1 priority=high
tick 2s
uncordon n0
tick 2s
)",
          "expect urgent placed 1\nexpect older placed 0\n",
          "expect urgent placed 0\nexpect older placed 1\n"};
}

Witness OfGang() { return {"", kHalfAGang, "expect train placed 0\n", "expect train placed 2\n"}; }

Witness OfDrf() {
  return {"", R"(
nodes n0 gpu=4
queue slim weight=1
queue wide weight=3
quotas s-[0-3] gpu=1 queue=slim
quotas w-[0-3] gpu=1 queue=wide
job s1 2 gpu=1 queue=slim
job s2 2 gpu=1 queue=slim
job w1 2 gpu=1 queue=wide
tick 2s
expect s1 placed 2
)",
          "expect w1 placed 2\nexpect s2 placed 0\n", "expect w1 placed 0\nexpect s2 placed 2\n"};
}

Witness OfTopology() {
  return {"", R"(
leaf S1 n0 gpu=8 hca=8
leaf S2 n[1-2] gpu=8 hca=8
quotas q-[0-1] gpu=8 hca=8
job train 2 gpu=8 hca=8
tick 2s
expect train placed 2
)",
          "expect train-0 on n1\nexpect train-1 on n2\n",
          "expect train-0 on n0\nexpect train-1 on n1\n"};
}

Witness OfBinpack() {
  return {"", R"(
nodes n[0-1] gpu=8
quotas q-[0-1] gpu=1
pod begun gpu=1 node=n1 scheduler=other
pod p gpu=1
tick 2s
)",
          "expect p on n1\n", "expect p on n0\n"};
}

Witness OfJobQueue() {
  return {"", R"(
nodes n0 gpu=8
quotas q gpu=1
apply <<END
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: JobQueue
metadata: {name: line}
spec: {queue: default, jobSelector: {}, suspended: true}
END
job train 1 gpu=1
tick 2s
)",
          "expect train waits JobBlockedByJobQueue\n", "expect train placed 1\n"};
}

// The first two bindings are refused.
Witness OfBackoff() {
  return {"", R"(
nodes n0 gpu=8
quotas q gpu=1
start
fault <<END
faults:
- match: {verb: create, resource: pods, subresource: binding, count: 2}
  action: {refuse: {code: 403, message: "denied by a webhook"}}
END
pod p gpu=1
tick 900ms
)",
          "expect p waits BindRefused\n", "expect p on n0\n"};
}

Witness OfPredicates() {
  return {"", R"(
nodes n0 gpu=8 taint=theirs
nodes n1 gpu=8
quotas q gpu=1
pod p gpu=1
tick 2s
)",
          "expect p on n1\n", "expect p on n0\n"};
}

Witness OfQuotaPredicates() {
  return {"", R"(
nodes n0 gpu=8
queue small gpu=1
quotas q-[0-1] gpu=1 queue=small
job one 1 gpu=1 queue=small
job two 1 gpu=1 queue=small
tick 2s
expect one placed 1
)",
          "expect two waits QueueCapabilityExceeded\n", "expect two placed 1\n"};
}

Witness OfQuotaAffinity() {
  return {"", R"(
nodes n[0-1] gpu=8
apply <<END
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: Quota
metadata: {name: store, labels: {app: store}}
spec: {queueName: default, request: {nvidia.com/gpu: "1"}}
---
apiVersion: scheduling.infini-ai.com/v1alpha1
kind: Quota
metadata: {name: loud}
spec:
  queueName: default
  request: {nvidia.com/gpu: "1"}
  affinity:
    quota: {antiAffinity: {required: [{labelSelector: {matchLabels: {app: store}}, topologyKey: node}]}}
END
pod stores gpu=1 required=store
tick 2s
expect stores on n0
pod shouts gpu=1 required=loud
tick 2s
)",
          "expect shouts on n1\n", "expect shouts on n0\n"};
}

Witness OfNodeOrder() {
  return {"", R"(
nodes n0 gpu=8
nodes n1 gpu=8 label=disk:fast
quotas q gpu=1
apply <<END
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  schedulerName: sky-scheduler
  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: disk, operator: In, values: [fast]}]}}]}}
  containers: [{name: main, image: work, resources: {limits: {nvidia.com/gpu: "1"}}}]
END
tick 2s
)",
          "expect p on n1\n", "expect p on n0\n"};
}

Witness OfStorage() {
  return {"", std::string("nodes n0 gpu=8\nquotas q gpu=1\n") + kMounts,
          "expect p waits StorageNotReady\n", "expect p on n0\n"};
}

constexpr const char* kSpotInTheWay = R"(
nodes n0 gpu=8 spot=8
quotas q gpu=8
pod idle spot=8
tick 5s
job train 1 gpu=8
tick 1m
)";

Witness OfSylas() {
  return {"minRunTime: 1s", std::string(kSpotInTheWay), "expect train placed 1\n",
          "expect train placed 0\nexpect idle on n0\n"};
}

// Spot pods leave the full node as soon as there is an empty one.
Witness OfRescheduling() {
  const char* const kStrategy =
      "{name: lowNodeUtilization, params: {thresholds: {nvidia.com/gpu: 30}, "
      "targetThresholds: {nvidia.com/gpu: 75}}}";
  std::string config = "minRunTime: 30s\nplugins:\n";
  for (const framework::PluginConfig& plugin : ConfigOf("").plugins)
    if (plugin.name != "rescheduling") config += fmt::format("- name: {}\n", plugin.name);
  config += fmt::format("- {{name: rescheduling, args: {{interval: 1m, strategies: [{}]}}}}\n",
                        kStrategy);
  return {config, R"(
nodes n0 gpu=8 spot=8
group a min=1
pod a-[0-3] spot=2 group=a owner=a
tick 40s
expect a placed 4
nodes n1 gpu=8 spot=8
tick 90s
)",
          "expect a placed 3\n", "expect a placed 4\n"};
}

Witnesses OfPlugins() {
  return {{"priority", OfPriority()},
          {"gang", OfGang()},
          {"conformance", SystemSpotPodInTheWay()},
          {"drf", OfDrf()},
          {"topology", OfTopology()},
          {"binpack", OfBinpack()},
          {"jobqueue", OfJobQueue()},
          {"backoff", OfBackoff()},
          {"predicates", OfPredicates()},
          {"quotapredicates", OfQuotaPredicates()},
          {"quotaaffinity", OfQuotaAffinity()},
          {"nodeorder", OfNodeOrder()},
          {"storage", OfStorage()},
          {"sylas", OfSylas()},
          {"rescheduling", OfRescheduling()}};
}

class EveryPlugin : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPlugin, CanBeLeftOutAndTheClusterRuns) {
  Play life(WithoutPlugin(ConfigOf(""), GetParam()));
  EXPECT_EQ(life.Failures(kLife), 0) << life.shown();
}

TEST_P(EveryPlugin, BringsWhatIsGoneWithoutIt) {
  ExpectMissed(OfPlugins(), GetParam(), WithoutPlugin);
}

INSTANTIATE_TEST_SUITE_P(Switches, EveryPlugin, ::testing::ValuesIn(PluginNames()), SwitchName);

// --- actions ---

Config WithoutAction(Config config, std::string_view name) {
  std::erase(config.actions, name);
  return config;
}

// Beside it a spot pod, which another action places.
Witness OfAllocateJob() {
  return {"", R"(
nodes n0 gpu=8 spot=8
quotas q gpu=4
job train 1 gpu=4
pod idle spot=2
tick 5s
expect idle on n0
)",
          "expect train placed 1\n", "expect train placed 0\n"};
}

constexpr const char* kTwoKinds = R"(
leaf S1 n[0-1] gpu=8 hca=8
quotas q-[0-1] gpu=4 hca=4
quotas p gpu=1
job zoned 2 gpu=4 hca=4
pod plain gpu=1
tick 5s
)";

Witness OfAllocateZone() {
  return {"", std::string(kTwoKinds) + "expect plain on n[0-1]\n", "expect zoned placed 2\n",
          "expect zoned placed 0\nexpect zoned waits\n"};
}

Witness OfAllocateQuota() {
  return {"", std::string(kTwoKinds) + "expect zoned placed 2\n", "expect plain on n[0-1]\n",
          "expect plain waits\n"};
}

Witness OfBind() { return {"", kTwoKinds, "expect zoned placed 2\n", "expect zoned placed 0\n"}; }

Witness OfReclaim() {
  return {"minRunTime: 1s", kSpotInTheWay, "expect train placed 1\n",
          "expect train placed 0\nexpect idle on n0\n"};
}

Witness OfBackfill() {
  return {"", R"(
nodes n0 gpu=8 spot=8
quotas q gpu=4
job train 1 gpu=4
job idle 1 spot=2
tick 5s
expect train placed 1
)",
          "expect idle placed 1\n", "expect idle placed 0\n"};
}

// What is planned and brought to no node holds its room until it is given back.
Witness OfReleaseQuota() {
  return {"actions: [allocateJob, allocateZone, releaseQuota, backfill]", R"(
nodes n0 gpu=8 spot=8
quotas q gpu=8
job train 1 gpu=8
pod idle spot=8
tick 5s
)",
          "expect idle on n0\n", "expect idle waits\n"};
}

Witnesses OfActions() {
  return {{"allocateJob", OfAllocateJob()},
          {"allocateZone", OfAllocateZone()},
          {"allocateQuota", OfAllocateQuota()},
          {"bind", OfBind()},
          {"reclaim", OfReclaim()},
          {"backfill", OfBackfill()},
          {"releaseQuota", OfReleaseQuota()}};
}

class EveryAction : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryAction, DoesWhatIsLeftUndoneWithoutIt) {
  ExpectMissed(OfActions(), GetParam(), WithoutAction);
}

INSTANTIATE_TEST_SUITE_P(Switches, EveryAction, ::testing::ValuesIn(ActionNames()), SwitchName);

TEST(Actions, InAnotherOrderServeOthersFirst) {
  const Witness witness{"", R"(
nodes n0 gpu=8 spot=8
quotas q gpu=8
job train 1 gpu=8
pod idle spot=8
tick 2s
)",
                        "expect train placed 1\n", "expect idle on n0\n"};
  ExpectContrast(ConfigOf(""),
                 ConfigOf("actions: [backfill, allocateJob, allocateZone, allocateQuota, bind,"
                          " reclaim, releaseQuota]"),
                 witness);
}

}  // namespace
}  // namespace sky::lab::switches
