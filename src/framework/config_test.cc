// SPDX-License-Identifier: Apache-2.0
#include "framework/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sky::framework {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A build with every plugin and action, named in no particular order, as a map of factories gives
// them.
KnownNames Everything() {
  KnownNames known;
  for (const char* name : {"backoff", "binpack", "conformance", "drf", "gang", "jobqueue",
                           "nodeorder", "predicates", "priority", "quotaaffinity",
                           "quotapredicates", "rescheduling", "storage", "sylas", "topology"})
    known.plugins.push_back({name, {}, {}});
  const auto plugin = [&](std::string_view name) -> KnownPlugin& {
    return *std::find_if(known.plugins.begin(), known.plugins.end(),
                         [&](const auto& p) { return p.name == name; });
  };
  plugin("topology").args = {{"algorithms", ArgType::kInts}};
  plugin("binpack").args = {{"weight", ArgType::kInt}};
  for (const char* name : {"gang", "conformance", "drf", "priority"})
    plugin(name).callbacks = {"preemptable", "jobReady"};
  plugin("topology").callbacks = {"quotaToNode.nOrder"};
  known.actions = {"backfill",    "reclaim",       "bind",        "releaseQuota",
                   "allocateJob", "allocateQuota", "allocateZone"};
  return known;
}

Result<LoadedConfig> Load(std::string_view yaml) {
  return LoadConfig(yaml, "sched.yaml", Everything());
}
std::string ErrorOf(std::string_view yaml) {
  const auto loaded = Load(yaml);
  return loaded ? "" : loaded.error().message();
}

TEST(LoadConfig, AnEmptyDocumentIsAllDefaults) {
  for (const char* text : {"", "---\n", "# nothing yet\n", "{}\n"}) {
    const auto loaded = Load(text);
    ASSERT_TRUE(loaded.has_value()) << text;
    EXPECT_EQ(loaded->config, DefaultConfig(Everything())) << text;
    EXPECT_THAT(loaded->warnings, IsEmpty());
  }
}

TEST(LoadConfig, TheDocumentedConfigurationIsTheDefault) {
  const auto loaded = Load(R"(
schedulerName: sky-scheduler
period: 1s
batchDelay: 20ms
commitOrder: placementFirst
actions: [allocateJob, allocateZone, allocateQuota, bind, reclaim, backfill, releaseQuota]
specLabelKeys: [scheduling.infini-ai.com/spec, spec, nvidia.com/gpu.product]
topologyResources: {roce: [rdma/roce], ib: [rdma/hca]}
spotResource: infini-ai.com/spot-gpu
spotDevice: nvidia.com/gpu
minFixQuotaInterval: 10s
minRunTime: 5m
startTimeout: 5m
claimTimeout: 60s
staticGrace: 60s
reservationTTL: 10m
nodeLostAfter: 60s
zonePatience: 0s
zoneHoldDown: 60s
zoneFrom: switchSet
pick: index
starveAfter: 30s
earmarkStall: 30m
earmarkMax: none
plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: drf}, {name: topology}, {name: binpack},
          {name: jobqueue}, {name: backoff}, {name: predicates}, {name: quotapredicates}, {name: quotaaffinity},
          {name: nodeorder}, {name: storage}, {name: sylas}, {name: rescheduling}]
expressions:
  taskToQuota.predicate: joint(quotapredicates, quotaaffinity, storage)
  quotaToNode.predicate: joint(predicates, quotapredicates, quotaaffinity, storage)
  quotaToNode.nOrder: sum(topology*10, sylas*10, binpack, nodeorder, quotaaffinity)
  quotaToNode.bestN: or(topology)
  taskToNode.predicate: joint(all)
  jobOrder: first(priority, gang, jobqueue, drf)
  quotaReady: and(gang, quotapredicates)
  jobReady: and(gang)
  quotaAllocate: and(gang, topology)
  preemptable: intersect(all)
)");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_EQ(loaded->config, DefaultConfig(Everything()));
  EXPECT_THAT(loaded->warnings, IsEmpty());
}

TEST(LoadConfig, OverridesWhatIsGivenAndKeepsTheRest) {
  const auto loaded = Load(
      "commitOrder: quotaFirst\npick: leastFragment\nzoneFrom: leafGroup\nperiod: "
      "1m30s\nearmarkMax: 2h\n"
      "topologyResources: {ib: []}\nplugins: [{name: topology, args: {algorithms: {rdma: 90}}}]\n"
      "expressions: {jobOrder: topology}\n");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  Config expected = DefaultConfig(Everything());
  expected.commit_order = CommitOrder::kQuotaFirst;
  expected.pick = Pick::kLeastFragment;
  expected.zone_from = ZoneFrom::kLeafGroup;
  expected.period = 90s;
  expected.earmark_max = 2h;
  expected.topology_resources.ib.clear();
  expected.plugins = {
      {"topology", PluginArgs("topology", "", *ReadTree("{algorithms: {rdma: 90}}"))}};
  expected.expressions["jobOrder"] = expr::Expression::Name("topology");
  EXPECT_EQ(loaded->config, expected);
}

