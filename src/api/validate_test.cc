// SPDX-License-Identifier: Apache-2.0
// The rules of deploy/crds, their bad objects in tests/data, and their twins in validate.cc.
#include "api/validate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"
#include "api/test_files.h"

namespace sky::api {
namespace {

struct Outcome {
  std::string error;  // of decoding
  std::vector<Violation> violations;
  std::string again;  // the object written once more
};

template <class T>
Outcome Check(const std::string& json) {
  const auto object = Decode<T>(json);
  if (!object) return {object.error().message(), {}, ""};
  return {"", Validate(*object), Encode(*object)};
}

Outcome CheckAny(const YAML::Node& object) {
  static const std::map<std::string, Outcome (*)(const std::string&)> kChecks = {
      {"PodGroup", Check<PodGroup>},
      {"Queue", Check<Queue>},
      {"Quota", Check<Quota>},
      {"JobQueue", Check<JobQueue>},
      {"NodeTopology", Check<NodeTopology>},
      {"Placement", Check<Placement>},
      {"QuotaSet", Check<QuotaSet>}};
  return kChecks.at(object["kind"].as<std::string>())(ToJson(object));
}

void CollectMessages(const YAML::Node& node, std::set<std::string>& out) {
  if (node.IsMap()) {
    for (const auto& entry : node) {
      if (entry.first.Scalar() == "x-kubernetes-validations") {
        for (const auto& rule : entry.second) out.insert(rule["message"].as<std::string>());
      } else {
        CollectMessages(entry.second, out);
      }
    }
  } else if (node.IsSequence()) {
    for (const auto& entry : node) CollectMessages(entry, out);
  }
}

const std::set<std::string>& MessagesOf(std::string_view plural) {
  static std::map<std::string, std::set<std::string>, std::less<>> known;
  const auto [messages, added] = known.try_emplace(std::string(plural));
  if (added) CollectMessages(LoadCrd(plural), messages->second);
  return messages->second;
}

std::vector<std::string> Plurals() {
  std::vector<std::string> plurals;
  for (const Kind& kind : AllKinds())
    if (kind.group == kGroup) plurals.emplace_back(kind.plural);
  return plurals;
}

const Kind& KindNamed(const std::string& name) {
  return *std::ranges::find(AllKinds(), name, &Kind::kind);
}

Quota GoodQuota() {
  Quota quota;
  quota.metadata.name = "q";
  quota.spec.queue_name = "train";
  quota.spec.request["cpu"] = Quantity::Units(1);
  return quota;
}

TEST(Validate, SaysOfEachBadObjectWhatItsRuleSays) {
  size_t rules = 0;
  for (const auto& bad : LoadTestFile("tests/data/bad_objects.yaml")) {
    const auto name = bad["name"].as<std::string>();
    const auto message = bad["message"].as<std::string>();
    const Kind& kind = KindNamed(bad["object"]["kind"].as<std::string>());
    if (!MessagesOf(kind.plural).contains(message)) continue;  // the schema's, not a rule's
    ++rules;
    const Outcome outcome = CheckAny(bad["object"]);
    EXPECT_EQ(outcome.error, "") << name;
    const std::vector<Violation> expected = {{bad["field"].as<std::string>(""), message}};
    EXPECT_EQ(outcome.violations, expected) << name << ": " << Describe(outcome.violations);
  }
  EXPECT_GT(rules, 15u);
}

TEST(Validate, EveryRuleHasABadObject) {
  std::set<std::string> shown;
  for (const auto& bad : LoadTestFile("tests/data/bad_objects.yaml"))
    shown.insert(bad["message"].as<std::string>());
  for (const std::string& plural : Plurals())
    for (const std::string& message : MessagesOf(plural))
      EXPECT_TRUE(shown.contains(message)) << plural << ": " << message;
}

// The schema's pattern lets nothing through that we can't read, and its rule, which looks at the
// text alone, finds exactly the negative amounts.
RC_GTEST_PROP(Validate, TheSchemaOfAQuantityAgreesWithItsReader, ()) {
  static const YAML::Node kAmount = SchemaOf(
      LoadCrd("quotas"))["properties"]["spec"]["properties"]["request"]["additionalProperties"];
  static const std::regex kForm(kAmount["pattern"].as<std::string>());
  static const std::regex kNegative("^-[0.]*[1-9]");
  const auto rule = kAmount["x-kubernetes-validations"][0]["rule"].as<std::string>();
  RC_ASSERT(rule == "!string(self).matches('^-[0.]*[1-9]')");
  const auto sign = *rc::gen::element<std::string>("", "-", "+");
  const auto digits = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("00.19")));
  const auto suffix = *rc::gen::element<std::string>("", "n", "m", "k", "E", "Ki", "Ei", "e3",
                                                     "E-9", "e100", "K", "i");
  const std::string text = sign + digits + suffix;
  if (!std::regex_match(text, kForm)) return;
  const auto quantity = Quantity::Parse(text);
  RC_ASSERT(quantity.has_value());
  RC_ASSERT(quantity->IsNegative() == std::regex_search(text, kNegative));
}