TEST(LoadConfig, ASmallBuildKeepsDefaultExpressionsThatNamePluginsItLacks) {
  KnownNames known;
  known.plugins = {{"gang", {}, {}}, {"mine", {}, {}}};
  known.actions = {"mine", "bind"};
  const auto loaded = LoadConfig(
      "expressions: {quotaToNode.nOrder: 'sum( topology*10,sylas*10,binpack,nodeorder,"
      "quotaaffinity )'}",
      "x", known);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_EQ(loaded->config, DefaultConfig(known));
  EXPECT_THAT(loaded->config.actions, ElementsAre("bind", "mine"));
}

struct Bad {
  std::string yaml;
  std::string says;
};

TEST(LoadConfig, StopsWithFileLineColumnAndTheNearestName) {
  const std::vector<Bad> bads = {
      {"perod: 1s", "sched.yaml:1:1: unknown key 'perod'; did you mean 'period'?"},
      {"a: 1", "sched.yaml:1:1: unknown key 'a'"},
      {"[1]", "sched.yaml:1:1: a configuration is a map of keys, not a list"},
      {"period: 1s\nperiod: 2s",
       "sched.yaml:2:1: 'period' stands here a second time; the first is in line 1"},
      {"period: 5", "sched.yaml:1:9: 'period': needs a unit: 5s or 5ms, for example"},
      {"period: soon",
       "sched.yaml:1:9: 'period': must be a duration such as 20ms or 1m30s, not 'soon'"},
      {"period: -1s",
       "sched.yaml:1:9: 'period': must be a duration such as 20ms or 1m30s, not '-1s'"},
      {"period:",
       "sched.yaml:1:1: 'period': must be a duration such as 20ms or 1m30s, not nothing"},
      {"period: 0s\nbatchDelay: 0s", "sched.yaml:1:9: 'period': must be at least 1ms, not 0s"},
      {"batchDelay: 2s",
       "sched.yaml:1:13: 'batchDelay' (2s) must not be longer than 'period' (1s)"},
      {"period: 10ms",
       "sched.yaml:1:9: 'batchDelay' (20ms) must not be longer than 'period' (10ms)"},
      {"period: 010", "sched.yaml:1:9: '010' is read as different numbers"},
      {"schedulerName: yes", "sched.yaml:1:16: 'yes' means different things"},
      {"schedulerName: 12", "sched.yaml:1:16: 'schedulerName': must be a text, not the number 12"},
      {"schedulerName: 'a b'",
       "sched.yaml:1:16: 'schedulerName': must be letters, digits, '.' and '-'"},
      {"spotResource: spot", "sched.yaml:1:15: 'spotResource': must be a qualified resource name"},
      {"specLabelKeys: []", "sched.yaml:1:16: 'specLabelKeys': is an empty list"},
      {"specLabelKeys: [a, a/b/c]", "sched.yaml:1:20: 'specLabelKeys': must be a label key"},
      {"specLabelKeys: spec",
       "sched.yaml:1:16: 'specLabelKeys': must be a list of texts, not 'spec'"},
      {"topologyResources: {eth: [x]}",
       "sched.yaml:1:21: 'topologyResources': unknown key 'eth'; there are roce, ib"},
      {"earmarkMax: never",
       "sched.yaml:1:13: 'earmarkMax': must be a duration such as 20ms or 1m30s, not 'never'; or "
       "write none"},
      {"commitOrder: quotafirst",
       "sched.yaml:1:14: 'commitOrder': must be one of placementFirst, quotaFirst, not "
       "'quotafirst'; did you mean 'quotaFirst'?"},
      {"actions: []", "sched.yaml:1:10: 'actions': is an empty list"},
      {"actions: [bind, bnd]",
       "sched.yaml:1:17: 'actions': unknown action 'bnd'; did you mean 'bind'?"},
      {"actions: [bind, bind]", "sched.yaml:1:17: 'actions': 'bind' is listed twice"},
      {"actions: 'bind, reclaim'", "sched.yaml:1:10: 'actions': must be a list of texts"},
      {"plugins: []", "sched.yaml:1:10: 'plugins': is an empty list"},
      {"plugins: [gang]",
       "sched.yaml:1:11: 'plugins': each item needs the name of a plugin, as in {name: gang}"},
      {"plugins: [{name: gnag}]",
       "sched.yaml:1:18: 'plugins': unknown plugin 'gnag'; did you mean 'gang'?"},
      {"plugins: [{name: gang}, {name: gang}]",
       "sched.yaml:1:32: 'plugins': 'gang' is listed twice"},
      {"plugins: [{name: gang, arg: {}}]", "sched.yaml:1:24: 'plugins': unknown key 'arg'"},
      {"plugins: [{name: gang, args: [1]}]",
       "sched.yaml:1:30: 'plugins': 'args' of 'gang' must be a map, not a list"},
      {"plugins: [{name: gang, args: {x: 1}}]",
       "sched.yaml:1:31: plugin 'gang' has no argument 'x'"},
      {"plugins: [{name: binpack, args: {weight: 0.5}}]",
       "sched.yaml:1:42: plugin 'binpack': 'weight': must be an integer"},
      {"expressions: []",
       "sched.yaml:1:14: 'expressions': must be a map from callbacks to expressions, not a list"},
      {"expressions: {jobOrdr: gang}",
       "sched.yaml:1:15: unknown callback 'jobOrdr'; did you mean 'jobOrder'?"},
      {"expressions: {filter: gang}",
       "sched.yaml:1:15: unknown callback 'filter'; a key is bundle.stage, such as"},
      {"expressions: {preemptable: [gang]}",
       "sched.yaml:1:28: 'preemptable' must be an expression such as intersect(all), not a list"},
      {"expressions: {preemptable: ''}", "sched.yaml:1:29: 'preemptable': the expression is empty"},
      {"expressions:\n  preemptable: intersect()",
       "sched.yaml:2:26: 'preemptable': 'intersect' needs at least one argument"},
      {"expressions:\n  preemptable: intersect(all, gnag)",
       "sched.yaml:2:31: 'preemptable': unknown plugin 'gnag'; did you mean 'gang'?"},
      {"expressions:\n  preemptable: joint(all)",
       "sched.yaml:2:16: 'preemptable': 'joint' can't combine values of the kind set; these can: "
       "or, intersect, union"},
      {"expressions:\n  jobOrder: >-\n    first(priority,\n          sum(drf))",
       "sched.yaml:4:11: 'jobOrder': 'sum' can't combine values of the kind orderKey; these can: "
       "first"},
      {"expressions:\n  quotaToNode.nOrder: sum(topology*010)",
       "sched.yaml:2:36: 'quotaToNode.nOrder': '010' begins with a zero"},
  };
  for (const Bad& bad : bads) EXPECT_THAT(ErrorOf(bad.yaml), HasSubstr(bad.says)) << bad.yaml;
}

TEST(LoadConfig, TellsEveryProblemAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(ErrorOf("expressions: {jobReady: sum(gang)}\npick: best\nperod: 1s\n"),
            "sched.yaml:1:25: 'jobReady': 'sum' can't combine values of the kind bool; these can: "
            "and, or\n"
            "sched.yaml:2:7: 'pick': must be one of index, leastFragment, not 'best'\n"
            "sched.yaml:3:1: unknown key 'perod'; did you mean 'period'?");
  std::string many;
  for (int i = 0; i < 30; ++i) many += "unknown" + std::to_string(i) + ": 1\n";
  const std::string told = ErrorOf(many);
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 20);
  EXPECT_THAT(told, HasSubstr("sched.yaml: 10 more"));
}

TEST(LoadConfig, AVetoLeftOutOfAnExpressionIsWarnedOf) {
  const auto warnings = [](const std::string& expression) {
    return Load("expressions:\n  preemptable: " + expression + "\n")->warnings;
  };
  EXPECT_THAT(warnings("intersect(priority, gang, drf)"),
              ElementsAre("sched.yaml:2:16: 'preemptable' leaves out the plugin 'conformance', "
                          "whose veto then counts "
                          "for nothing; name it, or write all for every plugin"));
  EXPECT_EQ(warnings("gang").size(), 3u);
  for (const char* whole :
       {"intersect(all)", "or(gang, all)", "intersect(gang, or(drf, priority), conformance)"})
    EXPECT_THAT(warnings(whole), IsEmpty()) << whole;
}

TEST(LoadConfig, AVetoOfADisabledPluginOrInAScoreIsNoMatter) {
  EXPECT_THAT(Load("plugins: [{name: gang}]\nexpressions: {preemptable: gang}")->warnings,
              IsEmpty());
  EXPECT_THAT(Load("expressions: {quotaToNode.nOrder: sum(binpack)}")->warnings, IsEmpty());
}