TEST(Validate, AcceptsGoodObjectsWhichDecodeAndEncodeWithoutLoss) {
  std::set<std::string> kinds;
  for (const auto& good : LoadTestFile("tests/data/good_objects.yaml")) {
    const auto name = good["name"].as<std::string>();
    const Outcome outcome = CheckAny(good["object"]);
    EXPECT_EQ(outcome.error, "") << name;
    EXPECT_EQ(Describe(outcome.violations), "") << name;
    const Outcome again = CheckAny(YAML::Load(outcome.again));
    EXPECT_EQ(again.again, outcome.again) << name;
    kinds.insert(good["object"]["kind"].as<std::string>());
  }
  EXPECT_EQ(kinds.size(), Plurals().size());
}

TEST(Validate, SeesWhatAnOlderSchemaMayHaveLetIn) {
  EXPECT_EQ(Describe(Validate(Quota())),
            "spec.queueName: must name a queue; spec.request: must list at least one resource");
  Quota quota = GoodQuota();
  quota.spec.shared_queues.assign(1001, "infer");
  EXPECT_EQ(Describe(Validate(quota)),
            "spec.sharedQueues: must have at most 1000 items; spec.sharedQueues: must not list a "
            "queue twice");
  quota = GoodQuota();
  quota.spec.tolerations.resize(1);
  quota.spec.tolerations[0].key = "gpu";
  quota.spec.tolerations[0].op = "Lt";
  quota.spec.tolerations[0].effect = "Never";
  EXPECT_EQ(Describe(Validate(quota)),
            "spec.tolerations[0].operator: must be Equal or Exists; spec.tolerations[0].effect: "
            "must be NoSchedule, "
            "PreferNoSchedule or NoExecute");
  PodGroup group;
  group.spec.min_member = -1;
  group.spec.min_task_member["worker"] = -2;
  EXPECT_EQ(Describe(Validate(group)),
            "spec.minMember: must be at least 1; spec.minTaskMember[worker]: must not be negative");
  Queue queue;
  queue.spec.weight = -1;
  EXPECT_EQ(Describe(Validate(queue)), "spec.weight: must be at least 1");
  QuotaSet set;
  set.spec.replicas = -1;
  set.spec.template_ = GoodQuota().spec;
  EXPECT_EQ(Describe(Validate(set)), "spec.replicas: must not be negative");
}

TEST(Validate, LooksIntoEveryTermOfAQuotasAffinity) {
  Quota quota = GoodQuota();
  quota.spec.affinity.emplace();
  NodeAffinity& node = quota.spec.affinity->node.emplace();
  node.required.emplace();
  node.preferred.resize(1);
  node.preferred[0].weight = 101;
  QuotaTermSet& apart = quota.spec.affinity->pod_quota.emplace().anti_affinity.emplace();
  apart.required.resize(1);
  apart.preferred.resize(1);
  apart.preferred[0].weight = 1;
  apart.preferred[0].term.topology_key = "node";
  apart.preferred[0].term.label_selector.emplace().match_expressions.push_back({"a", "Gt", {"1"}});
  std::vector<std::string> fields;
  for (const Violation& violation : Validate(quota)) fields.push_back(violation.field);
  const std::string at = "spec.affinity.podQuota.antiAffinity.";
  EXPECT_EQ(
      fields,
      (std::vector<std::string>{
          "spec.affinity.node.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
          "spec.affinity.node.preferredDuringSchedulingIgnoredDuringExecution[0].weight",
          at + "required[0].labelSelector", at + "required[0].topologyKey",
          at + "preferred[0].term.labelSelector.matchExpressions[0].operator",
          at + "preferred[0].term.labelSelector.matchExpressions[0]"}));
}

TEST(Validate, LooksIntoThePlacesOfAPlacement) {
  Placement placement;
  placement.spec.pod_group_uid = "u";
  EXPECT_EQ(Describe(Validate(placement)), "");
  placement.spec.nodes = placement.spec.quotas = {"a"};
  placement.spec.entries.resize(1);
  EXPECT_EQ(Describe(Validate(placement)), "spec.entries: an entry names no task or no podUID");
  placement.spec.entries[0].task = placement.spec.entries[0].pod_uid = "w";
  EXPECT_EQ(Describe(Validate(placement)), "");
  placement.spec.entries[0].zone = -2;
  EXPECT_EQ(Describe(Validate(placement)),
            "spec.entries: an entry points before the start of a table");
  placement.spec.entries[0].zone = -1;
  placement.spec.entries.resize(4097, placement.spec.entries[0]);
  EXPECT_EQ(Describe(Validate(placement)), "spec.entries: must have at most 4096 items");
  placement.spec.entries.clear();
  placement.spec.pod_group_uid.clear();
  placement.spec.round = -1;
  EXPECT_EQ(Describe(Validate(placement)),
            "spec.podGroupUID: must be given; spec: round and leaderEpoch must not be negative");
}

}  // namespace
}  // namespace sky::api