TEST(LoadConfig, WarnsOfNamesThatDoNothing) {
  EXPECT_THAT(
      Load("plugins: [{name: gang}]\nexpressions: {preemptable: 'intersect(gang, drf)'}")->warnings,
      ElementsAre("sched.yaml:2:45: 'preemptable' names the plugin 'drf', which isn't enabled"));
  EXPECT_THAT(
      Load("expressions: {jobOrder: 'first(topology)'}")->warnings,
      ElementsAre(
          "sched.yaml:1:32: 'jobOrder' names the plugin 'topology', which takes no part in it"));
}

TEST(LoadConfig, FiftyNestedLevelsWork) {
  std::string nested = "all";
  for (int i = 0; i < 50; ++i) nested = (i % 2 == 0 ? "intersect(" : "union(") + nested + ")";
  const auto loaded = Load("expressions: {preemptable: '" + nested + "'}");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_EQ(expr::Print(loaded->config.expressions.at("preemptable")), nested);
}

TEST(PrintConfig, OfTheDefaultsLoadsToTheDefaults) {
  const std::string printed = PrintConfig(DefaultConfig(Everything()));
  const auto loaded = Load(printed);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_EQ(loaded->config, DefaultConfig(Everything()));
  EXPECT_THAT(loaded->warnings, IsEmpty());
  EXPECT_THAT(printed, HasSubstr("\n  quotaToNode.nOrder: sum(topology*10, sylas*10, binpack, "
                                 "nodeorder, quotaaffinity)\n"));
}

rc::Gen<Duration> AnyDuration() {
  return rc::gen::map(rc::gen::inRange<int64_t>(1'000'000'000, int64_t{1} << 52),
                      [](int64_t n) { return Duration(n); });
}

Config AnyConfig() {
  Config config = DefaultConfig(Everything());
  config.scheduler_name = *rc::gen::element<std::string>("sky-scheduler", "yes", "010", "b");
  for (Duration Config::* member :
       {&Config::period, &Config::min_fix_quota_interval, &Config::min_run_time,
        &Config::start_timeout, &Config::claim_timeout, &Config::static_grace,
        &Config::reservation_ttl, &Config::node_lost_after, &Config::zone_patience,
        &Config::zone_hold_down, &Config::starve_after, &Config::earmark_stall})
    config.*member = *AnyDuration();
  config.batch_delay = std::min(config.period, *AnyDuration());
  config.earmark_max = *rc::gen::arbitrary<bool>() ? std::optional(*AnyDuration()) : std::nullopt;
  config.commit_order = *rc::gen::element(CommitOrder::kPlacementFirst, CommitOrder::kQuotaFirst);
  config.zone_from = *rc::gen::element(ZoneFrom::kSwitchSet, ZoneFrom::kLeafGroup);
  config.pick = *rc::gen::element(Pick::kIndex, Pick::kLeastFragment);
  config.actions.resize(*rc::gen::inRange<size_t>(1, config.actions.size() + 1));
  config.plugins.resize(*rc::gen::inRange<size_t>(1, config.plugins.size() + 1));
  config.plugins[0] = {"topology",
                       PluginArgs("topology", "", *ReadTree("{algorithms: {rdma: 7, 'on': -1}}"))};
  if (config.plugins.size() > 4)
    config.plugins.erase(config.plugins.begin() + 4);  // it was topology
  config.spec_label_keys = {*rc::gen::element<std::string>("spec", "y", "10", "a.b/c")};
  config.topology_resources.roce = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("rdma/*", "a b", "~"));
  config.topology_resources.ib = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("x: y", "#", "\"\n"));
  config.spot_resource = *rc::gen::element<std::string>("a.b/c", "1/2");
  config.expressions["preemptable"] = *expr::Parse(
      *rc::gen::element<std::string>("gang", "or(gang, all)", "union(intersect(all), drf)"));
  config.expressions["quotaToNode.nOrder"] =
      *expr::Parse(*rc::gen::element<std::string>("sum(topology*0.125, all)", "max(binpack)"));
  return config;
}

RC_GTEST_PROP(PrintConfig, LoadsToAnEqualConfig, ()) {
  const Config config = AnyConfig();
  const auto loaded = Load(PrintConfig(config));
  RC_LOG() << PrintConfig(config) << (loaded ? "" : loaded.error().message());
  RC_ASSERT(loaded.has_value());
  RC_ASSERT(loaded->config == config);
}

}  // namespace
}  // namespace sky::framework
